"""The automatic mode as an estimator."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from . import _mahala
from ._common import class_names, encode
from ._gmml import check_two
from ._rival import Rival

Self = TypeVar("Self", bound="AutoGMML")


class AutoGMML(Rival):
    """Geometric mean metric learning with everything chosen by cross-validation on the training rows.

    Standardisation, shrinkage of S, learning inside the leading directions of the pencil (D, S), neighbourhood
    rounds and t are chosen together. Every recipe tried is a chain of closed forms.

    Parameters
    ----------
    k : int, default=5
        Neighbours that vote.
    budget : float, default=20.0
        At most this many times the work of a plain fit that chooses t.
    selection_rows : int, default=20000
        Choose on a random subset of at most this many rows.
    time_limit : float or None, default=None
        End the fit with an error after so many seconds.
    verbose : bool, default=False
        Tell how much of the budget is used.
    random_state : int, RandomState instance or None, default=None
        Decides the folds.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    components_, mean_, scale_
        As for GMML.
    recipe_ : str
        What was chosen, in words.
    reason_ : str
        Why.
    trials_ : list of dict
        Everything tried, with its cross-validated error.
    classes_ : ndarray
        The classes.

    Examples
    --------
    >>> from mahala import AutoGMML
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> auto = AutoGMML(random_state=0).fit(X, y)
    >>> len(auto.trials_) > 50
    True
    >>> min(trial["error"] for trial in auto.trials_) < 0.03
    True
    """

    _method = "auto"
    standardize = False

    def __init__(
        self,
        *,
        k: int = 5,
        budget: float = 20.0,
        selection_rows: int = 20_000,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.k = k
        self.budget = budget
        self.selection_rows = selection_rows
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self: Self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Chooses a recipe and follows it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        groups : array-like of shape (n_samples,), optional
            The family of each row, such as its speaker; families are not torn between folds.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        classes, codes = encode(y)
        check_two(classes)
        plan = self._plan()
        if groups is not None:
            check_consistent_length(X, groups)
            plan["groups"] = [str(group) for group in np.asarray(groups)]
        self.classes_: NDArray[Any] = classes
        self._keep(_mahala.learn(X, (class_names(classes), codes), plan))
        choice = self.diagnostics_["choice"]
        self.recipe_: str = choice["recipe"]
        self.reason_: str = choice["reason"]
        self.trials_: list[dict[str, Any]] = choice["trials"]
        return self

    def _tell(self, iteration: int, objective: float | None) -> None:
        print(f"[AutoGMML] {iteration / 10:.0f} % of the budget used", flush=True)
