"""GMML from labelled rows."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import check_scoring
from sklearn.utils.validation import _check_sample_weight

from . import _mahala
from ._common import (
    check_classes,
    check_distinct,
    class_names,
    classes_of,
    count,
    csr_parts,
    encode,
    folds,
    issparse,
    learning_params,
    threads,
)
from ._explore import Explorer, explored
from ._gmml_tuples import GMMLFromTuples
from ._knn import MahalanobisKNN
from ._labelled import check_two, class_weights, dense, is_label_sets
from ._metric import MetricMixin
from ._moments import Moments
from ._notice import validated, warn_of_error, warn_of_labels, warn_of_ridge


class GMML(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GMMLFromTuples):
    """Geometric mean metric learning: a Mahalanobis distance in closed form.

    With S the scatter of pairs of rows of one class and D that of pairs of different classes, the metric is
    the point at t on the geodesic from the inverse of S to D::

        A = (S + reg inv(A0))^-1 #_t (D + reg A0)

    Parameters
    ----------
    t : "cv" or float in [0, 1], default="cv"
        Place between the inverse of S (0: shrink what similar pairs differ in) and D (1: stretch what
        dissimilar pairs differ in). "cv" chooses it by cross-validation of nearest neighbours. ``AutoGMML`` chooses
        more than t.
    reg : float or None, default=None
        The paper's lambda: the weight of the prior.
    shrinkage : float in [0, 1], "analytic" or None, default=None
        Shrinks S and D towards their diagonals; indifferent to units, and the better choice where rows are
        few. "analytic" shrinks S alone, as far as the number of rows asks for (OAS). Not together with ``reg``.
    shrinkage_target : {"diagonal", "similar", "similar-identity", "identity"}, default="diagonal"
        S and D towards their diagonals, S alone towards its diagonal, S alone towards the identity, or both
        towards the identity.
    prior : {"identity", "diagonal", "covariance"} or array of shape (n_features, n_features)
        The prior metric A0 of ``reg``: Euclidean, inverse variances, inverse covariance, or a given one.
    pairs : {"all", "sampled"}, default="all"
        All pairs of rows, summed without listing them, or the paper's random 40 c (c - 1).
    n_components : int, float in (0, 1) or None, default=None
        Keep only so many coordinates: those in which dissimilar pairs differ most under the metric; or as many
        as hold this share of their squared distances.
    principal : int or None, default=None
        Learn inside this many leading principal directions of the rows: for tables too large both ways. With
        more columns than rows all directions are followed without it.
    standardize : bool, default=False
        Divide each column by its standard deviation first; ``transform`` does it too.
    n_neighbors : int, default=5
        Neighbours that vote when t is chosen.
    cv : int, splitter or iterable of splits, default=5
        What t is chosen on. A number: so many random folds, the same as the command's. A scikit-learn splitter
        (``GroupKFold()``, ``TimeSeriesSplit()``), or training and held-out row numbers: S and D are learned on the
        training rows of each split, and the error is that of its held-out rows.
    max_samples : int or float in (0, 1], default=20000
        Choose t on at most this many rows, or on this share of them, drawn at random.
    random_state : int, RandomState instance or None, default=None
        Decides folds and sampled pairs. None means 0: a fit is reproducible unless a generator is given.
    n_jobs : int or None, default=None
        Threads; results do not depend on it. None: RAYON_NUM_THREADS if set, else all cores; in a process of
        joblib's, its share of them.
    class_weight : {"balanced", "balanced-pairs"}, dict or None, default=None
        Whether classes of unequal size count the same: None, every row does; "balanced", every class (a row of
        class c weighs n / (n_classes n_c)); "balanced-pairs", every class, and every pair of classes adds the same
        amount to D, near or far. t is then chosen by the mean of the classes' errors. A dict gives the weight of each
        class, 1 for those it leaves out: rows are weighted by it, and by ``sample_weight``. Only with ``pairs="all"``.
    scoring : str, callable or None, default=None
        What t is chosen by, if not by the error of the neighbours' vote: a scikit-learn scorer ("balanced_accuracy",
        "f1_macro", "neg_log_loss", "roc_auc_ovr"), applied to ``MahalanobisKNN`` on the held-out rows. It learns anew for each
        of the 20 values of t in each split, and so takes longer.
    verbose : int, default=0
        With 1, a line tells how far the choice of t is; ``mahala.progress`` tells a function.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The linear map under which the learned distance is Euclidean.
    mean_ : ndarray of shape (n_features,)
        What ``transform`` subtracts.
    scale_ : ndarray of shape (n_features,) or None
        What it divides by: standard deviations, if ``standardize``.
    weight_outside_ : float or None
        With more columns than rows and ``reg``: the weight of what lies outside the span of the rows. It is
        part of every distance but of no coordinate, and changes no neighbour among the rows learned on.
    t_ : float
        The t given or chosen.
    t_path_ : ndarray of shape (n_values, 2)
        Every t tried with its cross-validated error, or, with ``scoring``, minus its mean score; empty if t was given.
    eigenvalues_ : ndarray
        Eigenvalues of SD, descending.
    log_eigenvalues_ : ndarray
        Their logarithms.
    diagnostics_ : dict
        Pairs, condition numbers, ridge, constant columns.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_features_in_ : int
        How many columns the rows have.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if they are all strings.

    Examples
    --------
    >>> from mahala import GMML
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> gmml = GMML().fit(X, y)
    >>> gmml.transform(X).shape
    (178, 13)
    >>> bool(gmml.t_ < 0.2)
    True
    """

    def __init__(
        self,
        *,
        t: float | str = "cv",
        reg: float | None = None,
        shrinkage: float | str | None = None,
        shrinkage_target: str = "diagonal",
        prior: Any = "identity",
        pairs: str = "all",
        n_components: int | float | None = None,
        principal: int | None = None,
        standardize: bool = False,
        n_neighbors: int = 5,
        cv: Any = 5,
        max_samples: int | float = 20_000,
        random_state: Any = None,
        n_jobs: int | None = None,
        class_weight: str | dict[Any, float] | None = None,
        scoring: Any = None,
        verbose: int = 0,
    ) -> None:
        self.t = t
        self.reg = reg
        self.shrinkage = shrinkage
        self.shrinkage_target = shrinkage_target
        self.prior = prior
        self.pairs = pairs
        self.n_components = n_components
        self.principal = principal
        self.standardize = standardize
        self.n_neighbors = n_neighbors
        self.cv = cv
        self.max_samples = max_samples
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.scoring = scoring
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> GMML:
        """Learn from rows and labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Sparse rows stay sparse, unless there are weights or few columns.
        y : array-like of shape (n_samples,), or (n_samples, n_labels) of 0 and 1
            Classes; or, for rows with several labels each, which labels every row has. Then pairs of rows (at
            random, at least 20000 or all) are as similar as their labels overlap (Jaccard).
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two rows. Only with ``pairs="all"`` and without ``standardize``. If t
            is chosen, rows weigh as much in the error it is chosen by.
        groups : array-like of shape (n_samples,), optional
            The group of each row, such as its speaker: with a number for ``cv``, no group is split between training
            and held-out rows when t is chosen; a splitter is given them.

        Returns
        -------
        self : GMML
            The fitted estimator.
        """
        if is_label_sets(y):
            return self._fit_label_sets(X, y, sample_weight, groups)
        X, y = self._check_labelled(X, y, reset=True)
        classes, codes = encode(y)
        params, names = self._params(X, y, groups), class_names(classes)
        sample_weight = self._weights(X, y, sample_weight)
        if sample_weight is not None:
            X = dense(X)
            classes = classes[np.bincount(codes, weights=sample_weight, minlength=len(classes)) > 0]
        check_two(classes, weighted=sample_weight is not None)
        selection = None
        if self.scoring is not None:
            selection = self._select_by_score(X, y, sample_weight, params)
            params |= {"t": selection["t"], "splits": None, "groups": None}
        if issparse(X):
            learned = _mahala.fit_sparse(csr_parts(X), names, codes, params, threads(self.n_jobs))
        else:
            learned = _mahala.fit_labels(X, names, codes, sample_weight, params, threads(self.n_jobs))
        self._keep(learned)
        self._keep_selection(selection)
        self.classes_ = classes
        self._moments: Moments | None = None
        warn_of_labels(classes, len(y))
        warn_of_ridge(self.diagnostics_)
        if len(self.t_path_) and sample_weight is None and self.class_weight is None and selection is None:
            warn_of_error(self.t_path_[:, 1].min(), codes)
        return self

    def _select_by_score(self, X: Any, y: NDArray[Any], sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        """t by the paper's two-step search, on minus the mean score of held-out rows."""
        if not isinstance(self.t, str):
            raise ValueError(f"scoring chooses t, and t is {self.t}; set t='cv', or leave scoring out")
        knn, jobs = MahalanobisKNN(self.n_neighbors, n_jobs=self.n_jobs), threads(self.n_jobs)
        scorer = check_scoring(knn, self.scoring)
        splits = [part for part in _mahala.selection_splits(len(y), params) if len(np.unique(y[part[0]])) > 1]
        if not splits:
            raise ValueError("cv leaves no split whose training rows have two classes; give more rows, or t")
        fixed = params | {"splits": None, "groups": None, "progress": None}

        def score(t: float, train: NDArray[np.int64], test: NDArray[np.int64]) -> float:
            weights = [None if sample_weight is None else sample_weight[part] for part in (train, test)]
            labels, codes = encode(y[train])
            near = dense(X[train])
            fit = _mahala.fit_labels(near, class_names(labels), codes, weights[0], fixed | {"t": t}, jobs)
            state = tuple(fit[name] for name in ("components", "mean", "scale", "weight_outside"))
            metric = _mahala.PreparedMetric(state)
            fitted = knn.fit(metric.transform(near, jobs), y[train])
            weighted = {} if weights[1] is None else {"sample_weight": weights[1]}
            return float(scorer(fitted, metric.transform(dense(X[test]), jobs), y[test], **weighted))

        def losses(values: list[float]) -> list[float]:
            return [-float(np.mean([score(t, *split) for split in splits])) for t in values]

        t, curve = _mahala.search_t(losses)
        name = self.scoring if isinstance(self.scoring, str) else getattr(self.scoring, "__name__", "a function")
        criterion = f"minus the mean score of held-out rows: {name}"
        return {"t": t, "curve": curve, "criterion": criterion, "folds": len(splits)}

    def _keep_selection(self, selection: dict[str, Any] | None) -> None:
        if selection is not None:
            self.diagnostics_["selection"] = selection
            self.t_path_ = np.array(selection["curve"], dtype=np.float64).reshape(-1, 2)

    def _fit_label_sets(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> GMML:
        weights = self.class_weight if isinstance(self.class_weight, Mapping) else None
        refused = {"sample_weight": sample_weight, "groups": groups, "class_weight": weights, "scoring": self.scoring}
        for name, given in refused.items():
            if given is not None:
                raise ValueError(f"{name} needs one label a row; y has several")
        if not isinstance(self.cv, Integral):
            raise ValueError(
                f"cv is {self.cv!r}; it must be a number of folds where rows have several labels: t is chosen on pairs"
            )
        X, y = validated(self, X, y, multi_output=True, dtype=np.float64, ensure_min_samples=2)
        marks = np.asarray(y.toarray() if hasattr(y, "toarray") else y, dtype=np.float64)
        self._keep(_mahala.fit_label_sets(X, marks, self._params(X, y), threads(self.n_jobs)))
        self.classes_ = np.arange(marks.shape[1])
        self._moments = None
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:  # here, for scikit-learn to give it set_output
        return super().transform(X)

    transform.__doc__ = MetricMixin.transform.__doc__

    def explore(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        title: str = "GMML",
        max_rows: int = 10_000,
        coordinates: int = 64,
        steps: int = 50,
    ) -> Explorer:
        """Make a page on which t moves the rows: neighbours before and after, errors, weights of columns.

        The metric is learned with the parameters of this estimator, which need not be fitted and is not changed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; the columns of a data frame give their names.
        y : array-like of shape (n_samples,)
            Classes.
        groups : array-like of shape (n_samples,), optional
            The group of each row: no fold splits one.
        title : str, default="GMML"
            The title of the page.
        max_rows : int, default=10000
            Rows in the page; of more, so many are drawn at random. The metric is learned on all.
        coordinates : int, default=64
            Coordinates in the page: those with the largest share of the distances.
        steps : int, default=50
            The error is computed at 0, 1/steps, ..., 1, beside the values that the choice of t tries.

        Returns
        -------
        page : Explorer
            Shown by a notebook; ``save(path)`` writes it as one file that fetches nothing.

        Examples
        --------
        >>> from mahala import GMML
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> page = GMML().explore(X, y, title="Wine")
        >>> page.html.startswith("<!DOCTYPE html>")
        True
        """
        return explored(self, X, y, groups, title, max_rows, coordinates, steps)

    def fit_moments(self, moments: Moments) -> GMML:
        """Learn from moments: rows that were summed elsewhere.

        The parameter t must be a number, for there are no rows to cross-validate on.

        Parameters
        ----------
        moments : Moments
            The sums.

        Returns
        -------
        self : GMML
            The fitted estimator.

        Examples
        --------
        >>> from mahala import GMML, Moments
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> parts = [Moments(13).update(X[i::3], y[i::3]) for i in range(3)]
        >>> moments = parts[0].merge(parts[1]).merge(parts[2])
        >>> GMML(t=0.1).fit_moments(moments).transform(X[:2]).shape
        (2, 13)
        """
        if isinstance(self.t, str):
            raise ValueError(
                f"t is {self.t!r}, but moments hold no rows to cross-validate on; give t (for instance GMML(t=0.5))"
            )
        if isinstance(self.class_weight, Mapping):
            raise ValueError("class_weight is a dict, but moments hold rows already weighted: weigh them in Moments.update")
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = moments.n_features
        # A copy: partial_fit may add to it.
        self._learn_moments(moments.copy(), self._params(None, None))
        self.classes_ = classes_of(moments.classes)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, forgetting: float = 1.0
    ) -> GMML:
        """Add rows to those seen so far and learn again; only sums are kept.

        If t is not a number, it is chosen on the first batch that has two classes and stays. Before the rows seen
        so far hold a similar and a dissimilar pair, the estimator is not fitted yet.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like, default=None
            All classes that may come; a label outside is then an error.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        forgetting : float in (0, 1], default=1.0
            What the rows seen so far are multiplied by before these are added: a row k batches ago counts
            ``forgetting**k``.

        Returns
        -------
        self : GMML
            Itself, fitted as soon as the rows seen hold a similar and a dissimilar pair.
        """
        first = getattr(self, "_moments", None) is None
        if first:
            for name in ("components_", "_chosen_t", "_known"):
                if hasattr(self, name):
                    delattr(self, name)
        X, y = self._check_labelled(X, y, reset=first, least=1)
        X = dense(X)
        params = self._params(X, y, chosen=hasattr(self, "_chosen_t"))
        self._check_summable("partial_fit")
        if classes is not None:
            self._known = np.unique(classes)
        strange = np.setdiff1d(y, getattr(self, "_known", y))
        if len(strange):
            raise ValueError(f"y has labels {strange.tolist()} that are not in classes={self._known.tolist()}")
        seen = np.unique(y) if first else np.union1d(self.classes_, y)
        check_distinct(seen)
        moments = Moments(X.shape[1]) if first else self._moments
        assert moments is not None
        moments.forget(forgetting).update(X, y, self._weights(X, y, sample_weight), n_jobs=self.n_jobs)
        self.classes_ = getattr(self, "_known", seen)
        self._moments = moments
        if len(moments.classes) < 2 or max(moments.counts) < 2:
            return self
        if params["t"] is None:
            params["t"] = self._choose_t(X, y, params)
        self._learn_moments(moments, params)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _choose_t(self, X: Any, y: Any, params: dict[str, Any]) -> float:
        """t from the first batch that can be cross-validated; one half before there is one."""
        if not hasattr(self, "_chosen_t"):
            labels, codes = encode(y)
            if len(labels) < 2 or len(y) < 4 or np.bincount(codes).max() < 3:
                return 0.5
            if self.scoring is not None:
                self._chosen_t = float(self._select_by_score(X, y, None, params)["t"])
                return self._chosen_t
            names = class_names(labels)
            learned = _mahala.fit_labels(X, names, codes, None, params, threads(self.n_jobs))
            self._chosen_t = float(learned["t"])
        return self._chosen_t

    def _learn_moments(self, moments: Moments, params: dict[str, Any]) -> None:
        self._check_summable("fit_moments")
        self._keep(_mahala.fit_moments(moments, params, threads(self.n_jobs)))
        self._moments = moments

    def _check_labelled(self, X: Any, y: Any, *, reset: bool, least: int = 2) -> tuple[Any, NDArray[Any]]:
        X, y = validated(
            self, X, y, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=least, accept_sparse="csr"
        )
        return X, check_classes(y)

    def _weights(self, X: Any, y: NDArray[Any], sample_weight: Any) -> NDArray[np.float64] | None:
        """The weight of each row: its own, times that of its class."""
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            self._check_summable("sample_weight")
        if isinstance(self.class_weight, Mapping):
            self._check_summable("class_weight")
            return class_weights(self.class_weight, y, sample_weight)
        return sample_weight

    def _check_summable(self, what: str) -> None:
        if self.pairs != "all":
            raise ValueError(f"{what} needs pairs='all'; pairs is {self.pairs!r}")
        if self.principal is not None:
            raise ValueError(f"{what} sums over all columns; principal is {self.principal}, and must be None")
        if self.standardize:
            raise ValueError(
                f"{what} cannot standardise; put a StandardScaler before, or set standardize=False"
            )

    def _params(self, X: Any, y: Any, groups: Any = None, *, chosen: bool = False) -> dict[str, Any]:
        if not isinstance(self.pairs, str) or self.pairs not in ("all", "sampled"):
            raise ValueError(f"pairs is {self.pairs!r}; it must be 'all' or 'sampled'")
        sampled, k = self.pairs == "sampled", count("n_neighbors", self.n_neighbors, 1)
        principal = None if self.principal is None else count("principal", self.principal, 1)
        rows = None if y is None else len(y)
        params = learning_params(self, self.n_features_in_, rows, sampled=sampled, k=k, principal=principal)
        return params | folds(self.cv, X, y, groups, used=isinstance(self.t, str) and not chosen)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
