"""Decisions about pairs by a learned distance: thresholds and probabilities."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import precision_recall_curve, roc_auc_score, roc_curve
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from . import _mahala
from ._common import marks_of
from ._constraint_input import points, stacked

Floats = NDArray[np.float64]
Self = TypeVar("Self", bound="PairDecisions")
STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")
METHODS = (None, "platt", "isotonic")


class PairDecisions(ClassifierMixin):  # type: ignore[misc, unused-ignore]
    """What a classifier of pairs does with the distances of a metric."""

    preprocessor: Any
    calibration: str | None
    classes_: NDArray[Any]

    if TYPE_CHECKING:  # the metric measures and checks

        def pair_distance(self, pairs: Any) -> Floats:
            """Measure the pairs."""

        def _formed(self, pairs: Any) -> Floats:
            """Return pairs by value, with as many columns as were learned from."""

    def decision_function(self, pairs: Any) -> Floats:
        """Return the negated distance of each pair: the larger, the more alike.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), two of shape (n_pairs, n_features), or (n_pairs, 2) of keys
            The pairs, in any form that ``fit`` takes.

        Returns
        -------
        scores : ndarray of shape (n_pairs,)
            Negated distances.
        """
        return -self.pair_distance(pairs)

    def predict(self, pairs: Any) -> NDArray[Any]:
        """Call pairs similar that are at most ``threshold_`` apart.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), two of shape (n_pairs, n_features), or (n_pairs, 2) of keys
            The pairs, in any form that ``fit`` takes.

        Returns
        -------
        y : ndarray of shape (n_pairs,)
            Marks as they were given to ``fit``: 1 and -1, 1 and 0, or booleans.
        """
        check_is_fitted(self)
        if not hasattr(self, "threshold_"):
            raise AttributeError(
                "A threshold for this estimator has not been set, call its set_threshold or "
                "calibrate_threshold method."
            )
        return self.classes_[(self.pair_distance(pairs) <= self.threshold_).astype(int)]

    @property
    def predict_proba(self) -> Callable[[Any], Floats]:
        """Return the probabilities that each pair is dissimilar and similar, in the order of ``classes_``.

        Needs ``calibration``, or a call of ``calibrate``.
        """
        if not (hasattr(self, "calibration_") or self.calibration is not None):
            raise AttributeError(
                "predict_proba needs probabilities for distances: set calibration='platt' or calibration='isotonic' "
                "before fit, or call calibrate with pairs kept aside"
            )
        return self._predict_proba

    def _predict_proba(self, pairs: Any) -> Floats:
        check_is_fitted(self)
        p = _mahala.probabilities(json.dumps(self.calibration_), self.pair_distance(pairs))
        return np.column_stack([1 - p, p])

    def calibrate(self: Self, pairs_valid: Any, y_valid: Any, method: str = "platt") -> Self:
        """Fit probabilities on pairs that were kept aside; the threshold stays.

        Parameters
        ----------
        pairs_valid : array-like of shape (n_pairs, 2, n_features), two of shape (n_pairs, n_features), or (n_pairs, 2) of keys
            The pairs, in any form that ``fit`` takes.
        y_valid : array-like of shape (n_pairs,)
            Their marks, or similarities between 0 and 1.
        method : {"platt", "isotonic"}, default="platt"
            A logistic curve, for few pairs, or any falling curve, for thousands.

        Returns
        -------
        self : estimator
            Itself, with ``calibration_``.
        """
        check_is_fitted(self)
        pairs, y = self._check_marked(pairs_valid, y_valid)
        self.calibration_: dict[str, Any] = json.loads(
            _mahala.calibrate(self.pair_distance(pairs), similarity(y).tolist(), None, method)
        )
        return self

    def score(self, pairs: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the area under the ROC curve of the distances.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), two of shape (n_pairs, n_features), or (n_pairs, 2) of keys
            The pairs, in any form that ``fit`` takes.
        y : array-like of shape (n_pairs,)
            Their marks, or similarities between 0 and 1.
        sample_weight : array-like of shape (n_pairs,), default=None
            Weights of the pairs.

        Returns
        -------
        area : float
            1 if every similar pair is nearer than every dissimilar one, 0.5 for guessing.
        """
        scores, y, weight = both_kinds(self.decision_function(pairs), marks_of(np.asarray(y)), sample_weight)
        return float(roc_auc_score(y, scores, sample_weight=weight))

    def set_threshold(self: Self, threshold: float) -> Self:
        """Set the distance up to which pairs are called similar.

        Parameters
        ----------
        threshold : float
            The distance.

        Returns
        -------
        self : estimator
            Itself, with ``threshold_``.
        """
        check_is_fitted(self)
        try:
            self.threshold_ = float(threshold)
        except (TypeError, ValueError):
            raise ValueError(
                f"Parameter threshold must be a real number. Got {type(threshold)} instead."
            ) from None
        return self

    def calibrate_threshold(
        self: Self,
        pairs_valid: Any,
        y_valid: Any,
        strategy: str = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Self:
        """Set the threshold on pairs that were kept aside.

        Parameters
        ----------
        pairs_valid : array-like of shape (n_pairs, 2, n_features), two of shape (n_pairs, n_features), or (n_pairs, 2) of keys
            The pairs, in any form that ``fit`` takes.
        y_valid : array-like of shape (n_pairs,)
            Their marks, or similarities between 0 and 1.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
            What is greatest: accuracy; the F score with ``beta``; the rate of similar pairs found, with at
            least ``min_rate`` of the dissimilar ones; the rate of dissimilar pairs found, with at least
            ``min_rate`` of the similar ones.
        min_rate : float in [0, 1], default=None
            The least rate of the other kind, for "max_tpr" and "max_tnr".
        beta : float, default=1.0
            The weight of recall in the F score.

        Returns
        -------
        self : estimator
            Itself, with ``threshold_``.
        """
        check_is_fitted(self)
        check_calibration(strategy, min_rate, beta)
        pairs, y = self._check_marked(pairs_valid, y_valid)
        return self._calibrate(self.pair_distance(pairs), y, strategy, min_rate, beta)

    def _calibrate(
        self: Self,
        distances: Floats,
        y: NDArray[Any],
        strategy: str = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Self:
        scores, y, weight = both_kinds(-distances, y, None)
        self.threshold_ = -float(best_score(scores, y, strategy, min_rate, beta, weight))
        return self

    def _by_value(self, pairs: Any) -> Any:
        """Pairs given as two arrays, or by keys of the preprocessor, as one array of values."""
        pairs = stacked(pairs)
        if self.preprocessor is not None:
            raw = check_array(
                pairs, dtype=None, allow_nd=True, ensure_2d=False, ensure_all_finite=False, input_name="pairs"
            )
            if raw.ndim == 2:
                return np.stack([points(ends, self.preprocessor) for ends in raw.T], axis=1)
        return pairs

    def _check_marked(self, pairs: Any, y: Any) -> tuple[Floats, NDArray[Any]]:
        pairs = self._formed(pairs)
        y = marks_of(column_or_1d(y, warn=True))
        check_consistent_length(pairs, y)
        if not np.isin(y, [-1, 1]).all() and not is_graded(y):
            raise ValueError(
                "When training on pairs, the labels (y) should contain only values in [-1, 1]. Found an "
                "incorrect value. (Marks may be 0 and 1 or booleans, too; similarities are between 0 and 1.)"
            )
        return pairs, y

    def _check_calibration_method(self) -> None:
        if self.calibration not in METHODS:
            raise ValueError(f"calibration is {self.calibration!r}; it must be None, 'platt' or 'isotonic'")


def mark_classes(y: Any) -> NDArray[Any]:
    """The two marks as they were given: booleans, 0 and 1, or -1 and 1 (and for similarities by degrees)."""
    y = np.asarray(y)
    if y.dtype.kind == "b":
        return np.array([False, True])
    if y.dtype.kind in "iuf" and np.isin(y, (0, 1)).all() and (y == 0).any():
        return np.array([0, 1])
    return np.array([-1, 1])


def best_score(
    scores: Floats, y: NDArray[Any], strategy: str, min_rate: float | None, beta: float, weight: Floats | None
) -> float | np.floating[Any]:
    """The score from which on pairs are called similar."""
    if strategy == "f_beta":
        precision, recall, thresholds = precision_recall_curve(y, scores, pos_label=1, sample_weight=weight)
        denominator = beta**2 * precision + recall
        f = (1 + beta**2) * precision * recall / np.where(denominator > 0, denominator, 1)
        return thresholds[np.argmax(f[: len(thresholds)])]
    # All thresholds count, also those that change one rate alone.
    fpr, tpr, thresholds = roc_curve(y, scores, pos_label=1, sample_weight=weight, drop_intermediate=False)
    # The first threshold accepts nothing; it is infinite, which no distance should be.
    thresholds[0] = scores.max() + 1
    if strategy == "accuracy":
        similar = np.average(y == 1, weights=weight)
        return thresholds[np.argmax(tpr * similar + (1 - fpr) * (1 - similar))]
    good, rate = (1 - fpr, tpr) if strategy == "max_tpr" else (tpr, 1 - fpr)
    allowed = np.flatnonzero(good >= min_rate)
    return thresholds[allowed[np.argmax(rate[allowed])]]


def is_graded(y: NDArray[Any]) -> bool:
    """Whether these are similarities by degrees."""
    return y.dtype.kind == "f" and bool(((y >= 0) & (y <= 1)).all() and ((y > 0) & (y < 1)).any())


def similarity(y: NDArray[Any]) -> Floats:
    """Marks of -1 and +1 as 0 and 1; similarities as they are."""
    return y.astype(np.float64) if is_graded(y) else (y == 1).astype(np.float64)


def both_kinds(scores: Floats, y: NDArray[Any], weight: Any) -> tuple[Floats, NDArray[Any], Any]:
    """A graded pair is two: a similar one of weight s and a dissimilar one of weight 1 - s."""
    if not is_graded(y):
        return scores, y, weight
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    marks = np.repeat([1, -1], len(y))
    return np.tile(scores, 2), marks, np.concatenate([weight * y, weight * (1 - y)])


def check_calibration(strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0) -> None:
    """Refuses what no threshold can be set by."""
    if strategy not in STRATEGIES:
        raise ValueError(
            f'Strategy can either be "accuracy", "f_beta" or "max_tpr" or "max_tnr". Got "{strategy}" instead.'
        )
    if strategy in ("max_tpr", "max_tnr"):
        if not isinstance(min_rate, (int, float)) or not 0 <= min_rate <= 1:
            raise ValueError(f"Parameter min_rate must be a number in[0, 1]. Got {min_rate} instead.")
    if strategy == "f_beta" and not isinstance(beta, (int, float)):
        raise ValueError(f"Parameter beta must be a real number. Got {type(beta)} instead.")
