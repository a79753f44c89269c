//! `mahala man`: a page for man(1) for the command and each of its commands.

use crate::options::Cli;
use crate::options::man::Man;
use crate::terminal::format;
use crate::terminal::message::print_message;
use anyhow::{Context as _, Result};
use clap::{ColorChoice, CommandFactory as _};
use mahala_io::write_atomic;

/// Writes `mahala.1`, `mahala-fit.1` and so on.
pub(crate) fn run(args: &Man) -> Result<()> {
    let directory = &args.directory;
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    // Built, so that every command knows its whole name.
    let mut whole = Cli::command().color(ColorChoice::Never);
    whole.build();
    let mut commands: Vec<clap::Command> = whole.get_subcommands().cloned().collect();
    commands.retain(|command| command.get_name() != "help");
    commands.insert(0, whole);
    for command in &commands {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        let mut page = Vec::new();
        let source = format!("mahala {}", env!("CARGO_PKG_VERSION"));
        clap_mangen::Man::new(command.clone()).title(name.to_uppercase()).source(source).render(&mut page)?;
        write_atomic(&directory.join(format!("{name}.1")), &page)?;
    }
    print_message(&format!(
        "wrote {} to {}",
        format::count(commands.len() as u64, "page"),
        directory.display()
    ));
    Ok(())
}
