"""Measurements as the document: report.py FOLDER [DOCUMENT.md]

FOLDER holds a file for each kind of measurement, one JSON object a line. Prints the tables; with a document's name, writes
it there, and the growth curves to figures/ beside it.
"""

import json
import pathlib
import statistics
import sys

import scale
from curves import curves
from run import KINDS

INTRODUCTION = """# Benchmarks

`./bench` repeats all of this and writes this document. Every figure is measured side by side in one run: our
repetitions and the peers' alternate, so that all see the same machine. Times are the least of the run, in ms,
wall / CPU where both are given; a ratio below 1 is in mahala's favour unless said otherwise. Rows are generated:
overlapping classes, full rank, seeded.
"""

GROWTH = """## Growth

One fit, each point a process of its own; both axes logarithmic. "fit" has its rows in memory; "stream" adds blocks of rows
to moments as they come, and keeps none; "file" is the command on a Parquet file of 64 columns with one thread and with
two; Dask and Spark have rows of 256 features in 8 partitions, in the memory of one worker or of two.

"""


def main():
    files = sorted(pathlib.Path(sys.argv[1]).glob("*.jsonl"))
    lines = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    parts = [INTRODUCTION]
    for section in (machine, in_short, fits, bounds, eigenproblems, searches, neighbours, trees, iterative, memory, files_larger_than_memory, clusters):
        text = section(lines)
        if text:
            parts.append(text)
    images = curves(lines)
    if images:
        parts.append(GROWTH + "\n".join(f"![{title}]({name})" for name, (title, _) in images.items()) + "\n")
    text = "\n".join(parts)
    missing = {*KINDS, "scale", "cluster"} - {path.stem for path in files}
    if len(sys.argv) > 2 and missing:
        print(f"{sys.argv[2]} stays as it is: not measured yet: {', '.join(sorted(missing))}", file=sys.stderr)
    elif len(sys.argv) > 2:
        document = pathlib.Path(sys.argv[2])
        document.write_text(text, encoding="utf-8")
        for name, (_, svg) in images.items():
            (document.parent / name).parent.mkdir(exist_ok=True)
            (document.parent / name).write_text(svg, encoding="utf-8")
    print(text)


def of(lines, what, **fixed):
    return [line for line in lines if line["what"] == what and all(line.get(k) == v for k, v in fixed.items())]


def table(head, rows):
    rule = "|" + "---|" * len(head)
    return "\n".join(["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def ms(seconds):
    value = 1e3 * seconds
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def both(times):
    return f"{ms(times['wall_min'])} / {ms(times['cpu_min'])}"


def machine(lines):
    for line in of(lines, "machine")[:1]:
        wide = ", ".join(line["instructions"])
        # The load before each kind of measurement; what was measured before it counts for a minute.
        kinds = [other["kind"] for other in of(lines, "machine") if other["load"] > 2.5]
        busy = f" **The machine was busy before {', '.join(kinds)}: provisional.**" if kinds else ""
        return (
            f"Measured on {line['cores']} cores of an {line['processor']} ({wide}), {line['memory_gb']} GB, {line['system']}; "
            f"Rust {line['rust']}; peers as in `benchmarks/requirements.txt`.{busy}\n"
        )


def in_short(lines):
    """What the tables say, by count."""
    points = []
    chosen = of(lines, "fit")
    if chosen:
        slower = [line for line in chosen if line["mahala"]["cpu_min"] > 1.005 * best_peer(line, "cpu_min")]
        where = ", ".join(f"d = {line['d']}{' (sampled pairs)' if line['pairs'] == 'sampled' else ''} on {threads(line)} {line['mahala']['cpu_min'] / best_peer(line, 'cpu_min'):.2f}" for line in slower)
        points.append(
            f"A fit takes no more CPU time than the faster of NumPy and NumPy + SciPy in {len(chosen) - len(slower)} of {len(chosen)} cases"
            + (f"; not at {where}." if slower else ".")
        )
        for rule in ("all", "sampled"):
            narrow = [best_peer(line, "cpu_min") / line["mahala"]["cpu_min"] for line in of(chosen, "fit", pairs=rule, threads=1) if line["d"] <= 20]
            if narrow:
                points.append(f"With at most 20 columns, {rule} pairs, on one thread, it is {spread(narrow, 1)} times as fast.")
    times_bound = [line["mahala"]["cpu_min"] * fma / line["flops"] for fma, line in against_bound(lines)]
    if times_bound:
        peer = [best_peer(line, "cpu_min") * fma / line["flops"] for fma, line in against_bound(lines)]
        points.append(
            f"From 256 columns on, on one thread, it takes {spread(times_bound, 2)} times what its multiplications alone would; "
            f"the faster peer {spread(peer, 2)}."
        )
    ratios = [(peer["wall_ratio"], line["d"]) for line in of(lines, "knn") for peer in line["peers"] if peer["peer"] == "faiss"]
    if ratios:
        (least, at), (most, _) = min(ratios), max(ratios)
        points.append(f"Exact neighbours: FAISS takes {least:.2f} (at d = {at}) to {most:.2f} times as long, in {len(ratios)} cases.")
    return "## In short\n\n" + "\n".join(f"- {point}" for point in points) + "\n" if points else None


def spread(values, digits):
    """From the least to the largest."""
    ends = [f"{end(values):.{digits}f}" for end in (min, max)]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def threads(line):
    return "one thread" if line["threads"] == 1 else f"{line['threads']} threads"


def best_peer(line, key):
    return min(line[who][key] for who in ("numpy", "scipy"))


def fits(lines):
    text = ""
    rules = {"all": "over all pairs", "sampled": "over the paper's 40c(c−1) sampled pairs, λ = 0.1"}
    for rule, title in rules.items():
        chosen = of(lines, "fit", pairs=rule)
        if not chosen:
            continue
        rows = []
        for line in chosen:
            peers = [both(line[who]) if who in line else "" for who in ("numpy", "scipy", "octave")]
            ratios = [f"{line['mahala'][key] / best_peer(line, key):.2f}" for key in ("wall_min", "cpu_min")]
            rows.append([*(str(line[k]) for k in ("n", "d", "c", "threads")), both(line["mahala"]), *peers, " / ".join(ratios)])
        head = ["n", "d", "c", "threads", "mahala", "NumPy", "NumPy + SciPy", "Octave", "mahala ÷ faster of NumPy, SciPy"]
        text += f"## One fit from rows and labels, {title}\n\n" + table(head, rows) + "\n"
    if text:
        text += (
            "\"NumPy + SciPy\" is the fastest formulation we found: BLAS's symmetric product for the sums, then a single\n"
            "LAPACK call (`eigh(D, S, type=2, driver=\"gvd\")`), which does the Cholesky factorisation, the congruence, the\n"
            "eigenproblem and the triangular solve. Octave follows the paper's formula.\n"
        )
    return text


def against_bound(lines):
    """The fits that are compared with what the machine can do, each with its rate of multiplications in registers."""
    return [(line["flops_per_second"]["fma"], line) for line in of(lines, "fit") if line["flops_per_second"]]


def bounds(lines):
    """The least time by the flops alone, on one thread."""
    chosen = against_bound(lines)
    if not chosen:
        return None
    wider = all(fma > 1.1 * line["flops_per_second"]["avx2"] for fma, line in chosen)
    kinds = {"fma": "in registers", "gemm": "by a product", **({"avx2": "in AVX2 registers"} if wider else {})}
    head = ["pairs", "n", "d", "c", *(f"GF/s {name}" for name in kinds.values()), "bound", "mahala (CPU)", "mahala ÷ bound", "faster peer ÷ bound"]
    head += [f"mahala ÷ bound {name}" for kind, name in kinds.items() if kind != "fma"]
    rows = []
    for fma, line in chosen:
        rates, ours = line["flops_per_second"], line["mahala"]["cpu_min"]
        times = lambda seconds, kind: f"{seconds * rates[kind] / line['flops']:.2f}"
        rows.append(
            [line["pairs"], *(str(line[k]) for k in ("n", "d", "c")), *(f"{rates[kind] / 1e9:.1f}" for kind in kinds)]
            + [ms(line["flops"] / fma), ms(ours), times(ours, "fma"), times(best_peer(line, "cpu_min"), "fma")]
            + [times(ours, kind) for kind in kinds if kind != "fma"]
        )
    return (
        "## Against the flops bound, one thread\n\n"
        "One triangle of the sums, d³/3 for Cholesky, d³ for the congruence, 14/3·d³ for the eigenproblem, d³ for the\n"
        "triangular solve, at the rate of fused multiplications and additions in the widest registers there are; beside it that of\n"
        "a matrix product of order 1024 (faer's)" + (", and of registers of half the width (AVX2)" if wider else "") + ".\n"
        "The rates are measured before and after our fits in each round, and the best of them counts: the machine's change by the minute.\n\n"
        + table(head, rows)
    )


def eigenproblems(lines):
    chosen = of(lines, "eigen")
    if not chosen:
        return None
    rows = [
        [str(line["d"]), both(line["mahala"]), both(line["faer"]), f"{line['mahala']['cpu_min'] / line['faer']['cpu_min']:.2f}"]
        for line in chosen
    ]
    return (
        "## The eigenproblem alone, one thread\n\n"
        "All eigenvalues and eigenvectors of a symmetric matrix: our divide and conquer, reduction and rotations against faer's\n"
        "`self_adjoint_evd`, which they took the place of.\n\n"
        + table(["d", "mahala", "faer", "mahala ÷ faer (CPU)"], rows)
    )


def searches(lines):
    chosen = of(lines, "search")
    if not chosen:
        return None
    rows = [
        [*(str(line[k]) for k in ("n", "d", "c", "threads")), ms(line["whole"]["cpu_min"]), ms(line["searches_alone"]["cpu_min"]), f"{line['cpu_ratio']:.2f}"]
        for line in chosen
    ]
    head = ["n", "d", "c", "threads", "whole search", "searches alone", "ratio"]
    return "## Choosing t\n\nThe two-step search (20 values of t, 5 folds) against as many neighbour searches of the same sizes alone, CPU time.\n\n" + table(head, rows)


def neighbours(lines):
    chosen = [line for line in of(lines, "knn") if len(line["peers"]) > 1]
    if not chosen:
        return None
    rows = []
    for line in chosen:
        shape = [str(line[k]) for k in ("queries", "rows", "d", "threads")]
        for peer in line["peers"]:
            rows.append([*shape, both(line["mahala"]), peer["peer"], both(peer), f"{peer['wall_ratio']:.2f} / {peer['cpu_ratio']:.2f}"])
    head = ["queries", "rows", "d", "threads", "mahala", "peer", "peer's time", "peer ÷ mahala"]
    return (
        "## Exact 5 nearest neighbours\n\n"
        "Building the index and searching; here a ratio above 1 is in mahala's favour. FAISS is `IndexFlatL2` on rows\n"
        "already in single precision; mahala converts from double precision within the time, and its answer is exact where\n"
        "single precision is not. \"tree\" is the faster of scikit-learn's kd-tree and ball tree.\n\n" + table(head, rows)
    )


def trees(lines):
    chosen = [line for line in of(lines, "knn") if [peer["peer"] for peer in line["peers"]] == ["tree"]]
    if not chosen:
        return None
    rows = [
        [*(str(line[k]) for k in ("queries", "rows", "d")), both(line["mahala"]), both(line["peers"][0]), f"{line['peers'][0]['cpu_ratio']:.2f}"]
        for line in chosen
    ]
    head = ["queries", "rows", "d", "mahala", "scikit-learn's best tree", "tree ÷ mahala"]
    return "## Few dimensions\n\nUp to six columns mahala searches by a tree of its own, beyond by brute force. One thread, CPU time in the ratio.\n\n" + table(head, rows)


def iterative(lines):
    chosen = of(lines, "iterative")
    if not chosen:
        return None
    line = chosen[-1]
    ours = line["mahala"]["cpu_min"]
    rows = [["GMML (mahala)", ms(ours), "1"]] + [[r["method"], ms(r["cpu"]), f"{r['cpu'] / ours:,.0f}"] for r in line["peers"]]
    return f"## Iterative methods on Segment ({line['n']} × {line['d']})\n\nOne fit, CPU time in ms: metric-learn's LMNN and ITML, scikit-learn's NCA, default settings,\non standardised columns; GMML on the columns as they are.\n\n" + table(["method", "time", "times GMML's"], rows)


def memory(lines):
    chosen = [line for line in of(lines, "once") if line["n"] * line["d"] == 64_000_000 or line["d"] >= 2048]
    if not chosen:
        return None
    rows = []
    for line in chosen:
        n, d = line["n"], line["d"]
        resident = line["peak_after"] - line["peak_before"]
        row = [line["kind"], str(n), str(d), f"{line['data_bytes'] / 2**20:.0f}"]
        rows.append(row + [f"{x / 2**20:.2f}" for x in (line["asked_for"], allowed(line["kind"], d), resident)])
    head = ["work", "n", "d", "rows (MiB)", "peak above the rows (MiB)", "bound (MiB)", "resident (MiB)"]
    note = (
        "Peak memory of one fit or search on one thread above its rows: all allocations of the second one in a\n"
        "process are counted. The bound of a fit: 6 matrices d × d and a block (512 rows and one more, in whole registers). For\n"
        "neighbours (1000 queries): a block. The last column is by how much the process grew in the first, with pages of the\n"
        "program, of stacks, and of the matrix product's workspace (address space of twice the L3 cache, little of it used).\n\n"
    )
    return "## Memory\n\n" + note + table(head, rows)


def allowed(kind, d):
    if kind == "knn":
        # 960 queries, as they are and packed.
        return 2 * 8 * 960 * d
    return 6 * 8 * d * d + 8 * 513 * 24 * -(-d // 24)


def files_larger_than_memory(lines):
    chosen = of(lines, "scale")
    if not chosen:
        return None
    line = chosen[-1]
    return (
        "## Files larger than memory\n\n"
        "`./bench --only scale`: a fit at a given t, in one pass over a file that was just written, so that it is in the system's\n"
        "cache: reading is decoding. The others do the same sums in chunks with NumPy; each program in a process of its own, in\n"
        f"turns. {scale.table(line)}"
        f"\n{share(line)}\n"
    )


def share(line):
    """The speed of the fit against the slower of its two parts alone."""
    times = line["times"]
    walls = {name: [run[0] for run in runs] for name, runs in times.items()}
    slower = max(("read, pyarrow", "sums alone"), key=lambda name: statistics.median(walls[name]))
    ratios = sorted(a / b for a, b in zip(walls[slower], walls["mahala"], strict=True))
    both_parts = sum(statistics.median(run[1] for run in times[name]) for name in ("read, pyarrow", "sums alone"))
    whole = statistics.median(run[1] for run in times["mahala"])
    least = both_parts / line["threads"]
    bound = 100 * statistics.median(walls[slower]) / least
    return (
        f"mahala's fit runs at {100 * statistics.median(ratios):.0f} % of the speed of the slower part alone ({slower}; from "
        f"{100 * ratios[0]:.0f} to {100 * ratios[-1]:.0f} % in single rounds).\nIt takes {whole:.1f} CPU s where both parts "
        f"together take {both_parts:.1f}: on {line['threads']} cores that both parts keep busy, {least:.1f} s or {bound:.0f} % would be all there is."
    )


def clusters(lines):
    chosen = of(lines, "cluster")
    if not chosen:
        return None
    rows = []
    for line in chosen:
        alone = next(o for o in chosen if (o["engine"], o["rows"], o["workers"]) == (line["engine"], line["rows"], 1))
        rows.append([
            line["engine"].capitalize(), f"{line['rows']:,}", str(line["workers"]), f"{line['wall']:.2f}",
            f"{alone['wall'] / line['wall']:.2f}", f"{line['cpu']:.2f}",
        ])
    head = ["engine", "rows", "workers", "seconds", "against 1 worker", "CPU seconds"]
    text = (
        "## Clusters\n\n`./bench --only cluster`: a fit at a given t over rows of 256 features, 10 classes, in 8 partitions in the\n"
        "workers' memory; the least of five. [When one machine is not enough](cluster.md) has the arithmetic for more.\n\n"
    )
    for rate in of(lines, "rate"):
        text += (
            f"One core sums {rate['rows_per_second']:,.0f} rows of {rate['features']} features a second ({rate['flops_per_second'] / 1e9:.1f} "
            f"GFlop/s);\na partial sum has {rate['partial_bytes']:,} bytes; to read and merge one takes {1e3 * rate['merge_seconds']:.1f} ms, "
            f"to solve {1e3 * rate['solve_seconds']:.0f} ms.\n\n"
        )
    return text + table(head, rows)


main()
