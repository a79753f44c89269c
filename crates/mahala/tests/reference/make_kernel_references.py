"""Write kernel.json: distances of kernel GMML, from explicit coordinates in feature space.

Usage: python make_kernel_references.py          (needs mpmath; see README.md beside this file)

The kernel matrix of all points, learned on and new, is factorised as K = RᵀR with 60 digits; the columns of R
are the points' coordinates in a space that holds them all. There S, D and the formula of Algorithm 1 are
computed in full, λ times the identity and all: no span, no projection, no landmark.
"""

import json
from pathlib import Path

from mpmath import matrix, mp, mpf

HERE = Path(__file__).parent
mp.dps = 60
ROWS = [[0.0, 0.25], [1.0, -0.5], [0.5, 1.5], [-1.25, 0.75], [2.0, 1.0], [-0.5, -1.0], [1.5, 2.25]]
CLASSES = [0, 1, 0, 1, 0, 1, 1]
NEW = [[0.75, 0.5], [-2.0, 3.0]]
LAMBDA = 0.5
KERNELS = {
    "rbf": lambda x, y: mp.exp(-mpf("0.375") * sum((a - b) ** 2 for a, b in zip(x, y))),
    "polynomial": lambda x, y: (mpf("0.5") * sum(a * b for a, b in zip(x, y)) + 1) ** 3,
}


def power(a, t):
    values, vectors = mp.eigsy(a)
    return vectors * mp.diag([v**t for v in values]) * vectors.T


def mean(a, b, t):
    """a ♯_t b"""
    root, inverse = power(a, mpf("0.5")), power(a, mpf("-0.5"))
    return root * power(inverse * b * inverse, t) * root


def coordinates(points, kernel):
    """Columns R_i with R_iᵀR_j = k(x_i, x_j), by the eigenvectors of the kernel matrix."""
    points = [[mpf(x) for x in point] for point in points]
    k = matrix([[kernel(x, y) for y in points] for x in points])
    values, vectors = mp.eigsy(k)
    return mp.diag([mp.sqrt(max(v, 0)) for v in values]) * vectors.T


def case(name, kernel):
    n, points = len(ROWS), ROWS + NEW
    r = coordinates(points, kernel)
    size = len(points)
    s, d = mp.zeros(size), mp.zeros(size)
    for i in range(n):
        for j in range(i):
            v = r[:, i] - r[:, j]
            if CLASSES[i] == CLASSES[j]:
                s += v * v.T
            else:
                d += v * v.T
    # All pairs count as the paper's 40c(c − 1) = 80 of n²/2.
    factor = mpf(2 * 80) / n**2
    lam = mpf(LAMBDA)
    s, d = factor * s + lam * mp.eye(size), factor * d + lam * mp.eye(size)
    at = []
    for t in [0.0, 0.25, 0.5, 1.0]:
        a = mean(s**-1, d, mpf(t))
        squared = lambda i, j: ((r[:, i] - r[:, j]).T * a * (r[:, i] - r[:, j]))[0]
        at.append({"t": t, "squared": [[mp.nstr(squared(i, j), 25) for j in range(size)] for i in range(size)]})
    return {"name": name, "at": at}


cases = [case(name, kernel) for name, kernel in KERNELS.items()]
content = {"rows": ROWS, "classes": CLASSES, "new": NEW, "lambda": LAMBDA, "cases": cases}
(HERE / "kernel.json").write_text(json.dumps(content, indent=1) + "\n")
