"""The family of closed forms from two sums: a weight on each direction as a function of its eigenvalue.

With S and D the two sums, S shrunk towards a multiple of the identity, and (lambda, w) the eigenpairs of D w = lambda S w
with W'SW = I:

=============  ==============================================  =======================================
member         metric                                          weight of a direction
=============  ==============================================  =======================================
plain          I                                               (the embeddings as they are)
centred        I, about the mean                               (the same under L2)
whitening      inv(T)                                          T the covariance of all rows
wccn           inv(S)                                          1
pencil, p      W diag(lambda^p) W'                             lambda^p
kissme         (inv(S) - inv(D)) clipped in these directions   1 - 1/lambda, at least 0
lda, r         W_r W_r'                                        1 for the r largest, else 0
gmml, t        inv(S) #_t D                                    (the eigenvectors of D S)
=============  ==============================================  =======================================

``gmml`` with ``within`` < 1 has within * S + between for D. A ``plain_share`` a adds the plain metric:
(1 - a) A / c + a I, with c such that both give rows the same mean square; it is the weight of whatever lies outside the
directions that labels say something about.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._sums import TwoSums, symmetric

Floats = NDArray[np.float64]

#: Shares of the identity in S: little for many rows, much for few.
SHRINKAGES = (0.03, 0.1, 0.3, 0.7)
#: Places on the geodesic.
TS = (0.1, 0.2, 0.3, 0.5, 0.7)
#: Eigenvalues this much below the largest are rounding.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class Member:
    """One closed form with its settings."""

    form: str
    shrinkage: float = 0.0
    t: float | None = None
    power: float | None = None
    within: float = 1.0
    share_of_directions: float = 1.0
    plain_share: float = 0.0

    def __str__(self) -> str:
        parts = []
        if self.form not in ("plain", "centred"):
            parts.append(f"shrinkage {self.shrinkage:g}")
        if self.t is not None:
            parts.append(f"t {self.t:g}")
        if self.power is not None:
            parts.append(f"power {self.power:g}")
        if self.within != 1:
            parts.append(f"within {self.within:g}")
        if self.share_of_directions != 1:
            parts.append(f"{self.share_of_directions:.0%} of directions")
        if self.plain_share:
            parts.append(f"plain share {self.plain_share:g}")
        return f"{self.form} ({', '.join(parts)})" if parts else self.form


@dataclass(frozen=True)
class LinearMap:
    """z = components (x - mean)."""

    components: Floats
    mean: Floats


def members(from_labels: bool) -> list[Member]:
    """All that are tried, from the mildest to the strongest; the first is plain."""
    found = [Member("plain"), Member("centred")]
    withins = (1.0, 0.1) if from_labels else (1.0,)
    for shrinkage in reversed(SHRINKAGES):
        found += [Member("gmml", shrinkage, t=t, within=within) for within in withins for t in TS]
        found += [Member("pencil", shrinkage, power=power) for power in (0.5, 1.0)]
        found += [Member("wccn", shrinkage), Member("kissme", shrinkage)]
        if from_labels:
            found += [Member("lda", shrinkage, share_of_directions=share) for share in (1.0, 0.5)]
    return [*found, Member("whitening", 0.3), Member("whitening", 0.1)]


def blends(member: Member) -> list[Member]:
    """A member with shares of the plain metric."""
    if member.form in ("plain", "centred"):
        return []
    return [replace(member, plain_share=share) for share in (0.1, 0.3, 0.6)]


class Family:
    """All members from one pair of sums; factorisations are kept, for members share them."""

    def __init__(self, sums: TwoSums) -> None:
        self.sums = sums
        self._kept: dict[Any, Any] = {}

    def map_of(self, member: Member, n_components: int | None = None) -> LinearMap:
        """The linear map of a member, reduced to the coordinates in which mapped rows vary most."""
        d = len(self.sums.mean)
        if member.form == "plain":
            factor, mean = np.eye(d), np.zeros(d)
        else:
            factor, mean = self._factor(member), self.sums.mean
        if n_components is not None and n_components < len(factor):
            # About the mean for all but plain rows, whose length counts under the cosine.
            spread = self.sums.total
            if member.form == "plain":
                spread = spread + np.outer(self.sums.mean, self.sums.mean)
            _, vectors = np.linalg.eigh(symmetric(factor @ spread @ factor.T))
            factor = vectors[:, ::-1][:, :n_components].T @ factor
        return LinearMap(factor, mean)

    def _factor(self, member: Member) -> Floats:
        """L with A = L'L, scaled so that mapped rows have the mean square of plain ones."""
        if member.plain_share:
            bare = self._factor(replace(member, plain_share=0.0))
            A = (1 - member.plain_share) * bare.T @ bare
            A[np.diag_indices_from(A)] += member.plain_share
            return root_factor(A)
        if member.form == "centred":
            return np.eye(len(self.sums.mean))
        if member.form == "whitening":
            values, vectors = np.linalg.eigh(shrunk(self.sums.total, member.shrinkage))
            factor = (vectors / np.sqrt(values)).T
        elif member.form == "gmml":
            factor = self._gmml(member)
        else:
            factor = self._pencil(member)
        before, after = np.trace(self.sums.total), np.einsum("ij,jk,ik->", factor, self.sums.total, factor, optimize=True)
        return factor * np.sqrt(before / after) if after > 0 else factor

    def _gmml(self, member: Member) -> Floats:
        """S^(-1/2) (S^(1/2) D S^(1/2))^t S^(-1/2), as L'L."""
        root, inverse_root = self._roots(member.shrinkage)
        key = ("gmml", member.shrinkage, member.within)
        if key not in self._kept:
            D = self._dissimilar(member.shrinkage, member.within)
            self._kept[key] = np.linalg.eigh(symmetric(root @ D @ root))
        values, vectors = self._kept[key]
        powers = np.maximum(values, NEGLIGIBLE * values[-1]) ** (member.t or 0.0)
        return (np.sqrt(powers) * vectors).T @ inverse_root

    def _pencil(self, member: Member) -> Floats:
        """W diag(weight(lambda)) W', as L'L."""
        _, inverse_root = self._roots(member.shrinkage)
        key = ("pencil", member.shrinkage)
        if key not in self._kept:
            D = self._dissimilar(member.shrinkage, 1.0)
            self._kept[key] = np.linalg.eigh(symmetric(inverse_root @ D @ inverse_root))
        values, vectors = (part[..., ::-1] for part in self._kept[key])
        if member.form == "lda":
            kept = max(1, round(member.share_of_directions * self.sums.directions))
            weight = (np.arange(len(values)) < kept).astype(np.float64)
        elif member.form == "kissme":
            weight = np.maximum(0, 1 - 1 / np.maximum(values, 1))
        else:
            weight = np.maximum(values, NEGLIGIBLE * values[0]) ** (member.power or 0.0)
        used = weight > NEGLIGIBLE * weight.max()
        if not used.any():  # no direction in which dissimilar pairs are farther apart
            return np.eye(len(values))
        return (np.sqrt(weight[used]) * vectors[:, used]).T @ inverse_root

    def _dissimilar(self, shrinkage: float, within: float) -> Floats:
        if self.sums.between is None:
            return shrunk(self.sums.dissimilar, shrinkage)
        return within * shrunk(self.sums.similar, shrinkage) + self.sums.between

    def _roots(self, shrinkage: float) -> tuple[Floats, Floats]:
        """S^(1/2) and S^(-1/2) of the shrunk sum; one eigendecomposition serves every shrinkage."""
        if "similar" not in self._kept:
            self._kept["similar"] = np.linalg.eigh(self.sums.similar)
        values, vectors = self._kept["similar"]
        values = (1 - shrinkage) * np.maximum(values, 0) + shrinkage * values.mean()
        root = np.sqrt(values)
        return (vectors * root) @ vectors.T, (vectors / root) @ vectors.T


def shrunk(matrix: Floats, shrinkage: float) -> Floats:
    """(1 - shrinkage) M + shrinkage (tr M / d) I."""
    result = (1 - shrinkage) * matrix
    result[np.diag_indices_from(result)] += shrinkage * np.trace(matrix) / len(matrix)
    return result


def root_factor(A: Floats) -> Floats:
    """L with A = L'L, from its eigenvectors."""
    values, vectors = np.linalg.eigh(symmetric(A))
    used = values > NEGLIGIBLE * values[-1]
    return (vectors[:, used] * np.sqrt(values[used])).T
