"""One recipe of the automatic mode: everything given, nothing chosen."""

from __future__ import annotations

from typing import Any

from ._learner import Learner


class RecipeGMML(Learner):
    """GMML step by step: leading directions, all pairs, then neighbourhood rounds, each in closed form.

    What ``AutoGMML`` chooses among by itself (its ``recipes_``), with everything given. In a round, S is made of each row's
    nearest rows of its own class and D of its nearest rows of other classes, under the metric so far.

    Parameters
    ----------
    t : float in [0, 1] or None, default=0.5
        The place on the geodesic over all pairs; None for the plain distance.
    rounds : sequence of (int, float), default=()
        For each round, how many neighbours, and t.
    directions : int or None, default=None
        Learn inside this many leading directions of the pencil (D, S).
    order : {'ratio', 'divergence'}, default='ratio'
        Which directions lead: those of the largest ratio mu of D to S, or of the largest mu + 1/mu.
    curve : {'power', 'kissme'}, default='power'
        The weight of a direction: ``mu ** t``, or ``max(0, (1 - mu ** -t) / t)``, which at t = 1 is KISSME.
    pooled : bool, default=False
        S is the pooled scatter within classes, in which every row counts once, as in LDA and RCA, instead of the sum in
        which every similar pair counts once.
    beta : float in [0, 1], default=1.0
        What the part of D within classes is multiplied by; 0 leaves the scatter of the class means.
    shrinkage : float in [0, 1], default=0.0
        How far S is shrunk in every step.
    towards_identity : bool, default=False
        Towards the identity, for columns of one unit, instead of the diagonal of S.
    standardize : bool, default=False
        Divide each column by its standard deviation first; ``transform`` does it too.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.
    verbose : int, default=0
        With 1, a line tells how far the fit is; ``mahala.progress`` tells a function.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The linear map under which the learned distance is Euclidean.
    mean_ : ndarray of shape (n_features,)
        What ``transform`` subtracts.
    scale_ : ndarray of shape (n_features,) or None
        What it divides by, if columns are standardised.
    diagnostics_ : dict
        Why the fit stopped.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_features_in_ : int
        How many columns the rows have.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if they are all strings.

    Examples
    --------
    >>> from mahala import RecipeGMML
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> RecipeGMML(t=0.25, rounds=[(3, 0.25), (3, 0.5)], directions=4, shrinkage=0.1).fit(X, y).transform(X).shape
    (178, 4)
    """

    _method = "recipe"

    def __init__(
        self,
        *,
        t: float | None = 0.5,
        rounds: Any = (),
        directions: int | None = None,
        order: str = "ratio",
        curve: str = "power",
        pooled: bool = False,
        beta: float = 1.0,
        shrinkage: float = 0.0,
        towards_identity: bool = False,
        standardize: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.t = t
        self.rounds = rounds
        self.directions = directions
        self.order = order
        self.curve = curve
        self.pooled = pooled
        self.beta = beta
        self.shrinkage = shrinkage
        self.towards_identity = towards_identity
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.verbose = verbose
