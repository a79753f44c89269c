"""Runs the measurements: run.py BENCH PYTHON FOLDER [--quick] [--only KIND,...]

BENCH is the program target/release/mahala-bench, PYTHON the interpreter that has the peers. Each kind of measurement has
a file KIND.jsonl in FOLDER, one JSON object a line, the machine first; it is replaced when all of the kind was measured.
Each point of a growth curve is a process of its own, so that its peak of memory is its own. What cannot run here is said
aloud.
"""

import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

PAPER = [(2310, 19, 7), (20000, 16, 26), (9298, 256, 10), (7797, 617, 26), (4000, 784, 10)]
EMBEDDINGS = [(100_000, 384, 10), (100_000, 768, 10), (20_000, 1536, 10), (10_000, 4096, 10)]
NEIGHBOURS = [(10_000, 10_000, 16), (4649, 4649, 256), (2000, 2000, 784), (10_000, 100_000, 64)]
# Few dimensions, where a tree may win.
FEW_DIMENSIONS = [(10_000, 100_000, d) for d in (2, 4, 6, 8)]
# Orders, and how often each is solved.
EIGENPROBLEMS = [(8, "300"), (19, "300"), (64, "100"), (256, "30"), (784, "9"), (1536, "5"), (4096, "1")]
KINDS = ["fit", "embeddings", "eigen", "search", "knn", "trees", "growth", "memory", "iterative"]


def main():
    bench, python, folder = sys.argv[1:4]
    only = sys.argv[sys.argv.index("--only") + 1].split(",") if "--only" in sys.argv else KINDS
    octave = shutil.which("octave")
    if octave is None:
        print("not measured: Octave is not installed (Debian: octave)", file=sys.stderr)
    if "--quick" in sys.argv:
        return measure(bench, "quick", quick_commands(python, octave), folder)
    for kind in only:
        measure(bench, kind, commands_of(kind, python, octave), folder)


def measure(bench, kind, commands, folder):
    commands = list(commands)
    lines = [json.dumps({"what": "machine", "kind": kind, **machine()}) + "\n"]
    for number, command in enumerate(commands, 1):
        print(f"{kind} [{number}/{len(commands)}] {' '.join(command[:1] + command[-6:])}", file=sys.stderr)
        lines.append(subprocess.run([bench, *command], check=True, stdout=subprocess.PIPE, text=True).stdout)
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    pathlib.Path(folder, f"{kind}.jsonl").write_text("".join(lines), encoding="utf-8")


def quick_commands(python, octave):
    yield from fits(python, octave, [(500, 20, 3)], [1], "2", ["all", "sampled"])
    yield ["eigen", "40", "2"]
    yield ["search", "300", "20", "3", "1"]
    yield ["knn", python, "200", "300", "8", "1", "1", "faiss,brute,tree"]
    yield ["once", "fit", "2000", "16", "4", "1", "3"]
    yield ["once", "stream", "20000", "16", "4", "1", "1"]


def commands_of(kind, python, octave):
    if kind == "fit":
        # What takes milliseconds is measured more often: the least of few would be the machine's mood.
        yield from fits(python, octave, PAPER[:3], [1, 2], "20", ["all", "sampled"])
        yield from fits(python, octave, PAPER[3:], [1, 2], "7", ["all", "sampled"])
    if kind == "embeddings":
        # Octave's matrix functions take minutes here; the large shapes are measured twice.
        yield from fits(python, None, EMBEDDINGS[:2], [1, 2], "2", ["all"])
        yield from fits(python, None, EMBEDDINGS[2:], [1, 2], "1", ["all"])
    if kind == "eigen":
        yield from (["eigen", str(d), repeats] for d, repeats in EIGENPROBLEMS)
    if kind == "search":
        for threads in ("1", "2"):
            yield ["search", "1000", "20", "5", threads]
            yield ["search", "4000", "784", "10", threads]
    if kind == "knn":
        for threads in ("1", "2"):
            for queries, rows, d in NEIGHBOURS:
                # Trees take minutes beyond a few dimensions: once is enough.
                peers = "faiss,brute,tree" if rows <= 50_000 and threads == "1" else "faiss,brute"
                yield ["knn", python, str(queries), str(rows), str(d), threads, "5", peers]
    if kind == "trees":
        for queries, rows, d in FEW_DIMENSIONS:
            yield ["knn", python, str(queries), str(rows), str(d), "1", "2", "tree"]
    if kind == "growth":
        yield from growth()
    if kind == "memory":
        yield from (["once", work, "1000000", "64", "10", "1", "1"] for work in ("fit", "knn"))
    if kind == "iterative":
        yield from iterative()


def fits(python, octave, shapes, threads, repeats, rules):
    for count in threads:
        for shape in shapes:
            for rule in rules:
                yield ["fit", python, octave or "-", rule, *map(str, shape), str(count), repeats]


def growth():
    for n in (1000, 10_000, 100_000, 1_000_000):
        yield ["once", "fit", str(n), "16", "10", "1", "5"]
    for n in (1000, 10_000, 100_000, 1_000_000, 10_000_000):
        yield ["once", "stream", str(n), "16", "10", "1", "1"]
    for d in (16, 64, 256, 1024, 2048, 4096):
        yield ["once", "fit", "10000", str(d), "10", "1", "3" if d < 1024 else "1"]
    for c in (2, 10, 100, 1000):
        yield ["once", "fit", "20000", "64", str(c), "1", "5"]
        yield ["once", "stream", "20000", "64", str(c), "1", "1"]


def iterative():
    data = os.environ.get("MAHALA_DATA", "")
    python = pathlib.Path("target/metric-learn-venv/bin/python")
    if not pathlib.Path(data, "segment.csv").is_file():
        print("not measured: iterative methods on Segment: set MAHALA_DATA to the folder with segment.csv", file=sys.stderr)
    elif not python.is_file():
        print("not measured: iterative methods on Segment: target/metric-learn-venv is missing", file=sys.stderr)
    else:
        yield ["iterative", str(python), str(pathlib.Path(data, "segment.csv"))]


def machine():
    """What the figures were measured on; nothing that names the host."""
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    flags = next((line for line in lines if line.startswith("flags")), "")
    wide = [flag for flag in ("avx2", "fma", "avx512f") if f" {flag}" in flags]
    memory = pathlib.Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()[0].split()[1]
    rust = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False).stdout.split()
    return {
        "processor": names[0] if names else platform.processor(), "cores": os.cpu_count(), "instructions": wide,
        "memory_gb": round(int(memory) / 2**20), "system": platform.system(), "rust": rust[1] if len(rust) > 1 else "",
        "load": os.getloadavg()[0],
    }


if __name__ == "__main__":
    main()
