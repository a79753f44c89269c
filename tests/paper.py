"""The paper's numbers, through the command: `paper.py splits` or `paper.py bars`.

Wants the command built (cargo build --release) and the paper's data sets in the folder MAHALA_DATA names (one CSV each, label in the last column).

splits: 5 nearest neighbours under the plain distance, on the three splits whose counts of errors the
        paper's Euclidean bars give away exactly.
bars:   GMML in the paper's setting (40c(c-1) sampled pairs, t in two steps, 40 runs of halves) within one
        of the paper's standard deviations of its bar, or below it; and over all pairs not worse than over
        sampled pairs beyond noise (two standard errors of the difference of two means of 40 runs).
"""

import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ["MAHALA_DATA"])
RUNS = 40

SPLITS = [
    # file, rows to learn on, rows to test, errors
    ("vowel.csv", "1-528", "529-990", 195, 462),
    ("mnist.csv.gz", "1-2000", "2001-4000", 282, 2000),
    ("segment-lmnn.csv", "1-1848", "1849-2310", 20, 462),
]
BARS = {
    # GMML in the paper's figure of small data sets: error and standard deviation, in percent
    "wine": (3.295, 1.130),
    "iris": (2.988, 1.117),
    "vehicle": (22.521, 1.252),
    "australian": (16.004, 0.893),
    "pima": (27.504, 1.322),
    "german": (27.590, 0.957),
    "protein": (33.304, 3.213),
}


def main():
    failed = {"splits": splits, "bars": bars}[sys.argv[1]]()
    total = {"splits": len(SPLITS), "bars": 2 * len(BARS)}[sys.argv[1]]
    print(f"{total - failed} passed, {failed} failed")
    sys.exit(failed > 0)


def evaluate(file, *options):
    command = [ROOT / "target" / "release" / "mahala", "evaluate", DATA / file, "--label", "label", "--json"]
    run = subprocess.run([*command, *options], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{file}: {run.stderr}")
    return {result["method"]: result for result in json.loads(run.stdout)["results"]}


def splits():
    failed = 0
    for file, train, test, errors, tested in SPLITS:
        options = ["--method", "euclidean", "--train-rows", train, "--test-rows", test]
        seen = round(evaluate(file, *options)["euclidean"]["error_mean"] * tested / 100)
        failed += seen != errors
        print(f"{'ok    ' if seen == errors else 'FAILED'} {file}: {seen}/{tested} wrong, {errors} expected")
    return failed


def bars():
    failed = 0
    for name, (error, deviation) in BARS.items():
        options = ["--method", "gmml", "--runs", str(RUNS)]
        sampled = evaluate(f"{name}.csv", *options, "--pairs", "sampled")["gmml"]
        whole = evaluate(f"{name}.csv", *options, "--pairs", "all")["gmml"]
        near = sampled["error_mean"] <= error + deviation
        noise = 2 * math.hypot(sampled["error_std"], whole["error_std"]) / math.sqrt(RUNS)
        not_worse = whole["error_mean"] <= sampled["error_mean"] + noise
        failed += (not near) + (not not_worse)
        print(
            f"{'ok    ' if near and not_worse else 'FAILED'} {name:10} sampled {sampled['error_mean']:5.2f} ± "
            f"{sampled['error_std']:.2f}, paper {error:5.2f} ± {deviation:.2f}, all pairs {whole['error_mean']:5.2f} ± "
            f"{whole['error_std']:.2f}"
        )
    return failed


main()
