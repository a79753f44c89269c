"""Geometric mean metric learning in metric-learn's interface."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from .. import _mahala
from .._gmml import GMML as _NativeGMML
from .._pairs import GMMLPairs
from ._native import known, require_y
from ._util import _check_n_components, _initialize_metric_mahalanobis
from .base_metric import MahalanobisMixin, _PairsClassifierMixin


class _BaseGMML(MahalanobisMixin):
    """What both forms share."""

    def __init__(
        self,
        t: float | str = "cv",
        reg: float | None = None,
        prior: Any = "identity",
        n_components: int | None = None,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.t = t
        self.reg = reg
        self.prior = prior
        self.n_components = n_components
        self.random_state = random_state
        super().__init__(preprocessor)

    def _learn(self, learner: Any, X: Any, y: Any) -> None:
        d = X.shape[-1]
        _check_n_components(d, self.n_components)
        M = _initialize_metric_mahalanobis(X, self.prior, self.random_state, strict_pd=True, matrix_name="prior")
        given = not (isinstance(self.prior, str) and self.prior == "identity")
        # A prior that was asked for is of weight 1, unless told otherwise.
        reg = 1.0 if given and self.reg is None else self.reg
        learner.set_params(t=self.t, reg=reg, prior=M if given else "identity", n_components=self.n_components)
        learner.set_params(random_state=self.random_state).fit(X, y)
        self.components_ = _mahala.linear_map(learner._state())
        self.t_ = learner.t_


class GMML(_BaseGMML, _PairsClassifierMixin):
    """Geometric mean metric learning from pairs; not in metric-learn, but with its interface.

    Parameters
    ----------
    t : "cv" or float in [0, 1], default="cv"
    reg : float or None, default=None
        The weight of the prior; 1 if None and a prior was given, else 0.
    prior : {"identity", "covariance", "random"} or array of shape (n_features, n_features)
    n_components : int or None, default=None
    preprocessor : array-like, callable or None, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    t_ : float
    components_, threshold_
    """

    def fit(self, pairs: Any, y: Any, calibration_params: dict[str, Any] | None = None) -> GMML:
        """Learns from pairs, then sets the threshold on them.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
        y : array-like of shape (n_pairs,)
            +1 for similar pairs, -1 for dissimilar ones.
        calibration_params : dict, optional
            Arguments of ``calibrate_threshold``.
        """
        return self._fit_and_calibrate(calibration_params, pairs, y)

    def _fit(self, pairs: Any, y: Any) -> None:
        pairs, y = self._prepare_inputs(pairs, y, type_of_inputs="tuples", dtype=np.float64)
        self._learn(GMMLPairs(), pairs, y)


class GMML_Supervised(TransformerMixin, _BaseGMML):
    """Geometric mean metric learning from labels, over all pairs; not in metric-learn, but with its interface.

    Parameters
    ----------
    t, reg, prior, n_components, preprocessor, random_state
        As for ``GMML``.

    Attributes
    ----------
    t_ : float
    components_
    """

    def fit(self, X: Any, y: Any) -> GMML_Supervised:
        """Learns from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor
        y : array-like of shape (n_samples,)
            Classes; a negative number is an unknown one.
        """
        require_y(self, y)
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2, dtype=np.float64)
        self._learn(_NativeGMML(), *known(X, y))
        return self
