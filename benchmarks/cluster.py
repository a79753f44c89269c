"""Growth curves of Dask and Spark, and the rate of one core: `cluster.py [--rows N,...] [--features D] [ENGINE ...]`.

Needs mahala with the engines it is asked for (dask, spark) in its Python, and Java 17 for Spark. Rows lie in the workers' memory
before the time is taken: what is measured is sums, transport, merging and solution. CPU time is that of all processes, from Linux's
/proc. One JSON object for each measurement goes to --results, and a line to the screen.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

import numpy as np

CLASSES, PARTITIONS, REPEATS = 10, 8, 5


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", nargs="*", help="dask, spark; default: both")
    parser.add_argument("--rows", default="50000,100000,200000,400000", help="separated by commas")
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--results", default="benchmarks/results/cluster.jsonl")
    wanted = parser.parse_args()
    lines = [rate(wanted.features)]
    print(lines[0], flush=True)
    for engine in wanted.engines or ENGINES:
        for rows in map(int, wanted.rows.split(",")):
            for workers in (1, 2):
                seconds, cpu = ENGINES[engine](workers, rows, wanted.features)
                line = {"engine": engine, "rows": rows, "features": wanted.features, "workers": workers, "wall": seconds, "cpu": cpu}
                lines.append({"what": "cluster", **line})
                print(line, flush=True)
    results = pathlib.Path(wanted.results)
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def rate(d):
    """CPU time of one core, the least of several."""
    from mahala import GMML, Moments

    X, y = rows_of(0, 32_768, d)
    sums = least(lambda: Moments(d).update(X, y, n_jobs=1), time.process_time, 7)
    moments = Moments(d).update(X, y)
    content = moments.to_bytes()
    merge = least(lambda: Moments.from_bytes(content).merge(moments), time.process_time, 7)
    solve = least(lambda: GMML(t=0.3, n_jobs=1).fit_moments(moments), time.process_time, 7)
    return {
        "what": "rate", "features": d, "classes": CLASSES, "rows_per_second": len(X) / sums, "flops_per_second": len(X) / sums * d * d,
        "partial_bytes": len(content), "merge_seconds": merge, "solve_seconds": solve,
    }


def rows_of(part, n, d):
    random = np.random.default_rng(part)
    y = random.integers(CLASSES, size=n)
    return random.normal(size=(n, d)) + 0.1 * y[:, None], y


def least(work, clock, repeats):
    taken = []
    for _ in range(repeats):
        start = clock()
        work()
        taken.append(clock() - start)
    return min(taken)


def fastest(work):
    """Least wall time, and least CPU time of this process and all below it."""
    cpu = [0.0] * (REPEATS + 1)
    walls = []
    cpu[0] = cpu_below()
    for i in range(REPEATS):
        walls.append(least(work, time.perf_counter, 1))
        cpu[i + 1] = cpu_below()
    return min(walls), min(after - before for before, after in zip(cpu, cpu[1:], strict=False))


def cpu_below():
    parents, spent = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = pathlib.Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended meanwhile
        parents[int(entry)] = int(fields[1])
        spent[int(entry)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ours(process):
        return process == os.getpid() or (process in parents and ours(parents[process]))

    return sum(seconds for process, seconds in spent.items() if ours(process))


def with_dask(workers, n, d):
    import dask
    import dask.array as da
    import distributed

    import mahala.dask

    size = n // PARTITIONS
    with (
        dask.config.set({"distributed.worker.use-file-locking": False}),
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        parts = [dask.delayed(rows_of, nout=2)(i, size, d) for i in range(PARTITIONS)]
        X = da.concatenate([da.from_delayed(part[0], (size, d), np.float64) for part in parts])
        y = da.concatenate([da.from_delayed(part[1], (size,), np.int64) for part in parts])
        X, y = client.persist([X, y])
        distributed.wait([X, y])
        return fastest(lambda: mahala.dask.fit(X, y, t=0.3))


def with_spark(workers, n, d):
    from pyspark.sql import SparkSession

    import mahala.spark

    size = n // PARTITIONS

    def generated(batches):
        import pyarrow as pa

        for batch in batches:
            for part in batch.column(0).to_pylist():
                X, y = rows_of(part, size, d)
                lists = pa.ListArray.from_arrays(pa.array(np.arange(0, size * d + 1, d, dtype=np.int32)), pa.array(X.ravel()))
                yield pa.RecordBatch.from_arrays([lists, pa.array(y)], ["features", "label"])

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master(f"local-cluster[{workers},1,1024]").config("spark.local.dir", folder)
        for name, value in (("ui.enabled", "false"), ("driver.host", "127.0.0.1"), ("log.level", "ERROR")):
            builder = builder.config(f"spark.{name}", value)
        spark = builder.getOrCreate()
        try:
            df = spark.range(0, PARTITIONS, 1, PARTITIONS).mapInArrow(generated, "features array<double>, label long").cache()
            df.count()
            return fastest(lambda: mahala.spark.fit(df, t=0.3))
        finally:
            spark.stop()


ENGINES = {"dask": with_dask, "spark": with_spark}

if __name__ == "__main__":
    main()
