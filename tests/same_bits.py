"""Two builds of the command give the same bytes: `same_bits.py OLD NEW [PATTERN]`.

Every method, mode and source of tests/processors.py is fitted by both; the model files are compared. A change that is
meant to move code and not numbers is checked with it.
"""

import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from processors import cases, difference, fit, write_tables


def compare(old, new, folder, name, arguments):
    stem = re.sub(r"\W", "_", name)
    try:
        one, other = (fit(binary, "", arguments, folder / f"{stem}.{i}") for i, binary in enumerate((old, new)))
    except RuntimeError as error:
        return False, f"FAILED {name}: {error}"
    if one == other:
        return True, f"ok     {name}"
    return False, f"FAILED {name:24} A differs by {difference(one, other):.0e} of its largest entry"


def main():
    old, new, pattern = sys.argv[1], sys.argv[2], re.compile(sys.argv[3] if len(sys.argv) > 3 else "")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(folder)
        write_tables(folder)
        work = [item for item in cases(folder).items() if pattern.search(item[0])]
        results = []
        for good, line in pool.map(lambda item: compare(old, new, folder, *item), work):
            print(line, flush=True)
            results.append(good)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
