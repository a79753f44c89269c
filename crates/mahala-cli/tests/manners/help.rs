//! Help: short enough for a screen, with examples that run.

use crate::common::{Place, binary, npy, npy_1d};
use std::process::Command;

/// The commands, as the help lists them.
fn commands(place: &Place) -> Vec<String> {
    let help = place.ok("-h").stdout;
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_short_help_of_every_command_fits_a_screen() {
    let place = Place::new();
    for command in std::iter::once(String::new()).chain(commands(&place)) {
        let mut shown = Command::new(binary());
        shown.args(command.split_whitespace()).arg("-h").env("COLUMNS", "100");
        let help = String::from_utf8(shown.output().expect("the command runs").stdout).expect("text");
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(help.lines().count() <= 40, "{command}: {} lines\n{help}", help.lines().count());
        // Examples are not wrapped.
        assert!(widest.is_some_and(|widest| widest <= 110), "{command}: {widest:?} columns\n{help}");
    }
}

/// The lines of the examples of a help text that are typed, without the remarks behind them.
fn examples(help: &str) -> Vec<String> {
    let (_, examples) = help.split_once("\nExamples:\n").expect("examples");
    let typed = |line: &&str| line.starts_with("  mahala ");
    let line = |line: &str| line.trim().split("   ").next().unwrap_or_default().to_owned();
    examples.lines().filter(typed).map(line).collect()
}

/// The wines under the name that the examples have for the column of classes, and tables of every other name.
fn tables(place: &Place) {
    let wine = place.text("wine.csv").replacen("label", "class", 1);
    for name in ["wine.csv", "new-wines.csv", "test.csv", "wines.csv", "queries.csv", "new.csv", "old.csv"] {
        place.write(name, &wine);
    }
    let row = |i: usize| -> Vec<f64> {
        let cell = |j: usize| ((i * 7919 + j * 104_729 + i * j * 31) % 1009) as f64 / 100.0 + (i % 4) as f64;
        (0..4).map(cell).collect()
    };
    let csv = |rows: std::ops::Range<usize>, label: &str| {
        let line = |i: usize| {
            let cells: Vec<String> = row(i).iter().map(f64::to_string).collect();
            format!("{},{}\n", cells.join(","), label.replace('#', &format!("{}", i % 4)))
        };
        rows.map(line).collect::<String>()
    };
    let bare = |rows: std::ops::Range<usize>| {
        let lines = csv(rows, "");
        format!("a,b,c,d\n{}", lines.replace(",\n", "\n"))
    };
    for name in ["rows.csv", "left.csv", "right.csv"] {
        place.write(name, bare(0..60));
    }
    for (name, head) in [("monday.csv", "y"), ("rings.csv", "ring"), ("big.csv", "y"), ("part-1.csv", "y")] {
        place.write(name, format!("a,b,c,d,{head}\n{}", csv(0..80, "k#")));
    }
    place.write("vowel.csv", format!("a,b,c,d,y\n{}", csv(0..990, "k#")));
    place.write("posts.csv", format!("a,b,c,d,tags\n{}", csv(0..60, "t#;all")));
    let svm = |i: usize| {
        let cells: Vec<String> =
            row(i).iter().enumerate().map(|(j, cell)| format!("{}:{cell}", j + 1)).collect();
        format!("{} {}\n", i % 4, cells.join(" "))
    };
    place.write("texts.svm", (0..60).map(svm).collect::<String>());
    let labelled = |i: usize| row(i).into_iter().chain([(i % 4) as f64]).collect::<Vec<f64>>();
    place.write("emb.npy", npy(&(0..60).map(labelled).collect::<Vec<_>>()));
    for name in ["vectors.npy", "documents.npy", "queries.npy", "rows.npy"] {
        place.write(name, npy(&(0..60).map(row).collect::<Vec<_>>()));
    }
    place.write("X.npy", npy(&(0..60).map(row).collect::<Vec<_>>()));
    place.write(
        "y.npy",
        npy_1d("<f8", 60, &(0..60).flat_map(|i| f64::from(i % 4).to_le_bytes()).collect::<Vec<_>>()),
    );
    // Every second pair is of one class: classes go round by four.
    let pair = |i: usize| format!("{},{},{}\n", i + 1, (i + 4 + i % 2) % 60 + 1, 1 - i % 2);
    let pairs = format!("first,second,similar\n{}", (0..60).map(pair).collect::<String>());
    ["pairs.csv", "marked.csv"].iter().for_each(|name| place.write(name, &pairs));
    place.write("candidates.csv", "first,second\n1,5\n2,7\n");
    let triplet = |i: usize| format!("{},{},{}\n", i + 1, (i + 4) % 60 + 1, (i + 5) % 60 + 1);
    place.write("triplets.csv", format!("anchor,near,far\n{}", (0..60).map(triplet).collect::<String>()));
    let click = |i: usize| format!("{},{}\n", i + 1, (i + 4) % 60 + 1);
    let clicks = format!("query,document\n{}", (0..60).map(click).collect::<String>());
    ["clicks.csv", "judged.csv"].iter().for_each(|name| place.write(name, &clicks));
    for line in [
        "fit wine.csv --label class --method gmml -o wine.safetensors",
        "fit rows.csv --pairs pairs.csv --calibrate platt -o m.safetensors",
        "fit vectors.npy --pairs pairs.csv -o emb.safetensors",
        "adapt documents.npy --queries queries.npy --clicks clicks.csv -o adapter.safetensors",
        "moments monday.csv --label y -o monday.moments",
        "moments monday.csv --label y -o tuesday.moments",
        "moments monday.csv --label y -o part-1.moments",
    ] {
        place.ok(line);
    }
    place.write("all.moments", place.read("monday.moments"));
    place.write("both.moments", place.read("monday.moments"));
}

#[test]
fn every_example_of_a_help_text_runs() {
    let place = Place::new();
    tables(&place);
    // Models of these tables under the names of the examples: which rows a model is for, its lines do not say.
    let kept: Vec<(&str, Vec<u8>)> =
        ["wine.safetensors", "m.safetensors", "emb.safetensors", "adapter.safetensors"]
            .map(|name| (name, place.read(name)))
            .into();
    let (mut ran, mut skipped) = (0, 0);
    for command in commands(&place) {
        for flag in ["-h", "--help"] {
            for line in examples(&place.ok(&format!("{command} {flag}")).stdout) {
                // Parquet is written by no program here, the home of a user is not touched, and the lines of sixteen runs
                // of everything are slow.
                let line = line
                    .split(" | jq")
                    .next()
                    .unwrap_or_default()
                    .split(" | head")
                    .next()
                    .unwrap_or_default();
                let apart = [".parquet", "~/", "zcat", ".csv.gz", "part-*", "--train old.csv"];
                if apart.iter().any(|part| line.contains(part)) {
                    skipped += 1;
                    continue;
                }
                let quick = if line.contains(" evaluate ")
                    && !line.contains("-folds")
                    && !line.contains("-rows")
                    && !line.contains("safetensors")
                {
                    format!("{line} --runs 1")
                } else {
                    line.to_owned()
                };
                let words: Vec<String> =
                    quick.split_whitespace().skip(1).map(|word| word.replace('\'', "")).collect();
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let done = place.run_arguments(&words, b"");
                assert_eq!(done.code, 0, "{line}\n{}", done.stderr);
                ran += 1;
                kept.iter().for_each(|(name, bytes)| place.write(name, bytes));
            }
        }
    }
    assert!(ran > 60 && skipped < 30, "{ran} ran, {skipped} were left out");
}

#[test]
fn man_pages_are_there_for_every_command() {
    let place = Place::new();
    place.ok("man pages");
    let page = |name: &str| place.text(&format!("pages/{name}.1"));
    assert!(page("mahala").contains(".TH MAHALA 1"), "{}", page("mahala"));
    for command in commands(&place) {
        let page = page(&format!("mahala-{command}"));
        assert!(page.contains(&format!("mahala\\-{command}")) && page.contains("Examples:"), "{page}");
        assert!(!page.contains('\u{1b}'), "{command}");
    }
    assert!(page("mahala-fit").contains("\\-\\-label"));
    place.write("file", "");
    let refused = place.run("man file");
    assert!(refused.code == 1 && refused.stderr.starts_with("error: cannot make file"), "{}", refused.stderr);
}
