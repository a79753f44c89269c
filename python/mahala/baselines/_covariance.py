"""The inverse covariance."""

from __future__ import annotations

from .._learner import Learner


class Covariance(Learner):
    """The inverse covariance of the rows: the classic Mahalanobis distance, without labels.

    If the covariance is singular, its pseudo-inverse: directions in which no row differs weigh nothing.

    Parameters
    ----------
    standardize : bool, default=False
        Changes nothing but rounding, for the inverse covariance is indifferent to units.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The linear map under which the distance is Euclidean.
    mean_ : ndarray of shape (n_features,)
        What ``transform`` subtracts.
    scale_ : ndarray of shape (n_features,) or None
        What it divides by, if ``standardize``.

    Examples
    --------
    >>> import numpy as np
    >>> from mahala import Covariance
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> A = Covariance().fit(X).get_mahalanobis_matrix()
    >>> bool(np.allclose(A, np.linalg.inv(np.cov(X.T))))
    True
    """

    _method = "covariance"
    _needs_labels = False

    def __init__(self, *, standardize: bool = False, n_jobs: int | None = None) -> None:
        self.standardize = standardize
        self.n_jobs = n_jobs
