//! How much is said, in which colours, and of what was written.

use crate::common::{Place, binary};
use std::process::Command;

#[test]
fn quiet_leaves_warnings_and_errors_alone() {
    let place = Place::new();
    let fit = "fit iris.csv --label label --method gmml -o m.st";
    assert!(place.ok(fit).stderr.contains("wrote m.st: 4 columns to 4 coordinates, 150 rows kept, "));
    let model = place.read("m.st");
    for line in [format!("{fit} -q"), format!("--quiet {fit}")] {
        assert_eq!(place.ok(&line).stderr, "");
    }
    assert!(place.read("m.st") == model);
    let warned = place.ok("fit iris.csv --label label --method lmnn --max-iterations 1 -q -o m.st").stderr;
    assert_eq!(warned, "warning: lmnn: not converged: limit of iterations reached\n");
    assert_eq!(place.run("inspect nowhere -q").stderr.lines().count(), 2);
    place.misuse("inspect m.st -q -v", "cannot be used with");
}

#[test]
fn verbose_says_how_long_each_part_took() {
    let place = Place::with_wine_model();
    for line in
        ["fit wine.csv --label label -o m.st -v", "predict wine.st wine.csv --ignore label -v -o p.csv"]
    {
        let told = place.ok(line).stderr;
        let timed = |part: &str| told.lines().any(|line| line.starts_with(part) && line.ends_with('s'));
        assert!(timed("reading wine.csv: ") && told.contains("\ntook "), "{told}");
    }
    let told = place.ok("neighbors wine.st wine.csv -v -o n.csv").stderr;
    assert!(told.contains("searching the neighbours of 178 rows among 178 rows: "), "{told}");
}

#[test]
fn colours_are_there_when_asked_for() {
    let place = Place::new();
    let run = |words: &[&str], no_color: &str| {
        let mut command = Command::new(binary());
        command.args(words).env("NO_COLOR", no_color).current_dir(place.path(""));
        let output = command.output().expect("the command runs");
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
    };
    let red = "\u{1b}[1;31merror:\u{1b}[0m nowhere: there is no such file\n\u{1b}[32mhint:\u{1b}[0m ";
    for words in [&["--color", "always", "inspect", "nowhere"][..], &["inspect", "nowhere", "--color=always"]]
    {
        // What is asked for stands before what the surroundings say.
        assert!(run(words, "").starts_with(red) && run(words, "1").starts_with(red), "{:?}", run(words, ""));
    }
    for words in [
        &["inspect", "nowhere"][..],
        &["--color", "never", "inspect", "nowhere"],
        &["--color", "never", "-h"],
    ] {
        assert!(!run(words, "").contains('\u{1b}'), "{words:?}");
    }
    assert!(run(&["--color", "always", "-h"], "").contains('\u{1b}'));
    place.misuse("inspect nowhere --color often", "[possible values: auto, always, never]");
}

#[test]
fn what_was_written_is_told_with_its_size() {
    let place = Place::with_wine_model();
    for (line, told) in [
        ("predict wine.st wine.csv --ignore label -o p.csv", "wrote p.csv: 178 rows x 3 columns, 1.3 kB\n"),
        ("neighbors wine.st wine.csv -k 3 -o n.csv", "wrote n.csv: 534 rows x 4 columns, "),
        ("transform wine.st wine.csv -o z.csv", "wrote z.csv: 178 rows x 13 columns, "),
        ("transform wine.st wine.csv -o z.npy", "wrote z.npy: 178 rows x 13 columns, 18.6 kB\n"),
        ("transform wine.st wine.csv --stream -o z.npy", "wrote z.npy: 178 rows x 13 columns, 18.6 kB\n"),
        ("export wine.st -o a.csv --what matrix", "wrote a.csv: 13 rows x 13 columns, "),
        ("moments wine.csv --label label -o a.moments", "wrote a.moments: sums of each class, 3.0 kB\n"),
        ("merge a.moments a.moments -o b.moments", "wrote b.moments: sums of each class, 3.0 kB\n"),
        ("tune wine.csv --label label --steps 2 --svg c.svg", "wrote c.svg: a figure, "),
    ] {
        let ran = place.ok(line);
        assert!(ran.stderr.contains(told), "{line}: {}", ran.stderr);
        let (_, size) = ran.stderr.trim_end().rsplit_once(", ").expect("a size");
        let file = place.path(told.split(['\u{20}', ':']).nth(1).expect("a name"));
        let bytes = std::fs::metadata(file).expect("a file").len() as f64;
        let shown: f64 = size.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
        let unit = if size.ends_with(" kB") { 1000.0 } else { 1.0 };
        assert!((shown * unit - bytes).abs() <= 0.05 * unit, "{line}: {size} of {bytes}");
    }
    assert!(!place.ok("predict wine.st wine.csv --ignore label").stderr.contains("wrote"));
}
