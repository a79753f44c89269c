"""Online learners: pairs or triplets one after the other, and the metric on demand.

>>> import numpy as np
>>> from mahala import constraints
>>> from mahala.online import OnlineGMML
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> learner = OnlineGMML(t=0.5, reg=1e-3)
>>> for seed in range(3):
...     index, marks = constraints.pairs(y, 100, random_state=seed)
...     learner = learner.partial_fit(X[index], marks)
>>> learner.n_seen_, learner.transform(X).shape
(600, (150, 4))
"""

from __future__ import annotations

import json
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import check_array

from . import _mahala
from ._common import count, csr_parts, issparse, marks_of, number, seed
from ._constraint_input import RowNumberError, formed_tuples
from ._learner import two_numbers
from ._metric import Floats, MetricMixin

Self = TypeVar("Self", bound="OnlineLearner")

__all__ = ["OnlineGMML", "OnlineLEGO", "OnlineLORETA", "OnlineMOML", "OnlineOASIS", "OnlinePOLA"]

#: Python's names of parameters, and the library's; others are the same in both.
NAMES = {"reg": "lambda", "n_components": "rank", "random_state": "seed"}

SHARED = """n_jobs : None
        Not used: an update is too small to share.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Of everything seen so far; solved when it is asked for.
    loss_ : float
        The mean loss of the last tuples, each before its update.
    n_seen_ : int
        Pairs or triplets seen so far.
    n_features_in_ : int"""


class OnlineLearner(TransformerMixin, MetricMixin):
    """What all of them share; not to be used by itself."""

    _method: ClassVar[str]
    #: Whether pairs can be learned from; triplets always can.
    _takes_pairs: ClassVar[bool] = True

    scale_ = None
    weight_outside_ = None
    n_jobs: int | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__doc__ = (cls.__doc__ or "").replace("{shared}", SHARED)

    def partial_fit(self: Self, tuples: Any, y: Any = None, *, preprocessor: Any = None) -> Self:
        """Learns from more pairs or triplets, in their order.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, 2 or 3, n_features), or (n_tuples, 2 or 3) with a preprocessor
            Pairs; or triplets, of which the first point is nearer to the second than to the third.
        y : array-like of shape (n_tuples,), optional
            For pairs: +1 for similar ones, -1 for dissimilar ones; or 1 and 0, or booleans.
        preprocessor : array-like of shape (n_points, n_features), callable or None, default=None
            What looks points up by row numbers (or whatever the callable understands).
        """
        tuples, size = self._formed(tuples, preprocessor)
        state = self._state_for(tuples.shape[2])
        ends = [np.ascontiguousarray(tuples[:, k]) for k in range(size)]
        if size == 2:
            losses = state.update_pairs(ends[0], ends[1], self._marks(y, len(tuples)))
        elif y is not None:
            raise ValueError("y was given with triplets, which have no marks; leave it out")
        else:
            losses = state.update_triplets(*ends)
        self.n_seen_: int = getattr(self, "n_seen_", 0) + len(tuples)
        self.loss_ = float(np.mean(losses))
        self._components: Floats | None = None
        return self

    def fit(self: Self, tuples: Any, y: Any = None, *, preprocessor: Any = None) -> Self:
        """Forgets everything, then learns as ``partial_fit`` does.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, 2 or 3, n_features), or (n_tuples, 2 or 3) with a preprocessor
            Pairs; or triplets, of which the first point is nearer to the second than to the third.
        y : array-like of shape (n_tuples,), default=None
            For pairs: +1 for similar ones, -1 for dissimilar ones; or 1 and 0, or booleans.
        preprocessor : array-like of shape (n_points, n_features), DataFrame, callable or None, default=None
            What looks points up by row numbers, keys of its index, or whatever the callable understands.

        Returns
        -------
        self : estimator
            Itself.
        """
        for name in ("_online", "n_seen_", "loss_", "_components", "n_features_in_"):
            if hasattr(self, name):
                delattr(self, name)
        return self.partial_fit(tuples, y, preprocessor=preprocessor)

    @property
    def components_(self) -> Floats:  # type: ignore[override]
        """The metric of everything seen so far."""
        if not hasattr(self, "_online"):
            raise AttributeError("nothing was learned yet: components_ needs a call of partial_fit")
        if self._components is None:
            self._components = self._online.components()
        return self._components

    @property
    def mean_(self) -> Floats:  # type: ignore[override]
        """0: rows of tomorrow have no mean yet."""
        return np.zeros(self.n_features_in_)

    def _state_for(self, columns: int) -> _mahala.Online:
        if not hasattr(self, "_online"):
            parameters = {"method": self._method} | self._parameters()
            self._online = _mahala.Online(columns, json.dumps(parameters))
            self.n_features_in_ = columns
        elif columns != self.n_features_in_:
            raise ValueError(
                f"X has {columns} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input."
            )
        return self._online

    def _parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {}
        for name, value in self.get_params(deep=False).items():
            if name == "n_jobs":
                continue
            if name == "random_state":
                value = seed(value)
            elif name == "n_components":
                value = None if value is None else count(name, value, 1)
            elif name == "form":
                if value not in ("psd", "general"):
                    raise ValueError(f"form is {value!r}; it must be 'psd' or 'general'")
            elif name == "bounds":
                value = two_numbers(name, value)
            else:
                value = number(name, value)
            parameters[NAMES.get(name, name)] = value
        return parameters

    def _formed(self, tuples: Any, preprocessor: Any) -> tuple[Floats, int]:
        raw = check_array(tuples, dtype=None, allow_nd=True, ensure_2d=False, ensure_all_finite=False)
        size = raw.shape[1] if raw.ndim > 1 else 0
        sizes = (2, 3) if self._takes_pairs else (3,)
        if size not in sizes:
            wanted = " or ".join(str(size) for size in sizes)
            raise ValueError(
                f"Tuples of {wanted} element(s) expected by {type(self).__name__}. Got an array of shape {raw.shape}."
            )
        return formed_tuples(raw, size, preprocessor, type(self).__name__), size

    def _marks(self, y: Any, n: int) -> list[bool]:
        if y is None:
            raise ValueError("y is None; pairs need a mark each: +1 (similar) or -1 (dissimilar), or 1 and 0")
        marks: NDArray[Any] = marks_of(np.asarray(y))
        if marks.shape != (n,) or not np.isin(marks, (-1, 1)).all():
            raise ValueError(
                f"y has shape {marks.shape}; it must have a mark for each of {n} pairs: +1 (similar) or -1 "
                "(dissimilar), or 1 and 0"
            )
        return (marks == 1).tolist()

    def __getstate__(self) -> Any:
        if hasattr(self, "_online"):
            raise TypeError(
                f"{type(self).__name__} cannot be pickled or copied while it learns: what it has seen has no file "
                "format. Keep the metric: MahalanobisDistance(learner.components_)"
            )
        return super().__getstate__()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


class OnlineGMML(OnlineLearner):
    """Online geometric mean metric learning: two sums, updated by every pair, and the closed form on demand.

    Exact: no step size, and no dependence on the order of the pairs.

    Parameters
    ----------
    t : float in [0, 1], default=0.5
    reg : float, default=0.0
        What is added to the diagonals of both sums; with 0, the metric exists once they are of full rank.
    {shared}
    """

    _method = "gmml"

    def __init__(self, *, t: float = 0.5, reg: float = 0.0, n_jobs: int | None = None) -> None:
        self.t = t
        self.reg = reg
        self.n_jobs = n_jobs


class OnlineLEGO(OnlineLearner):
    """LogDet exact gradient online (Jain, Kulis, Dhillon, Grauman 2008): positive definite after every pair.

    Parameters
    ----------
    step : float, default=1.0
    bounds : pair of float, default=(0.1, 1.0)
        Squared distances that similar pairs should not exceed and dissimilar ones should reach.
    {shared}
    """

    _method = "lego"

    def __init__(
        self, *, step: float = 1.0, bounds: tuple[float, float] = (0.1, 1.0), n_jobs: int | None = None
    ) -> None:
        self.step = step
        self.bounds = bounds
        self.n_jobs = n_jobs


class OnlinePOLA(OnlineLearner):
    """Pseudo-metric online learning (Shalev-Shwartz, Singer, Ng 2004).

    Rows should be scaled so that differences are of length 1 at most.

    Parameters
    ----------
    {shared}
    """

    _method = "pola"

    def __init__(self, *, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs


class OnlineOASIS(OnlineLearner):
    """Online algorithm for scalable image similarity (Chechik, Sharma, Shalit, Bengio 2010), from triplets.

    The metric is the positive part of its bilinear similarity. Rows should be of length 1 at most. Sparse triplets cost what
    their non-zeros cost, in time and in memory, whatever the number of columns; only ``components_`` needs columns x columns.

    Parameters
    ----------
    aggressiveness : float, default=0.1
        The longest step.
    {shared}
    """

    _method = "oasis"
    _takes_pairs = False

    def __init__(self, *, aggressiveness: float = 0.1, n_jobs: int | None = None) -> None:
        self.aggressiveness = aggressiveness
        self.n_jobs = n_jobs

    def partial_fit(self, tuples: Any, y: Any = None, *, preprocessor: Any = None) -> OnlineOASIS:
        """Learns from more triplets, in their order.

        Parameters
        ----------
        tuples : array-like of shape (n_triplets, 3, n_features), (n_triplets, 3) with a preprocessor, or three sparse matrices
            Triplets, of which the first point is nearer to the second than to the third; or their first, second and third
            points as SciPy's sparse matrices of shape (n_triplets, n_features).
        y : None
            Triplets have no marks.
        preprocessor : array-like or sparse matrix of shape (n_points, n_features), callable or None, default=None
            What looks points up by row numbers (or whatever the callable understands).
        """
        ends = sparse_ends(tuples, preprocessor)
        if ends is None:
            return super().partial_fit(tuples, y, preprocessor=preprocessor)
        if y is not None:
            raise ValueError("y was given with triplets, which have no marks; leave it out")
        losses = self._state_for(ends[0].shape[1]).update_sparse_triplets(*map(csr_parts, ends))
        self.n_seen_: int = getattr(self, "n_seen_", 0) + ends[0].shape[0]
        self.loss_ = float(np.mean(losses))
        self._components: Floats | None = None
        return self

    @property
    def n_entries_(self) -> int:
        """Entries of the similarity's matrix that updates have reached: what it holds in memory."""
        if not hasattr(self, "_online"):
            raise AttributeError("nothing was learned yet: n_entries_ needs a call of partial_fit")
        return self._online.stored_entries() or 0


def sparse_ends(tuples: Any, preprocessor: Any) -> list[Any] | None:
    """The three ends of sparse triplets; None if the triplets are dense."""
    if issparse(preprocessor):
        index = np.asarray(tuples)
        if index.ndim != 2 or index.shape[1] != 3 or index.dtype.kind not in "iu":
            raise ValueError(
                f"tuples of shape {index.shape} and type {index.dtype}; with a sparse preprocessor they must be row numbers of "
                "shape (n_triplets, 3)"
            )
        wrong = index[(index < 0) | (index >= preprocessor.shape[0])]
        if len(wrong):
            raise RowNumberError(
                f"the row number {wrong[0]} does not exist; the preprocessor has {preprocessor.shape[0]} rows"
            )
        rows = preprocessor.tocsr()
        tuples = [rows[column] for column in index.T]
    elif not (isinstance(tuples, (tuple, list)) and any(map(issparse, tuples))):
        return None
    if len(tuples) != 3 or not all(map(issparse, tuples)) or len({end.shape for end in tuples}) != 1:
        shapes = [getattr(end, "shape", None) for end in tuples]
        raise ValueError(f"{len(tuples)} tables of shapes {shapes}; three sparse matrices of one shape are needed")
    if tuples[0].shape[0] == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required: give a triplet at least")
    return [check_array(end, accept_sparse="csr", dtype=np.float64, input_name="tuples") for end in tuples]


class OnlineLORETA(OnlineLearner):
    """Low-rank online similarity (Shalit, Weinshall, Chechik 2010), from triplets.

    Parameters
    ----------
    form : {"psd", "general"}, default="psd"
        What keeps the rank: a metric ``UU'``, or a similarity ``AB'`` that need not be symmetric, of which the metric is the
        positive semidefinite part.
    n_components : int or None, default=None
        The rank; full if None.
    step : float, default=0.01
    random_state : int, RandomState instance or None, default=None
        Of the first factor.
    {shared}
    """

    _method = "loreta"
    _takes_pairs = False

    def __init__(
        self,
        *,
        form: str = "psd",
        n_components: int | None = None,
        step: float = 0.01,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.form = form
        self.n_components = n_components
        self.step = step
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def factors_(self) -> tuple[Floats, Floats]:
        """A and B of the similarity ``x' A B' y``; of the general form alone."""
        factors = self._online.factors() if hasattr(self, "_online") else None
        if factors is None:
            raise AttributeError('factors_: there are some with form="general", once something was learned')
        return factors[0], factors[1]


class OnlineMOML(OnlineLearner):
    """Mahalanobis-based online metric learning (Li et al. 2018), from triplets.

    Parameters
    ----------
    step : float, default=0.01
    {shared}
    """

    _method = "moml"
    _takes_pairs = False

    def __init__(self, *, step: float = 0.01, n_jobs: int | None = None) -> None:
        self.step = step
        self.n_jobs = n_jobs
