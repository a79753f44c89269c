"""The base of the estimators that hand a method's name and parameters to the library: the baselines, and one recipe."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length

from . import _mahala
from ._common import check_classes, class_names, count, encode, marks_of, number, plan, refuse, seed
from ._constraint_input import formed_tuples, stacked, whole_numbers
from ._labelled import check_two
from ._metric import MetricMixin
from ._notice import validated, warn_of_labels
from ._progress import reporter

Self = TypeVar("Self", bound="Learner")

#: Python's names of parameters, and the library's; others are the same in both.
NAMES = {
    "n_components": "rank",
    "max_iter": "max_iterations",
    "min_iter": "min_iterations",
    "tol": "tolerance",
    "random_state": "seed",
    "init": "start",
    "n_neighbors": "targets",
}
#: Whole numbers, with the least that makes sense.
COUNTS = {
    "n_components": 1,
    "directions": 1,
    "max_iter": 1,
    "min_iter": 0,
    "n_neighbors": 1,
    "n_impostors": 1,
    "n_bases": 1,
    "n_quadruplets": 1,
    "n_chunks": 1,
    "chunk_size": 2,
    "n_slices": 2,
    "n_votes": 1,
    "max_samples": 10,
}
#: What steers a fit and is no parameter of the method.
STEERING = {"standardize", "n_jobs", "verbose", "time_limit"}
#: The part of the docstring that all share which iterate.
SHARED = """standardize : bool, default=False
        Divide each column by its standard deviation first; ``transform`` does it too.
    time_limit : float or None, default=None
        Stop after this many seconds, with the best metric so far.
    verbose : int, default=0
        With 1, a line tells iteration and objective, a few times a second; ``mahala.progress`` tells a function.
    random_state : int, RandomState instance or None, default=None
        Decides all random draws. None means 0: a fit is reproducible unless a generator is given.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The linear map under which the learned distance is Euclidean.
    mean_ : ndarray of shape (n_features,)
        What ``transform`` subtracts.
    scale_ : ndarray of shape (n_features,) or None
        What it divides by, if columns are standardised.
    n_iter_ : int
        Iterations done.
    objective_ : float or None
        The method's objective at the metric returned.
    converged_ : bool
        If not, a ``ConvergenceWarning`` was given, and the metric is the best so far.
    diagnostics_ : dict
        These three, and why the fit stopped."""


class Learner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MetricMixin):
    """What all of them share; not to be used by itself."""

    #: The library's name of the method.
    _method: ClassVar[str]
    _names: ClassVar[dict[str, str]] = NAMES
    _needs_labels: ClassVar[bool] = True
    #: Parameters of the library that the estimator does not have.
    _fixed: ClassVar[dict[str, Any]] = {}

    standardize: bool

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__doc__ = (cls.__doc__ or "").replace("{shared}", SHARED)

    def fit(self: Self, X: Any, y: Any = None, **refused: Any) -> Self:
        """Learn from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Their classes; ignored by methods without labels.
        **refused : dict
            Nothing else is taken: ``sample_weight`` is a TypeError.

        Returns
        -------
        self : estimator
            The fitted metric.
        """
        refuse(self, refused, "rows cannot be weighted here; GMML weighs them" + (
            ", and fit_pairs of this class weighs pairs" if hasattr(self, "fit_pairs") else ""
        ))
        labels = None
        if self._needs_labels:
            X, y = validated(self, X, y, dtype=np.float64, ensure_min_samples=2)
            classes, codes = encode(check_classes(y))
            check_two(classes)
            labels = class_names(classes), codes
            self.classes_: NDArray[Any] = classes
            warn_of_labels(classes, len(y))
        else:
            X = validated(self, X, dtype=np.float64, ensure_min_samples=2)
            if y is not None:
                check_consistent_length(X, y)
        self._keep(_mahala.learn(X, labels, self._plan()))
        self._warn()
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:  # here, for scikit-learn to give it set_output
        return super().transform(X)

    transform.__doc__ = MetricMixin.transform.__doc__

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _plan(self) -> dict[str, Any]:
        """The parameters, checked, as the compiled part takes them."""
        given = self.get_params(deep=False)
        parameters: dict[str, Any] = dict(self._fixed)
        for name, value in given.items():
            if name in STEERING:
                continue
            if name == "random_state":
                value = seed(value)
            elif name in COUNTS and value is not None:
                value = count(name, value, COUNTS[name])
            elif name == "rounds":
                value = [[count("neighbours of a round", k, 1), number("t", t)] for k, t in value]
            elif name == "bounds" and value is not None:
                value = two_numbers(name, value)
            elif not (value is None or isinstance(value, (str, bool, np.bool_))):
                value = number(name, value)
            parameters[self._names.get(name, name)] = bool(value) if isinstance(value, np.bool_) else value
        time_limit = given.get("time_limit")
        if time_limit is not None:
            time_limit = number("time_limit", time_limit)
            if not time_limit > 0:
                raise ValueError(f"time_limit is {time_limit}; it must be above 0, in seconds")
        return plan(
            self._method,
            parameters,
            self.n_jobs,
            standardize=bool(self.standardize),
            time_limit=time_limit,
            progress=reporter(self),
        )

    def _keep(self, learned: dict[str, Any]) -> None:
        super()._keep(learned)
        del self.t_, self.t_path_  # there is no t
        if "max_iter" in self.get_params(deep=False):
            # A start that is a minimum already needs none; scikit-learn counts looking at it as one.
            self.n_iter_: int = max(1, self.diagnostics_["iterations"])
            self.objective_: float | None = self.diagnostics_["objective"]
            self.converged_: bool = self.diagnostics_["converged"]

    def _warn(self) -> None:
        if not self.diagnostics_["converged"]:
            message = f"{type(self).__name__}: {self.diagnostics_['outcome']}; raise max_iter, or loosen tol"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels
        tags.target_tags.one_d_labels = self._needs_labels
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def two_numbers(name: str, value: Any) -> list[float]:
    if np.shape(value) != (2,):
        raise ValueError(f"{name} is {value!r}; it must be two numbers")
    return [number(name, part) for part in value]


class TripletsLearner(Learner):
    """A learner that takes triplets, too."""

    def fit_triplets(self: Self, triplets: Any, *, preprocessor: Any = None) -> Self:
        """Learn from triplets, without classes: the first point is nearer to the second than to the third.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3, n_features), or (n_triplets, 3) with a preprocessor
            The points, or their row numbers or keys.
        preprocessor : array-like of shape (n_points, n_features), DataFrame, callable or None, default=None
            What looks points up by their row numbers, by the keys of its index (a pandas data frame), or by whatever the
            callable understands.

        Returns
        -------
        self : estimator
            The fitted metric.
        """
        return self._fit_tuples(triplets, 3, None, preprocessor)

    def _fit_tuples(self: Self, tuples: Any, size: int, sample_weight: Any, preprocessor: Any) -> Self:
        tuples = formed_tuples(tuples, size, preprocessor, type(self).__name__)
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight, dtype=np.float64)
            if sample_weight.shape != (len(tuples),):
                raise ValueError(
                    f"sample_weight has shape {sample_weight.shape}; it must be one number for each of the "
                    f"{len(tuples)} tuples"
                )
        rows = np.ascontiguousarray(tuples.reshape(-1, tuples.shape[2]))
        index = np.arange(len(rows), dtype=np.uint64).reshape(-1, size)
        learned = _mahala.learn_tuples(rows, index, sample_weight, self._plan())
        self._forget()
        self.n_features_in_ = tuples.shape[2]
        self._keep(learned)
        self._warn()
        return self

    def _forget(self) -> None:
        """Drops what labelled rows had set."""
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self, name):
                delattr(self, name)


class QuadrupletsLearner(TripletsLearner):
    """A learner that takes triplets and quadruplets, too."""

    def fit_quadruplets(
        self: Self, quadruplets: Any, sample_weight: Any = None, *, preprocessor: Any = None
    ) -> Self:
        """Learn from quadruplets, without classes: the first two points are nearer than the last two.

        Parameters
        ----------
        quadruplets : array-like of shape (n_quadruplets, 4, n_features), or (n_quadruplets, 4) with a preprocessor
            The points, or their row numbers or keys.
        sample_weight : array-like of shape (n_quadruplets,), default=None
            Weights of the quadruplets.
        preprocessor : array-like of shape (n_points, n_features), DataFrame, callable or None, default=None
            What looks points up by their row numbers, by the keys of its index (a pandas data frame), or by whatever the
            callable understands.

        Returns
        -------
        self : estimator
            The fitted metric.
        """
        return self._fit_tuples(quadruplets, 4, sample_weight, preprocessor)


class ChunksLearner(Learner):
    """A learner that takes chunks, too."""

    def fit_chunks(self: Self, X: Any, chunks: Any) -> Self:
        """Learn from rows of which some are known to be of one class, whichever it is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        chunks : array-like of shape (n_samples,)
            The chunk of each row as a whole number; a negative number is none.

        Returns
        -------
        self : estimator
            The fitted metric.
        """
        X, chunks = validated(self, X, chunks, dtype=np.float64, ensure_min_samples=2)
        self._keep(_mahala.learn_chunks(X, whole_numbers("chunks", chunks), self._plan()))
        if hasattr(self, "classes_"):
            del self.classes_
        self._warn()
        return self


class TargetsLearner(Learner):
    """A learner of numbers instead of classes."""

    def fit(self: Self, X: Any, y: Any = None, **refused: Any) -> Self:
        """Learn from rows and a number for each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            The number of each row.
        **refused : dict
            Nothing else is taken: ``sample_weight`` is a TypeError.

        Returns
        -------
        self : estimator
            The fitted metric.
        """
        refuse(self, refused, "rows cannot be weighted here; GMML weighs rows of classes")
        X, y = validated(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=3)
        self._keep(_mahala.learn_targets(X, np.ascontiguousarray(y, dtype=np.float64), self._plan()))
        self._warn()
        return self


class PairsLearner(QuadrupletsLearner):
    """A learner that takes pairs, triplets and quadruplets, too; of a comparison, it takes the two pairs."""

    def fit_pairs(self: Self, pairs: Any, y: Any, sample_weight: Any = None, *, preprocessor: Any = None) -> Self:
        """Learn from pairs of rows, without classes; ``PairClassifier`` adds thresholds and probabilities.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), two of shape (n_pairs, n_features), or (n_pairs, 2) of keys
            Both ends of each pair; or a tuple of two arrays, of first and of second ends; or, with a preprocessor, row
            numbers or keys.
        y : array-like of shape (n_pairs,)
            1 for a similar pair, and -1, 0 or False for a dissimilar one.
        sample_weight : array-like of shape (n_pairs,), default=None
            Weights of the pairs.
        preprocessor : array-like of shape (n_points, n_features), DataFrame, callable or None, default=None
            What looks points up by their row numbers, by the keys of its index (a pandas data frame), or by whatever the
            callable understands.

        Returns
        -------
        self : estimator
            The fitted metric.
        """
        self._forget()
        if preprocessor is not None:
            pairs = formed_tuples(pairs, 2, preprocessor, type(self).__name__)
        pairs, y = self._check_pairs(stacked(pairs)), marks_of(np.asarray(y))
        if y.shape != (len(pairs),) or not np.isin(y, (-1, 1)).all():
            raise ValueError("y must have one mark for each pair: +1 (similar) or -1 (dissimilar), or 1 and 0")
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight, dtype=np.float64)
        first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        learned = _mahala.learn_pairs(first, second, (y == 1).tolist(), sample_weight, self._plan())
        self.n_features_in_ = pairs.shape[2]
        self._keep(learned)
        self._warn()
        return self
