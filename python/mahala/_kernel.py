"""GMML in the feature space of a kernel."""

from __future__ import annotations

import json
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _mahala
from ._common import (
    auto_plan,
    check_classes,
    class_names,
    count,
    encode,
    folds,
    keep_choice,
    learning_params,
    number,
    threads,
)
from ._diagnostics import Diagnostics
from ._labelled import check_two
from ._metric import MetricMixin
from ._native import frozen, kept
from ._notice import validated, warn_of_error, warn_of_labels

Floats = NDArray[np.float64]
KERNELS = ("linear", "rbf", "poly", "precomputed")
#: What cannot be given if everything is chosen.
FIXED = ("gamma", "degree", "coef0", "landmarks", "t", "reg", "shrinkage", "n_components", "standardize")
#: What only the automatic mode has.
CHOOSING = ("scoring", "similarity", "time_limit", "keep_best")


class KernelGMML(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Geometric mean metric learning in the feature space of a kernel.

    The same closed form as ``GMML``, for classes that no linear map brings together. ``transform`` gives
    coordinates in which the learned distance is Euclidean: put any neighbour method behind it. Under the
    linear kernel it is ``GMML``.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "precomputed", "auto"} or callable, default="rbf"
        ``exp(-gamma |x - y|^2)``, ``(gamma x.y + coef0)^degree``, ``x.y``, a matrix given in place of X, or
        a function of two tables that returns their kernel values. "auto" chooses everything, as ``AutoGMML`` does,
        and a kernel of the first kind where it does clearly better than the columns themselves; then the parameters of the
        kernel and of the closed form cannot be given.
    gamma : "scale" or float, default="scale"
        "scale" is ``1 / (n_features * X.var())``.
    degree : int, default=3
        The degree of the polynomial kernel.
    coef0 : float, default=1.0
        The constant in the polynomial kernel.
    landmarks : int or None, default=None
        Take the kernel with this many rows, drawn at random (Nystroem). None: with all up to 5,000 rows, else
        with 1,000; ``diagnostics_["span"]["outside"]`` tells what share of the rows is left out.
    t : "cv" or float in [0, 1], default="cv"
        Place between the inverse of S (0: shrink what similar pairs differ in) and D (1: stretch what
        dissimilar pairs differ in). "cv" chooses it by cross-validation of nearest neighbours.
    reg : float or None, default=None
        The paper's lambda: the weight of the prior, which is the identity.
    shrinkage : float in [0, 1] or None, default=None
        Shrinks S and D towards their diagonals in the principal axes of feature space.
    n_components : int, float in (0, 1) or None, default=None
        Keep only so many coordinates: those in which dissimilar pairs differ most under the metric; or as many
        as hold this share of their squared distances.
    standardize : bool, default=False
        Divide each column by its standard deviation first; new rows are divided, too.
    n_neighbors : int, default=5
        Neighbours that vote when something is chosen.
    budget : float, default=20.0
        For "auto": at most this many times the work of a fit that chooses t alone, with and without a kernel.
    cv : int, splitter, iterable of splits, or None, default=None
        What is chosen on: so many random folds, a scikit-learn splitter, or training and held-out row numbers. None: five folds;
        for "auto", as many as ``AutoGMML`` takes.
    scoring : str or None, default=None
        For "auto": what is chosen by, as for ``AutoGMML``. None: 'knn-error'.
    similarity : {'l2', 'cosine'}, default='l2'
        For "auto": whether rows are compared by their distance, or by the cosine of what ``transform`` gives.
    time_limit : float or None, default=None
        For "auto": stop after this many seconds with the best so far.
    keep_best : bool, default=False
        For "auto": whether Ctrl-C ends the search with the best so far, as ``time_limit`` does.
    max_samples : int, float in (0, 1] or None, default=None
        Choose on at most this many rows, or on this share of them, drawn at random. None: 2,000 for "auto", 20,000 for t alone.
    random_state : int, RandomState instance or None, default=None
        Decides the folds and all random draws. None means 0: a fit is reproducible unless a generator is given.
    n_jobs : int or None, default=None
        Threads; results do not depend on it. None: what joblib's ``parallel_config`` says, else RAYON_NUM_THREADS
        or OMP_NUM_THREADS if set, else all cores.
    verbose : int, default=0
        With 1, a line tells how far the fit is; ``mahala.progress`` tells a function.

    Attributes
    ----------
    kernel_ : str or None
        The kernel's name; None if "auto" chose the columns themselves. Then the attributes are those of ``AutoGMML``.
    components_ : ndarray of shape (n_components, n_landmarks)
        Applied to kernel values: ``(K(X, landmarks_) - mean_) @ components_.T``.
    mean_ : ndarray of shape (n_landmarks,)
        What is subtracted from kernel values.
    landmarks_ : ndarray of shape (n_landmarks, n_features) or None
        The rows the kernel is taken with; None for a precomputed one.
    scale_ : ndarray of shape (n_features,) or None
        What columns are divided by first, if ``standardize``.
    gamma_ : float or None
        The gamma used.
    t_ : float or None
        The t given or chosen.
    t_path_ : ndarray of shape (n_values, 2)
        Every t tried with its cross-validated error; empty if t was given.
    log_eigenvalues_ : ndarray
        Logarithms of the eigenvalues of SD, descending.
    diagnostics_ : dict
        Pairs, condition numbers, ridge, the span of the landmarks.
    recipes_ : list of dict
        For "auto": what was blended, the best first, as parameters of ``RecipeGMML``.
    reason_ : str
        For "auto": why, in a sentence.
    trials_ : list of dict
        For "auto": everything tried, with its cross-validated error.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_features_in_ : int
        How many columns the rows have.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if they are all strings.

    Examples
    --------
    >>> from mahala import KernelGMML
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import NearestCentroid
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = make_circles(200, noise=0.1, factor=0.4, random_state=0)
    >>> float(cross_val_score(NearestCentroid(), X, y).mean()) < 0.6
    True
    >>> float(cross_val_score(make_pipeline(KernelGMML(), NearestCentroid()), X, y).mean()) > 0.95
    True
    """

    prior = "identity"
    recipes_: list[dict[str, Any]]
    reason_: str
    trials_: list[dict[str, Any]]

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        landmarks: int | None = None,
        t: float | str = "cv",
        reg: float | None = None,
        shrinkage: float | None = None,
        n_components: int | None = None,
        standardize: bool = False,
        n_neighbors: int = 5,
        budget: float = 20.0,
        cv: Any = None,
        scoring: str | None = None,
        similarity: str = "l2",
        time_limit: float | None = None,
        keep_best: bool = False,
        max_samples: int | float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.t = t
        self.reg = reg
        self.shrinkage = shrinkage
        self.n_components = n_components
        self.standardize = standardize
        self.n_neighbors = n_neighbors
        self.budget = budget
        self.cv = cv
        self.scoring = scoring
        self.similarity = similarity
        self.time_limit = time_limit
        self.keep_best = keep_best
        self.max_samples = max_samples
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> KernelGMML:
        """Learn from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if the kernel is precomputed
            Rows, or kernel values between them.
        y : array-like of shape (n_samples,)
            Their classes.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, such as its speaker: no group is split between training and held-out rows when
            something is chosen.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight 2 counts as two rows in S and D, and in the error that t is chosen by. Landmarks, and
            ``gamma="scale"``, are of the rows as they are. Not with "auto", and without ``standardize``.

        Returns
        -------
        self : KernelGMML
            The fitted estimator.
        """
        X, y = validated(self, X, y, dtype=np.float64, ensure_min_samples=2)
        self.classes_, codes = encode(check_classes(y))
        check_two(self.classes_)
        if isinstance(self.kernel, str) and self.kernel == "auto":
            return self._fit_auto(X, y, codes, sample_weight, groups)
        self._check_unset(CHOOSING, "only kernel='auto' chooses by it")
        if sample_weight is not None:
            if self.standardize:
                raise ValueError("sample_weight cannot standardise; put a StandardScaler before, or set standardize=False")
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            seen = self.classes_[np.bincount(codes, weights=sample_weight, minlength=len(self.classes_)) > 0]
            check_two(seen, weighted=True)
        gamma = self._gamma(X)
        self.gamma_: float | None = gamma
        self._given = np.array(X) if callable(self.kernel) else None
        params = learning_params(self, max(X.shape), len(X), k=count("n_neighbors", self.n_neighbors, 1))
        params |= folds(self.cv, X, y, groups, used=isinstance(self.t, str))
        landmarks = None if self.landmarks is None else count("landmarks", self.landmarks, 1)
        kernel = self._kernel(gamma)
        learned = _mahala.fit_kernel(
            self._values(X), class_names(self.classes_), codes, sample_weight, kernel, landmarks, params, threads(self.n_jobs)
        )
        self._keep(learned, kernel)
        warn_of_labels(self.classes_, len(y))
        if len(self.t_path_) and sample_weight is None:
            warn_of_error(self.t_path_[:, 1].min(), codes)
        return self

    def _check_unset(self, names: tuple[str, ...], why: str) -> None:
        """Refuses parameters that have no effect."""
        unset = {name: parameter.default for name, parameter in signature(type(self).__init__).parameters.items()}
        for name in names:
            value = getattr(self, name)
            if type(value) is not type(unset[name]) or value != unset[name]:
                raise ValueError(f"{name} is {value!r}; {why}")

    def _fit_auto(self, X: Floats, y: Any, codes: NDArray[np.uint32], sample_weight: Any, groups: Any) -> KernelGMML:
        self._check_unset(FIXED, "with kernel='auto' it is chosen, and cannot be given")
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be used with kernel='auto'; give a kernel, or use GMML")
        plan = auto_plan(self, "auto-kernel", X, y, groups)
        self._given = None
        self._keep_chosen(_mahala.learn(X, (class_names(self.classes_), codes), plan))
        return self

    def transform(self, X: Any) -> Floats:
        """Transform rows to coordinates where the learned distance is Euclidean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples_fit) if the kernel is precomputed
            Rows, or their kernel values with the training rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            The coordinates, of float32 if the rows are.
        """
        check_is_fitted(self, "components_")
        X = validated(self, X, reset=False, dtype=[np.float64, np.float32])
        if self.kernel_ is None:
            state, cosine = self._state(), self._is_cosine()
            metric = kept(self, (*state, cosine), lambda: _mahala.PreparedMetric(state, cosine))
            return metric.transform(X, threads(self.n_jobs))
        cells = np.asarray(X, dtype=np.float64)
        z = _mahala.transform_kernel(self._state(), self._values(cells), threads(self.n_jobs), self._is_cosine())
        return z.astype(X.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    _is_cosine = MetricMixin._is_cosine

    def _gamma(self, X: Floats) -> float:
        if isinstance(self.gamma, str):
            if self.gamma != "scale":
                raise ValueError(f"gamma is {self.gamma!r}; it must be 'scale' or a number above 0")
            # Standardised cells have variance 1.
            return 1.0 / X.shape[1] if self.standardize else _mahala.gamma_for(X)
        return number("gamma", self.gamma)

    def _kernel(self, gamma: float) -> tuple[str, float, int, float]:
        name = "precomputed" if callable(self.kernel) else self.kernel
        if not isinstance(name, str) or name not in KERNELS:
            raise ValueError(f"kernel is {self.kernel!r}; it must be one of {', '.join(KERNELS)}, auto, or a function")
        return name, gamma, count("degree", self.degree, 1), number("coef0", self.coef0)

    def _values(self, X: Floats) -> Floats:
        """Kernel values, if the kernel is a function; else the rows as they are."""
        if self._given is None:
            return X
        values = check_array(self.kernel(X, self._given), dtype=np.float64, input_name="kernel values")
        if values.shape != (len(X), len(self._given)):
            raise ValueError(
                f"the kernel returned shape {values.shape} for {len(X)} and {len(self._given)} rows"
            )
        return values

    def _state(self) -> Any:
        if self.kernel_ is None:
            return self.components_, self.mean_, self.scale_, None
        return self._fitted, self.landmarks_, self.scale_, self.components_, self.mean_

    def _keep_chosen(self, learned: dict[str, Any]) -> None:
        """What the automatic mode learned: with a kernel (as JSON, landmarks, scale), or without."""
        if learned["kernel"] is None:
            self.gamma_ = None
            self._keep(learned | {"landmarks": None}, None)
        else:
            kernel, landmarks, scale = learned["kernel"]
            gamma = float(json.loads(kernel)["gamma"])
            self.gamma_ = gamma
            self._keep(learned | {"landmarks": landmarks, "scale": scale}, ("rbf", gamma, 1, 0.0))

    def _keep(self, learned: dict[str, Any], kernel: tuple[str, float, int, float] | None) -> None:
        self._fitted = kernel
        self.kernel_: str | None = None if kernel is None else kernel[0]
        self.components_: Floats = frozen(learned["components"])
        self.mean_: Floats = frozen(learned["mean"])
        self._column_means: list[float] | None = learned.get("column_means")
        self.landmarks_: Floats | None = learned["landmarks"]
        self.scale_: Floats | None = frozen(learned["scale"])
        self.log_eigenvalues_: Floats = learned["log_eigenvalues"]
        self.model_params_: dict[str, Any] = json.loads(learned["params"])
        self.diagnostics_: dict[str, Any] = Diagnostics(json.loads(learned["diagnostics"]))
        self.t_: float | None = learned.get("t", self.model_params_.get("t_used"))
        selection = self.diagnostics_.get("selection") or {}
        self.t_path_: Floats = np.array(selection.get("curve", []), dtype=np.float64).reshape(-1, 2)
        keep_choice(self, self.diagnostics_.get("choice"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
