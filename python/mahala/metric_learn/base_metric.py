"""The base classes of metric-learn's interface: preprocessors, distances, and classifiers of tuples."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from numbers import Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_feature_names, _check_n_features, _is_arraylike, check_is_fitted

from .._metric import MahalanobisDistance
from .._pair_decisions import best_score, check_calibration
from ._util import ArrayIndexer, check_input

Floats = NDArray[np.float64]
Self = TypeVar("Self", bound="_PairsClassifierMixin")


class BaseMetricLearner(BaseEstimator, metaclass=ABCMeta):
    """What all learners share: a preprocessor and the check of their input.

    Parameters
    ----------
    preprocessor : array-like of shape (n_points, n_features), callable or None, default=None
        With it, points may be given as indicators: row numbers of an array, or what the callable understands.
    """

    _tuple_size: ClassVar[int | None] = None

    def __init__(self, preprocessor: Any = None) -> None:
        self.preprocessor = preprocessor

    @abstractmethod
    def pair_score(self, pairs: Any) -> Floats:
        """How alike the two points of each pair are."""

    @abstractmethod
    def get_metric(self) -> MahalanobisDistance:
        """The learned distance as a function of two points."""

    def _check_preprocessor(self) -> None:
        """Sets ``preprocessor_``: None or a callable."""
        if self.preprocessor is None or callable(self.preprocessor):
            self.preprocessor_ = self.preprocessor
        elif _is_arraylike(self.preprocessor):
            self.preprocessor_ = ArrayIndexer(self.preprocessor)
        else:
            raise ValueError(
                f"Invalid type for the preprocessor: {type(self.preprocessor)}. You should provide either None, "
                "an array-like object, or a callable."
            )

    def _prepare_inputs(self, X: Any, y: Any = None, type_of_inputs: str = "classic", **kwargs: Any) -> Any:
        """Input of ``fit``, checked and formed; see ``check_input``."""
        self._check_preprocessor()
        size = self._tuple_size if type_of_inputs == "tuples" else None
        formed = check_input(
            X,
            y,
            preprocessor=self.preprocessor_,
            type_of_inputs=type_of_inputs,
            tuple_size=size,
            estimator=self,
            **kwargs,
        )
        if type_of_inputs == "classic" and self.preprocessor_ is None:
            _check_feature_names(self, X, reset=True)
        self.n_features_in_ = (formed if y is None else formed[0]).shape[-1]
        return formed


class MetricTransformer(metaclass=ABCMeta):
    """A learner that maps points into a space where the learned distance is Euclidean."""

    @abstractmethod
    def transform(self, X: Any) -> Floats:
        """The points in that space."""


class MahalanobisMixin(BaseMetricLearner, MetricTransformer):
    """A learner of a Mahalanobis distance, held as ``components_``: d(x, y) = ||components_ (x - y)||.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
    """

    components_: Floats
    n_iter_: int

    def score_pairs(self, pairs: Any) -> Floats:
        """The distance of each pair; its old name, with a warning."""
        warnings.warn(
            "score_pairs will be deprecated in release 0.7.0. Use pair_score to compute similarity scores, or "
            "pair_distances to compute distances.",
            FutureWarning,
            stacklevel=2,
        )
        return self.pair_distance(pairs)

    def pair_score(self, pairs: Any) -> Floats:
        """The negated distance of each pair: the larger, the more alike.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor

        Returns
        -------
        scores : array of shape (n_pairs,)
        """
        return -self.pair_distance(pairs)

    def pair_distance(self, pairs: Any) -> Floats:
        """The learned distance between the two points of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor

        Returns
        -------
        distances : array of shape (n_pairs,)
        """
        check_is_fitted(self, "preprocessor_")
        pairs = check_input(
            pairs, type_of_inputs="tuples", preprocessor=self.preprocessor_, estimator=self, tuple_size=2
        )
        check_is_fitted(self, "components_")
        mapped = (pairs[:, 1] - pairs[:, 0]) @ self.components_.T
        return np.asarray(np.sqrt(np.sum(mapped**2, axis=-1)))

    def transform(self, X: Any) -> Floats:
        """Points in a space where the learned distance is Euclidean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            ``X @ components_.T``: unlike ``mahala.GMML``, nothing is centred.
        """
        check_is_fitted(self, ["preprocessor_", "components_"])
        points = check_input(X, type_of_inputs="classic", estimator=self, preprocessor=self.preprocessor_)
        if self.preprocessor_ is None:
            _check_feature_names(self, X, reset=False)
        if hasattr(self, "n_features_in_"):
            _check_n_features(self, points, reset=False)
        return np.asarray(points @ self.components_.T)

    def get_metric(self) -> MahalanobisDistance:
        """The learned distance as a function of two points; it does not change when the learner does.

        Returns
        -------
        metric : callable
            ``metric(u, v, squared=False)``.
        """
        check_is_fitted(self, "components_")
        return MahalanobisDistance(self.components_)

    def get_mahalanobis_matrix(self) -> Floats:
        """The matrix A of the squared distance ``(x - y) @ A @ (x - y)``.

        Returns
        -------
        A : array of shape (n_features, n_features)
        """
        check_is_fitted(self, "components_")
        return np.asarray(self.components_.T @ self.components_)


class _TuplesClassifierMixin(ClassifierMixin, BaseMetricLearner):
    """What the classifiers of tuples share."""

    #: Dissimilar, similar; or wrong order, right order.
    classes_ = np.array([-1, 1])

    def _tuples(self, tuples: Any) -> Any:
        check_is_fitted(self, "preprocessor_")
        return check_input(
            tuples,
            type_of_inputs="tuples",
            preprocessor=self.preprocessor_,
            estimator=self,
            tuple_size=self._tuple_size,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.classifier_tags.multi_class = False
        return tags


class _PairsClassifierMixin(_TuplesClassifierMixin):
    """A learner of pairs, which calls pairs similar up to a threshold of distance.

    Attributes
    ----------
    threshold_ : float
        Pairs at most this far apart are called similar.
    """

    _tuple_size = 2
    threshold_: float

    def predict(self, pairs: Any) -> NDArray[np.int64]:
        """+1 for pairs at most ``threshold_`` apart, else -1.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor

        Returns
        -------
        y : array of shape (n_pairs,)
        """
        check_is_fitted(self, "preprocessor_")
        if not hasattr(self, "threshold_"):
            raise AttributeError(
                "A threshold for this estimator has not been set, call its set_threshold or "
                "calibrate_threshold method."
            )
        return np.where(-self.decision_function(pairs) <= self.threshold_, 1, -1)

    def decision_function(self, pairs: Any) -> Floats:
        """The negated distance of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor

        Returns
        -------
        scores : array of shape (n_pairs,)
        """
        return self.pair_score(self._tuples(pairs))

    def set_threshold(self: Self, threshold: float) -> Self:
        """Sets the distance up to which pairs are called similar.

        Parameters
        ----------
        threshold : float
        """
        check_is_fitted(self, "preprocessor_")
        if not isinstance(threshold, (Real, np.bool_)):
            raise ValueError(f"Parameter threshold must be a real number. Got {type(threshold)} instead.")
        self.threshold_ = threshold
        return self

    def calibrate_threshold(
        self: Self,
        pairs_valid: Any,
        y_valid: Any,
        strategy: str = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Self:
        """Sets the threshold by pairs that were kept aside.

        Parameters
        ----------
        pairs_valid : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
        y_valid : array-like of shape (n_pairs,)
            +1 and -1.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}
            What is greatest: accuracy; the F score; the rate of similar pairs found, or of dissimilar ones.
        min_rate : float in [0, 1], optional
            The least of the other rate, for "max_tpr" and "max_tnr".
        beta : float, default=1.0
            Of the F score.
        """
        check_is_fitted(self, "preprocessor_")
        self._validate_calibration_params(strategy, min_rate, beta)
        pairs, y = self._prepare_inputs(pairs_valid, y_valid, type_of_inputs="tuples")
        scores = np.asarray(self.decision_function(pairs), dtype=np.float64)
        self.threshold_ = -float(best_score(scores, y, strategy, min_rate, beta, None))
        return self

    _validate_calibration_params = staticmethod(check_calibration)

    def _fit_and_calibrate(self: Self, calibration_params: dict[str, Any] | None, *args: Any, **kwargs: Any) -> Self:
        """``_fit``, then the threshold by the training pairs; wrong parameters of the latter come first."""
        calibration_params = calibration_params or {}
        self._validate_calibration_params(**calibration_params)
        self._fit(*args, **kwargs)
        return self.calibrate_threshold(*args[:2], **calibration_params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class _OrderClassifierMixin(_TuplesClassifierMixin):
    """A learner of comparisons, which says whether one pair of a tuple is nearer than the other."""

    _near: ClassVar[list[int]]
    _far: ClassVar[list[int]]

    def predict(self, tuples: Any) -> NDArray[np.int64]:
        """+1 where the near pair is nearer than the far one, else -1.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, tuple_size, n_features), or (n_tuples, tuple_size) with a preprocessor

        Returns
        -------
        y : array of shape (n_tuples,)
        """
        return np.where(self.decision_function(tuples) > 0, 1, -1)

    def decision_function(self, tuples: Any) -> Floats:
        """By how much the far pair is farther apart than the near one.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, tuple_size, n_features), or (n_tuples, tuple_size) with a preprocessor

        Returns
        -------
        differences : array of shape (n_tuples,)
        """
        tuples = self._tuples(tuples)
        return np.asarray(self.pair_score(tuples[:, self._near]) - self.pair_score(tuples[:, self._far]))

    def score(self, tuples: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of tuples in the right order.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, tuple_size, n_features), or (n_tuples, tuple_size) with a preprocessor
        y : None
            Not used.
        sample_weight : array-like of shape (n_tuples,), optional

        Returns
        -------
        accuracy : float
        """
        return float(np.average(self.predict(tuples) == 1, weights=sample_weight))


class _TripletsClassifierMixin(_OrderClassifierMixin):
    """A learner of triplets: the first point nearer to the second than to the third."""

    _tuple_size = 3
    _near, _far = [0, 1], [0, 2]


class _QuadrupletsClassifierMixin(_OrderClassifierMixin):
    """A learner of quadruplets: the first two points nearer to each other than the last two."""

    _tuple_size = 4
    _near, _far = [0, 1], [2, 3]
