"""Labelled rows before they are learned from: sets of labels, weights of classes, two classes at least."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from ._common import issparse, number


def is_label_sets(y: Any) -> bool:
    """Whether these are labels as columns of 0 and 1, several for each row."""
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:
        return False
    return len(shape) == 2 and shape[1] > 1 and type_of_target(y) == "multilabel-indicator"


def class_weights(given: Mapping[Any, Any], y: NDArray[Any], sample_weight: Any) -> NDArray[np.float64]:
    """Weights of rows from those of classes; of rows that have weights, the product."""
    classes, codes = np.unique(y, return_inverse=True)
    known = set(classes.tolist())
    for label, weight in given.items():
        if label not in known:
            raise ValueError(f"class_weight has a weight for {label!r}, which is not in y; its classes are {classes.tolist()}")
        if number("class_weight", weight) < 0:
            raise ValueError(f"class_weight of {label!r} is {weight}; it must be 0 or above")
    weights = np.array([float(given.get(label, 1.0)) for label in classes.tolist()])[codes.ravel()]
    return weights if sample_weight is None else weights * sample_weight


def dense(X: Any) -> Any:
    """Sums need every cell."""
    return X.toarray() if issparse(X) else X


def check_two(classes: NDArray[Any], *, weighted: bool = False) -> None:
    """Refuses rows of one class."""
    if len(classes) < 2:
        seen = " with a sample_weight above 0" if weighted else ""
        raise ValueError(
            f"The number of classes has to be greater than one; got {len(classes)} class{seen}. Without classes, "
            "mark pairs of rows as similar or not and use GMMLPairs."
        )
