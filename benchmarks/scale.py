"""Files larger than memory: mahala beside pandas, Polars and pyarrow, each in a process of its own.

    scale.py MAHALA BENCH [--rows 10000000] [--csv-rows 1000000] [--columns 64] [--repeats 3] [--folder target/scale]
             [--results benchmarks/results/scale.jsonl] [--keep] [--reuse]

MAHALA is the command, BENCH the program mahala-bench. A Parquet file and a CSV file are written, then
 - the Parquet file is read (pyarrow, batch by batch), its rows are summed (moments alone, of rows in memory), and a
   metric is learned from it: by mahala in one pass, and by pandas + NumPy and Polars + NumPy in chunks;
 - the CSV file is read by pandas, Polars and pyarrow, and read and learned from by mahala;
 - for the growth curve, mahala learns from the first 10^4, 10^5, … rows as Parquet, with one thread and with all.
Wall and CPU seconds and the peak of memory of each process, one after the other, as often as asked; the median is reported. On
a busy machine only CPU seconds compare.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

CLASSES, CHUNK = 10, 1 << 20


def main():
    if sys.argv[1] == "--work":
        return WORK[sys.argv[2]](*sys.argv[3:])
    mahala, bench = sys.argv[1:3]
    rows, csv_rows = int(option("--rows", 10_000_000)), int(option("--csv-rows", 1_000_000))
    columns, folder = int(option("--columns", 64)), pathlib.Path(option("--folder", "target/scale"))
    folder.mkdir(parents=True, exist_ok=True)
    parquet, csv, model = folder / "rows.parquet", folder / "rows.csv", folder / "model.safetensors"
    work = [sys.executable, __file__, "--work"]
    if "--reuse" not in sys.argv:
        run("generate Parquet", [*work, "parquet", parquet, rows, columns])
        run("generate CSV", [*work, "csv", csv, csv_rows, columns])
    fit = [mahala, "fit", "--label", "y", "--method", "gmml", "--t", "0.5", "--stream", "-o", model]
    commands = {
        "read, pyarrow": [*work, "read", parquet],
        "sums alone": [bench, "once", "stream", rows, columns, CLASSES, os.cpu_count(), 1],
        "mahala": [*fit, parquet],
        "pandas + NumPy": [*work, "pandas_fit", parquet],
        "Polars + NumPy": [*work, "polars_fit", parquet],
        "CSV: mahala, read and fit": [*fit, csv],
        "CSV: pandas, read": [*work, "pandas_csv", csv],
        "CSV: Polars, read": [*work, "polars_csv", csv],
        "CSV: pyarrow, read": [*work, "pyarrow_csv", csv],
    }
    seen = {name: [] for name in commands}
    for _ in range(int(option("--repeats", 3))):
        for name, command in commands.items():
            seen[name].append(run(name, command))
    lines = [
        {"what": "scale", "rows": rows, "csv_rows": csv_rows, "columns": columns, "threads": os.cpu_count(),
         "parquet_bytes": parquet.stat().st_size, "csv_bytes": csv.stat().st_size, "times": seen},
        *growth(work, fit, folder, rows, columns),
    ]
    results = pathlib.Path(option("--results", "benchmarks/results/scale.jsonl"))
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    print(table(lines[0]))
    if "--keep" not in sys.argv:
        for path in (parquet, csv, model):
            path.unlink(missing_ok=True)


def growth(work, fit, folder, most, columns):
    """The fit of files of growing length, each on one thread and on all."""
    path = folder / "growth.parquet"
    for rows in (n for n in (10**k for k in range(4, 9)) if n <= most):
        run(f"generate {rows} rows", [*work, "parquet", path, rows, columns])
        for threads in sorted({1, os.cpu_count()}):
            wall, cpu, peak = min(run(f"fit {rows} rows, {threads} threads", [*fit, "--threads", threads, path]) for _ in range(2))
            yield {"what": "stream", "rows": rows, "columns": columns, "threads": threads, "wall": wall, "cpu": cpu, "peak_mb": peak}
    path.unlink()


def table(line):
    """The measurements as Markdown."""
    text = f"{line['rows']:,} × {line['columns']} as Parquet ({line['parquet_bytes'] / 1e9:.2f} GB), "
    text += f"{line['csv_rows']:,} × {line['columns']} as CSV ({line['csv_bytes'] / 1e9:.2f} GB), {line['threads']} threads; "
    text += f"median of {len(line['times']['mahala'])}, in brackets the least.\n\n"
    text += "| | wall s | CPU s | peak MB |\n|---|---:|---:|---:|\n"
    for name, runs in line["times"].items():
        wall, cpu, peak = zip(*runs, strict=True)
        cells = [f"{statistics.median(part):.1f} ({min(part):.1f})" for part in (wall, cpu)]
        text += f"| {name} | {cells[0]} | {cells[1]} | {max(peak):.0f} |\n"
    return text


def option(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def run(name, command):
    """Wall and CPU seconds and peak megabytes of one process; its own imports are not counted if it says so."""
    print(name, file=sys.stderr)
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{name} failed")
    wall, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    reported = json.loads(output.splitlines()[0]) if output.startswith("{") else {}
    if "before" in reported:
        wall, cpu = wall - reported["before"][0], cpu - reported["before"][1]
    if "times" in reported:  # of the work alone, without making the rows
        wall, cpu = reported["times"]["wall_min"], reported["times"]["cpu_min"]
    # Bytes on macOS, kilobytes elsewhere.
    return wall, cpu, usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1024)


def started(begin=time.perf_counter()):
    """Reports what was spent on imports, to be taken off."""
    print(json.dumps({"before": [time.perf_counter() - begin, time.process_time()]}), flush=True)


def chunks(rows, columns):
    import numpy as np

    random = np.random.default_rng(0)
    centres = random.standard_normal((CLASSES, columns))
    for first in range(0, rows, CHUNK):
        y = random.integers(0, CLASSES, min(CHUNK, rows - first))
        yield random.standard_normal((len(y), columns)) + centres[y], y


def schema(columns):
    import pyarrow as pa

    return pa.schema([(f"x{j}", pa.float64()) for j in range(columns)] + [("y", pa.int64())])


def tables(rows, columns):
    import pyarrow as pa

    for x, y in chunks(rows, columns):
        yield pa.table([*(x[:, j].copy() for j in range(columns)), y], schema=schema(columns))


def write_parquet(path, rows, columns):
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, schema(int(columns))) as writer:
        for table in tables(int(rows), int(columns)):
            writer.write_table(table)


def write_csv(path, rows, columns):
    import pyarrow.csv as pc

    with pc.CSVWriter(path, schema(int(columns))) as writer:
        for table in tables(int(rows), int(columns)):
            writer.write_table(table)


def read(path):
    import pyarrow.parquet as pq

    started()
    for _ in pq.ParquetFile(path, pre_buffer=False).iter_batches(batch_size=1 << 16):
        pass


def learn(blocks):
    """GMML at t = 1/2 from count, mean and scatter of each class, merged block by block."""
    import numpy as np

    sums = {}
    for x, y in blocks:
        for c in np.unique(y):
            part = x[y == c]
            n, mean = len(part), part.mean(axis=0)
            centred = part - mean
            scatter = centred.T @ centred
            if c in sums:
                m, old, total = sums[c]
                step = mean - old
                scatter += total + np.outer(step, step) * (m * n / (m + n))
                n, mean = m + n, old + step * (n / (m + n))
            sums[c] = n, mean, scatter
    n = sum(s[0] for s in sums.values())
    overall = sum(s[0] * s[1] for s in sums.values()) / n
    similar = sum(s[0] * s[2] for s in sums.values())
    between = sum(s[0] * np.outer(s[1] - overall, s[1] - overall) for s in sums.values())
    dissimilar = sum((n - s[0]) * s[2] for s in sums.values()) + n * between
    low = np.linalg.cholesky(similar)
    values, vectors = np.linalg.eigh(low.T @ dissimilar @ low)
    w = np.linalg.solve(low.T, vectors)
    return (w * np.sqrt(values)) @ w.T


def pandas_fit(path):
    import numpy
    import pandas
    import pyarrow.parquet as pq

    started()

    def blocks():
        for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches(batch_size=1 << 16):
            frame: pandas.DataFrame = batch.to_pandas()
            y = frame.pop("y").to_numpy()
            yield frame.to_numpy(dtype=numpy.float64), y

    learn(blocks())


def polars_fit(path):
    import numpy  # noqa: F401
    import polars

    started()

    def blocks():
        for frame in polars.scan_parquet(path).collect_batches(chunk_size=1 << 18, maintain_order=True):
            yield frame.drop("y").to_numpy(), frame["y"].to_numpy()

    learn(blocks())


def pandas_csv(path):
    import pandas

    started()
    pandas.read_csv(path)


def polars_csv(path):
    import polars

    started()
    polars.read_csv(path)


def pyarrow_csv(path):
    import pyarrow.csv

    started()
    pyarrow.csv.read_csv(path)


WORK = {
    "parquet": write_parquet,
    "csv": write_csv,
    "read": read,
    "pandas_fit": pandas_fit,
    "polars_fit": polars_fit,
    "pandas_csv": pandas_csv,
    "polars_csv": polars_csv,
    "pyarrow_csv": pyarrow_csv,
}

if __name__ == "__main__":
    main()
