"""Model files on other processors: `processors.py MAHALA [PATTERN]`.

Every method learns on small tables three times: on this machine, and with qemu-user on a Haswell (AVX2 and FMA, no AVX-512)
and on a Nehalem (neither). The Haswell's files must be this machine's byte for byte; without fused multiplication and
addition the metric A = LᵀL must be the same up to a bound: 1e-13 of its largest entry, or what SENSITIVE lists.
docs/determinism.md explains why. Ends with a line "N passed, N failed"; a pattern selects cases by name.
"""

import csv
import json
import math
import os
import platform
import random
import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
LOADER = "/lib64/ld-linux-x86-64.so.2"
BOUND = 1e-13
# Where rounding is amplified: by the condition of S, by what a ridge of 2e-10 leaves of it where S is singular and D is not
# (as many columns as rows, kernels), or by iterations.
SENSITIVE = [
    (r"gmml wdbc|gmml 130|principal wdbc|broad lambda", 1e-11),
    (r"covariance wdbc|rank wdbc|lmnn|itml|flatgeo|mmc", 1e-8),
    (r"nca|mcml", 1e-6),
    (r"wide|broad|kernel linear", 1e-4),
    (r"kernel (rbf|polynomial)|auto-kernel", 1e-2),
]


def table(name, count, seed=1):
    """Some rows of a bundled table: a header and lists of cells, the label last."""
    with open(DATA / f"{name}.csv", encoding="utf-8") as file:
        lines = [line for line in csv.reader(file) if line and not line[0].startswith("#")]
    head, rows = lines[0], lines[1:]
    random.Random(seed).shuffle(rows)
    return head[:-1] + ["label"], rows[:count]


def made(columns, count):
    """Three classes, in columns that share six hidden causes."""
    draw, rows = random.Random(columns), []
    for i in range(count):
        causes = [draw.gauss(0, 1) for _ in range(6)]
        cells = [draw.gauss(0, 1) + causes[j % 6] + (i % 3) * (j % 5 == 0) for j in range(columns)]
        rows.append([f"{x:.5f}" for x in cells] + ["abc"[i % 3]])
    return [f"x{j}" for j in range(columns)] + ["label"], rows


def write_tables(folder):
    wdbc = table("breast-cancer-wdbc", 100)
    tables = {
        "iris": table("iris", 60),
        "few": (table("iris", 30)[0], table("iris", 30)[1]),
        "wine": table("wine", 60),
        "wdbc": wdbc,
        "wide": (wdbc[0], wdbc[1][:24]),
        "forty": made(40, 80),
        "seventy": made(70, 110),
        "hundred": made(130, 150),
        "broad": made(200, 45),
    }
    for name, (head, rows) in tables.items():
        with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([head, *rows])
    sparse = (
        f"{row[-1]} " + " ".join(f"{3 * j + 1 + i % 2}:{x}" for j, x in enumerate(row[:-1]) if (i + j) % 3)
        for i, row in enumerate(tables["wide"][1])
    )
    (folder / "sparse.svm").write_text("\n".join(sparse) + "\n", encoding="utf-8")
    draw, rows = random.Random(5), tables["iris"][1]
    ends = [draw.sample(range(len(rows)), 2) for _ in range(200)]
    pairs = "".join(f"{a + 1},{b + 1},{int(rows[a][-1] == rows[b][-1])}\n" for a, b in ends)
    (folder / "pairs.csv").write_text("first,second,similar\n" + pairs, encoding="utf-8")
    tags = "".join(
        ",".join(row[:-1]) + f",{row[-1]};{'long' if float(row[0]) > 5.8 else 'short'}\n" for row in rows
    )
    (folder / "tags.csv").write_text("a,b,c,d,tags\n" + tags, encoding="utf-8")


def cases(folder):
    """Names and arguments of `mahala fit`; the method is gmml where none is given."""

    def on(name, *options):
        return [str(folder / f"{name}.csv"), "--label", "label", *options]

    short = ("--max-iterations", "20")
    found = {}
    for method in ["euclidean", "covariance", "itml", "lmnn", "nca", "mcml", "mmc", "flatgeo"]:
        for name in ["iris", "wdbc"]:
            limit = short if name == "wdbc" and method not in ("euclidean", "covariance") else ()
            found[f"{method} {name}"] = on(name, "--method", method, *limit)
    found |= {
        "gmml iris": on("iris", "--method", "gmml"),
        "gmml wine": on("wine", "--method", "gmml"),
        "gmml wdbc": on("wdbc", "--t", ".5"),
        "auto iris": on("few", "--method", "auto"),
        "auto-kernel iris": on("few", "--method", "auto-kernel"),
        "recipe wine": on("wine", "--method", "recipe", "--set", "t=0.3", "--set", "rounds=[[3,0.2]]"),
        "gmml 40 columns": on("forty", "--t", ".5"),
        "gmml 70 columns": on("seventy", "--t", ".5"),
        "gmml 130 columns": on("hundred", "--t", ".5"),
        "covariance 40 columns": on("forty", "--method", "covariance"),
        "lmnn 40 columns": on("forty", "--method", "lmnn", "--max-iterations", "5"),
        "nca 40 columns": on("forty", "--method", "nca", "--max-iterations", "5"),
        "mmc 40 columns": on("forty", "--method", "mmc", "--max-iterations", "5"),
        "lambda wine": on("wine", "--t", ".5", "--lambda", ".1"),
        "analytic wine": on("wine", "--t", ".5", "--shrinkage", "analytic"),
        "rank wdbc": on("wdbc", "--t", ".5", "--standardize", "--rank", "3"),
        "balance wine": on("wine", "--t", ".5", "--balance", "classes"),
        "sampled wine": on("wine", "--t", ".5", "--pairs", "sampled"),
        "stream wine": on("wine", "--t", ".5", "--stream"),
        "principal wdbc": on("wdbc", "--t", ".5", "--principal", "5"),
        "local class iris": on("iris", "--t", ".5", "--local", "class"),
        "local clusters iris": on("iris", "--t", ".5", "--local", "cluster:2"),
        "kernel linear iris": on("iris", "--t", ".5", "--kernel", "linear", "--standardize"),
        "kernel rbf iris": on("iris", "--t", ".5", "--kernel", "rbf", "--standardize"),
        "kernel polynomial iris": on("iris", "--t", ".5", "--kernel", "polynomial", "--standardize"),
        "wide": on("wide", "--t", ".5"),
        "wide standardized": on("wide", "--t", ".5", "--standardize"),
        "broad": on("broad", "--t", ".5"),
        "broad lambda": on("broad", "--t", ".5", "--lambda", ".1"),
        "wide sparse": [str(folder / "sparse.svm"), "--t", ".5"],
        "pairs iris": on("iris", "--t", ".5", "--pairs", str(folder / "pairs.csv")),
        "multilabel iris": [str(folder / "tags.csv"), "--label", "tags", "--multilabel", ";", "--t", ".5"],
    }
    return found


def fit(mahala, processor, arguments, model):
    method = [] if "--method" in arguments else ["--method", "gmml"]
    command = [mahala, "fit", *arguments, *method, "--threads", "1", "-o", str(model)]
    if processor:
        command = ["qemu-x86_64", "-cpu", processor, *command]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0:
        errors = [line for line in ran.stderr.splitlines() if "TCG doesn't support" not in line]
        raise RuntimeError(f"{processor or 'this machine'}: {' '.join(errors)}")
    return model.read_bytes()


def metric(model):
    """A = LᵀL, by its lower triangle."""
    length = struct.unpack_from("<Q", model)[0]
    tensor = json.loads(model[8 : 8 + length])["components"]
    (rows, columns), start = tensor["shape"], 8 + length + tensor["data_offsets"][0]
    cells = struct.unpack_from(f"<{rows * columns}d", model, start)
    column = [cells[j::columns] for j in range(columns)]
    return [math.fsum(map(float.__mul__, column[i], column[j])) for i in range(columns) for j in range(i + 1)]


def difference(one, other):
    """The largest difference of two metrics, over the largest entry."""
    a, b = metric(one), metric(other)
    if len(a) != len(b):
        return math.inf
    return max(abs(x - y) for x, y in zip(a, b)) / max(map(abs, a))


def bound_of(name):
    return next((bound for pattern, bound in SENSITIVE if re.search(pattern, name)), BOUND)


def compare(mahala, folder, name, arguments):
    """Whether all is as promised, and a line that tells."""
    stem = re.sub(r"\W", "_", name)
    try:
        here, haswell, nehalem = (
            fit(mahala, processor, arguments, folder / f"{stem}.{processor}") for processor in ("", "Haswell", "Nehalem")
        )
    except RuntimeError as error:
        return False, f"FAILED {name}: {error}"
    off, bound = difference(here, nehalem), bound_of(name)
    equal = here == haswell
    outcome = "same bytes" if equal else f"DIFFERENT BYTES, A to {difference(here, haswell):.0e}"
    plain = "same bytes" if here == nehalem else f"A to {off:.0e} (bound {bound:.0e})"
    good = equal and off <= bound
    return good, f"{'ok    ' if good else 'FAILED'} {name:24} AVX2: {outcome}; no FMA: {plain}"


def level(processor):
    """The instruction sets that a processor shows, as glibc names them."""
    command = (["qemu-x86_64", "-cpu", processor] if processor else []) + [LOADER, "--help"]
    text = subprocess.run(command, capture_output=True, text=True).stdout
    return max((int(v) for v in re.findall(r"x86-64-v(\d) \(supported", text)), default=1)


def main():
    mahala, pattern = sys.argv[1], re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    if platform.machine() != "x86_64":
        sys.exit("this is no x86-64 machine: there is nothing to compare")
    levels = [level(processor) for processor in ("", "Haswell", "Nehalem")]
    print(f"this machine: x86-64-v{levels[0]}" + (", with AVX-512" if levels[0] == 4 else ", WITHOUT AVX-512"))
    if levels[1:] != [3, 2]:
        sys.exit(f"the emulated processors have levels {levels[1:]}, not 3 (AVX2, FMA) and 2 (neither)")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(folder)
        write_tables(folder)
        work = [item for item in cases(folder).items() if pattern.search(item[0])]
        results = []
        for good, line in pool.map(lambda item: compare(mahala, folder, *item), work):
            print(line, flush=True)
            results.append(good)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
