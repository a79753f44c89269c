"""The plain distance."""

from __future__ import annotations

from .._learner import Learner


class Euclidean(Learner):
    """The plain distance, for comparison: nothing is learned but, if asked, the scales of the columns.

    Parameters
    ----------
    standardize : bool, default=False
        Divide each column by its standard deviation.
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
    >>> from mahala import Euclidean
    >>> Euclidean().fit([[0.0, 1.0], [2.0, 5.0]]).get_mahalanobis_matrix()
    array([[1., 0.],
           [0., 1.]])
    """

    _method = "euclidean"
    _needs_labels = False

    def __init__(self, *, standardize: bool = False, n_jobs: int | None = None) -> None:
        self.standardize = standardize
        self.n_jobs = n_jobs
