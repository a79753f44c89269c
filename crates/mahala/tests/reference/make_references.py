"""Write geodesic.json: geometric means, distances and divergences of small matrices.

Usage: python make_references.py          (needs mpmath; see README.md beside this file)

Every formula is computed from its definition, by a route the library does not take: matrix powers
come from eigendecompositions with 80 digits.
"""

import json
from pathlib import Path

from mpmath import mp, mpf

HERE = Path(__file__).parent
DIGITS = 80  # working precision; condition numbers up to 1e13 leave far more than 50 digits
CHECK_DIGITS = 120  # everything is computed again at this precision and must agree
TS = [0.0, 0.02, 0.25, 1 / 3, 0.5, 0.7, 1.0]


def main():
    write("geodesic.json", geodesic_blocks())


# The pairs (S, D): doubles that are short decimals, so that every JSON reader sees the same bits.


def gram(d, a, b, m, shift):
    """GᵀG + shift·I with G_ij = ((a·i + b·j + ij) mod m − m // 2) / 2: small exact dyadics."""
    g = [[((a * i + b * j + i * j) % m - m // 2) / 2 for j in range(d)] for i in range(d)]
    return [
        [sum(g[k][i] * g[k][j] for k in range(d)) + (shift if i == j else 0.0) for j in range(d)]
        for i in range(d)
    ]


def hilbert(d, offset):
    """1 / (i + j + offset), rounded to 15 digits."""
    return [[float(f"{1 / (i + j + offset):.15g}") for j in range(d)] for i in range(d)]


def diagonal(*entries):
    return [[x if i == j else 0.0 for j in range(len(entries))] for i, x in enumerate(entries)]


def scaled(matrix, exponent):
    """matrix · 10^exponent, each entry rounded to the nearest double."""
    return [[float(f"{x!r}e{exponent}") for x in row] for row in matrix]


def flipped(matrix):
    """Rows and columns in reverse order."""
    return [row[::-1] for row in matrix[::-1]]


COMMUTING = [[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]
COMMUTING_SQUARE_PLUS_I = [[6.0, 5.0, 1.0], [5.0, 12.0, 5.0], [1.0, 5.0, 6.0]]

PAIRS = {
    "scalar": ([[0.5]], [[3.0]]),
    "scalar_far_apart": ([[1e-9]], [[7e5]]),
    "identical_2": ([[2.0, 1.0], [1.0, 1.0]], [[1.0, -1.0], [-1.0, 2.0]]),
    "well_conditioned_2": ([[2.0, 0.5], [0.5, 1.0]], [[3.0, -1.0], [-1.0, 1.5]]),
    "well_conditioned_3": (gram(3, 2, 3, 5, 1.0), gram(3, 3, 1, 7, 0.5)),
    "well_conditioned_4": (gram(4, 2, 3, 7, 1.0), gram(4, 5, 2, 11, 2.0)),
    "well_conditioned_6": (gram(6, 3, 5, 7, 2.0), gram(6, 4, 1, 11, 1.0)),
    "commuting_3": (COMMUTING, COMMUTING_SQUARE_PLUS_I),
    "equal_s_and_d_4": (gram(4, 2, 3, 7, 1.0), gram(4, 2, 3, 7, 1.0)),
    "diagonal_4": (diagonal(1e-6, 0.25, 3.0, 4e6), diagonal(5.0, 1e-5, 2e3, 0.125)),
    "hilbert_4": (hilbert(4, 1), gram(4, 5, 2, 11, 2.0)),
    "hilbert_6_condition_1e9": (hilbert(6, 5), gram(6, 4, 1, 11, 1.0)),
    "hilbert_6_condition_1e12": (hilbert(6, 15), gram(6, 4, 1, 11, 1.0)),
    "both_hilbert_6": (hilbert(6, 1), flipped(hilbert(6, 2))),
    "nearly_singular_d_3": (gram(3, 2, 3, 5, 1.0), gram(3, 1, 1, 97, 2.0**-20)),
    "large_d_3": (gram(3, 2, 3, 5, 1.0), scaled(gram(3, 3, 1, 7, 0.5), 100)),
    "large_s_small_d_3": (scaled(gram(3, 2, 3, 5, 1.0), 101), scaled(gram(3, 3, 1, 7, 0.5), -100)),
}

WITH_OBJECTIVE = ("well_conditioned_3", "hilbert_4")

PRIOR_3 = [[2.0, 0.5, 0.0], [0.5, 1.0, -0.25], [0.0, -0.25, 0.5]]
PRIOR_4 = gram(4, 1, 2, 3, 0.5)
SINGULAR_3 = [[1.0, 2.0, -1.0], [2.0, 4.0, -2.0], [-1.0, -2.0, 1.0]]

# name: (S, D, prior); each with the priors identity and the one given.
REGULARISED = {
    "well_conditioned_3": (*PAIRS["well_conditioned_3"], PRIOR_3),
    "hilbert_4": (*PAIRS["hilbert_4"], PRIOR_4),
    "singular_s_3": (SINGULAR_3, gram(3, 3, 1, 7, 0.5), PRIOR_3),
}
LAMBDAS = [0.1, 3.0]
REGULARISED_TS = [0.25, 0.5, 1.0]


# The formulas, each from its definition.


def power(x, p):
    """X^p of a symmetric positive definite matrix."""
    values, u = mp.eigsy(x)
    return u * mp.diag([v**p for v in values]) * u.T


def geometric_mean(x, y, t):
    """X ♯_t Y = X^(1/2) (X^(-1/2) Y X^(-1/2))^t X^(1/2)."""
    root, inverse_root = power(x, mpf(1) / 2), power(x, -mpf(1) / 2)
    return root * power(symmetric(inverse_root * y * inverse_root), t) * root


def relative_eigenvalues(x, y):
    """Eigenvalues of X⁻¹Y, ascending."""
    inverse_root = power(x, -mpf(1) / 2)
    return list(mp.eigsy(symmetric(inverse_root * y * inverse_root), eigvals_only=True))


def riemannian_distance(x, y):
    """δ_R(X, Y) = ‖log(X^(-1/2) Y X^(-1/2))‖_F."""
    return mp.sqrt(sum(mp.log(v) ** 2 for v in relative_eigenvalues(x, y)))


def logdet_divergence(x, y):
    """D_ld(X, Y) = tr(XY⁻¹) − log det(XY⁻¹) − d."""
    ratio = x * y**-1
    return trace(ratio) - mp.log(mp.det(ratio)) - x.rows


def symmetrised_logdet_divergence(x, y):
    """D_sld(X, Y) = D_ld(X, Y) + D_ld(Y, X)."""
    return logdet_divergence(x, y) + logdet_divergence(y, x)


def cost(a, s, d):
    """h(A) = tr(AS) + tr(A⁻¹D)."""
    return trace(a * s) + trace(a**-1 * d)


def weighted_cost(a, s, d, t):
    """h_t(A) = (1−t) δ_R²(A, S⁻¹) + t δ_R²(A, D)."""
    return (1 - t) * riemannian_distance(a, s**-1) ** 2 + t * riemannian_distance(a, d) ** 2


def trace(x):
    return sum(x[i, i] for i in range(x.rows))


def symmetric(x):
    return (x + x.T) / 2


def condition(x):
    values = mp.eigsy(x, eigvals_only=True)
    return values[x.rows - 1] / values[0]


# geodesic.json


def geodesic_blocks():
    return {
        "cases": [checked(geodesic_case, name, s, d) for name, (s, d) in PAIRS.items()],
        "regularised": [
            checked(regularised_case, name, s, d, lam, prior)
            for name, (s, d, given) in REGULARISED.items()
            for lam in LAMBDAS
            for prior in (diagonal(*[1.0] * len(s)), given)
        ],
    }


def geodesic_case(name, s_doubles, d_doubles):
    s, d = mp.matrix(s_doubles), mp.matrix(d_doubles)
    x = s**-1
    result = {
        "name": name,
        "d": s.rows,
        "S": flat(s_doubles),
        "D": flat(d_doubles),
        "condition_S": float(mp.nstr(condition(s), 3)),
        "condition_D": float(mp.nstr(condition(d), 3)),
        "eigenvalues_SD": text_list(relative_eigenvalues(x, d)),
        "delta_R": text(riemannian_distance(x, d)),
        "D_ld": text(logdet_divergence(x, d)),
        "D_sld": text(symmetrised_logdet_divergence(x, d)),
        "at": [],
    }
    for t_double in TS:
        t = mpf(t_double)
        a = geometric_mean(x, d, t)
        entry = {"t": t_double, "h": text(cost(a, s, d)), "A": text_list(a)}
        if name in WITH_OBJECTIVE:
            h_t = weighted_cost(a, s, d, t)
            expect_close(h_t, t * (1 - t) * riemannian_distance(x, d) ** 2)
            entry["h_t"] = text(h_t)
            entry["h_t_of_identity"] = text(weighted_cost(mp.eye(s.rows), s, d, t))
        result["at"].append(entry)
    check_laws(s, d)
    return result


def regularised_case(name, s_doubles, d_doubles, lam_double, prior_doubles):
    s, d, prior = mp.matrix(s_doubles), mp.matrix(d_doubles), mp.matrix(prior_doubles)
    lam = mpf(lam_double)
    s_reg, d_reg = s + lam * prior**-1, d + lam * prior
    result = {
        "name": name,
        "d": s.rows,
        "S": flat(s_doubles),
        "D": flat(d_doubles),
        "lambda": lam_double,
        "A0": flat(prior_doubles),
        "at": [],
    }
    for t_double in REGULARISED_TS:
        a = geometric_mean(s_reg**-1, d_reg, mpf(t_double))
        h_reg = lam * symmetrised_logdet_divergence(a, prior) + cost(a, s, d)
        expect_close(h_reg, cost(a, s_reg, d_reg) - 2 * lam * s.rows)
        result["at"].append({"t": t_double, "h_reg": text(h_reg), "A": text_list(a)})
    return result


def check_laws(s, d):
    """The ends of the path, the Riccati equation at its middle, and W Λᵗ Wᵀ by Cholesky."""
    x = s**-1
    a = geometric_mean(x, d, mpf(1) / 2)
    expect_close(*(mp.mnorm(m, "f") for m in (a * s * a, d)))
    lower = mp.cholesky(s)
    values, u = mp.eigsy(symmetric(lower.T * d * lower))
    w = (lower.T) ** -1 * u
    for t in map(mpf, TS):
        by_cholesky = w * mp.diag([v**t for v in values]) * w.T
        difference = mp.mnorm(by_cholesky - geometric_mean(x, d, t), "f")
        assert difference < mpf(10) ** -45 * mp.mnorm(by_cholesky, "f"), difference


def checked(compute, *arguments):
    """The result at DIGITS, which must print the same at CHECK_DIGITS."""
    mp.dps = DIGITS
    result = compute(*arguments)
    mp.dps = CHECK_DIGITS
    assert result == compute(*arguments), arguments[0]
    numbers = result["S"] + result["D"] + result.get("A0", []) + [result.get("lambda", 0.0)]
    for x in numbers + [entry["t"] for entry in result["at"]]:
        assert reads_back_naively(x), (arguments[0], x)
    return result


def reads_back_naively(x):
    """Is digits · 10^e (or digits / 10^-e), in one double operation, the same double?

    JSON readers that do not round correctly work so; serde_json without `float_roundtrip` is one.
    """
    mantissa, _, exponent = repr(x).partition("e")
    whole, _, decimals = mantissa.partition(".")
    decimals = decimals.rstrip("0")
    e = int(exponent or 0) - len(decimals)
    digits = float(int(whole + decimals))
    return x == (digits * float(f"1e{e}") if e >= 0 else digits / float(f"1e{-e}"))


def expect_close(seen, expected):
    assert abs(seen - expected) <= mpf(10) ** -45 * max(1, abs(expected)), (seen, expected)


def text(x, scale=1):
    """25 significant digits; rounding noise below 1e-40 of the scale is zero."""
    return "0" if abs(x) < mpf(10) ** -40 * scale else mp.nstr(x, 25)


def text_list(values):
    values = list(values)
    return [text(v, max(abs(w) for w in values)) for v in values]


def flat(rows):
    return [x for row in rows for x in row]


# Output: a line for each scalar, for each list of scalars and for each query.


def write(name, content):
    (HERE / name).write_text(block(content, 0) + "\n", encoding="ascii", newline="\n")


def block(value, depth):
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, dict) and not is_record(value):
        items = [f"{inner}{json.dumps(k)}: {block(v, depth + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{outer}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(inner + block(v, depth + 1) for v in value) + f"\n{outer}]"
    return json.dumps(value)


def is_record(value):
    return "neighbours" in value or "t" in value


if __name__ == "__main__":
    main()
