//! Files read in one pass: `fit --stream`, `moments`, `merge`, `transform` and `predict` in streams.

mod common;

use common::Place;
use mahala::Model;

/// A table of four columns and three classes that are not too far apart; one line more for a header.
fn rows(n: usize) -> String {
    let mut text = String::from("a,b,c,d,y\n");
    for i in 0..n {
        let noise = |k: usize| ((i * k) as f64).sin();
        let class = i * 7 % 3;
        let a = noise(13) + class as f64;
        let (b, c, d) = (4.0 * noise(17) - a, noise(19) * 0.3 + class as f64 / 4.0, 1e3 + noise(23));
        text.push_str(&format!("{a},{b},{c},{d},k{class}\n"));
    }
    text
}

fn place(n: usize) -> Place {
    let place = Place::new();
    place.write("t.csv", rows(n));
    place
}

/// The greatest difference of two metrics, relative to the greatest entry.
fn difference(a: &Model, b: &Model) -> f64 {
    let (a, b) = (a.metric.matrix().expect("a matrix"), b.metric.matrix().expect("a matrix"));
    (&a - &b).norm_max() / b.norm_max()
}

#[test]
fn a_streamed_fit_equals_the_fit_in_memory() {
    let place = place(1500);
    for options in
        ["", "--standardize", "--t 0.3", "--shrinkage 0.1", "--lambda 0.5", "--balance classes", "--rank 2"]
    {
        place.ok(&format!("fit t.csv --label y --method gmml {options} -o whole.st"));
        place.ok(&format!("fit t.csv --label y --method gmml --stream {options} -o stream.st"));
        let (whole, stream) = (place.model("whole.st"), place.model("stream.st"));
        // S has condition 1e3 or less here, and each sum an error of some 1e-15.
        assert!(difference(&stream, &whole) < 1e-12, "{options}: {:e}", difference(&stream, &whole));
        assert_eq!(stream.params, whole.params, "{options}");
        assert_eq!(stream.feature_names, whole.feature_names);
        let references = |model: &Model| model.references.as_ref().map(|(rows, _)| rows.len());
        assert_eq!((references(&stream), references(&whole)), (Some(1500), Some(1500)), "{options}");
    }
}

#[test]
fn a_streamed_fit_equals_the_fit_in_memory_where_columns_depend_on_others() {
    let place = Place::new();
    let table: Vec<String> = rows(1500)
        .lines()
        .map(|line| {
            let cells: Vec<f64> = line.split(',').filter_map(|cell| cell.parse().ok()).collect();
            let [a, b, c, ..] = cells[..] else { return format!("e,f,{line}\n") };
            format!("{},{},{line}\n", a + b + c, 2.0 * b - a)
        })
        .collect();
    place.write("t.csv", table.concat());
    for options in ["--t 0.5", "--t 0", "--t 0.3 --standardize", "--t 0.5 --rank 2"] {
        let ran = place.ok(&format!("fit t.csv --label y --method gmml {options} -o whole.st"));
        assert!(ran.stderr.contains("learned inside the 4 directions that the rows span"), "{}", ran.stderr);
        place.ok(&format!("fit t.csv --label y --method gmml --stream {options} -o stream.st"));
        let off = difference(&place.model("stream.st"), &place.model("whole.st"));
        assert!(off < 1e-12, "{options}: {off:e}");
    }
}

#[test]
fn every_source_gives_the_same_sums() {
    let place = place(900);
    let text = rows(900);
    let mut lines = text.lines();
    let header = lines.next().expect("a header");
    let lines: Vec<&str> = lines.collect();
    std::fs::create_dir(place.path("parts")).expect("a folder");
    for (k, part) in lines.chunks(250).enumerate() {
        place.write(&format!("parts/p{k}.csv"), format!("{header}\n{}\n", part.join("\n")));
    }
    place.ok("fit t.csv --label y --method gmml --stream -o file.st");
    let file = place.model("file.st");
    let ran = place.run_on("fit - --label y --method gmml --stream -o stdin.st", text.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // The same blocks: the same bits.
    assert_eq!(place.read("file.st"), place.read("stdin.st"));
    for (source, name) in [("parts", "folder.st"), ("parts/p*.csv", "glob.st")] {
        place.ok(&format!("fit {source} --label y --method gmml --stream -o {name}"));
        assert!(difference(&place.model(name), &file) < 1e-12, "{source}");
    }
    assert_eq!(place.read("folder.st"), place.read("glob.st"));
    // Threads change nothing.
    place.ok("--threads 1 fit parts --label y --method gmml --stream -o one.st");
    place.ok("--threads 3 fit parts --label y --method gmml --stream -o three.st");
    assert_eq!(place.read("one.st"), place.read("three.st"));
    // Without --stream, a folder of small files is one table.
    place.ok("fit parts --label y --method gmml --t 0.5 -o whole.st");
    place.ok("fit t.csv --label y --method gmml --t 0.5 -o one-file.st");
    assert_eq!(place.read("whole.st"), place.read("one-file.st"));
}

#[test]
fn moments_of_parts_merge_into_those_of_the_whole() {
    let place = place(600);
    let text = rows(600);
    let at = text.match_indices('\n').nth(200).expect("lines").0 + 1;
    place.write("one.csv", &text[..at]);
    place.write("two.csv", format!("a,b,c,d,y\n{}", &text[at..]));
    for name in ["one", "two"] {
        place.ok(&format!("moments {name}.csv --label y -o {name}.moments"));
    }
    let ran = place.ok("merge one.moments two.moments -o all.moments");
    assert!(ran.stderr.starts_with("added 2 parts: 600 rows\nwrote all.moments: "), "{}", ran.stderr);
    place.ok("fit --moments all.moments --t 0.3 --standardize -o sums.st");
    place.ok("fit t.csv --label y --method gmml --t 0.3 --standardize -o whole.st");
    let (sums, whole) = (place.model("sums.st"), place.model("whole.st"));
    assert!(difference(&sums, &whole) < 1e-12);
    assert_eq!(sums.feature_names, ["a", "b", "c", "d"]);
    // Rows beside the sums are the sample on which t is chosen.
    place.ok("fit t.csv --label y --moments all.moments -o chosen.st");
    place.ok("fit t.csv --label y --method gmml -o gmml.st");
    assert!(difference(&place.model("chosen.st"), &place.model("gmml.st")) < 1e-12);
    // The same parts in the same order: the same bytes.
    place.ok("merge one.moments two.moments -o again.moments");
    assert_eq!(place.read("all.moments"), place.read("again.moments"));
}

#[test]
fn sums_that_do_not_fit_together_are_refused() {
    let place = place(60);
    place.write("other.csv", rows(60).replacen("a,b", "a,bee", 1));
    place.write("few.csv", "a,y\n1,u\n2,v\n");
    for name in ["t", "other", "few"] {
        place.ok(&format!("moments {name}.csv --label y -o {name}.moments"));
    }
    place.refuses(
        "merge t.moments other.moments -o x.moments",
        "error: other.moments: moments cannot be combined: column 'bee' where 'b' is expected",
    );
    place.refuses(
        "merge t.moments few.moments -o x.moments",
        "error: few.moments: columns of the rows: 1 given, 4 expected",
    );
    place.refuses(
        "fit --moments t.csv --t 0.5 -o m.st",
        "error: t.csv: not a valid moments file: they do not begin with MAHALAM1 or MAHALAM2\nhint: sums are written by \
         mahala moments and by mahala merge",
    );
    place.refuses(
        "fit --moments t.moments -o m.st",
        "error: t cannot be chosen on sums alone\nhint: --t 0.5, or a sample of the rows: mahala fit sample.csv --label \
         y --moments t.moments",
    );
    place.refuses(
        "fit --moments t.moments --t 0.5 --kernel rbf -o m.st",
        "error: --kernel needs all rows, and --moments has their sums alone\nhint: leave --kernel out",
    );
    place.refuses(
        "fit other.csv --label y --moments t.moments -o m.st",
        "error: other.csv has other feature columns than the sums: a, bee, c, d where they have a, b, c, d\nhint: \
         --ignore leaves columns out",
    );
    place.refuses(
        "merge no.moments -o x.moments",
        "error: no.moments: there is no such file\nhint: sums are written by mahala moments",
    );
    place.misuse("fit -o m.st", "required");
    assert!(!place.names().iter().any(|name| name == "m.st" || name == "x.moments"));
}

#[test]
fn what_needs_all_rows_is_refused_in_a_stream() {
    let place = place(60);
    for (option, value) in [
        ("--pairs", "sampled"),
        ("--weights", "a"),
        ("--calibrate", "platt"),
        ("--multilabel", ";"),
        ("--local", "class"),
        ("--kernel", "rbf"),
        ("--principal", "2"),
        ("--rank", "auto"),
        ("--groups", "a"),
    ] {
        let ran = place.run(&format!("fit t.csv --label y --method gmml --stream {option} {value} -o m.st"));
        assert_eq!(ran.code, 1, "{option}");
        assert!(ran.stderr.contains(option) && ran.stderr.contains("\nhint: "), "{}", ran.stderr);
    }
    place.refuses(
        "fit t.csv --label y --stream -o m.st",
        "error: --stream has no effect on auto\nhint: it goes with --method gmml",
    );
    place.refuses(
        "fit t.csv --method gmml --stream -o m.st",
        "error: a stream is learned from by its labels\nhint: --label COLUMN",
    );
    assert!(!place.names().iter().any(|name| name == "m.st"));
}

#[test]
fn a_streamed_fit_says_what_t_was_chosen_on() {
    let place = place(800);
    let ran = place.ok("fit t.csv --label y --method gmml --stream --selection-rows 300 -o m.st");
    assert!(
        ran.stderr.starts_with("streamed 800 rows; t chosen on a sample of 300 rows\n"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("the training rows are not kept in the model"), "{}", ran.stderr);
    assert!(place.model("m.st").references.is_none() && place.model("m.st").threshold.is_some());
    place.ok("fit t.csv --label y --method gmml --stream --selection-rows 300 -o again.st");
    assert_eq!(place.read("m.st"), place.read("again.st"));
    let ran = place
        .ok("fit t.csv --label y --method gmml --stream --selection-rows 300 --keep-rows always -o kept.st");
    assert!(
        ran.stderr.contains("note: a sample of 300 rows is kept in the model, not all"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.model("kept.st").references.map(|(rows, _)| rows.len()), Some(300));
}

#[test]
fn bad_rows_are_counted_and_shown() {
    let place = place(100);
    place.write("bad.csv", rows(100).replacen("k1\n", "k1\n1,2,three,4,k0\n1,2\n", 1));
    place.ok("fit t.csv --label y --method gmml --t 0.5 -o t.st");
    for stream in ["", "--stream"] {
        let ran = place
            .ok(&format!("fit bad.csv --label y --method gmml --t 0.5 --skip-bad-rows 2 {stream} -o m.st"));
        let line = "note: 2 bad rows skipped:\n  bad.csv, line 4, column 'c': \"three\" is not a number\n  bad.csv, line 5: \
                    2 cells where line 1 has 5: \"1,2\"\n";
        assert!(ran.stderr.contains(line), "{}", ran.stderr);
        assert!(difference(&place.model("m.st"), &place.model("t.st")) < 1e-12);
        let ran = place
            .run(&format!("fit bad.csv --label y --method gmml --t 0.5 --skip-bad-rows 1 {stream} -o x.st"));
        assert!(
            ran.stderr.contains("2 bad rows up to row 102, and --skip-bad-rows allows 1"),
            "{}",
            ran.stderr
        );
        let ran = place.run(&format!("fit bad.csv --label y --method gmml --t 0.5 {stream} -o x.st"));
        assert!(ran.stderr.starts_with("error: bad.csv, line 4, column 'c': \"three\" is not a number"));
    }
    assert!(!place.names().iter().any(|name| name == "x.st"));
}

#[test]
fn transform_and_predict_write_the_same_in_a_stream() {
    let place = place(700);
    place.ok("fit t.csv --label y --method gmml --t 0.5 -o m.st");
    for form in ["csv", "npy"] {
        place.ok(&format!("transform m.st t.csv --label y -o whole.{form}"));
        place.ok(&format!("transform m.st t.csv --label y --stream -o stream.{form}"));
        assert_eq!(place.read(&format!("whole.{form}")), place.read(&format!("stream.{form}")), "{form}");
    }
    let whole = place.ok("predict m.st t.csv --label y");
    let stream = place.ok("predict m.st t.csv --label y --stream");
    assert_eq!(whole.stdout, stream.stdout);
    assert_eq!(whole.stderr, stream.stderr);
    // Rows that are left out keep their numbers.
    place.write("some.csv", "a,b,c,d\n1,2,3,4\nx,2,3,4\n1,2,3,5\n");
    let ran = place.ok("predict m.st some.csv --stream --skip-bad-rows 1");
    assert!(ran.stdout.contains("\n1,") && ran.stdout.contains("\n3,") && !ran.stdout.contains("\n2,"));
    place.write("bad.csv", format!("{}1,2,3,oops,k0\n", rows(700)));
    place.refuses(
        "transform m.st bad.csv --stream --label y -o z.csv",
        "error: bad.csv, line 702, column 'd': \"oops\" is not a number\nhint: the model needs numbers in this column",
    );
    assert!(!place.names().iter().any(|name| name == "z.csv"));
}

#[test]
fn very_many_classes_are_read_twice() {
    // 1500 classes of 160 columns: 307 MB of sums for each, above the 256 MB of a file.
    let place = Place::new();
    let names: Vec<String> = (0..160).map(|j| format!("x{j}")).collect();
    let mut text = names.join(",") + ",y\n";
    for i in 0..4500 {
        for j in 0..160 {
            let noise = ((f64::from(i * 160 + j) * 12.9898).sin() * 43758.5453).fract();
            text.push_str(&format!("{noise},"));
        }
        text.push_str(&format!("{}\n", i % 1500));
    }
    place.write("many.csv", &text);
    let ran = place.ok("fit many.csv --label y --method gmml --stream --t 0.5 -o two.st");
    assert!(
        ran.stderr.contains("classes and more are too many for sums of each; all is read twice"),
        "{}",
        ran.stderr
    );
    place.ok("fit many.csv --label y --method gmml --t 0.5 -o whole.st");
    let difference = difference(&place.model("two.st"), &place.model("whole.st"));
    assert!(difference < 1e-11, "{difference:e}");
    let ran = place.run_on("fit - --label y --method gmml --stream --t 0.5 -o pipe.st", text.as_bytes());
    assert_eq!(ran.code, 0, "what a pipe may take is more: {}", ran.stderr);
}
