"""One GMML fit from rows and labels, over all pairs or a list, in NumPy and in SciPy: the time to beat.

Usage: python benchmarks/fit_numpy.py ROWS.npy LABELS.npy [PAIRS.npy] [--repeats N] [--ridge LAMBDA] [--form FORM]

ROWS is n×d float64, LABELS n integers, PAIRS m×3 integers: two rows, and 1 if similar. One JSON line per edition on stdout: seconds per fit
(minimum and median over the repeats, wall and process CPU time) and the trace of A to compare.
Threads are set from outside (OPENBLAS_NUM_THREADS, OMP_NUM_THREADS).

# Formula

    S = Σ_c n_c·Scatter_c,   D = n·Between + Σ_c (n − n_c)·Scatter_c      (sums over all pairs)
    S = LLᵀ,   LᵀDL = UΛUᵀ,   W = L⁻ᵀU,   S⁻¹ ♯_½ D = W Λ^½ Wᵀ
"""

import argparse
import json
import statistics
import time

import numpy as np
import scipy
import scipy.linalg
from scipy.linalg import blas


def main():
    arguments = parse_arguments()
    rows = np.ascontiguousarray(np.load(arguments.rows), dtype=np.float64)
    labels = np.load(arguments.labels)
    pairs = np.load(arguments.pairs) if arguments.pairs else None
    for edition, fit in (("numpy", fit_numpy), ("scipy", fit_scipy)):
        timing, result = measure(
            lambda: fit(rows, labels, pairs, arguments.ridge, arguments.form), arguments.repeats
        )
        report = {
            "edition": edition,
            "version": {"numpy": np.__version__, "scipy": scipy.__version__}[edition],
            "n": rows.shape[0],
            "d": rows.shape[1],
            "classes": len(np.unique(labels)),
            "ridge": arguments.ridge,
            "form": arguments.form,
            "repeats": arguments.repeats,
            **timing,
            "trace_a": trace_of_metric(result, arguments.form),
        }
        print(json.dumps(report), flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", help="n×d float64 .npy file")
    parser.add_argument("labels", help="n integers .npy file")
    parser.add_argument("pairs", nargs="?", help="m×3 integers .npy file: first row, second row, 1 if similar")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ridge", type=float, default=0.0, help="λ added to both diagonals")
    parser.add_argument(
        "--form",
        choices=["components", "matrix"],
        default="components",
        help="stop at the k×d components C with A = CᵀC, or form A",
    )
    return parser.parse_args()


def measure(fit, repeats):
    result = fit()  # warms caches and the thread pool
    wall, cpu = [], []
    for _ in range(repeats):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        result = fit()
        wall.append(time.perf_counter() - wall_start)
        cpu.append(time.process_time() - cpu_start)
    return {
        "wall_min": min(wall),
        "wall_median": statistics.median(wall),
        "cpu_min": min(cpu),
        "cpu_median": statistics.median(cpu),
    }, result


def trace_of_metric(result, form):
    return float(np.trace(result) if form == "matrix" else np.vdot(result, result))


def fit_numpy(rows, labels, pairs, ridge, form):
    s, d = sums(rows, labels, pairs, lambda x: x.T @ x, add_scaled)
    add_ridge(s, d, ridge)
    lower = np.linalg.cholesky(s)
    values, u = np.linalg.eigh(lower.T @ d @ lower)
    # numpy.linalg has no triangular solve; `solve` does a full LU.
    w = np.linalg.solve(lower.T, u)
    components = (w * np.maximum(values, 0.0) ** 0.25).T
    return components.T @ components if form == "matrix" else components


def fit_scipy(rows, labels, pairs, ridge, form):
    s, d = sums(rows, labels, pairs, lower_gram, add_scaled_blas)
    add_ridge(s, d, ridge)
    # DSx = λx: LAPACK's dsygvd does Cholesky, LᵀDL by dsygst (half the work of two products),
    # dsyevd and the triangular solve, and returns W itself.
    in_place = {"overwrite_a": True, "overwrite_b": True, "check_finite": False}
    values, w = scipy.linalg.eigh(d, s, type=2, driver="gvd", lower=True, **in_place)
    w *= np.maximum(values, 0.0) ** 0.25
    if form == "components":
        return w.T
    a = blas.dsyrk(1.0, w, lower=1)
    return a + np.tril(a, -1).T


def sums(rows, labels, pairs, gram, add_scaled):
    if pairs is None:
        return scatters(rows, labels, gram, add_scaled)
    return tuple(gram(rows[chosen[:, 0]] - rows[chosen[:, 1]]) for chosen in (pairs[pairs[:, 2] == 1], pairs[pairs[:, 2] == 0]))


def scatters(rows, labels, gram, add_scaled):
    """S and D from each class's centred scatter; `gram` gives XᵀX of a C-ordered X."""
    n, dimension = rows.shape
    _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    grouped = rows[np.argsort(inverse, kind="stable")]
    means = np.empty((len(counts), dimension))
    ends = np.cumsum(counts)
    for c, (count, end) in enumerate(zip(counts.tolist(), ends.tolist())):
        block = grouped[end - count : end]
        block.mean(axis=0, out=means[c])
        block -= means[c]
        scatter = gram(block)
        if c == 0:
            s, d = np.zeros_like(scatter), np.zeros_like(scatter)
        add_scaled(s, count, scatter)
        add_scaled(d, n - count, scatter)
    means -= (counts / n) @ means
    means *= np.sqrt(n * counts)[:, None]
    d += gram(means)
    return s, d


def lower_gram(x):
    """XᵀX, lower triangle only: Xᵀ is Fortran-ordered, so nothing is copied.

    About as fast as `x.T @ x`, which NumPy passes to the same routine and then mirrors.
    """
    return blas.dsyrk(1.0, x.T, lower=1)


def add_scaled(total, weight, x):
    total += weight * x


def add_scaled_blas(total, weight, x):
    blas.daxpy(x.ravel(order="K"), total.ravel(order="K"), a=weight)


def add_ridge(s, d, ridge):
    for matrix in (s, d):
        matrix.flat[:: len(matrix) + 1] += ridge


if __name__ == "__main__":
    main()
