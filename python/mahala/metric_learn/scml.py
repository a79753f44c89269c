"""Sparse compositional metric learning."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils import check_array

from .. import _mahala
from .._common import seed
from ._native import check_two_classes, keep, known, labels_of, learn_tuples, plan_of, require_y
from .base_metric import MahalanobisMixin, _TripletsClassifierMixin
from .constraints import Constraints


class _BaseSCML(MahalanobisMixin):
    """What both forms share."""

    _schemes: ClassVar[tuple[str, ...]] = ("triplet_diffs",)

    def __init__(
        self,
        beta: float = 1e-5,
        basis: Any = "triplet_diffs",
        n_basis: int | None = None,
        gamma: float = 5e-3,
        max_iter: int = 10_000,
        output_iter: int = 500,
        batch_size: int = 10,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.beta = beta
        self.basis = basis
        self.n_basis = n_basis
        self.gamma = gamma
        self.max_iter = max_iter
        self.output_iter = output_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.random_state = random_state
        super().__init__(preprocessor)

    def _parameters(self, n_features: int, n_basis: int) -> dict[str, Any]:
        """The compiled part's parameters; ``n_basis`` is what None stands for."""
        for name in ("max_iter", "output_iter", "batch_size"):
            check_integer(name, getattr(self, name))
        if self.output_iter > self.max_iter:
            raise ValueError(
                "The value of output_iter must be equal or smaller than max_iter; they are "
                f"{self.output_iter} and {self.max_iter}."
            )
        parameters = {
            "beta": float(self.beta),
            "gamma": float(self.gamma),
            "max_iterations": int(self.max_iter),
            "batch": int(self.batch_size),
            "seed": seed(self.random_state),
        }
        if isinstance(self.basis, str):
            if self.basis not in self._schemes:
                raise ValueError(
                    f"`basis` must be one of the options {list(self._schemes)} or an array of shape "
                    f"(n_basis, n_features); it is {self.basis!r}."
                )
            return parameters | {"bases": self._count(n_basis)}
        given = check_array(self.basis, dtype=np.float64)
        if given.shape[1] != n_features:
            raise ValueError(
                f"The dimensionality ({given.shape[1]}) of the provided bases must match the dimensionality of the "
                f"data ({n_features})."
            )
        return parameters | {"given_bases": given.tolist()}

    def _count(self, default: int) -> int:
        if self.n_basis is None:
            message = "As no value for `n_basis` was selected, the number of basis will be set to n_basis= %d"
            warnings.warn(message % default, stacklevel=4)
            return default
        return check_integer("n_basis", self.n_basis)

    def _learn_triplets(self, triplets: Any, parameters: dict[str, Any]) -> None:
        keep(self, learn_tuples(self, "scml", triplets, None, parameters), triplets.shape[2])


def check_integer(name: str, value: Any) -> int:
    """A whole number, or an error."""
    if not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} should be an integer, instead it is of type {type(value)}")
    return int(value)


class SCML(_BaseSCML, _TripletsClassifierMixin):
    """Sparse compositional metric learning from triplets (Shi, Bellet, Sha 2014).

    Parameters
    ----------
    beta : float, default=1e-5
        The larger, the fewer bases are used.
    basis : "triplet_diffs" or array of shape (n_basis, n_features)
        Directions that tell near from far differences, on standardised columns; or the directions given, on the
        columns as they are.
    n_basis : int or None, default=None
        80 n_features if None, with a warning.
    gamma : float, default=5e-3
        The larger, the shorter the steps.
    max_iter : int, default=10000
        Steps.
    output_iter : int, default=500
        Not used: the objective is looked at every 500 steps.
    batch_size : int, default=10
        Triplets of a step.
    verbose : bool, default=False
    preprocessor : array-like, callable or None, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    components_, n_iter_
    """

    def fit(self, triplets: Any) -> SCML:
        """Learns from triplets.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3, n_features), or (n_triplets, 3) with a preprocessor
            The first point of each is nearer to the second than to the third.
        """
        triplets = self._prepare_inputs(triplets, type_of_inputs="tuples")
        n, _, d = triplets.shape
        parameters = self._parameters(d, 80 * d)
        if n < d and isinstance(self.basis, str):
            raise ValueError(
                f"Number of features ({d}) is greater than the number of triplets({n}).\nConsider using "
                "dimensionality reduction or using another basis generation scheme."
            )
        self._learn_triplets(triplets, parameters)
        return self


class SCML_Supervised(TransformerMixin, _BaseSCML):
    """SCML from labels.

    Parameters
    ----------
    k_genuine : int, default=3
        Nearest rows of its own class, for each row.
    k_impostor : int, default=10
        Nearest rows of other classes, for each of these.
    basis : {"lda", "triplet_diffs"} or array of shape (n_basis, n_features)
        Discriminant directions of neighbourhoods, or as for ``SCML``.
    n_basis : int or None, default=None
        20 n_features, or as many as there are discriminant directions, if None; with a warning.
    beta, gamma, max_iter, output_iter, batch_size, verbose, preprocessor, random_state
        As for ``SCML``.

    Attributes
    ----------
    components_, n_iter_
    """

    _schemes: ClassVar[tuple[str, ...]] = ("lda", "triplet_diffs")

    def __init__(
        self,
        k_genuine: int = 3,
        k_impostor: int = 10,
        beta: float = 1e-5,
        basis: Any = "lda",
        n_basis: int | None = None,
        gamma: float = 5e-3,
        max_iter: int = 10_000,
        output_iter: int = 500,
        batch_size: int = 10,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.k_genuine = k_genuine
        self.k_impostor = k_impostor
        super().__init__(
            beta, basis, n_basis, gamma, max_iter, output_iter, batch_size, verbose, preprocessor, random_state
        )

    def fit(self, X: Any, y: Any) -> SCML_Supervised:
        """Learns from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor
        y : array-like of shape (n_samples,)
            Classes; a negative number is an unknown one.
        """
        require_y(self, y)
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2, dtype="float64")
        k_genuine, k_impostor = check_integer("k_genuine", self.k_genuine), check_integer("k_impostor", self.k_impostor)
        X, y = known(X, y)
        n, d = X.shape
        directions = min(check_two_classes(y) - 1, d)
        lda = isinstance(self.basis, str) and self.basis == "lda"
        parameters = self._parameters(d, max(1, min(20 * d, 2 * n * directions - 1)) if lda else 80 * d)
        if lda:
            parameters |= {"targets": k_genuine, "impostors": k_impostor}
            keep(self, _mahala.learn(X, labels_of(y), plan_of(self, "scml", parameters)), d)
        else:
            self._learn_triplets(X[Constraints(y).generate_knntriplets(X, k_genuine, k_impostor)], parameters)
        return self
