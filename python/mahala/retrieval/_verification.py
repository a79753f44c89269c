"""Measures of verification: is this pair alike?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _mahala
from .._common import marks_of, number


def verification_scores(similarity: Any, y: Any, *, far: Sequence[float] = (0.1, 0.01, 0.001)) -> dict[str, float]:
    """ROC-AUC, EER and TAR@FAR of scored pairs.

    Parameters
    ----------
    similarity : array-like of shape (n_pairs,)
        The larger, the more alike (negate distances).
    y : array-like of shape (n_pairs,)
        +1 for similar pairs, -1 for dissimilar ones; or 1 and 0, or booleans.
    far : sequence of float, default=(0.1, 0.01, 0.001)
        False acceptance rates at which the true acceptance rate is given: the largest that some threshold reaches with a
        rate of false acceptances of at most this. A rate below one dissimilar pair, 1 / n, asks for no false acceptance.

    Returns
    -------
    scores : dict
        ``"roc_auc"``, ``"eer"`` (the rate at which false acceptances and false rejections are equal, by linear
        interpolation of the ROC curve), and ``"tar@far=..."`` for each rate.

    Examples
    --------
    >>> from mahala.retrieval import verification_scores
    >>> scores = verification_scores([0.9, 0.8, 0.4, 0.3, 0.5, 0.1], [1, 1, 1, -1, -1, -1], far=[0.1])
    >>> {name: round(value, 3) for name, value in scores.items()}
    {'roc_auc': 0.889, 'eer': 0.333, 'tar@far=0.1': 0.667}
    """
    similarity, y = np.asarray(similarity, dtype=np.float64), marks_of(np.asarray(y))
    if similarity.ndim != 1 or y.shape != similarity.shape:
        raise ValueError(f"similarity has shape {similarity.shape} and y {y.shape}; both must have one number a pair")
    if not np.isin(y, (-1, 1)).all() or len(np.unique(y)) < 2:
        seen = np.unique(y)[:5].tolist()
        raise ValueError(f"y holds {seen}; it must have both marks, +1 (similar) and -1 (dissimilar), or 1 and 0")
    rates = [number("far", rate) for rate in far]
    if not all(0 < rate < 1 for rate in rates):
        raise ValueError(f"far is {list(far)!r}; each rate must be above 0 and below 1")
    auc, eer, accepted = _mahala.verification(np.ascontiguousarray(similarity), y == 1, rates)
    return {"roc_auc": auc, "eer": eer} | {f"tar@far={rate:g}": tar for rate, tar in zip(rates, accepted, strict=True)}
