//! How the command behaves among others: pipes, terminals, interrupts, shells.

mod common;

use common::{Place, binary, bundled};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const COMMANDS: [&str; 16] = [
    "demo",
    "fit",
    "evaluate",
    "tune",
    "explore",
    "transform",
    "predict",
    "neighbors",
    "pairs",
    "moments",
    "merge",
    "methods",
    "inspect",
    "export",
    "man",
    "completions",
];

/// Starts the command with every stream in our hands.
fn start(place: &Place, line: &str) -> Child {
    let mut command = Command::new(binary());
    command.current_dir(place.path("")).args(line.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the command starts")
}

fn stderr_of(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut text).expect("text");
    text
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let place = Place::new();
    std::fs::copy(bundled("breast-cancer-wdbc.csv"), place.path("cancer.csv")).expect("a copy");
    place.ok("fit cancer.csv --label label --method gmml --t 0.1 -o m.st");
    for line in [
        "transform m.st cancer.csv",
        "neighbors m.st cancer.csv -k 200",
        "export m.st --format json -o -",
        "fit cancer.csv --label label --method gmml --t 0.1 -o -",
    ] {
        let mut child = start(&place, line);
        let mut first = Vec::new();
        let mut stdout = BufReader::with_capacity(64, child.stdout.take().expect("stdout"));
        stdout.read_until(b'\n', &mut first).expect("a line");
        drop(stdout);
        let status = child.wait().expect("an end");
        let stderr = stderr_of(&mut child);
        assert!(status.success(), "{line}: {status}: {stderr}");
        assert!(!stderr.contains("error") && !stderr.contains("panicked"), "{line}: {stderr}");
    }
}

#[test]
fn stderr_has_no_progress_bar_unless_it_is_a_terminal() {
    let place = Place::new();
    let mut child = start(&place, "fit - --label label --method gmml --t 0.5 -o m.st");
    let mut stdin = child.stdin.take().expect("stdin");
    stdin.write_all(&place.read("iris.csv")).expect("written");
    // A bar would appear after a second.
    std::thread::sleep(Duration::from_millis(1400));
    drop(stdin);
    assert!(child.wait().expect("an end").success());
    let stderr = stderr_of(&mut child);
    assert!(stderr.starts_with("learned from 150 rows") && !stderr.contains(['\r', '\u{1b}']), "{stderr:?}");
}

#[test]
fn no_output_is_coloured_unless_it_is_a_terminal() {
    let place = Place::with_wine_model();
    for line in ["--help", "fit --help", "inspect wine.st", "fit", "inspect nowhere"] {
        let ran = place.run(line);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{line}");
    }
}

#[cfg(unix)]
fn interrupt(child: &mut Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

/// Waits for the temporary file of a run, which says that it has begun.
#[cfg(unix)]
fn wait_for_temporary_file(place: &Place) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while place.unfinished().is_empty() {
        assert!(Instant::now() < deadline, "no temporary file: {:?}", place.names());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_while_reading_leaves_nothing_behind() {
    let place = Place::with_wine_model();
    let model = place.read("wine.st");
    let before = place.names();
    let mut child = start(&place, "fit - --label label -o wine.st");
    let mut stdin = child.stdin.take().expect("stdin");
    stdin.write_all(&place.read("wine.csv")).expect("written");
    wait_for_temporary_file(&place);
    interrupt(&mut child);
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert_eq!((stderr_of(&mut child), place.names()), (String::new(), before));
    assert!(place.read("wine.st") == model);
}

#[cfg(unix)]
#[test]
fn an_interrupt_while_learning_leaves_nothing_behind() {
    let place = Place::new();
    // Large enough to keep any machine busy for seconds after its temporary file appears.
    let row = |i: usize| -> Vec<f64> {
        let cell = |j: usize| ((i * 7919 + j * 104_729 + i * j * 31) % 1009) as f64;
        (0..100).map(cell).chain([(i % 3) as f64]).collect()
    };
    place.write("large.npy", common::npy(&(0..20_000).map(row).collect::<Vec<_>>()));
    let before = place.names();
    let mut child = start(&place, "fit large.npy --label -1 -o m.st");
    wait_for_temporary_file(&place);
    interrupt(&mut child);
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert_eq!(place.names(), before);
}

#[cfg(unix)]
#[test]
fn an_interrupt_of_a_fit_that_keeps_the_best_writes_it() {
    let place = Place::new();
    // Every iteration looks at nine million pairs of rows, whose labels mean nothing: it would go on for minutes.
    let row = |i: usize| -> Vec<f64> {
        let cell = |j: usize| ((i * 7919 + j * 104_729 + i * j * 31) % 1009) as f64 / 200.0;
        (0..20).map(cell).chain([(i % 3) as f64]).collect()
    };
    place.write("large.npy", common::npy(&(0..3000).map(row).collect::<Vec<_>>()));
    let line = "fit large.npy --label -1 --method nca --set tolerance=0 --max-iterations 100000 --keep-best -v -o m.st";
    let mut child = start(&place, line);
    let mut stderr = BufReader::new(child.stderr.take().expect("stderr"));
    let mut told = String::new();
    while !told.contains("Ctrl-C stops with the best metric so far") {
        assert!(stderr.read_line(&mut told).expect("text") > 0, "{told}");
    }
    interrupt(&mut child);
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    stderr.read_to_string(&mut told).expect("text");
    assert!(told.contains("warning: nca: not converged: limit of time reached"), "{told}");
    assert_eq!(place.model("m.st").diagnostics["converged"], false);
    assert_eq!(place.ok("predict m.st large.npy --label -1").stdout.lines().count(), 3001);
    assert!(place.unfinished().is_empty());
}

#[test]
fn every_command_shows_examples_that_fit_a_terminal() {
    let place = Place::new();
    for command in COMMANDS {
        let help = place.ok(&format!("{command} --help")).stdout;
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{command}: {help}"));
        assert!(examples.contains(&format!("mahala {command}")), "{command}: {examples}");
        assert!(examples.lines().all(|line| line.chars().count() <= 80), "{command}: {examples}");
        assert_eq!(place.ok(&format!("help {command}")).stdout, help);
    }
    insta::assert_snapshot!("help", place.ok("--help").stdout);
}

#[test]
fn without_a_command_help_is_shown() {
    let place = Place::new();
    let ran = place.run("");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert_eq!(ran.stderr, place.ok("-h").stdout);
    let version = place.ok("--version").stdout;
    assert_eq!(version, format!("mahala {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_know_the_commands() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.ok(&format!("completions {shell}")).stdout;
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    place.misuse("completions tcsh", "[possible values: bash, elvish, fish, powershell, zsh]");
}
