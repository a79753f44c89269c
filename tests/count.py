"""Counts the tests a log reports: `count.py LOG STATUS` prints "PASSED FAILED".

Understands the closing lines of cargo test and pytest, and lines "N passed, N failed". A part that reports no
count is one test, passed if its status is 0. A part that failed has at least one failure.
"""

import re
import sys


def main():
    log, status = open(sys.argv[1], encoding="utf-8", errors="replace").read(), int(sys.argv[2])
    cargo = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed", log, re.MULTILINE)
    plain = re.findall(r"^(\d+) passed, (\d+) failed$", log, re.MULTILINE)
    counts = [(int(p), int(f)) for p, f in cargo + plain]
    for summary in re.findall(r"^[= ]*((?:\d+ \w+, )*\d+ \w+) in [\d.]+s", log, re.MULTILINE):
        of = dict(reversed(part.split()) for part in summary.split(", "))
        counts.append((int(of.get("passed", 0)), int(of.get("failed", 0)) + int(of.get("errors", of.get("error", 0)))))
    passed, failed = sum(p for p, _ in counts), sum(f for _, f in counts)
    if status != 0:
        failed = max(failed, 1)
    elif not counts:
        passed = 1
    print(passed, failed)


main()
