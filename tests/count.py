"""Counts the tests a log reports: `count.py LOG STATUS [one]` prints "PASSED FAILED".

Understands the closing lines of cargo test and pytest, and lines "N passed, N failed". A part that reports no test at
all has failed, whatever its status: nothing was tested. A part that counts as one test (`one`: a formatter, a linter) has
no count to report and passes if its status is 0. A part with another status has at least one failure.
"""

import re
import sys


def count(log, status, one=False):
    """The numbers of tests that passed and that failed."""
    cargo = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed", log, re.MULTILINE)
    plain = re.findall(r"^(\d+) passed, (\d+) failed$", log, re.MULTILINE)
    counts = [(int(p), int(f)) for p, f in cargo + plain]
    for summary in re.findall(r"^[= ]*((?:\d+ \w+, )*\d+ \w+) in [\d.]+s", log, re.MULTILINE):
        of = dict(reversed(part.split()) for part in summary.split(", "))
        passed = int(of.get("passed", 0)) + int(of.get("xfailed", 0))
        failed = int(of.get("failed", 0)) + int(of.get("errors", of.get("error", 0)))
        # A run of pytest in which every test was skipped or deselected is as empty as the next kind.
        counts.append((passed, max(failed, int(passed + failed == 0))))
    counts.extend((0, 1) for _ in re.findall(r"^[= ]*no tests ran in [\d.]+s", log, re.MULTILINE))
    passed, failed = sum(p for p, _ in counts), sum(f for _, f in counts)
    if one and not counts:
        passed = int(status == 0)
    if status != 0 or passed + failed == 0:
        failed = max(failed, 1)
    return passed, failed


def main():
    log = open(sys.argv[1], encoding="utf-8", errors="replace").read()
    print(*count(log, int(sys.argv[2]), one="one" in sys.argv[3:]))


if __name__ == "__main__":
    main()
