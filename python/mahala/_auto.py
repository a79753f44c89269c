"""The automatic mode: everything is chosen by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from . import _mahala
from ._common import auto_plan, check_classes, class_names, count, criterion, encode, issparse, keep_choice, refuse
from ._labelled import check_two, is_label_sets
from ._metric import MetricMixin
from ._notice import validated, warn_of_error, warn_of_labels


class AutoGMML(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MetricMixin):
    """GMML with everything chosen by cross-validation of nearest neighbours on the training rows.

    Standardisation, shrinkage of S, the leading directions of the pencil (D, S) to learn in, neighbourhood rounds and t
    are tried, cheap recipes first; the best few are blended into one metric. ``GMML`` is the closed form alone, much
    faster; ``RecipeGMML`` follows one recipe.

    Parameters
    ----------
    reduce : bool, default=False
        Learn inside leading directions, whatever else might do better.
    n_neighbors : int, default=5
        Neighbours that vote.
    budget : float, default=20.0
        At most this many times the work of a fit that chooses t alone.
    max_samples : int or float in (0, 1], default=2000
        Choose on at most this many rows, or on this share of them, drawn at random.
    scoring : str, default='knn-error'
        What is chosen by: 'knn-error' (scikit-learn's 'accuracy'), 'balanced-error' ('balanced_accuracy'), 'r@1', 'recall@5' (or
        another number), 'map@r', 'mrr', 'ndcg@10' (or another number), or 'roc-auc' and 'eer' of pairs. Functions are for
        ``GMML(scoring=...)``.
    similarity : {'l2', 'cosine'}, default='l2'
        Whether rows are compared by their distance, or by the cosine of what ``transform`` gives.
    cv : int, splitter, iterable of splits, or None, default=None
        What is held out: as many folds, or the splits of a scikit-learn splitter. None: three or five folds, of whole groups if
        there are groups.
    folds_over : {'rows', 'groups', 'classes'} or None, default=None
        What is held out together; 'classes' is for classes that are not known yet. None: groups if there are groups, else rows.
    time_limit : float or None, default=None
        Stop after this many seconds with the best so far.
    max_trials : int or None, default=None
        Stop after this many trials (``diagnostics_['choice']['trials_done']`` of another fit) with the best so far.
    keep_best : bool, default=False
        Whether Ctrl-C ends the search with the best so far, as ``time_limit`` does, instead of KeyboardInterrupt; a second one
        interrupts. ``diagnostics_['choice']['cut_short']`` tells.
    random_state : int, RandomState instance or None, default=None
        Decides the folds. None means 0: a fit is reproducible unless a generator is given.
    n_jobs : int or None, default=None
        Threads; results do not depend on it. None: RAYON_NUM_THREADS if set, else all cores; in a process of
        joblib's, its share of them.
    verbose : int, default=0
        With 1, a line tells how far the search is; ``mahala.progress`` tells a function.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The linear map under which the learned distance is Euclidean.
    mean_ : ndarray of shape (n_features,)
        What ``transform`` subtracts.
    scale_ : ndarray of shape (n_features,) or None
        What it divides by, if columns are standardised.
    t_ : float or None
        That of the best recipe; None where that is the plain distance.
    recipes_ : list of dict
        What was blended, the best first, as parameters of ``RecipeGMML``: ``RecipeGMML(**auto.recipes_[0])`` follows it.
    reason_ : str
        Why, in a sentence.
    verdict_ : str
        Whether it is worth it: what is gained over the plain distance on held-out rows, with an interval.
    trials_ : list of dict
        Everything tried, with its cross-validated loss: the error, or one minus the score.
    diagnostics_ : dict
        The same for machines, with the folds and the work done.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_features_in_ : int
        How many columns the rows have.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if they are all strings.

    Examples
    --------
    >>> from mahala import AutoGMML
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> auto = AutoGMML().fit(X, y)
    >>> len(auto.trials_) > 50
    True
    """

    recipes_: list[dict[str, Any]]
    reason_: str
    verdict_: str
    trials_: list[dict[str, Any]]

    def __init__(
        self,
        *,
        reduce: bool = False,
        n_neighbors: int = 5,
        budget: float = 20.0,
        max_samples: int | float = 2_000,
        scoring: str = "knn-error",
        similarity: str = "l2",
        cv: Any = None,
        folds_over: str | None = None,
        time_limit: float | None = None,
        max_trials: int | None = None,
        keep_best: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.reduce = reduce
        self.n_neighbors = n_neighbors
        self.budget = budget
        self.max_samples = max_samples
        self.scoring = scoring
        self.similarity = similarity
        self.cv = cv
        self.folds_over = folds_over
        self.time_limit = time_limit
        self.max_trials = max_trials
        self.keep_best = keep_best
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None, **refused: Any) -> AutoGMML:
        """Choose, and learn from rows and labels.

        Rows cannot be weighted and must be dense: ``GMML`` takes weights and sparse rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dense rows.
        y : array-like of shape (n_samples,)
            Their classes.
        groups : array-like of shape (n_samples,), optional
            The group of each row, such as its speaker: no group is split between training and held-out rows.
        **refused : dict
            Nothing else is taken: ``sample_weight`` is a TypeError.

        Returns
        -------
        self : AutoGMML
            The fitted estimator.
        """
        refuse(self, refused, "rows cannot be weighted here; GMML, and KernelGMML with a kernel of your own, weigh them")
        if issparse(X):
            raise TypeError("Sparse rows are for GMML, which learns from them as they are; AutoGMML needs X.toarray()")
        if is_label_sets(y):
            raise ValueError("y has several labels a row; GMML learns from them, AutoGMML from one label a row")
        X, y = validated(self, X, y, dtype=np.float64, ensure_min_samples=2)
        classes, codes = encode(check_classes(y))
        check_two(classes)
        more: dict[str, Any] = {"reduce": bool(self.reduce), "folds_over": self.folds_over}
        if self.max_trials is not None:
            more["max_trials"] = count("max_trials", self.max_trials, 0)
        plan = auto_plan(self, "auto", X, y, groups, **more)
        self._keep(_mahala.learn(X, (class_names(classes), codes), plan))
        self.classes_: NDArray[Any] = classes
        warn_of_labels(classes, len(y))
        if criterion(self.scoring) == "knn-error" and self.diagnostics_["choice"]["error"] is not None:
            warn_of_error(self.diagnostics_["choice"]["error"], codes)
        return self

    def _keep(self, learned: dict[str, Any]) -> None:
        super()._keep(learned)
        del self.t_path_  # t is one of many things tried: trials_
        keep_choice(self, self.diagnostics_.get("choice"))

    def transform(self, X: Any) -> NDArray[np.float64]:  # here, for scikit-learn to give it set_output
        return super().transform(X)

    transform.__doc__ = MetricMixin.transform.__doc__

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
