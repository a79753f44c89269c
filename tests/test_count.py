"""Tests of count.py: a part that tests nothing has failed. Prints "N passed, N failed"."""

import pathlib
import subprocess
import sys
import tempfile

CARGO = "test result: ok. {} passed; {} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n"
CASES = [
    # what the log says, status, counts as one, (passed, failed)
    ("cargo's lines are added", CARGO.format(3, 0) + CARGO.format(0, 0) + CARGO.format(4, 1), 101, False, (7, 1)),
    ("cargo ran nothing", CARGO.format(0, 0) * 3, 0, False, (0, 1)),
    ("nothing was said", "compiling\n", 0, False, (0, 1)),
    ("nothing was said, by a part that says nothing", "", 0, True, (1, 0)),
    ("a linter complained", "error: unused\n", 1, True, (0, 1)),
    ("pytest's line", "==== 2 failed, 12 passed, 3 skipped in 1.25s ====\n", 1, False, (12, 2)),
    ("an expected failure is a test", "===== 5 passed, 2 xfailed in 1.25s =====\n", 0, False, (7, 0)),
    ("pytest found an error", "==== 4 passed, 1 error in 0.10s ====\n", 1, False, (4, 1)),
    ("pytest skipped everything", "==== 9 skipped in 0.10s ====\n", 0, False, (0, 1)),
    ("pytest found no tests", "==== no tests ran in 0.01s ====\n", 5, False, (0, 1)),
    ("one of two runs of pytest was empty", "== 8 passed in 1.00s ==\n== no tests ran in 0.01s ==\n", 0, False, (8, 1)),
    ("a plain line", "ok one\n2 passed, 1 failed\n", 1, False, (2, 1)),
    ("a plain line of nothing", "0 passed, 0 failed\n", 0, False, (0, 1)),
    ("killed after its tests", "5 passed, 0 failed\n", 137, False, (5, 1)),
]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        for name, text, status, one, wanted in CASES:
            log.write_text(text)
            command = [sys.executable, pathlib.Path(__file__).with_name("count.py"), log, str(status)]
            ran = subprocess.run(command + ["one"] * one, capture_output=True, text=True, check=True)
            seen = tuple(int(number) for number in ran.stdout.split())
            failed += seen != wanted
            print(f"{'ok    ' if seen == wanted else 'FAILED'} {name}: {seen}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
