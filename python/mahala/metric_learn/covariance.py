"""The inverse covariance of the rows."""

from __future__ import annotations

from typing import Any

from sklearn.base import TransformerMixin

from .. import _mahala
from ._native import keep, plan_of
from .base_metric import MahalanobisMixin


class Covariance(TransformerMixin, MahalanobisMixin):
    """The Mahalanobis distance proper: the inverse covariance of the rows, learned without labels.

    Parameters
    ----------
    preprocessor : array-like, callable or None, default=None

    Attributes
    ----------
    components_

    Examples
    --------
    >>> from mahala.metric_learn import Covariance
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> Covariance().fit_transform(X).std(axis=0).shape
    (4,)
    """

    def __init__(self, preprocessor: Any = None) -> None:
        super().__init__(preprocessor)

    def fit(self, X: Any, y: Any = None) -> Covariance:
        """Learns from rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor
        y : None
            Not used.
        """
        X = self._prepare_inputs(X, ensure_min_samples=2, dtype="float64")
        keep(self, _mahala.learn(X, None, plan_of(self, "covariance", {})), X.shape[1])
        return self
