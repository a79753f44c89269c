//! Models that cannot be used, files that cannot be written, options that cannot be meant.

mod common;

use common::Place;

const MODEL_HINT: &str = "hint: a model is written by mahala fit, and named before the data";

#[test]
fn a_model_that_is_damaged_is_refused() {
    let place = Place::with_wine_model();
    let model = place.read("wine.st");
    let refuses = |bytes: &[u8], message: &str| {
        place.write("m.st", bytes);
        for line in ["inspect m.st", "predict m.st wine.csv", "export m.st -o x.json"] {
            place.refuses(line, message);
        }
    };
    let altered = |at: usize| {
        let mut bytes = model.clone();
        bytes[at] ^= 1;
        bytes
    };
    let checksum = "the checksum does not match: the file is altered or damaged";
    refuses(&altered(model.len() - 1), &format!("error: not a model file: m.st: {checksum}\n{MODEL_HINT}"));
    refuses(&altered(model.len() / 2), &format!("error: not a model file: m.st: {checksum}\n{MODEL_HINT}"));
    let header = "its header is longer than the file (truncated, or not a safetensors file)";
    refuses(&model[..100], &format!("error: not a model file: m.st: {header}\n{MODEL_HINT}"));
    refuses(
        b"",
        &format!("error: not a model file: m.st: it has 0 bytes; not even a header fits\n{MODEL_HINT}"),
    );
    let mut bytes = model.clone();
    let at = model.windows(5).position(|w| w == b"\"1.0\"").expect("the version");
    bytes[at + 1] = b'3';
    refuses(
        &bytes,
        &format!(
            "error: not a model file: m.st: its format version is 3.0; this release reads up to 2.0: please \
             update\n{MODEL_HINT}"
        ),
    );
}

#[test]
fn every_truncation_and_every_flipped_bit_of_a_header_is_refused() {
    let place = Place::new();
    place.ok("fit iris.csv --label label --method gmml --t 0.5 --keep-rows never -o m.st");
    let model = place.read("m.st");
    for length in (0..model.len()).step_by(model.len() / 40) {
        place.write("cut.st", &model[..length]);
        assert_eq!(place.run("inspect cut.st").code, 1, "cut to {length} bytes");
    }
    for at in (0..model.len()).step_by(model.len() / 60) {
        let mut bytes = model.clone();
        bytes[at] ^= 1 << (at % 8);
        place.write("flipped.st", bytes);
        assert_eq!(place.run("inspect flipped.st").code, 1, "byte {at} flipped");
    }
}

#[test]
fn a_file_of_another_kind_is_no_model() {
    let place = Place::with_wine_model();
    let header = "its header is longer than the file (truncated, or not a safetensors file)";
    place.refuses(
        "predict wine.csv wine.st",
        &format!("error: not a model file: wine.csv: {header}\n{MODEL_HINT}"),
    );
    let foreign = br#"{"x":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}  "#;
    let mut bytes = (foreign.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(foreign);
    bytes.extend_from_slice(&[0; 8]);
    place.write("foreign.st", bytes);
    let reason = "it is a safetensors file of something else, with no format entry";
    place.refuses(
        "inspect foreign.st",
        &format!("error: not a model file: foreign.st: {reason}\n{MODEL_HINT}"),
    );
    place.refuses(
        "inspect nowhere.st",
        "error: nowhere.st: there is no such file\nhint: a model is written by mahala fit",
    );
    place.refuses("inspect .", "error: .: this is a directory, not a model file");
}

#[test]
fn columns_a_model_needs_are_named_when_they_are_missing() {
    let place = Place::with_wine_model();
    let wine = place.text("wine.csv");
    place.write("t.csv", wine.replacen("magnesium", "Mg", 1).replacen("hue", "tint", 1));
    let columns = "alcohol, malic_acid, ash, alcalinity_of_ash, Mg, total_phenols, flavanoids, \
                   nonflavanoid_phenols, proanthocyanins, color_intensity, tint, od280/od315_of_diluted_wines, \
                   proline, label";
    let message = format!(
        "error: t.csv: the model needs columns that the file does not have: magnesium, hue; the file has {columns}"
    );
    for command in ["transform", "predict", "neighbors"] {
        place.refuses(&format!("{command} wine.st t.csv"), &message);
    }
    place.write("narrow.csv", "1,2,3\n4,5,6\n");
    place.refuses(
        "predict wine.st narrow.csv",
        "error: narrow.csv: the model has 13 features, but the file has 3 columns beside the label, without \
         names\nhint: name the label with --label, leave columns out with --ignore, or add a header",
    );
}

#[test]
fn a_model_without_rows_asks_for_voters() {
    let place = Place::new();
    place.ok("fit iris.csv --label label --method gmml --keep-rows never -o m.st");
    place.refuses(
        "predict m.st iris.csv",
        "error: m.st holds no training rows to vote\n\
         hint: --train FILE --train-label COLUMN, or fit again with --label and --keep-rows always",
    );
    place.refuses(
        "predict m.st iris.csv --train iris.csv",
        "error: iris.csv was read without labels\nhint: name their column with --train-label COLUMN",
    );
    place.misuse("predict m.st iris.csv --train-label label", "--train <FILE>");
}

#[test]
fn outputs_that_cannot_be_written_are_refused_at_once() {
    let place = Place::with_wine_model();
    for line in [
        "fit wine.csv --label label --method gmml",
        "transform wine.st wine.csv",
        "predict wine.st wine.csv",
        "neighbors wine.st wine.csv",
        "export wine.st --format json",
        "tune wine.csv --label label --svg",
        "evaluate wine.csv --label label --method euclidean,gmml --svg",
    ] {
        let option = if line.ends_with("--svg") { "" } else { " -o" };
        place.refuses(
            &format!("{line}{option} no/such/file"),
            "error: cannot write no/such/file: the directory no/such does not exist; create it or choose another path",
        );
        place.refuses(
            &format!("{line}{option} ."),
            "error: cannot write .: it is a directory; give the name of a file in it",
        );
    }
    assert_eq!(place.names(), ["iris.csv", "wine.csv", "wine.st"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error() {
    let place = Place::with_wine_model();
    let full =
        "error: cannot write /dev/full: no space left; free some space or choose a path on another disk";
    for line in [
        "fit wine.csv --label label --method gmml",
        "transform wine.st wine.csv",
        "predict wine.st wine.csv",
        "neighbors wine.st wine.csv",
        "export wine.st --format onnx",
    ] {
        place.refuses(&format!("{line} -o /dev/full"), full);
    }
}

#[test]
fn a_run_that_fails_leaves_the_old_file_as_it_was() {
    let place = Place::with_wine_model();
    let before = place.read("wine.st");
    assert_eq!(place.run("fit wine.csv --label no --method gmml -o wine.st").code, 1);
    assert_eq!(place.run("fit wine.csv --label label --method gmml --rank 99 -o wine.st").code, 1);
    assert!(place.read("wine.st") == before);
    assert_eq!(place.names(), ["iris.csv", "wine.csv", "wine.st"]);
}

#[test]
fn what_is_read_is_never_overwritten() {
    let place = Place::with_wine_model();
    let (wine, model) = (place.read("wine.csv"), place.read("wine.st"));
    for (line, output) in [
        ("fit wine.csv --label label --method gmml", "wine.csv"),
        ("fit wine.csv --label label --method gmml", "./wine.csv"),
        ("transform wine.st wine.csv", "wine.csv"),
        ("predict wine.st wine.csv", "wine.st"),
        ("neighbors wine.st wine.csv", "wine.csv"),
        ("export wine.st --format csv", "wine.st"),
    ] {
        place.refuses(
            &format!("{line} -o {output}"),
            &format!("error: cannot write {output}: it is also read; choose another name"),
        );
    }
    place.run("tune wine.csv --label label --steps 1 --svg wine.csv");
    place.run("evaluate wine.csv --label label --method euclidean,gmml --runs 1 --svg wine.csv");
    assert!(place.read("wine.csv") == wine && place.read("wine.st") == model);
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let place = Place::new();
    place.refuses("fit nowhere.csv --label y -o m.st", "error: nowhere.csv: there is no such file");
    std::fs::create_dir(place.path("empty")).expect("a folder");
    place.refuses(
        "fit empty --label y -o m.st",
        "error: empty: the folder has no tables: it is empty\nhint: files of a folder must end with .csv, .tsv, .txt, \
         .parquet, .arrow or .jsonl, or with .gz or .zst after that",
    );
    place.write("t.csv.gz", [0x1f, 0x8b, 8, 0, 0]);
    place.refuses(
        "fit t.csv.gz --label y --method gmml -o m.st",
        "error: t.csv.gz: the compressed data end too early\n\
         hint: the file is truncated; copy or download it again",
    );
}

#[test]
fn priors_that_do_not_fit_are_refused() {
    let place = Place::new();
    let fit = "fit iris.csv --label label --method gmml -o m.st --prior";
    place.refuses(
        &format!("{fit} covariance"),
        "error: --prior has no effect without --lambda\nhint: add --lambda NUMBER",
    );
    place.refuses(
        &format!("{fit} identiy --lambda 1"),
        "error: --prior identiy: there is no such file\n\
         hint: identity, diagonal, covariance, or a file with a square matrix",
    );
    place.write("small.csv", "1,0\n0,1\n");
    place.refuses(
        &format!("{fit} small.csv --lambda 1"),
        "error: small.csv: the prior is 2 x 2; for 4 feature columns it must be 4 x 4",
    );
    place.write("negative.csv", "1,0,0,0\n0,1,0,0\n0,0,-1,0\n0,0,0,1\n");
    place.refuses(
        &format!("{fit} negative.csv --lambda 1"),
        "error: negative.csv: this cannot be a prior: the matrix is not positive definite: its Cholesky \
         factorisation breaks down at column index 2; all eigenvalues must be above 0",
    );
    place.write("askew.csv", "1,0,0,0\n0,1,0,0\n0.5,0,1,0\n0,0,0,1\n");
    let ran = place.run(&format!("{fit} askew.csv --lambda 1"));
    assert!(
        ran.code == 1
            && ran.stderr.contains("askew.csv: this cannot be a prior: the matrix is not symmetric")
    );
    place.write("identity.csv", "1,0,0,0\n0,1,0,0\n0,0,1,0\n0,0,0,1\n");
    place.ok(&format!("{fit} identity.csv --lambda 1"));
    let from_file = place.model("m.st").metric;
    place.ok(&format!("{fit} identity --lambda 1"));
    assert!(place.model("m.st").metric == from_file);
}

#[test]
fn numbers_outside_their_range_are_refused() {
    let place = Place::with_wine_model();
    let fit = |options: &str| format!("fit iris.csv --label label --method gmml -o m.st {options}");
    place.refuses(&fit("--lambda -1"), "error: --lambda is -1; it must be finite and at least 0");
    place.refuses(&fit("--lambda nan"), "error: --lambda is NaN; it must be finite and at least 0");
    place.refuses(&fit("--shrinkage 1.5"), "error: --shrinkage is 1.5; it must be between 0 and 1");
    place.refuses(
        &fit("--rank 5"),
        "error: --rank is 5; it must be at most the number of columns that vary (there are 4 columns)",
    );
    place.refuses("predict wine.st wine.csv -k 179", "error: -k is 179, but only 178 rows can vote");
    place.refuses("neighbors wine.st wine.csv -k 178", "error: -k is 178, but each row has only 177 others");
    place.refuses(
        "neighbors wine.st wine.csv --among wine.csv -k 179",
        "error: -k is 179, but wine.csv has only 178 rows",
    );
    place.misuse(&fit("--t 2"), "t must be between 0 and 1");
    place.misuse(&fit("--t -0.5"), "t must be between 0 and 1");
    place.misuse(&fit("--t most"), "t must be 'auto' or a number between 0 and 1");
    place.misuse(&fit("--threads 0"), "0 is not in 1..=1024");
    place.misuse(&fit("--threads 100000"), "100000 is not in 1..=1024");
    place.misuse(&fit("--rank 0"), "a whole number above 0, or a share such as 0.95");
    place.misuse(&fit("-k 0"), "at least 1");
    place.misuse(&fit("--folds 1"), "at least 2");
    place.misuse(&fit("--selection-rows 3"), "at least 4");
    place.misuse(&fit("--lambda 1 --shrinkage 0.1"), "cannot be used with");
    place.misuse(&fit("--delimiter ab"), "the delimiter must be one ASCII character, or 'tab'");
    place.misuse(&fit("--keep-rows maybe"), "[possible values: auto, always, never]");
    place.misuse("neighbors wine.st wine.csv -k 0", "at least 1");
    place.misuse("fit iris.csv --label label --method gmml", "--output <FILE>");
    place.misuse("learn iris.csv", "unrecognized subcommand 'learn'");
}

#[test]
fn more_neighbours_than_rows_are_pointed_out_when_t_is_chosen() {
    let place = Place::new();
    let ran = place.ok("fit iris.csv --label label --method gmml -k 1000 -o m.st");
    let note = "note: t was chosen with 120 voting neighbours, as there are not 1000\n";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
}

#[test]
fn forms_are_told_by_names() {
    let place = Place::with_wine_model();
    place.refuses(
        "transform wine.st wine.csv -o z.npz",
        "error: z.npz: tables are written as .csv or .tsv (packed: .csv.gz, .csv.zst), .npy or .parquet",
    );
    place.refuses(
        "export wine.st -o wine.bin",
        "error: wine.bin: the name does not tell the format\nhint: --format onnx|npy|csv|json",
    );
    place.refuses(
        "fit wine.csv --label label --method gmml -o - --json",
        "{\"error\":{\"exit_code\":1,\"hint\":\"-o FILE\",\"kind\":\"other\",\"message\":\"the model and --json cannot \
         both go to standard output\"},\"schema\":\"mahala/error\",\"schema_version\":1}",
    );
}
