//! The tables, models and sums that the cells are run on.

use crate::common::Place;
use std::fmt::Write as _;

/// A directory with everything that a cell may name.
pub(crate) fn place() -> Place {
    let place = Place::new();
    let (rows, labels) = draw(60);
    let table = |separator: char, edit: &dyn Fn(usize, Vec<String>) -> Vec<String>| {
        let mut text = ["a", "b", "c", "d", "w", "g", "y"].join(&separator.to_string()) + "\n";
        for (i, row) in rows.iter().enumerate() {
            let mut cells: Vec<String> = row.iter().map(|x| format!("{x:.3}")).collect();
            cells.push((1 + i % 3).to_string());
            cells.push((i / 4).to_string());
            cells.push(labels[i].to_string());
            text.push_str(&(edit(i, cells).join(&separator.to_string()) + "\n"));
        }
        text
    };
    let plain = table(',', &|_, cells| cells);
    place.write("t.csv", &plain);
    place.write("colons.csv", table(':', &|_, cells| cells));
    let emptied = |i: usize, mut cells: Vec<String>| {
        if i == 7 {
            cells[0] = String::new();
        }
        cells
    };
    place.write("gap.csv", table(',', &emptied));
    // No pair names this row.
    place.write("bad.csv", format!("{plain}x,1,1,1,1,1,p\n"));
    // Names that are numbers: only the option tells them from data.
    place.write("numbered.csv", plain.replacen("a,b,c,d,w,g,y", "1,2,3,4,5,6,y", 1));
    place.write(
        "moved.csv",
        table(',', &|i, mut cells| {
            cells[1] = format!("{}.5", i % 5);
            cells
        }),
    );
    let mut sets = plain.clone();
    for (one, several) in [(",p\n", ",p;q\n"), (",r\n", ",r;p\n")] {
        sets = sets.replace(one, several);
    }
    place.write("sets.csv", sets);
    place.write("labels.txt", labels.iter().flat_map(|&label| [label, '\n']).collect::<String>());
    place.write("pairs.csv", pairs(&labels));
    place.write("prior.csv", prior());
    let lines = |end: &str| {
        let line = |i: usize| [i, i + 6, i + 3].map(|row| row.to_string()).join(",") + end;
        (1..=40).map(line).collect::<Vec<_>>().join("\n")
    };
    place.write("triplets.csv", format!("anchor,near,far\n{}", lines("")));
    let clicked = (0..60).map(|i| format!("{},{},{}\n", 1 + i % 20, 1 + (7 * i) % 59, 1 + i % 3));
    place.write("clicks.csv", format!("query,document,gain\n{}", clicked.collect::<String>()));
    place.write("quadruplets.csv", format!("a,b,c,d\n{}", lines(",50")));
    place.write("gram.csv", gram(&rows, &labels));
    place.write("t.svm", svm(&rows, &labels));
    models(&place);
    place
}

fn models(place: &Place) {
    let lines = [
        "moments t.csv --label y -o t.moments",
        "moments moved.csv --label y -o moved.moments",
        "fit t.csv --label y --method gmml -o gmml.st",
        "fit t.csv --label y --method gmml --t 0.93 --lambda 1000 -o other.st",
        "fit t.csv --label y --method gmml --calibrate platt -o calibrated.st",
        "fit t.csv --label y --method gmml --kernel rbf -o kernel.st",
        "fit t.csv --label y --method gmml --local class -o local.st",
        "fit t.csv --label 2 --ignore y --regression --set t=0.4 -o regression.st",
    ];
    lines.iter().for_each(|line| _ = place.ok(line));
}

/// Rows of three classes that overlap, so that every change of a metric changes some votes.
fn draw(n: usize) -> (Vec<[f64; 4]>, Vec<char>) {
    let mut state = 7u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal = || (0..6).map(|_| uniform()).sum::<f64>() - 3.0;
    // Unequal classes: balance must change something.
    let class = |i: usize| [0, 0, 0, 1, 1, 2][i % 6];
    let rows = (0..n).map(|i| {
        let centre = class(i) as f64;
        [centre + normal(), 3.0 * normal() - centre, normal() + 0.4 * centre * centre, 0.5 * normal()]
    });
    (rows.collect(), (0..n).map(|i| ['p', 'q', 'r'][class(i)]).collect())
}

fn pairs(labels: &[char]) -> String {
    let mut text = String::from("first,second,similar\n");
    for i in 0..160usize {
        let (first, second) = ((i * 37) % 60, (i * i * 29 + 11) % 60);
        if first != second {
            let same = u8::from(labels[first] == labels[second]);
            writeln!(text, "{},{},{same}", first + 1, second + 1).expect("memory");
        }
    }
    text
}

/// A prior for six columns, far from the identity.
fn prior() -> String {
    let row = |i: usize| {
        let cells = (0..6).map(|j| if i == j { format!("{}", 1 + 9 * i) } else { "0".into() });
        cells.collect::<Vec<String>>().join(",")
    };
    (0..6).map(|i| row(i) + "\n").collect()
}

/// Kernel values of all rows with all rows.
fn gram(rows: &[[f64; 4]], labels: &[char]) -> String {
    let mut text = (1..=rows.len()).map(|j| format!("k{j}")).collect::<Vec<_>>().join(",") + ",y\n";
    for (row, label) in rows.iter().zip(labels) {
        for other in rows {
            let product: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
            write!(text, "{},", (1.0 + product).powi(2)).expect("memory");
        }
        writeln!(text, "{label}").expect("memory");
    }
    text
}

fn svm(rows: &[[f64; 4]], labels: &[char]) -> String {
    let line = |(row, label): (&[f64; 4], &char)| {
        let cells = row.iter().enumerate().map(|(j, x)| format!(" {}:{x:.3}", j + 1));
        format!("{label}{}\n", cells.collect::<String>())
    };
    rows.iter().zip(labels).map(line).collect()
}
