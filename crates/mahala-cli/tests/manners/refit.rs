//! `--params`: a model says how it was made, and the same is made again.

use crate::common::Place;

#[test]
fn a_model_made_by_the_parameters_of_another_has_the_same_bytes() {
    let place = Place::new();
    for options in [
        "",
        "--method gmml",
        "--method gmml --t 0.3 --lambda 2 --prior diagonal --rank 2 --seed 4 -k 3",
        "--method gmml --shrinkage analytic --folds 3 --selection-rows 60 --balance classes",
        "--method gmml --shrinkage 0.2 --shrink-towards similar-identity --rank 0.9 --standardize",
        "--method gmml --pairs sampled --seed 3",
        "--method gmml --kernel rbf --landmarks 40",
        "--method gmml --kernel polynomial --degree 2 --gamma 0.1 --coef0 2",
        "--method gmml --local class",
        "--method gmml --local cluster:2 --share 0.4",
        "--method gmml --calibrate platt",
        "--rank auto --seed 2 -k 7",
        "--set budget=6 --criterion map@r",
        "--method itml --set gamma=auto --seed 5",
        "--method lmnn --rank 2 --max-iterations 20 -k 3 --set start=identity",
        "--method rca --set chunklets=6 --set chunklet_size=3 --standardize",
        "--method recipe --set t=0.3 --set rounds=[[3,0.2]] --set directions=2",
        "--method lda",
    ] {
        place.ok(&format!("fit iris.csv --label label {options} -o first.st"));
        let first = place.read("first.st");
        place.ok("fit iris.csv --label label --params first.st -o again.st");
        assert!(place.read("again.st") == first, "{options}");
        let shown = place.ok("inspect first.st --json").stdout;
        place.write("first.json", &shown);
        if !options.contains("calibrate") && !options.contains("--local class") {
            place.ok("fit iris.csv --label label --params first.json -o again.st");
            assert!(place.read("again.st") == first, "{options}, from JSON");
        }
    }
}

#[test]
fn what_is_typed_beside_the_parameters_stands() {
    let place = Place::new();
    place.ok("fit iris.csv --label label --method gmml --t 0.3 --shrinkage 0.1 -o first.st");
    place.ok("fit iris.csv --label label --params first.st --t 0.7 -o second.st");
    let params = place.model("second.st").params;
    assert_eq!((&params["t"], &params["shrinkage"]), (&0.7.into(), &0.1.into()));
    place.ok("fit iris.csv --label label --params first.st --lambda 1 -o second.st");
    assert_eq!(place.model("second.st").params["shrinkage"], 0.0);
    let json = place.json("evaluate iris.csv --label label --runs 2 --json --params first.st");
    let plain = place.json(
        "evaluate iris.csv --label label --runs 2 --json --method euclidean,gmml --t 0.3 --shrinkage 0.1",
    );
    assert_eq!(json["results"][1]["errors"], plain["results"][1]["errors"]);
    assert_eq!(json["results"].as_array().map(Vec::len), Some(2));
}

#[test]
fn parameters_that_cannot_be_used_are_refused_in_words() {
    let place = Place::new();
    place.ok("fit iris.csv --label label --method gmml --t 0.3 -o first.st");
    let fit = "fit iris.csv --label label -o m.st --params";
    place.refuses(
        &format!("{fit} first.st --method itml"),
        "error: --method and --params first.st say different things: it has parameters of gmml\nhint: leave one of them out",
    );
    place.write("wrong.json", r#"{"method": "itml", "gama": 1}"#);
    place.refuses(
        &format!("{fit} wrong.json"),
        "error: wrong.json: itml has no parameter 'gama'\nhint: mahala methods itml lists them",
    );
    place.write("wrong.json", r#"{"method": "gmml", "gama": 1}"#);
    assert!(place.run(&format!("{fit} wrong.json")).stderr.contains("gmml has no parameter 'gama'"));
    place.write("wrong.json", "[1]");
    assert!(place.run(&format!("{fit} wrong.json")).stderr.contains("there is no object of parameters"));
    place.write("wrong.json", "{");
    assert!(place.run(&format!("{fit} wrong.json")).stderr.contains("this is not JSON"));
    place.write("wrong.json", r#"{"method": "nothing"}"#);
    assert!(place.run(&format!("{fit} wrong.json")).stderr.contains("'nothing', which fit does not have"));
    place.write("pairs.csv", "first,second,similar\n1,2,1\n3,4,1\n60,110,0\n1,90,0\n5,120,0\n70,75,1\n");
    place.ok("fit iris.csv --ignore label --pairs pairs.csv --t 0.4 -o pairs.st");
    assert!(
        place
            .run(&format!("{fit} pairs.st"))
            .stderr
            .contains("learned from pairs or tuples\nhint: name them")
    );
    place.ok("fit iris.csv --ignore label --pairs pairs.csv --params pairs.st -o again.st");
    assert!(place.read("again.st") == place.read("pairs.st"));
}
