"""Instruction counts of small fits and searches against stored ones, so that a regression shows on any machine.

Usage: callgrind.py BENCH [--update]. Needs valgrind; says so loudly, and passes, where it is missing.
The count of one piece of work is the difference between runs with 1 and with 11 of them, divided by 10.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

STORED = pathlib.Path(__file__).parent / "results" / "callgrind.json"
TOLERANCE = 0.05  # compilers differ by a few percent; a lost optimisation costs more
CASES = {
    "fit 2310x19, 7 classes": ["fit", "2310", "19", "7"],
    "fit 2000x64, 10 classes": ["fit", "2000", "64", "10"],
    "sampled pairs 2310x19, 7 classes": ["sampled", "2310", "19", "7"],
    "neighbours 1000 of 2000x16": ["knn", "2000", "16", "4"],
}


def main():
    if shutil.which("valgrind") is None:
        print("NOT MEASURED: valgrind is not installed (Debian: valgrind)")
        return
    bench, update = sys.argv[1], "--update" in sys.argv
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    counted = {name: count_one(bench, case) for name, case in CASES.items()}
    failed = 0
    for name, count in counted.items():
        ratio = count / stored[name] if name in stored else float("nan")
        worse = ratio > 1 + TOLERANCE
        failed += worse
        print(f"{'WORSE ' if worse else 'ok    '} {name}: {count:,} instructions, {ratio:.3f} of the stored count")
    if update:
        STORED.write_text(json.dumps(counted, indent=2) + "\n", encoding="utf-8")
    print(f"{len(counted) - failed} passed, {failed} failed")
    sys.exit(failed > 0 and not update)


def count_one(bench, case):
    few, many = (instructions(bench, case, repeats) for repeats in (1, 11))
    return round((many - few) / 10)


def instructions(bench, case, repeats):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", bench, "once", *case, "1", str(repeats)]
        subprocess.run(command, check=True, capture_output=True)
        totals = [line for line in out.read_text(encoding="utf-8").splitlines() if line.startswith("totals:")]
        return int(totals[0].split()[1])


main()
