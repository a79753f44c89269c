"""GMML from pairs, without labels."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import precision_recall_curve, roc_auc_score, roc_curve
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _mahala
from ._common import folds, learning_params, marks_of, threads
from ._metric import MetricMixin

Floats = NDArray[np.float64]
STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


def is_calibrated(estimator: Any) -> bool:
    return hasattr(estimator, "calibration_") or estimator.calibration is not None


class GMMLPairs(ClassifierMixin, MetricMixin):
    """Geometric mean metric learning from pairs marked similar (+1) or dissimilar (-1).

    Parameters
    ----------
    t : "cv" or float in [0, 1], default="cv"
        As for ``GMML``; "cv" chooses the t whose distances rank held-out pairs best.
    reg, shrinkage, prior, n_components, standardize, cv, max_samples, random_state, n_jobs
        As for ``GMML``.
    calibration : {None, "platt", "isotonic"}, default=None
        With it ``predict_proba`` says how likely pairs are similar. Every pair's distance is measured by a metric
        that was learned without it (over ``cv`` folds); the threshold is set on these distances, too.
    preprocessor : array-like of shape (n_points, n_features), callable or None, default=None
        With it, pairs may be given as indices (or whatever the callable understands) of shape (n_pairs, 2).
        The callable gets a 1D array and returns a 2D array of points.

    Attributes
    ----------
    threshold_ : float
        Pairs at most this far apart are called similar.
    calibration_ : dict
        From a distance to a probability, if ``calibration`` is set or after ``calibrate``.
    classes_ : array([-1, 1])
    components_, mean_, scale_, t_, t_path_, eigenvalues_, log_eigenvalues_, diagnostics_, n_features_in_
        As for ``GMML``.

    Examples
    --------
    >>> import numpy as np
    >>> from mahala import GMMLPairs
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> i, j = np.random.default_rng(0).integers(150, size=(2, 400))
    >>> same = np.where(y[i] == y[j], 1, -1)
    >>> learner = GMMLPairs(preprocessor=X).fit(np.column_stack([i, j]), same)
    >>> bool(learner.score(np.column_stack([i, j]), same) > 0.95)
    True
    >>> learner.predict([[0, 1], [0, 100]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        t: float | str = "cv",
        reg: float | None = None,
        shrinkage: float | None = None,
        prior: Any = "identity",
        n_components: int | None = None,
        standardize: bool = False,
        cv: Any = 5,
        max_samples: int | float = 20_000,
        preprocessor: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        calibration: str | None = None,
    ) -> None:
        self.t = t
        self.reg = reg
        self.shrinkage = shrinkage
        self.prior = prior
        self.n_components = n_components
        self.standardize = standardize
        self.cv = cv
        self.max_samples = max_samples
        self.preprocessor = preprocessor
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.calibration = calibration

    def fit(
        self,
        pairs: Any,
        y: Any,
        sample_weight: Any = None,
        calibration_params: dict[str, Any] | None = None,
        groups: Any = None,
    ) -> GMMLPairs:
        """Learns from pairs, then sets the threshold on them.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
        y : array-like of shape (n_pairs,)
            +1 for similar pairs, -1 for dissimilar ones (or 1 and 0, or booleans); or similarities between 0 and 1.
            A pair of similarity s counts s among similar and 1 - s among dissimilar pairs.
        sample_weight : array-like of shape (n_pairs,), optional
        calibration_params : dict, optional
            Arguments of ``calibrate_threshold``, on the training pairs; by default accuracy, or, with
            ``calibration``, balanced accuracy on held-out pairs.
        groups : array-like of shape (n_pairs,), optional
            The group of each pair: as for ``GMML``.
        """
        calibration = calibration_params or {}
        check_calibration(**calibration)
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        if hasattr(self, "n_features_in_"):
            del self.n_features_in_
        pairs, y = self._check_marked(pairs, y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        self.n_features_in_ = pairs.shape[2]
        params = learning_params(self, self.n_features_in_, len(pairs))
        if self.calibration not in (None, "platt", "isotonic"):
            raise ValueError(f"calibration is {self.calibration!r}; it must be None, 'platt' or 'isotonic'")
        held_out = isinstance(self.t, str) or self.calibration is not None
        params |= folds(self.cv, pairs, y, groups, used=held_out)
        first, second, jobs = pairs[:, 0], pairs[:, 1], threads(self.n_jobs)
        grades = similarity(y).tolist()
        learned = _mahala.fit_pairs(first, second, grades, sample_weight, params, self.calibration, jobs)
        self._keep(learned)
        self.classes_ = np.array([-1, 1])
        if hasattr(self, "calibration_"):
            del self.calibration_
        if "calibration" in learned:
            self.calibration_: dict[str, Any] = json.loads(learned["calibration"])
            if calibration_params is None:
                return self.set_threshold(learned["threshold"])
        return self._calibrate(pairs, y, **calibration)

    def transform(self, X: Any) -> Floats:
        """Rows in coordinates where the learned distance is Euclidean; see ``GMML.transform``.

        With a preprocessor, X may be a 1D array of indices.
        """
        check_is_fitted(self, "components_")
        if self.preprocessor is not None and np.ndim(X) == 1:
            X = self._points(np.asarray(X))
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return _mahala.transform(self._state(), X, threads(self.n_jobs))

    def decision_function(self, pairs: Any) -> Floats:
        """The negated distance of each pair: the larger, the more alike."""
        return self.pair_score(pairs)

    def predict(self, pairs: Any) -> NDArray[np.int64]:
        """+1 for pairs at most ``threshold_`` apart, else -1."""
        check_is_fitted(self, "components_")
        if not hasattr(self, "threshold_"):
            raise AttributeError(
                "A threshold for this estimator has not been set, call its set_threshold or "
                "calibrate_threshold method."
            )
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    @property
    def predict_proba(self) -> Callable[[Any], Floats]:
        """The probabilities of -1 and +1, dissimilar and similar, for each pair.

        Needs ``calibration``, or a call of ``calibrate``.
        """
        if not is_calibrated(self):
            raise AttributeError(
                "predict_proba needs probabilities for distances: set calibration='platt' or calibration='isotonic' "
                "before fit, or call calibrate with pairs kept aside"
            )
        return self._predict_proba

    def _predict_proba(self, pairs: Any) -> Floats:
        check_is_fitted(self, "components_")
        p = _mahala.probabilities(json.dumps(self.calibration_), self.pair_distance(pairs))
        return np.column_stack([1 - p, p])

    def calibrate(self, pairs_valid: Any, y_valid: Any, method: str = "platt") -> GMMLPairs:
        """Fits probabilities on pairs that were kept aside; the threshold stays.

        Parameters
        ----------
        pairs_valid, y_valid
            As in ``fit``.
        method : {"platt", "isotonic"}
            A logistic curve, for few pairs, or any falling curve, for thousands.
        """
        check_is_fitted(self, "components_")
        pairs, y = self._check_marked(pairs_valid, y_valid)
        distances = _mahala.pair_distances(self._state(), pairs[:, 0], pairs[:, 1], threads(self.n_jobs))
        self.calibration_ = json.loads(_mahala.calibrate(distances, similarity(y).tolist(), None, method))
        return self

    def score(self, pairs: Any, y: Any, sample_weight: Any = None) -> float:
        """The area under the ROC curve of the distances."""
        scores, y, weight = both_kinds(self.decision_function(pairs), marks_of(np.asarray(y)), sample_weight)
        return float(roc_auc_score(y, scores, sample_weight=weight))

    def set_threshold(self, threshold: float) -> GMMLPairs:
        """Pairs at most this far apart will be called similar."""
        check_is_fitted(self, "components_")
        try:
            self.threshold_ = float(threshold)
        except (TypeError, ValueError):
            raise ValueError(
                f"Parameter threshold must be a real number. Got {type(threshold)} instead."
            ) from None
        return self

    def calibrate_threshold(
        self,
        pairs_valid: Any,
        y_valid: Any,
        strategy: str = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> GMMLPairs:
        """Sets the threshold on pairs that were kept aside.

        Parameters
        ----------
        pairs_valid, y_valid
            As in ``fit``.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}
            What is greatest: accuracy; the F score with ``beta``; the rate of similar pairs found, with at
            least ``min_rate`` of the dissimilar ones; the rate of dissimilar pairs found, with at least
            ``min_rate`` of the similar ones.
        min_rate : float in [0, 1], optional
        beta : float, default=1.0
        """
        check_is_fitted(self, "components_")
        check_calibration(strategy, min_rate, beta)
        return self._calibrate(*self._check_marked(pairs_valid, y_valid), strategy, min_rate, beta)

    def _calibrate(
        self,
        pairs: Floats,
        y: NDArray[Any],
        strategy: str = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> GMMLPairs:
        scores = -_mahala.pair_distances(self._state(), pairs[:, 0], pairs[:, 1], threads(self.n_jobs))
        scores, y, weight = both_kinds(scores, y, None)
        self.threshold_ = -float(best_score(scores, y, strategy, min_rate, beta, weight))
        return self

    def _check_pairs(self, pairs: Any) -> Floats:
        if self.preprocessor is not None:
            raw = check_array(
                pairs, dtype=None, allow_nd=True, ensure_2d=False, ensure_all_finite=False, input_name="pairs"
            )
            if raw.ndim == 2:
                pairs = np.stack([self._points(ends) for ends in raw.T], axis=1)
        return super()._check_pairs(pairs)

    def _check_marked(self, pairs: Any, y: Any) -> tuple[Floats, NDArray[Any]]:
        pairs = self._check_pairs(pairs)
        y = marks_of(column_or_1d(y, warn=True))
        check_consistent_length(pairs, y)
        if not np.isin(y, [-1, 1]).all() and not is_graded(y):
            raise ValueError(
                "When training on pairs, the labels (y) should contain only values in [-1, 1]. Found an "
                "incorrect value. (Marks may be 0 and 1 or booleans, too; similarities are between 0 and 1.)"
            )
        return pairs, y

    def _points(self, indicators: NDArray[Any]) -> Any:
        if callable(self.preprocessor):
            return np.asarray(self.preprocessor(indicators))
        points = check_array(self.preprocessor, dtype=np.float64, input_name="preprocessor")
        return points[indicators]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.classifier_tags.multi_class = False
        return tags


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
    if strategy not in STRATEGIES:
        raise ValueError(
            f'Strategy can either be "accuracy", "f_beta" or "max_tpr" or "max_tnr". Got "{strategy}" instead.'
        )
    if strategy in ("max_tpr", "max_tnr"):
        if not isinstance(min_rate, (int, float)) or not 0 <= min_rate <= 1:
            raise ValueError(f"Parameter min_rate must be a number in[0, 1]. Got {min_rate} instead.")
    if strategy == "f_beta" and not isinstance(beta, (int, float)):
        raise ValueError(f"Parameter beta must be a real number. Got {type(beta)} instead.")
