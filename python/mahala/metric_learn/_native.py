"""From metric-learn's parameters to the compiled learners, and back to ``components_``."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .. import _mahala
from .._common import class_names, encode, plan
from .constraints import Constraints, wrap_pairs

Floats = NDArray[np.float64]


def plan_of(estimator: Any, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """What the compiled part is to learn by."""
    name = type(estimator).__name__

    def show(iteration: int, objective: float | None) -> None:
        value = "" if objective is None else f", objective {objective:.6g}"
        print(f"[{name}] iteration {iteration}{value}", flush=True)

    return plan(method, parameters, None, progress=show if getattr(estimator, "verbose", False) else None)


def keep(estimator: Any, learned: dict[str, Any], rows: int, basis: Floats | None = None) -> dict[str, Any]:
    """Sets ``components_``, with this many rows, and what is known of the iterations; returns the diagnostics.

    ``basis`` is the map into the coordinates that were learned in.
    """
    state = (learned["components"], learned["mean"], learned["scale"], learned["weight_outside"])
    components = _mahala.linear_map(state)
    components = components if basis is None else components @ basis
    # Directions of weight 0 are left out over there.
    missing = rows - len(components)
    if missing > 0:
        components = np.vstack([components, np.zeros((missing, components.shape[1]))])
    estimator.components_ = components[:rows] if missing >= 0 else reduced(components, rows)
    diagnostics: dict[str, Any] = json.loads(learned["diagnostics"])
    if hasattr(estimator, "max_iter"):
        estimator.n_iter_ = max(1, diagnostics["iterations"])
        if not diagnostics["converged"] and getattr(estimator, "verbose", False):
            message = f"[{type(estimator).__name__}] did not converge: {diagnostics['outcome']}; raise max_iter"
            warnings.warn(message, ConvergenceWarning, stacklevel=4)
    return diagnostics


def reduced(components: Floats, rows: int) -> Floats:
    """The same distances with fewer rows, where the rank allows it."""
    triangle = np.asarray(np.linalg.qr(components, mode="r"))
    return triangle[:rows]


def learn_pairs(estimator: Any, method: str, pairs: Floats, y: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """A method's answer to marked pairs."""
    first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    marks = (np.asarray(y) == 1).tolist()
    return _mahala.learn_pairs(first, second, marks, None, plan_of(estimator, method, parameters))


def learn_tuples(
    estimator: Any, method: str, tuples: Floats, weights: Floats | None, parameters: dict[str, Any]
) -> dict[str, Any]:
    """A method's answer to triplets or quadruplets."""
    n, size, d = tuples.shape
    rows = np.ascontiguousarray(tuples, dtype=np.float64).reshape(n * size, d)
    index = np.arange(n * size, dtype=np.uint64).reshape(n, size)
    return _mahala.learn_tuples(rows, index, weights, plan_of(estimator, method, parameters))


def labels_of(y: Any) -> tuple[list[str], NDArray[np.uint32]]:
    """Classes as the compiled part takes them."""
    classes, codes = encode(np.asarray(y))
    if len(classes) < 2:
        raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
    return class_names(classes), codes


def known(X: Any, y: Any) -> tuple[Any, Any]:
    """The rows whose class is known: a negative number is none."""
    y = np.asarray(y)
    if y.dtype.kind not in "if" or (y >= 0).all():
        return X, y
    return X[y >= 0], y[y >= 0]


def check_two_classes(y: Any) -> int:
    """The number of classes, at least two."""
    y = np.asarray(y)
    classes = len(np.unique(y[y >= 0] if y.dtype.kind in "if" else y))
    if classes < 2:
        raise ValueError(f"The number of classes has to be greater than one; got {classes} class")
    return classes


def require_y(estimator: Any, y: Any) -> None:
    """Refuses to learn without labels."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )


def constraints_wanted(estimator: Any, y: Any) -> int:
    """``n_constraints``, or 20 c^2 for c classes."""
    classes = check_two_classes(y)
    return 20 * classes**2 if estimator.n_constraints is None else int(estimator.n_constraints)


def drawn_pairs(estimator: Any, X: Any, y: Any) -> tuple[NDArray[Any], Floats]:
    """The pairs a supervised form learns from, drawn from its labelled rows."""
    require_y(estimator, y)
    X, y = estimator._prepare_inputs(X, y, ensure_min_samples=2)
    wanted = constraints_wanted(estimator, y)
    return wrap_pairs(X, Constraints(y).positive_negative_pairs(wanted, random_state=estimator.random_state))
