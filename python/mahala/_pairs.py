"""Metrics from pairs, without labels."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _mahala
from ._common import folds, learning_params, threads
from ._constraint_input import points
from ._neighbors import is_fitted
from ._metric import MetricMixin
from ._pair_decisions import PairDecisions, check_calibration, mark_classes, similarity
from ._progress import Report, reporter

Floats = NDArray[np.float64]


class GMMLPairs(ClassNamePrefixFeaturesOutMixin, PairDecisions, TransformerMixin, MetricMixin):
    """Geometric mean metric learning from pairs marked similar or dissimilar.

    Parameters
    ----------
    t : "cv" or float in [0, 1], default="cv"
        Place between the inverse of S (0: shrink what similar pairs differ in) and D (1: stretch what
        dissimilar pairs differ in). "cv" chooses the t whose distances rank held-out pairs best.
    reg : float or None, default=None
        The paper's lambda: the weight of the prior.
    shrinkage : float in [0, 1], "analytic" or None, default=None
        Shrinks S and D towards their diagonals; "analytic" shrinks S alone, as far as the number of pairs asks
        for. Not together with ``reg``.
    prior : {"identity", "diagonal", "covariance"} or array of shape (n_features, n_features), default="identity"
        The prior metric of ``reg``: Euclidean, inverse variances, inverse covariance, or a given one.
    n_components : int, float in (0, 1) or None, default=None
        Keep only so many coordinates: those in which dissimilar pairs differ most under the metric; or as many
        as hold this share of their squared distances.
    standardize : bool, default=False
        Divide each column by its standard deviation first; ``transform`` does it too.
    cv : int, splitter or iterable of splits, default=5
        The folds of pairs that t is chosen on and probabilities are fitted on. A splitter may want ``groups``.
    max_samples : int or float in (0, 1], default=20000
        Choose t on at most this many pairs, or on this share of them, drawn at random.
    preprocessor : array-like of shape (n_points, n_features), DataFrame, callable or None, default=None
        With it, pairs may be given as row numbers of shape (n_pairs, 2); of a pandas data frame, as keys of its
        index, such as strings. A callable gets a 1D array of whatever it understands and returns a 2D array of points.
    random_state : int, RandomState instance or None, default=None
        Decides the folds. None means 0: a fit is reproducible unless a generator is given.
    n_jobs : int or None, default=None
        Threads; results do not depend on it. None: what joblib's ``parallel_config`` says, else RAYON_NUM_THREADS
        or OMP_NUM_THREADS if set, else all cores.
    calibration : {None, "platt", "isotonic"}, default=None
        With it ``predict_proba`` says how likely pairs are similar. Every pair's distance is measured by a metric
        that was learned without it (over ``cv`` folds); the threshold is set on these distances, too.
    verbose : int, default=0
        With 1, a line tells how far the fit is; ``mahala.progress`` tells a function.

    Attributes
    ----------
    threshold_ : float
        Pairs at most this far apart are called similar.
    calibration_ : dict
        From a distance to a probability, if ``calibration`` is set or after ``calibrate``.
    classes_ : ndarray of shape (2,)
        The marks as they were given, that of dissimilar pairs first: -1 and 1, 0 and 1, or False and True.
    components_ : ndarray of shape (n_components, n_features)
        The linear map under which the learned distance is Euclidean.
    mean_ : ndarray of shape (n_features,)
        What ``transform`` subtracts.
    scale_ : ndarray of shape (n_features,) or None
        What it divides by, if ``standardize``.
    t_ : float
        The t given or chosen.
    t_path_ : ndarray of shape (n_values, 2)
        Every t tried, with one minus the area under the ROC curve of held-out pairs; empty if t was given.
    log_eigenvalues_ : ndarray
        Logarithms of the eigenvalues of SD, descending.
    diagnostics_ : dict
        Pairs, condition numbers, ridge, constant columns.
    n_features_in_ : int
        How many columns the points have.

    See Also
    --------
    PairClassifier : Thresholds and probabilities for every other metric learner.
    GMML : Learns from labelled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mahala import GMMLPairs
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> i, j = np.random.default_rng(0).integers(150, size=(2, 400))
    >>> same = y[i] == y[j]
    >>> learner = GMMLPairs().fit((X[i], X[j]), same)
    >>> bool(learner.score((X[i], X[j]), same) > 0.95)
    True
    >>> learner.predict(X[[[0, 1], [0, 100]]])
    array([ True, False])
    """

    def __init__(
        self,
        *,
        t: float | str = "cv",
        reg: float | None = None,
        shrinkage: float | str | None = None,
        prior: Any = "identity",
        n_components: int | float | None = None,
        standardize: bool = False,
        cv: Any = 5,
        max_samples: int | float = 20_000,
        preprocessor: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        calibration: str | None = None,
        verbose: int = 0,
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
        self.verbose = verbose

    def fit(
        self,
        pairs: Any,
        y: Any,
        sample_weight: Any = None,
        calibration_params: dict[str, Any] | None = None,
        groups: Any = None,
    ) -> GMMLPairs:
        """Learn from pairs, then set the threshold on them.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), two of shape (n_pairs, n_features), or (n_pairs, 2) of keys
            Both ends of each pair; or a tuple of two arrays, of first and of second ends; or, with a preprocessor, row
            numbers or keys.
        y : array-like of shape (n_pairs,)
            1 for similar pairs, and -1, 0 or False for dissimilar ones; or similarities between 0 and 1.
            A pair of similarity s counts s among similar and 1 - s among dissimilar pairs.
        sample_weight : array-like of shape (n_pairs,), default=None
            Weights of the pairs.
        calibration_params : dict, default=None
            Arguments of ``calibrate_threshold``, on the training pairs; by default accuracy, or, with
            ``calibration``, balanced accuracy on held-out pairs.
        groups : array-like of shape (n_pairs,), default=None
            The group of each pair: with a number for ``cv``, no group is split between training and held-out
            pairs; a splitter is given them.

        Returns
        -------
        self : GMMLPairs
            The fitted classifier of pairs.
        """
        calibration = calibration_params or {}
        check_calibration(**calibration)
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        if hasattr(self, "n_features_in_"):
            del self.n_features_in_
        given = y
        pairs, y = self._check_marked(pairs, y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        self.n_features_in_ = pairs.shape[2]
        params = learning_params(self, self.n_features_in_, len(pairs))
        self._check_calibration_method()
        held_out = isinstance(self.t, str) or self.calibration is not None
        params |= folds(self.cv, pairs, y, groups, used=held_out)
        first, second, jobs = pairs[:, 0], pairs[:, 1], threads(self.n_jobs)
        grades = similarity(y).tolist()
        learned = _mahala.fit_pairs(first, second, grades, sample_weight, params, self.calibration, jobs)
        self._keep(learned)
        self.classes_ = mark_classes(given)
        if hasattr(self, "calibration_"):
            del self.calibration_
        if "calibration" in learned:
            self.calibration_ = json.loads(learned["calibration"])
            if calibration_params is None:
                return self.set_threshold(learned["threshold"])
        return self._calibrate(self.pair_distance(pairs), y, **calibration)

    def transform(self, X: Any) -> NDArray[Any]:
        """Transform points to coordinates where the learned distance is Euclidean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_pairs, 2, n_features), or keys
            Points; or pairs, of which both ends are transformed; or, with a preprocessor, a 1D array of row numbers
            or keys.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components), or (n_pairs, 2, n_components)
            The coordinates, of float32 if the points are.
        """
        check_is_fitted(self, "components_")
        if self.preprocessor is not None and np.ndim(X) == 1:
            X = points(np.asarray(X), self.preprocessor)
        if isinstance(X, tuple) or np.ndim(X) == 3:
            pairs = self._formed(X)
            return super().transform(pairs.reshape(-1, pairs.shape[2])).reshape(len(pairs), 2, -1)
        return super().transform(X)

    def _formed(self, pairs: Any) -> Floats:
        return self._check_pairs(pairs)

    def _check_pairs(self, pairs: Any) -> Floats:
        return super()._check_pairs(self._by_value(pairs))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.classifier_tags.multi_class = False
        return tags


class PairClassifier(ClassNamePrefixFeaturesOutMixin, PairDecisions, TransformerMixin, BaseEstimator):
    """Similar or not, by the distance of any metric learner: thresholds, probabilities, cross-validation.

    Parameters
    ----------
    learner : estimator
        A learner with ``fit_pairs`` (ITML, MMC, SDML, KISSME, ...), which is cloned and fitted to the pairs; or a fitted
        metric of any kind (LSML on quadruplets, LMNN on classes), for which only threshold and probabilities are set.
    calibration : {None, "platt", "isotonic"}, default=None
        With it ``predict_proba`` says how likely pairs are similar. Every pair's distance is measured by a metric
        that was learned without it (over ``cv`` folds); the threshold is set on these distances, too.
    cv : int, splitter or iterable of splits, default=5
        The folds of pairs that probabilities are fitted on.
    preprocessor : array-like of shape (n_points, n_features), DataFrame, callable or None, default=None
        With it, pairs may be given as row numbers of shape (n_pairs, 2); of a pandas data frame, as keys of its
        index, such as strings. A callable gets a 1D array of whatever it understands and returns a 2D array of points.
    verbose : int, default=0
        With 1, a line tells how many of the fits are done, the folds' among them; ``mahala.progress`` tells a function.

    Attributes
    ----------
    learner_ : estimator
        The fitted metric.
    threshold_ : float
        Pairs at most this far apart are called similar.
    calibration_ : dict
        From a distance to a probability, if ``calibration`` is set or after ``calibrate``.
    classes_ : ndarray of shape (2,)
        The marks as they were given, that of dissimilar pairs first: -1 and 1, 0 and 1, or False and True.

    See Also
    --------
    GMMLPairs : GMML from pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from mahala import ITML, PairClassifier
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_iris(return_X_y=True)
    >>> i, j = np.random.default_rng(0).integers(150, size=(2, 400))
    >>> pairs, same = np.stack([X[i], X[j]], axis=1), y[i] == y[j]
    >>> bool(cross_val_score(PairClassifier(ITML()), pairs, same, scoring="roc_auc").mean() > 0.9)
    True
    """

    def __init__(
        self, learner: Any, *, calibration: str | None = None, cv: Any = 5, preprocessor: Any = None, verbose: int = 0
    ) -> None:
        self.learner = learner
        self.calibration = calibration
        self.cv = cv
        self.preprocessor = preprocessor
        self.verbose = verbose

    def fit(
        self,
        pairs: Any,
        y: Any,
        sample_weight: Any = None,
        calibration_params: dict[str, Any] | None = None,
        groups: Any = None,
    ) -> PairClassifier:
        """Learn from pairs, then set the threshold on them.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), two of shape (n_pairs, n_features), or (n_pairs, 2) of keys
            Both ends of each pair; or a tuple of two arrays, of first and of second ends; or, with a preprocessor, row
            numbers or keys.
        y : array-like of shape (n_pairs,)
            1 for similar pairs, and -1, 0 or False for dissimilar ones.
        sample_weight : array-like of shape (n_pairs,), default=None
            Weights of the pairs, for the learner.
        calibration_params : dict, default=None
            Arguments of ``calibrate_threshold``; by default accuracy.
        groups : array-like of shape (n_pairs,), default=None
            The group of each pair, for the splitter ``cv``.

        Returns
        -------
        self : PairClassifier
            The fitted classifier of pairs.
        """
        check_calibration(**(calibration_params or {}))
        self._check_calibration_method()
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        for name in ("learner_", "calibration_"):
            if hasattr(self, name):
                delattr(self, name)
        given, fixed = y, is_fitted(self.learner)
        if not fixed and not hasattr(self.learner, "fit_pairs"):
            raise ValueError(
                f"{type(self.learner).__name__} learns from no pairs; fit it first, and its distances are judged here"
            )
        pairs, y = self._check_marked(pairs, y)
        splits = self._splits(pairs, y, groups) if self.calibration is not None and not fixed else []
        report, total = reporter(self), len(splits) + (not fixed)
        self.learner_ = self.learner if fixed else self._learned(pairs, y, sample_weight)
        if report is not None:
            report(total - len(splits), total)
        self.n_features_in_ = pairs.shape[2]
        self.classes_ = mark_classes(given)
        distances = self.learner_.pair_distance(pairs)
        if self.calibration is not None:
            if not fixed:
                distances = self._held_out(pairs, y, sample_weight, splits, report)
            answer = _mahala.calibrate(distances, similarity(y).tolist(), None, self.calibration)
            self.calibration_ = json.loads(answer)
        return self._calibrate(distances, y, **(calibration_params or {}))

    def pair_distance(self, pairs: Any) -> Floats:
        """Return the learned distance between the two points of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), two of shape (n_pairs, n_features), or (n_pairs, 2) of keys
            The pairs, in any form that ``fit`` takes.

        Returns
        -------
        distances : ndarray of shape (n_pairs,)
            The distances.
        """
        check_is_fitted(self)
        return np.asarray(self.learner_.pair_distance(self._formed(pairs)))

    def transform(self, X: Any) -> NDArray[Any]:
        """Transform points to coordinates where the learned distance is Euclidean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_pairs, 2, n_features), or keys
            Points; or pairs, of which both ends are transformed; or, with a preprocessor, a 1D array of row numbers
            or keys.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components), or (n_pairs, 2, n_components)
            The coordinates, of float32 if the points are.
        """
        check_is_fitted(self)
        if self.preprocessor is not None and np.ndim(X) == 1:
            X = points(np.asarray(X), self.preprocessor)
        if isinstance(X, tuple) or np.ndim(X) == 3:
            pairs = self._formed(X)
            rows = pairs.reshape(-1, pairs.shape[2])
            return np.asarray(self.learner_.transform(rows)).reshape(len(pairs), 2, -1)
        return np.asarray(self.learner_.transform(X))

    def _learned(self, pairs: Floats, y: NDArray[Any], sample_weight: Any) -> Any:
        return clone(self.learner).fit_pairs(pairs, y, sample_weight)

    def _splits(self, pairs: Floats, y: NDArray[Any], groups: Any) -> list[tuple[Any, Any]]:
        return list(check_cv(self.cv, y, classifier=True).split(pairs, y, groups))

    def _held_out(
        self, pairs: Floats, y: NDArray[Any], sample_weight: Any, splits: list[tuple[Any, Any]], report: Report | None
    ) -> Floats:
        """The distance of every pair by a metric learned without it."""
        distances = np.full(len(y), np.nan)
        for done, (train, test) in enumerate(splits, start=2):
            weight = None if sample_weight is None else np.asarray(sample_weight)[train]
            distances[test] = self._learned(pairs[train], y[train], weight).pair_distance(pairs[test])
            if report is not None:
                report(done, len(splits) + 1)
        if np.isnan(distances).any():
            raise ValueError("cv holds out some pairs never; every pair must be held out once")
        return distances

    def _formed(self, pairs: Any) -> Floats:
        learner = getattr(self, "learner_", self.learner)
        return np.asarray(MetricMixin._check_pairs(learner, self._by_value(pairs)))

    @property
    def _n_features_out(self) -> int:
        return int(self.learner_.components_.shape[0])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "learner_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.classifier_tags.multi_class = False
        return tags
