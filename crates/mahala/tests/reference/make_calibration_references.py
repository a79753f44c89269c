"""Writes calibration.json: Platt scaling and isotonic regression by scikit-learn.

Run with scikit-learn installed: `python make_calibration_references.py`. Platt's numbers are those of
`sklearn.calibration._sigmoid_calibration`, which CalibratedClassifierCV(method="sigmoid") calls, then polished by
SciPy's Newton-CG on the same loss: its L-BFGS stops at about six digits. The isotonic values are those of
`IsotonicRegression(increasing=False, out_of_bounds="clip", y_min=0, y_max=1)`.
"""

import json
import pathlib

import numpy as np
import scipy
import sklearn
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import _sigmoid_calibration
from sklearn.isotonic import IsotonicRegression


def platt(x, similar, weights):
    a, b = _sigmoid_calibration(x, similar, sample_weight=weights)
    w = np.ones(len(x)) if weights is None else weights
    positive, negative = w[similar == 1].sum(), w[similar == 0].sum()
    y = np.where(similar == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))

    def loss(at):
        f = at[0] * x + at[1]
        return np.sum(w * (y * f + np.logaddexp(0, -f)))

    def slope(at):
        r = w * (y - expit(-(at[0] * x + at[1])))
        return np.array([np.sum(r * x), np.sum(r)])

    def curve(at):
        p = expit(at[0] * x + at[1])
        c = w * p * (1 - p)
        return np.array([[np.sum(c * x * x), np.sum(c * x)], [np.sum(c * x), np.sum(c)]])

    at = minimize(loss, [a, b], jac=slope, hess=curve, method="trust-exact", options={"gtol": 1e-12}).x
    for _ in range(3):
        at = at - np.linalg.solve(curve(at), slope(at))
    assert np.allclose(at, [a, b], rtol=1e-4), (at, a, b)
    return {"a": at[0], "b": at[1], "sklearn_a": float(a), "sklearn_b": float(b)}


def isotonic(x, similar, weights, queries):
    model = IsotonicRegression(increasing=False, out_of_bounds="clip", y_min=0, y_max=1)
    return model.fit(x, similar, sample_weight=weights).predict(queries).tolist()


def case(name, x, similar, weights=None):
    queries = np.linspace(-0.5, x.max() * 1.2, 41)
    return {
        "name": name,
        "distances": x.tolist(),
        "similar": similar.tolist(),
        "weights": None if weights is None else weights.tolist(),
        "platt": platt(x, similar, weights),
        "queries": queries.tolist(),
        "isotonic": isotonic(x, similar, weights, queries),
    }


random = np.random.default_rng(0)
x = np.round(random.gamma(2.0, 1.0, size=120), 3)
similar = (random.random(120) < expit(2.0 - 1.3 * x)).astype(int)
coarse = np.round(x * 2) / 2
weights = random.integers(0, 4, size=120) / 2
content = {
    "made_with": f"scikit-learn {sklearn.__version__}, SciPy {scipy.__version__}, NumPy {np.__version__}",
    "cases": [
        case("plain", x, similar),
        case("ties", coarse, similar),
        case("weights", coarse, similar, weights),
        case("rare", x, (random.random(120) < 0.08).astype(int)),
    ],
}
path = pathlib.Path(__file__).with_name("calibration.json")
path.write_text(json.dumps(content, indent=1) + "\n")
