"""Every method on the paper's small data sets, through the command, beside the paper's bars.

    rivals.py [--runs 40] [--sets wine,iris] [--methods itml,lmnn] [--output experiments/results/rivals.md] [--with earlier.json]

With --with, cells that are not measured now are taken from an earlier run.

Wants the command built (cargo build --release) and, in the environment, the folder MAHALA_DATA with the paper's data
sets (one CSV each, label in the last column). MAHALA_PAPER names the figure's values (dataset,method,error_percent,std);
without it the file paper/figure-small.csv beside the data folder.

Random halves, each tested against the other, on raw columns with k = 5; Vowel and Segment have one fixed split each, on
which a run is another seed. A difference of more than two of the paper's standard deviations from its bar is
marked: ▲ worse, ▼ better. Writes one table as Markdown and all numbers as JSON beside it.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time


ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ["MAHALA_DATA"])
PAPER = pathlib.Path(os.environ.get("MAHALA_PAPER", DATA.parent / "paper" / "figure-small.csv"))

SETS = {
    # name in the paper: file, options
    "wine": ("wine.csv", []),
    "iris": ("iris.csv", []),
    "protein": ("protein.csv", []),
    "vehicle": ("vehicle.csv", []),
    "australian": ("australian.csv", []),
    "pima": ("pima.csv", []),
    "breast-cancer": ("breast-cancer.csv", ["--missing", "drop"]),
    "german": ("german.csv", []),
    "vowel": ("vowel.csv", ["--train-rows", "1-528", "--test-rows", "529-990"]),
    "segment": ("segment-lmnn.csv", ["--train-rows", "1-1848", "--test-rows", "1849-2310"]),
}
METHODS = {
    # row of the table: method, options, the paper's name
    "euclidean": ("euclidean", [], "euclidean"),
    "covariance": ("covariance", [], None),
    "gmml": ("gmml", ["--pairs", "sampled"], "gmml"),
    "gmml-all": ("gmml", [], "gmml"),
    "auto": ("auto", [], "gmml"),
    "itml": ("itml", ["--set", "gamma=auto"], "itml"),
    "itml-1": ("itml", [], "itml"),
    "lmnn": ("lmnn", [], "lmnn"),
    "flatgeo": ("flatgeo", [], "flatgeo"),
    "flatgeo-10000": ("flatgeo", ["--set", "min_iterations=10000"], "flatgeo"),
    "nca": ("nca", [], None),
    "mcml": ("mcml", [], None),
    "mmc": ("mmc", [], None),
    "mmc-diagonal": ("mmc", ["--set", "diagonal=true"], None),
}
NOTES = """- itml: γ chosen from 10⁻⁴ to 10⁴ by two-fold cross-validation; itml-1: γ = 1.
- flatgeo stops at its tolerance; flatgeo-10000 makes at least 10,000 iterations, as the paper's experiment.
- gmml: the paper's sample of pairs; gmml-all: all pairs; auto: the automatic mode, beside the paper's GMML, without families of rows
  (on Vowel, with the speakers as families, it has 40.5). mmc-diagonal: one weight a column.

## Where we differ from the paper, and why

- Breast-Cancer, all but GMML: the paper's bars for the other methods fit the 569 × 30 Diagnostic data, its GMML bar the 699 × 9 data
  used here; see [fidelity.md](../../docs/fidelity.md).
- itml-1 on Wine, Vehicle and Vowel: γ = 1 on raw columns keeps the metric near the identity. The paper chooses γ, and with γ chosen
  our bars agree with it on all other sets.
- lmnn on Iris and Australian is better than the bar, probably because the squared hinge is minimised for longer: to convergence or to
  100 iterations, where the paper's edition makes at most 50 evaluations.
- flatgeo on Wine: the loss falls very slowly on raw columns that differ by a factor of 1,000 in scale, and the relative tolerance
  ends it early; with at least 10,000 iterations the error is about 5 (4 runs).
- auto on Segment: six leading directions win on the training rows and lose on the test rows, which are few (462)."""


def main():
    options = arguments()
    earlier = json.loads(options.earlier.read_text()) if options.earlier else []
    results = {(result["dataset"], result["method"]): result for result in earlier}
    for name in options.sets:
        for method in options.methods:
            results[name, method] = measured(name, method, options.runs, paper())
            print(line(results[name, method]), flush=True)
    order = lambda result: (list(SETS).index(result["dataset"]), list(METHODS).index(result["method"]))
    results = sorted(results.values(), key=order)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(report(results))
    options.output.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = lambda known: lambda text: [check(name, known) for name in text.split(",")]
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--sets", type=names(SETS), default=list(SETS))
    parser.add_argument("--methods", type=names(METHODS), default=list(METHODS))
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "experiments" / "results" / "rivals.md")
    parser.add_argument("--with", dest="earlier", type=pathlib.Path)
    return parser.parse_args()


def check(name, known):
    if name not in known:
        raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(known)}")
    return name


def paper():
    with open(PAPER, newline="") as file:
        return {(row["dataset"], row["method"]): (float(row["error_percent"]), float(row["std"])) for row in csv.DictReader(file)}


def measured(name, row, runs, bars):
    file, where = SETS[name]
    method, how, theirs = METHODS[row]
    start = time.monotonic()
    if where[:1] == ["--train-rows"]:
        each = [evaluate(file, method, *where, *how, "--seed", str(seed)) for seed in range(runs)]
    else:
        each = [evaluate(file, method, *where, *how, "--runs", str(runs))]
    errors = [error for result in each for error in result["errors"]]
    fits = sum(result["fits"] for result in each)
    bar = bars.get((name, theirs))
    error = statistics.mean(errors)
    return {
        "dataset": name,
        "method": row,
        "runs": runs,
        "error": error,
        "std": statistics.stdev(errors) if len(errors) > 1 else 0.0,
        "paper": bar,
        "flag": flag(error, bar),
        "fits": fits,
        "converged": sum(result["converged"] for result in each),
        "fit_seconds": min(result["fit_seconds"] for result in each),
        "seconds": time.monotonic() - start,
    }


def flag(error, bar):
    """The paper's standard deviation of a fixed split may be 0; a tenth of a percent is within rounding."""
    if bar is None or abs(error - bar[0]) <= max(2 * bar[1], 0.1):
        return ""
    return "▲" if error > bar[0] else "▼"


def evaluate(file, method, *options):
    command = [ROOT / "target" / "release" / "mahala", "evaluate", DATA / file, "--label", "label", "--json"]
    run = subprocess.run([*command, "--methods", method, *options], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{file}, {method}: {run.stderr}")
    return json.loads(run.stdout)["results"][0]


def line(result):
    bar = "        –      " if result["paper"] is None else f"{result['paper'][0]:6.2f} ± {result['paper'][1]:.2f}"
    return (
        f"{result['dataset']:13} {result['method']:13} {result['error']:6.2f} ± {result['std']:.2f}   paper {bar} "
        f"{result['flag'] or ' '}  {result['converged']}/{result['fits']} converged, {result['seconds']:.1f} s"
    )


def report(results):
    cell = {(result["dataset"], result["method"]): result for result in results}
    sets = [name for name in SETS if any(result["dataset"] == name for result in results)]
    methods = [name for name in METHODS if any(result["method"] == name for result in results)]
    rows = [[name, *(entry(cell.get((name, method))) for method in methods)] for name in sets]
    header = ["data", *methods]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows])
    flags = sum(bool(result["flag"]) for result in results)
    compared = sum(result["paper"] is not None for result in results)
    most = max(result["runs"] for result in results)
    return (
        "# Every method on the paper's small data sets\n\n"
        f"Written by `tests/rivals.py`. Error of 5 nearest neighbours in percent, mean ± standard deviation over {most} runs (fewer where said "
        "below), on raw columns; in brackets the paper's bar. ▲ worse, ▼ better than the bar by more than two of its "
        f"standard deviations: {flags} of {compared}.\n\n{table}\n\n{fewer(results, most)}{NOTES}\n"
    )


def entry(result):
    if result is None:
        return "–"
    bar = "" if result["paper"] is None else f" ({result['paper'][0]:.1f} ± {result['paper'][1]:.1f})"
    return f"{result['error']:.1f} ± {result['std']:.1f}{bar} {result['flag']}".strip()


def fewer(results, most):
    """Which cells had fewer runs."""
    sets = {}
    for result in results:
        if result["runs"] < most:
            sets.setdefault((result["method"], result["runs"]), []).append(result["dataset"])
    methods = {}
    for (method, runs), names in sets.items():
        methods.setdefault((runs, ", ".join(names)), []).append(method)
    return "".join(f"- {runs} runs: {', '.join(who)} on {names}.\n" for (runs, names), who in methods.items())


main()
