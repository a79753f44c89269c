"""What is learned from: labelled rows, marked pairs, clicks. Each gives its sums without a fold, and measures a map on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..retrieval import judged_scores, retrieval_scores
from ._sums import FoldMoments, TwoSums, covariance, mean_outer, symmetric

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Rows in, mapped rows out, of the same floating type.
Apply = Callable[[NDArray[Any]], NDArray[Any]]

#: Folds of held-out rows, pairs or queries; quarters of the classes.
N_FOLDS = 4
#: The quarters of the classes that are held out together: with half of the classes in it, a search is as hard as later.
HALVES = ((0, 1), (2, 3), (0, 2), (1, 3))


class LabelledRows:
    """Rows with labels. Held out are rows (classes seen: the gallery is what was learned from) or whole classes."""

    from_labels = True

    def __init__(self, X: NDArray[Any], codes: Ints, unseen: bool, selection_rows: int, random_state: int) -> None:
        self.X, self.codes, self.unseen, self.selection_rows = X, codes, unseen, selection_rows
        generator = np.random.default_rng([random_state, 2])
        n_classes = int(codes.max()) + 1
        counts = np.bincount(codes)
        if unseen:
            if n_classes < 4:
                raise ValueError(
                    f"classes is 'unseen' and y has {n_classes} classes; at least 4 are needed, for whole classes are held "
                    "out: give more classes, or set classes='seen'"
                )
            self.folds = fold_of(generator.permutation(n_classes), N_FOLDS)[codes]
        else:
            # Row i of a shuffled class goes to fold i modulo the number of folds, from a start of its own.
            order = generator.permutation(len(codes))
            order = order[np.argsort(codes[order], kind="stable")]
            place = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
            self.folds = np.empty(len(codes), np.int64)
            self.folds[order] = (place + generator.integers(N_FOLDS, size=n_classes)[codes[order]]) % N_FOLDS
        self.n_folds = N_FOLDS
        self.moments = FoldMoments(X, codes, n_classes, self.folds)
        self.order = generator.permutation(len(codes))

    def sums(self, without: int | None) -> TwoSums:
        return self.moments.without(() if without is None else self._left_out(without))

    def measure(
        self, fold: int, apply: Apply, measures: list[str], metric: str, queries: int, gallery: int | None
    ) -> dict[str, Floats]:
        asked, searched = self._split(fold, queries, gallery)
        X, codes = self.X, self.codes
        if searched is None:
            return retrieval_scores(apply(X[asked]), codes[asked], measures=measures, metric=metric)
        return retrieval_scores(
            apply(X[searched]), codes[searched], apply(X[asked]), codes[asked], measures=measures, metric=metric
        )

    def groups(self, fold: int, queries: int) -> NDArray[Any] | None:
        """Queries of one class stand or fall together where the question is another class."""
        return self.codes[self._split(fold, queries, None)[0]] if self.unseen else None

    def _left_out(self, fold: int) -> tuple[int, ...]:
        return HALVES[fold] if self.unseen else (fold,)

    def _split(self, fold: int, queries: int, gallery: int | None) -> tuple[Ints, Ints | None]:
        """Queries and gallery of a fold; no gallery where each of few held-out rows is a query among the others."""
        mine = np.isin(self.folds[self.order], self._left_out(fold))
        held_out, rest = self.order[mine], self.order[~mine]
        if self.unseen:
            if len(held_out) <= 2 * queries:
                return np.sort(held_out), None
            rest = held_out[queries:]
        return np.sort(held_out[:queries]), np.sort(rest[: min(self.selection_rows, gallery or len(rest))])


class MarkedPairs:
    """Pairs marked similar or dissimilar. Held out are pairs; the measure is the ROC-AUC, as the share of dissimilar
    held-out pairs that a similar one beats."""

    from_labels = False

    def __init__(self, first: NDArray[Any], second: NDArray[Any], similar: NDArray[np.bool_], random_state: int) -> None:
        self.first, self.second, self.similar = first, second, similar
        generator = np.random.default_rng([random_state, 2])
        self.folds = np.empty(len(similar), np.int64)
        for kind in (True, False):
            places = np.flatnonzero(similar == kind)
            self.folds[places] = fold_of(generator.permutation(len(places)), N_FOLDS)
        self.n_folds = N_FOLDS

    def sums(self, without: int | None) -> TwoSums:
        used = self.folds != -1 if without is None else self.folds != without
        same, other = np.flatnonzero(used & self.similar), np.flatnonzero(used & ~self.similar)
        S = mean_outer(self.first, self.second, same, same)
        D = mean_outer(self.first, self.second, other, other)
        (mean, total), (mean_2, total_2) = covariance(self.first), covariance(self.second)
        apart = (mean - mean_2) / 2
        both = (total + total_2) / 2 + np.outer(apart, apart)
        return TwoSums(S, D, None, both, (mean + mean_2) / 2, len(mean), min(len(mean), len(same)))

    def measure(
        self, fold: int, apply: Apply, measures: list[str], metric: str, queries: int, gallery: int | None
    ) -> dict[str, Floats]:
        mine = np.flatnonzero(self.folds == fold)
        u, v = (apply(part[mine]).astype(np.float64) for part in (self.first, self.second))
        if metric == "cosine":
            lengths = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
            scores = np.einsum("ij,ij->i", u, v) / np.where(lengths > 0, lengths, 1)
        else:
            scores = -np.square(u - v).sum(axis=1)
        others = np.sort(scores[~self.similar[mine]])
        same = scores[self.similar[mine]]
        below = (np.searchsorted(others, same, "left") + np.searchsorted(others, same, "right")) / 2
        return dict.fromkeys(measures, below / len(others))

    def groups(self, fold: int, queries: int) -> NDArray[Any] | None:
        return None


class Clicks:
    """Queries, documents and which of them belong together. Held out are whole queries, which search all documents.

    Dissimilar are the pairs given as such, or else every query with every document.
    """

    from_labels = False

    def __init__(
        self, queries: NDArray[Any], documents: NDArray[Any], relevant: Any, not_relevant: Any, random_state: int
    ) -> None:
        self.queries, self.documents = queries, documents
        self.query, self.document, self.gain = relevant
        self.not_relevant = not_relevant
        asked = np.unique(self.query)
        if len(asked) < N_FOLDS:
            raise ValueError(
                f"{len(asked)} queries have a relevant document; at least {N_FOLDS} are needed, for whole queries are held out"
            )
        generator = np.random.default_rng([random_state, 2])
        self.folds = np.full(len(queries), -1)
        self.folds[asked] = fold_of(generator.permutation(len(asked)), N_FOLDS)
        self.n_folds = N_FOLDS
        self.document_moments = covariance(documents)

    def sums(self, without: int | None) -> TwoSums:
        kept = self.folds[self.query] != (-2 if without is None else without)
        S = mean_outer(self.queries, self.documents, self.query[kept], self.document[kept], self.gain[kept])
        mean, total = self.document_moments
        if self.not_relevant is None:
            asked = np.unique(self.query[kept])
            mean_q, total_q = covariance(self.queries[asked])
            D = symmetric(total + total_q + np.outer(mean - mean_q, mean - mean_q))
        else:
            i, j = (part[self.folds[self.not_relevant[0]] != (-2 if without is None else without)] for part in self.not_relevant)
            D = mean_outer(self.queries, self.documents, i, j)
        return TwoSums(S, D, None, total, mean, len(mean), min(len(mean), int(kept.sum())))

    def measure(
        self, fold: int, apply: Apply, measures: list[str], metric: str, queries: int, gallery: int | None
    ) -> dict[str, Floats]:
        asked = np.flatnonzero(self.folds == fold)[:queries]
        place = np.full(len(self.queries), -1)
        place[asked] = np.arange(len(asked))
        mine = place[self.query] >= 0
        judgements = np.column_stack([place[self.query[mine]], self.document[mine], self.gain[mine]])
        mapped = apply(self.documents), apply(self.queries[asked])
        return judged_scores(*mapped, judgements, measures=measures, metric=metric)

    def groups(self, fold: int, queries: int) -> NDArray[Any] | None:
        return None


Source = LabelledRows | MarkedPairs | Clicks


def fold_of(order: Ints, n_folds: int) -> Ints:
    """The fold of each place, of equal sizes, by a permutation."""
    folds = np.empty(len(order), np.int64)
    folds[order] = np.arange(len(order)) % n_folds
    return folds
