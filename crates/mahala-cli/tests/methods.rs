//! The methods that GMML is compared with, at the shell.

mod common;

use common::Place;
use serde_json::Value;

const EVERY: [&str; 10] =
    ["euclidean", "covariance", "gmml", "recipe", "itml", "lmnn", "nca", "mcml", "mmc", "flatgeo"];

#[test]
fn every_method_is_evaluated_on_the_same_splits() {
    let place = Place::new();
    let every = EVERY.join(",");
    let ran = place.ok(&format!("evaluate iris.csv --label label --runs 2 --json --method {every}"));
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    for (result, name) in json["results"].as_array().expect("results").iter().zip(EVERY) {
        assert_eq!(result["method"], name);
        assert_eq!((&result["tested"], &result["fits"]), (&300.into(), &4.into()), "{name}");
        // A quarter is far above what any method needs on Iris, the plain covariance excepted (some 13 %).
        assert!(result["error_mean"].as_f64().is_some_and(|error| error < 25.0), "{result}");
        let iterates = !["euclidean", "covariance", "gmml", "recipe"].contains(&name);
        assert_eq!(result["iterations_mean"].as_f64().is_some_and(|mean| mean > 0.0), iterates, "{name}");
        assert_eq!(result["objective_mean"].is_f64(), iterates, "{name}");
    }
    let text = place.ok("evaluate iris.csv --label label --runs 2 --method itml,gmml").stdout;
    assert!(text.contains("iterations   objective"), "{text}");
}

#[test]
fn a_model_of_every_method_is_as_good_as_gmmls() {
    let place = Place::new();
    for name in EVERY {
        place.ok(&format!("fit iris.csv --label label --method {name} --standardize -o m.st"));
        let shown: Value = serde_json::from_str(&place.ok("inspect m.st --json").stdout).expect("JSON");
        assert_eq!(
            (&shown["params"]["method"], &shown["params"]["standardize"]),
            (&name.into(), &true.into())
        );
        assert!(place.ok("inspect m.st").stdout.contains("standardised  yes"), "{name}");
        let lines = place.ok("predict m.st iris.csv --label label").stdout;
        assert_eq!(lines.lines().count(), 151, "{name}");
        assert_eq!(place.ok("transform m.st iris.csv --ignore label").stdout.lines().count(), 151, "{name}");
        place.ok("neighbors m.st iris.csv --ignore label");
        place.ok("export m.st -o m.onnx");
    }
}

#[test]
fn a_kernel_is_chosen_where_it_helps_and_its_model_is_like_any_other() {
    let place = Place::new();
    // Those near the middle and those around them: no linear map brings either together.
    let mut seed = 1u64;
    let mut draw = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    };
    let mut table = |rows: usize| {
        let line = |_| {
            let row: Vec<f64> = (0..6).map(|_| draw()).collect();
            let cells: Vec<String> = row.iter().map(f64::to_string).collect();
            let inner = row.iter().map(|x| x * x).sum::<f64>() < 2.0;
            format!("{},{}\n", cells.join(","), if inner { "inner" } else { "outer" })
        };
        format!("a,b,c,d,e,f,y\n{}", (0..rows).map(line).collect::<String>())
    };
    place.write("train.csv", table(200));
    let new = table(100);
    let truth: Vec<String> =
        new.lines().skip(1).filter_map(|line| Some(line.rsplit_once(',')?.1.to_owned())).collect();
    place.write("new.csv", new);
    let ran = place.ok("fit train.csv --label y --method auto-kernel -o m.st");
    assert!(ran.stderr.contains("chose: ") && ran.stderr.contains("RBF kernel of width"), "{}", ran.stderr);
    assert!(ran.stderr.contains("; without a kernel "), "{}", ran.stderr);
    let shown = place.ok("inspect m.st").stdout;
    assert!(shown.contains("kernel  rbf, gamma ") && shown.contains(", with 200 rows"), "{shown}");
    let right = |model: &str| {
        let lines = place.ok(&format!("predict {model} new.csv --label y")).stdout;
        let predicted = lines.lines().skip(1).map(|line| line.split(',').nth(1).unwrap_or_default());
        predicted.zip(&truth).filter(|(predicted, truth)| predicted == truth).count()
    };
    place.ok("fit train.csv --label y -o linear.st");
    assert!(right("m.st") > right("linear.st") + 5, "{} {}", right("m.st"), right("linear.st"));
    assert_eq!(place.ok("transform m.st new.csv --ignore y").stdout.lines().count(), 101);
    place.ok("neighbors m.st new.csv --ignore y");
    assert!(place.run("export m.st -o m.onnx").stderr.starts_with("error: "));
    place.ok("evaluate train.csv --label y --runs 1 --method auto,auto-kernel --set budget=2");
    let groups = "fit train.csv --label y --method lmnn --groups a -o g.st";
    assert!(place.run(groups).stderr.contains("--groups has no effect on lmnn"));
}

#[test]
fn pairs_are_enough_for_those_that_learn_from_them() {
    let place = Place::new();
    let mark = |i: usize| {
        let j = (7 * i + 3) % 150;
        format!("{},{},{}\n", i + 1, j + 1, u8::from(i / 50 == j / 50))
    };
    place.write("pairs.csv", format!("first,second,similar\n{}", (0..150).map(mark).collect::<String>()));
    for name in ["gmml", "itml", "mmc", "flatgeo"] {
        let line = format!("fit iris.csv --ignore label --pairs pairs.csv --method {name} -o one.st");
        place.ok(&line);
        assert_eq!(place.model("one.st").params["pairs"], "given", "{name}");
        assert!(place.model("one.st").threshold.is_some(), "{name}");
        // The same rows in a second file are the same problem.
        place.ok(&line.replace("one.st", "two.st --second iris.csv"));
        let (one, two) = (place.model("one.st").metric, place.model("two.st").metric);
        let difference = (one.components() - two.components()).norm_max();
        // Bounds are drawn from the rows, and those are twice as many; GMML and MMC have none.
        if ["gmml", "mmc"].contains(&name) {
            assert!(difference < 1e-9, "{name}: {difference}");
        }
    }
    place.refuses(
        "fit iris.csv --ignore label --pairs pairs.csv --method lmnn -o m.st",
        "error: lmnn does not learn from pairs\nhint: --method gmml, itml, flatgeo, mmc or kissme; or --label COLUMN without --pairs",
    );
}

#[test]
fn a_fit_that_does_not_converge_is_written_with_a_warning() {
    let place = Place::new();
    let ran = place.ok("fit iris.csv --label label --method lmnn --max-iterations 1 -o m.st");
    let warning = "warning: lmnn: not converged: limit of iterations reached";
    assert!(ran.stderr.starts_with(warning), "{}", ran.stderr);
    assert_eq!(place.model("m.st").diagnostics["converged"], false);
    let ran = place.ok("fit iris.csv --label label --method itml --time-limit 1e-9 --json -o m.st");
    assert!(ran.stderr.starts_with("warning: itml: not converged: limit of time reached"), "{}", ran.stderr);
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(json["diagnostics"]["outcome"], "not converged: limit of time reached");
    let ran = place.ok("evaluate iris.csv --label label --method mmc --runs 1 --max-iterations 1");
    assert!(ran.stderr.contains("warning: mmc: 2 of 2 fits not converged: limit of"), "{}", ran.stderr);
}

#[test]
fn parameters_are_set_by_name_and_kept_in_the_model() {
    let place = Place::new();
    place.ok(
        "fit iris.csv --label label --method itml --set gamma=0.1 --max-iterations 5000 --seed 3 -o m.st",
    );
    let params = place.model("m.st").params;
    assert_eq!(
        (&params["gamma"], &params["max_projections"], &params["seed"]),
        (&0.1.into(), &5000.into(), &3.into())
    );
    place.ok("fit iris.csv --label label --method itml --set gamma=auto -o m.st");
    assert_eq!(place.model("m.st").params["gamma"], "auto");
    place.ok("fit iris.csv --label label --method flatgeo --rank 2 -o m.st");
    assert_eq!(place.model("m.st").metric.rank(), 2);
    place.ok("evaluate iris.csv --label label --runs 1 --method euclidean,itml,mmc --set diagonal=true --set gamma=2");
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let place = Place::new();
    let fit = |options: &str| format!("fit iris.csv --label label -o m.st {options}");
    place.refuses(
        &fit("--method itml --set gama=1"),
        "error: --set gama: there is no such parameter\nhint: itml has bounds, gamma, k, max_projections, seed, tolerance\nhint: mahala methods itml says what each is",
    );
    place.refuses(
        &fit("--method gmml --set gamma=1"),
        "error: --set gamma: there is no such parameter\nhint: gmml has options of its own (--t, --lambda, --shrinkage)",
    );
    place.refuses(
        &fit("--method itml --set gamma=big"),
        "error: the parameters of itml are wrong: gamma is \"big\"; it must be 'auto' or a number above 0",
    );
    place.refuses(
        &fit("--method itml --set bounds=[0,1]"),
        "error: --set bounds: bounds is 0, 1; it must be two squared distances above 0",
    );
    place.refuses(
        &fit("--method itml --set gamma=0"),
        "error: --set gamma: gamma is 0; it must be above 0 and finite",
    );
    place.refuses(
        &fit("--method euclidean --max-iterations 5"),
        "error: --max-iterations has no effect: none of the methods iterates\nhint: leave it out; a closed form is one step, and so is each fit of a cross-validation",
    );
    for closed in ["euclidean", "covariance", "gmml"] {
        place.refuses(
            &fit(&format!("--method {closed} --time-limit 5")),
            "error: --time-limit has no effect: none of the methods iterates\nhint: leave it out; a closed form is one step, and so is each fit of a cross-validation",
        );
    }
    place.refuses(
        &fit("--method mmc --lambda 1"),
        "error: --lambda has no effect on mmc\nhint: it goes with --method gmml; parameters of mmc are set with --set KEY=VALUE",
    );
    place.misuse(&fit("--method itml --set gamma"), "it must be KEY=VALUE, such as gamma=0.1");
    place.misuse(&fit("--method itml --time-limit 0"), "it must be a number of seconds above 0");
    place.misuse(
        &fit("--method nothing"),
        "[possible values: euclidean, covariance, gmml, auto, auto-kernel, recipe, itml, lmnn",
    );
}

/// Whether there is a model; if not, there is an error in words.
fn survives(place: &Place, line: &str) -> bool {
    let ran = place.run(line);
    assert!(ran.code == 0 || ran.code == 1, "mahala {line}: {}\n{}", ran.code, ran.stderr);
    assert!(ran.code == 0 || ran.stderr.starts_with("error: "), "mahala {line}\n{}", ran.stderr);
    ran.code == 0
}

#[test]
fn hopeless_tables_get_a_model_or_an_error_in_words() {
    let place = Place::new();
    let table = |header: &str, rows: &[&str]| format!("{header},label\n{}\n", rows.join("\n"));
    let line: Vec<String> = (0..10).map(|x| format!("{x},{}", if x < 5 { "a" } else { "b" })).collect();
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let (all, blind) = (EVERY.as_slice(), ["euclidean", "covariance"].as_slice());
    // Who can learn something; those that look at no classes always can.
    for (name, text, able) in [
        ("one class", table("x,y", &["0,1,a", "1,0,a", "3,2,a"]), blind),
        ("each alone", table("x,y", &["0,1,a", "1,0,b", "3,2,c"]), blind),
        ("constant", table("x,y", &["1,1,a", "1,1,a", "1,1,b", "1,1,b"]), &blind[..1]),
        ("one alone", table("x,y", &["0,1,a", "1,0,a", "2,4,b", "3,3,b", "9,7,c"]), all),
        ("dependent", table("x,y", &["0,0,a", "1,2,a", "3,6,b", "4,8,b", "2,4,a"]), all),
        ("one column", table("x", &line), all),
    ] {
        place.write("t.csv", text);
        for method in EVERY {
            for options in ["", " --standardize"] {
                let line = format!("fit t.csv --label label --method {method} -o m.st{options}");
                assert_eq!(survives(&place, &line), able.contains(&method), "{name}: {line}");
            }
        }
    }
    // No similar rows that differ; too few rows to choose t on; units that no one metric has room for.
    for (text, unable) in [
        (table("x,y", &["0,1,a", "0,1,a", "3,2,b", "3,2,b"]), ["mmc", "-"]),
        (table("p,q,r,s,t", &["0,1,5,2,7,a", "1,0,4,2,6,a", "9,7,3,1,8,b"]), ["gmml", "-"]),
        (table("x,y", &["0,1e60,a", "1e-60,0,a", "3e-60,2e60,b", "4e-60,3e60,b"]), ["gmml", "recipe"]),
    ] {
        place.write("t.csv", text);
        for method in EVERY {
            let line = format!("fit t.csv --label label --method {method} -o m.st");
            assert_eq!(survives(&place, &line), !unable.contains(&method), "{line}");
        }
    }
    place.write("t.csv", table("x,y", &["0,0,a", "1,2,a", "3,6,b", "4,8,b", "2,4,a"]));
    for start in ["identity", "pca", "lda", "auto"] {
        // From any of them LMNN finds the one direction there is, and does not collapse it.
        let line =
            format!("fit t.csv --label label --method lmnn --rank 1 --set start={start} --json -o m.st");
        let objective = place.json(&line)["diagnostics"]["objective"].as_f64().expect("a number");
        assert!((objective - 8.734).abs() < 0.01, "{start}: {objective}");
    }
    place.refuses(
        "fit t.csv --label label --method nca --rank 2 --set start=lda -o m.st",
        "error: --set start: start is lda, with rank 2; it must be pca or identity: lda has fewer directions than there are classes",
    );
}

#[test]
fn hopeless_pairs_get_a_model_or_an_error_in_words() {
    let place = Place::new();
    for (pairs, hopeful) in [
        ("1,2,1\n1,2,1\n1,2,1\n1,80,0\n1,80,0\n", true),
        ("1,2,1\n2,1,0\n", true),
        ("1,2,1\n", false),
        ("1,80,0\n", false),
        ("1,1,1\n7,7,0\n", false),
    ] {
        place.write("pairs.csv", format!("first,second,similar\n{pairs}"));
        for method in ["gmml", "itml", "mmc", "flatgeo"] {
            let line = format!("fit iris.csv --ignore label --pairs pairs.csv --method {method} -o m.st");
            let fitted = survives(&place, &line);
            assert!(fitted || !hopeful || method == "gmml", "{pairs} {method}");
        }
    }
}

#[test]
fn a_search_whose_time_is_up_writes_the_best_so_far_and_says_so() {
    let place = Place::new();
    let ran = place.ok("fit iris.csv --label label -o m.st --time-limit 1e-9");
    assert!(ran.stderr.contains("limit of time reached"), "{}", ran.stderr);
    assert!(ran.stderr.contains("chose: all pairs at t = 0.5\nthis is GMML at t = 0.5\n"), "{}", ran.stderr);
    place.ok("fit iris.csv --label label -o same.st --set max_trials=0");
    assert_eq!(place.model("m.st").metric, place.model("same.st").metric);
    let ran = place
        .ok("fit iris.csv --label label -o m.st --criterion map@r --similarity cosine --folds-over classes");
    assert!(
        ran.stderr.contains("map@r") && ran.stderr.contains("Euclidean (for comparison)"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_was_chosen_is_listed_as_the_table_is_sorted_and_the_plain_distance_once() {
    let place = Place::new();
    let told = place.ok("fit wine.csv --label label -o m.st").stderr;
    let chosen: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("chose: ")).skip(1).collect();
    let marked: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("  * ")).collect();
    let marked: Vec<&str> = marked.into_iter().filter(|line| !line.starts_with("the blend of")).collect();
    assert!(chosen.len() > 1 && chosen.len() == marked.len(), "{told}");
    assert!(chosen.iter().zip(&marked).all(|(name, line)| line.starts_with(name)), "{told}");
    let plain = |line: &&str| line.starts_with("    plain distance ") || line.starts_with("    Euclidean ");
    assert_eq!(told.lines().filter(plain).count(), 1, "{told}");
}
