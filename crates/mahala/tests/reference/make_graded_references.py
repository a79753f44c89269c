"""Write graded.json: entries of S⁻¹ ♯_½ D for rows whose columns have units from 1 to 1e12.

Usage: python make_graded_references.py          (needs python-flint; ten minutes)

The rows come from integers (splitmix64), powers of ten and one rounded product and sum each, so that a program in any language
makes the same doubles; they are not stored. S and D are summed from exactly these doubles with 700 bits, and the metric comes by a route
the library does not take: with S = LLᵀ, D = RRᵀ and the orthogonal polar factor Q of RᵀL, by Newton's iteration, A = L⁻ᵀQᵀRᵀ.
A is checked against ASA = D.
"""

import json
import sys
from pathlib import Path

from flint import arb, arb_mat, ctx

HERE = Path(__file__).parent
ctx.prec = 700  # RᵀL has a condition number of some 1e26 at most
COLUMNS = [20, 32, 33, 36, 64, 128, 300]
DECADES = [4, 8, 12]
OFF_DIAGONAL = 150
MASK = (1 << 64) - 1


def main():
    cases = []
    for d in COLUMNS:
        for decades in DECADES:
            a = metric(rows(d, decades))
            at = [(i, i) for i in range(d)] + off_diagonal(d)
            cases.append({"columns": d, "decades": decades, "A": [text(a[i, j]) for i, j in at]})
            print(d, decades, file=sys.stderr, flush=True)
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (HERE / "graded.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


class SplitMix:
    """Steele, Lea and Flood 2014."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        return (self.next() >> 33) * n >> 31


def rows(d, decades):
    """4d rows; row i is of class i mod 3. Neighbouring columns are correlated, the classes differ in their means."""
    random = SplitMix(1000 * d + decades)
    # From 10^0 to 10^decades, in steps of whole powers, shuffled.
    powers = [(2 * decades * j + d - 1) // (2 * (d - 1)) for j in range(d)]
    for j in range(d - 1, 0, -1):
        k = random.below(j + 1)
        powers[j], powers[k] = powers[k], powers[j]
    scales = [float(f"1e{power}") for power in powers]
    table = []
    for i in range(4 * d):
        # Sums of four draws from -1/2 to 1/2 in steps of 2^-20.
        z = [sum((random.next() >> 44) - (1 << 19) for _ in range(4)) / (1 << 20) for _ in range(d)]
        z = [z[j] + (0.75 if j % 3 == i % 3 else 0.0) for j in range(d)]
        table.append([scales[j] * (z[j] + 0.4 * z[j - 1]) for j in range(d)])
    return table


def off_diagonal(d):
    random = SplitMix(d)
    at = []
    while len(at) < OFF_DIAGONAL:
        i, j = random.below(d), random.below(d)
        if i != j:
            at.append((i, j))
    return at


def metric(table):
    s, d = sums(table)
    n = s.nrows()
    l, r = cholesky(s), cholesky(d)
    q = polar(r.transpose() * l)
    # A = L⁻ᵀQᵀRᵀ
    a = mid(l.transpose().solve(q.transpose() * r.transpose()))
    asa = a * s * a
    worst = max(float(abs(asa[i, j] - d[i, j]) / (d[i, i] * d[j, j]).sqrt()) for i in range(n) for j in range(n))
    assert worst < 1e-60, worst
    return a


def sums(table):
    """Over all pairs: S = Σ n_c·Scatter_c, and D from that of all pairs."""
    n = len(table)
    total = scatter(table)
    s = arb_mat(len(table[0]), len(table[0]))
    for c in range(3):
        part = [row for i, row in enumerate(table) if i % 3 == c]
        s += scatter(part) * len(part)
    s = mid(s)
    return s, mid(total * n - s)


def scatter(table):
    n, d = len(table), len(table[0])
    mean = [sum((arb(row[j]) for row in table), arb(0)) / n for j in range(d)]
    centred = arb_mat([[arb(row[j]) - mean[j] for j in range(d)] for row in table])
    return centred.transpose() * centred


def cholesky(m):
    n = m.nrows()
    l = [[arb(0)] * n for _ in range(n)]
    for j in range(n):
        pivot = m[j, j] - sum((x * x for x in l[j][:j]), arb(0))
        l[j][j] = pivot.sqrt().mid()
        for i in range(j + 1, n):
            inner = sum((x * y for x, y in zip(l[i][:j], l[j][:j])), arb(0))
            l[i][j] = ((m[i, j] - inner) / l[j][j]).mid()
    return arb_mat(l)


def polar(x):
    """Newton's iteration with Higham's scaling, until it stands still."""
    x = mid(x)
    for _ in range(60):
        inverse = mid(x.inv()).transpose()
        scale = ((one_norm(inverse) * one_norm(inverse.transpose())) / (one_norm(x) * one_norm(x.transpose()))).root(4).mid()
        after = mid((x * scale + inverse * (1 / scale)) * arb("0.5"))
        step = one_norm(after - x)
        x = after
        if step < arb("1e-150"):
            return x
    raise ArithmeticError("the polar iteration did not converge")


def one_norm(m):
    return max(sum((abs(x) for x in row), arb(0)).mid() for row in m.tolist())


def mid(m):
    return m.mid()


def text(x):
    return repr(float(x.mid()))


if __name__ == "__main__":
    main()
