//! Rows in one file and their labels in another, as Python programs save them.

mod common;

use common::{Place, npy, npy_1d, numbers};

/// The irises as an array of their features and a list of their classes.
fn place() -> (Place, Vec<String>) {
    let place = Place::new();
    let iris = place.text("iris.csv");
    place.write("X.npy", npy(&numbers(&iris, 4)));
    let labels: Vec<String> =
        iris.lines().skip(1).filter_map(|line| line.rsplit(',').next()).map(str::to_owned).collect();
    (place, labels)
}

/// The number of each class, in the order in which they come.
fn codes(labels: &[String]) -> Vec<i64> {
    let mut names: Vec<&String> = Vec::new();
    let code = |label| {
        let known = names.iter().position(|name| *name == label);
        let place = known.unwrap_or_else(|| {
            names.push(label);
            names.len() - 1
        });
        i64::try_from(place).expect("a few classes")
    };
    labels.iter().map(code).collect()
}

fn wide(labels: &[String]) -> Vec<u8> {
    let most = labels.iter().map(|label| label.chars().count()).max().expect("labels");
    let cell = |label: &String| {
        let letters = label.chars().map(u32::from).chain(std::iter::repeat(0)).take(most);
        letters.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    npy_1d(&format!("<U{most}"), labels.len(), &labels.iter().flat_map(cell).collect::<Vec<u8>>())
}

fn narrow(labels: &[String]) -> Vec<u8> {
    let most = labels.iter().map(String::len).max().expect("labels");
    let cell = |label: &String| label.bytes().chain(std::iter::repeat(0)).take(most).collect::<Vec<u8>>();
    npy_1d(&format!("|S{most}"), labels.len(), &labels.iter().flat_map(cell).collect::<Vec<u8>>())
}

#[test]
fn labels_of_any_type_in_a_file_of_their_own_give_the_model_of_a_column() {
    let (place, labels) = place();
    let lines = |from: &[String]| from.join("\n") + "\n";
    place.write("wide.npy", wide(&labels));
    place.write("narrow.npy", narrow(&labels));
    place.write("plain.txt", lines(&labels));
    place.write("named.txt", format!("species\n{}", lines(&labels)));
    place.ok("fit iris.csv --label label --method gmml --t 0.4 -o column.st");
    let of = |name: &str| {
        let mut model = place.model(name);
        model.feature_names.clear();
        model.to_bytes()
    };
    let expected = of("column.st");
    for file in ["wide.npy", "narrow.npy", "plain.txt", "named.txt"] {
        let told = place.ok(&format!("fit X.npy --labels {file} --method gmml --t 0.4 -o m.st")).stderr;
        assert!(of("m.st") == expected, "{file}");
        let note = "note: the first line of named.txt, \"species\", is taken for the column's name";
        assert_eq!(told.contains(note), file == "named.txt", "{told}");
    }
    // Numbers of every kind are one label, by the rule for all labels.
    let codes = codes(&labels);
    place
        .write("i8.npy", npy_1d("<i8", 150, &codes.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>()));
    let floats: Vec<u8> = codes.iter().flat_map(|&x| (x as f32).to_be_bytes()).collect();
    place.write("f4.npy", npy_1d(">f4", 150, &floats));
    place.write("plus.txt", codes.iter().map(|x| format!("+{x}.0\n")).collect::<Vec<_>>().concat());
    place.ok("fit X.npy --labels i8.npy --method gmml --t 0.4 -o expected.st");
    for file in ["f4.npy", "plus.txt"] {
        place.ok(&format!("fit X.npy --labels {file} --method gmml --t 0.4 -o m.st"));
        assert!(place.read("m.st") == place.read("expected.st"), "{file}");
    }
}

#[test]
fn every_command_with_labels_takes_them_from_a_file() {
    let (place, labels) = place();
    place.write("y.npy", wide(&labels));
    place.ok("fit X.npy --labels y.npy --method gmml --t 0.4 -o m.st");
    place.ok("fit iris.csv --label label --method gmml --t 0.4 -o iris.st");
    let told = place.ok("predict m.st X.npy --labels y.npy");
    let column = place.ok("predict iris.st iris.csv --label label");
    assert_eq!((told.stdout, told.stderr), (column.stdout, column.stderr));
    let near = place.ok("neighbors m.st X.npy --labels y.npy -k 2").stdout;
    assert_eq!(near, place.ok("neighbors iris.st iris.csv --label label -k 2").stdout);
    assert!(near.starts_with("row,rank,neighbor,distance,label\n"), "{near}");
    let tuned = |line: &str| place.json(&format!("tune {line} --steps 4 --json"))["curve"].clone();
    assert_eq!(tuned("X.npy --labels y.npy"), tuned("iris.csv --label label"));
    let error =
        |line: &str| place.json(&format!("evaluate {line} --json"))["results"][0]["error_mean"].clone();
    let few = "--method gmml --t 0.4 --runs 2";
    assert_eq!(
        error(&format!("X.npy --labels y.npy {few}")),
        error(&format!("iris.csv --label label {few}"))
    );
    let judged = |line: &str| place.json(&format!("evaluate {line} --json"))["results"].clone();
    assert_eq!(judged("m.st X.npy --labels y.npy"), judged("iris.st iris.csv --label label"));
}

#[test]
fn counts_that_differ_are_refused_with_both_numbers() {
    let (place, labels) = place();
    place.write("short.npy", wide(&labels[1..]));
    place.write("short.txt", labels[1..].join("\n"));
    place.write("long.txt", format!("{}\nvirginica\nvirginica\n", labels.join("\n")));
    for (file, seen) in [("short.npy", 149), ("short.txt", 149), ("long.txt", 152)] {
        place.refuses(
            &format!("fit X.npy --labels {file} -o m.st"),
            &format!(
                "error: {file}: {seen} labels for the 150 rows of X.npy\n\
                 hint: one label a row is wanted, in the order of the rows; where one is missing, write NA"
            ),
        );
    }
    place.write("two.csv", "a,b\n1,2\n");
    let ran = place.run("fit X.npy --labels two.csv -o m.st");
    assert!(
        ran.stderr.starts_with("error: two.csv, line 2: 2 cells where one label is expected\nhint: "),
        "{}",
        ran.stderr
    );
    place.write("square.npy", npy(&vec![vec![1.0, 2.0]; 150]));
    let ran = place.run("fit X.npy --labels square.npy -o m.st");
    assert!(ran.stderr.contains("square.npy: the array has shape (150, 2)"), "{}", ran.stderr);
    place.misuse("fit X.npy --label 1 --labels short.npy -o m.st", "--labels");
    place.refuses(
        "fit X.npy --labels short.npy --stream --method gmml -o m.st",
        "error: --labels needs all rows at once\nhint: leave --labels or --stream out",
    );
}

#[test]
fn rows_that_are_dropped_take_their_labels_with_them() {
    let place = Place::new();
    let row =
        |i: usize| format!("{},{}\n", (i * 7) % 11, if i == 3 { String::new() } else { (i % 5).to_string() });
    place.write("X.csv", "a,b\n".to_owned() + &(0..20).map(row).collect::<String>());
    let label = |i: usize| if i == 5 { "NA\n" } else { ["p\n", "q\n"][i % 2] };
    place.write("y.txt", (0..20).map(label).collect::<String>());
    let both = |i: usize| format!("{},{}", row(i).trim_end(), label(i));
    place.write("t.csv", "a,b,y\n".to_owned() + &(0..20).map(both).collect::<String>());
    place.refuses(
        "fit X.csv --labels y.txt --missing zero --method gmml --t 0.5 -o m.st",
        "error: y.txt, label 6: the label is missing\n\
         hint: labels such as NA, NaN and ? are missing; --missing drop leaves these rows out",
    );
    let line = "--missing drop --method gmml --t 0.5 -o";
    let told = place.ok(&format!("fit X.csv --labels y.txt {line} m.st")).stderr;
    assert!(
        told.contains("1 row dropped: missing label") && told.contains("1 row dropped: missing cells"),
        "{told}"
    );
    place.ok(&format!("fit t.csv --label y {line} column.st"));
    assert!(place.read("m.st") == place.read("column.st"));
}
