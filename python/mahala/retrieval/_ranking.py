"""Measures of a ranking: gallery rows ordered by their similarity to a query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Bytes of one block of scores; a ranking holds some three of these at a time.
BLOCK_BYTES = 64 << 20
#: Gallery rows that are converted at a time, where they are not float32 or float64.
GALLERY_CHUNK = 16_384
MEASURE = re.compile(r"(r@1|map@r|mrr)|(recall|ir_recall|precision|ndcg)@([1-9]\d*)")


class Ranking(NamedTuple):
    """A block of queries: the first rows of the gallery and how many relevant rows there are."""

    queries: slice
    gains: Floats  # of the first rows, best first
    ideal: Floats  # the largest gains of the gallery, descending
    relevant: Ints  # the number of relevant rows
    first: Ints  # the place of the first relevant row, from 1; 0 if there is none


def retrieval_scores(
    gallery: Any,
    gallery_labels: Any,
    queries: Any = None,
    query_labels: Any = None,
    *,
    measures: Sequence[str] = ("r@1", "recall@5", "mrr", "map@r"),
    metric: str = "cosine",
) -> dict[str, Floats]:
    """Measures of each query, where a row is relevant if it has the query's label.

    Parameters
    ----------
    gallery : array-like of shape (n_gallery, n_features)
    gallery_labels : array-like of shape (n_gallery,)
    queries, query_labels : array-like, optional
        Without them every gallery row is a query among the others.
    measures : sequence of str
        ``"r@1"``: is the first row relevant (precision at 1); ``"recall@k"``: is one of the first k, as metric learning
        papers have it; ``"ir_recall@k"``: the share of relevant rows among the first k, as information retrieval has
        it; ``"precision@k"``; ``"mrr"``: 1 / place of the first relevant row; ``"ndcg@k"``; ``"map@r"``: mean over the
        first R places of the precision there, counted at relevant ones, with R the number of relevant rows.
    metric : {"cosine", "l2", "dot"}, default="cosine"

    Returns
    -------
    scores : dict of arrays of shape (n_queries,)
        NaN for a query without a relevant row in the gallery. ``np.nanmean`` is the measure; ``bootstrap_interval`` and
        ``paired_test`` take the arrays.

    Notes
    -----
    Rows at equal distances are in the order of the gallery. Queries go in blocks, so that memory stays bounded whatever
    their number; float16 rows are converted in chunks.

    Examples
    --------
    >>> from mahala.retrieval import retrieval_scores
    >>> gallery, labels = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], ["a", "b", "b"]
    >>> retrieval_scores(gallery, labels, [[0.9, 0.1]], ["b"], measures=["r@1", "mrr"])
    {'r@1': array([0.]), 'mrr': array([0.5])}
    """
    gallery, gallery_labels = rows_of(gallery, "gallery"), np.asarray(gallery_labels)
    check_labels(gallery_labels, gallery, "gallery")
    itself = queries is None
    if itself != (query_labels is None):
        raise ValueError("queries and query_labels must be given together, or neither (every gallery row is then a query)")
    if itself:
        queries, query_labels = gallery, gallery_labels
    queries, query_labels = rows_of(queries, "queries"), np.asarray(query_labels)
    check_labels(query_labels, queries, "queries")
    classes, codes = np.unique(np.concatenate([gallery_labels, query_labels]), return_inverse=True)
    own, asked = codes[: len(gallery)], codes[len(gallery) :]
    relevant = np.bincount(own, minlength=len(classes))[asked] - int(itself)
    wanted = [parsed(measure) for measure in measures]
    depth = depth_of(wanted, int(relevant.max(initial=0)), len(gallery) - int(itself))
    values = {measure: np.full(len(queries), np.nan) for measure in measures}
    needs_first = any(name == "mrr" for name, _ in wanted)
    for block, scores in score_blocks(gallery, queries, metric):
        same = own[None, :] == asked[block, None]
        if itself:
            places = np.arange(block.start, block.stop)
            scores[places - block.start, places], same[places - block.start, places] = -np.inf, False
        best = top(scores, depth)
        first = first_place(scores, same) if needs_first else np.zeros(len(same), np.int64)
        gains = np.take_along_axis(same, best, axis=1).astype(np.float64)
        count = relevant[block]
        ideal = (np.arange(depth)[None, :] < count[:, None]).astype(np.float64)
        fill(values, wanted, Ranking(block, gains, ideal, count, first))
    return values


def judged_scores(
    gallery: Any,
    queries: Any,
    judgements: Any,
    *,
    measures: Sequence[str] = ("ndcg@10", "mrr", "recall@10"),
    metric: str = "cosine",
) -> dict[str, Floats]:
    """Measures of each query from graded judgements.

    Parameters
    ----------
    gallery : array-like of shape (n_documents, n_features)
    queries : array-like of shape (n_queries, n_features)
    judgements : array-like of shape (n_judgements, 3)
        Query, document, gain. A gain of 0 or below means not relevant; what is not judged is not relevant either.
        nDCG takes gains as they are, over log2(place + 1); the other measures ask whether the gain is above 0.
    measures, metric
        As for ``retrieval_scores``.

    Examples
    --------
    >>> from mahala.retrieval import judged_scores
    >>> documents = [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]
    >>> scores = judged_scores(documents, [[1.0, 0.1]], [[0, 0, 1], [0, 1, 3]], measures=["ndcg@2"])
    >>> scores["ndcg@2"].round(4)
    array([0.7967])
    """
    gallery, queries = rows_of(gallery, "gallery"), rows_of(queries, "queries")
    query, document, gain = checked_judgements(judgements, len(queries), len(gallery))
    order = np.argsort(query, kind="stable")
    query, document, gain = query[order], document[order], gain[order]
    relevant = np.bincount(query, minlength=len(queries))
    wanted = [parsed(measure) for measure in measures]
    depth = depth_of(wanted, int(relevant.max(initial=0)), len(gallery))
    values = {measure: np.full(len(queries), np.nan) for measure in measures}
    for block, scores in score_blocks(gallery, queries, metric):
        gains = np.zeros(scores.shape)
        part = slice(*np.searchsorted(query, [block.start, block.stop]))
        gains[query[part] - block.start, document[part]] = gain[part]
        ideal = -np.sort(-gains, axis=1)[:, :depth]
        first = first_place(scores, gains > 0)
        best = np.take_along_axis(gains, top(scores, depth), axis=1)
        fill(values, wanted, Ranking(block, best, ideal, relevant[block], first))
    return values


def nearest(gallery: Any, queries: Any, k: int, *, metric: str = "cosine") -> tuple[Ints, Floats]:
    """The k most similar gallery rows of each query by a full scan, and their similarities, best first.

    Similarity is the cosine, the inner product, or minus the squared distance. Equal ones are in the order of the
    gallery.

    Examples
    --------
    >>> from mahala.retrieval import nearest
    >>> nearest([[1.0, 0.0], [0.0, 1.0]], [[0.0, 2.0]], 1)
    (array([[1]]), array([[1.]]))
    """
    gallery, queries = rows_of(gallery, "gallery"), rows_of(queries, "queries")
    if not 1 <= k <= len(gallery):
        raise ValueError(f"k is {k}; it must be between 1 and the number of gallery rows, {len(gallery)}")
    found, similarity = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
    for block, scores in score_blocks(gallery, queries, metric):
        found[block] = top(scores, k)
        similarity[block] = np.take_along_axis(scores, found[block], axis=1)
    return found, similarity


def score_blocks(gallery: NDArray[Any], queries: NDArray[Any], metric: str) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Similarities of blocks of queries to all of the gallery."""
    if metric not in ("cosine", "l2", "dot"):
        raise ValueError(f"metric is {metric!r}; it must be 'cosine', 'l2' or 'dot'")
    if queries.shape[1] != gallery.shape[1]:
        raise ValueError(
            f"queries have {queries.shape[1]} columns and the gallery {gallery.shape[1]}; transform both, or neither"
        )
    dtype = np.result_type(gallery.dtype, queries.dtype, np.float32)
    squares = np.empty(len(gallery), np.float64)
    for part in slices(len(gallery), GALLERY_CHUNK):
        chunk = gallery[part].astype(dtype, copy=False)
        squares[part] = np.einsum("ij,ij->i", chunk, chunk)
    if metric == "cosine":
        scale = (1 / np.sqrt(np.where(squares > 0, squares, 1))).astype(dtype)
    rows = max(1, BLOCK_BYTES // (np.dtype(dtype).itemsize * max(1, len(gallery))))
    for block in slices(len(queries), rows):
        q = queries[block].astype(dtype, copy=False)
        if metric == "cosine":
            q = q / np.maximum(np.linalg.norm(q, axis=1, keepdims=True), np.finfo(dtype).tiny)
        scores = np.empty((len(q), len(gallery)), dtype)
        for part in slices(len(gallery), GALLERY_CHUNK):
            np.matmul(q, gallery[part].astype(dtype, copy=False).T, out=scores[:, part])
        if metric == "cosine":
            scores *= scale
        elif metric == "l2":
            scores *= 2
            scores -= squares.astype(dtype)
            scores -= np.einsum("ij,ij->i", q, q)[:, None]
        yield block, scores


def top(scores: NDArray[Any], depth: int) -> Ints:
    """The places of the largest scores of each row, descending; equal ones by place."""
    n = scores.shape[1]
    if depth >= n:
        return np.argsort(-scores, axis=1, kind="stable")
    # Values are partitioned faster than places are, and a mask gives the places in their order.
    last = np.partition(scores, n - depth, axis=1)[:, n - depth]
    inside = scores >= last[:, None]
    for row in np.flatnonzero(np.count_nonzero(inside, axis=1) > depth):
        # The last score is also outside: the first places of that score are taken.
        equal = np.flatnonzero(scores[row] == last[row])
        inside[row, equal[depth - np.count_nonzero(scores[row] > last[row]) :]] = False
    best = (np.flatnonzero(inside) % n).reshape(len(scores), depth)
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1)


def first_place(scores: NDArray[Any], relevant: NDArray[np.bool_]) -> Ints:
    """The place of the best relevant row, from 1; 0 where none is."""
    masked = np.where(relevant, scores, -np.inf)
    place = np.argmax(masked, axis=1)
    best = np.take_along_axis(masked, place[:, None], axis=1)
    before = (scores > best).sum(axis=1)
    before += ((scores == best) & (np.arange(scores.shape[1]) < place[:, None])).sum(axis=1)
    return np.where(relevant.any(axis=1), before + 1, 0)


def fill(values: dict[str, Floats], wanted: list[tuple[str, int]], ranking: Ranking) -> None:
    """Writes every measure of a block; queries without a relevant row stay NaN."""
    hits = ranking.gains > 0
    some = ranking.relevant > 0
    count = np.where(some, ranking.relevant, 1)
    value: Any
    for out, (name, k) in zip(values.values(), wanted, strict=True):
        if name == "mrr":
            value = 1 / np.where(ranking.first > 0, ranking.first, np.inf)
        elif name == "recall":
            value = hits[:, :k].any(axis=1).astype(np.float64)
        elif name == "precision":
            value = hits[:, :k].sum(axis=1) / k
        elif name == "ir_recall":
            value = hits[:, :k].sum(axis=1) / count
        elif name == "ndcg":
            discount = 1 / np.log2(np.arange(2, min(k, hits.shape[1]) + 2))
            best = ranking.ideal[:, :k] @ discount
            value = ranking.gains[:, :k] @ discount / np.where(best > 0, best, 1)
        else:
            precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
            within = np.arange(hits.shape[1])[None, :] < ranking.relevant[:, None]
            value = (precision * hits * within).sum(axis=1) / count
        out[ranking.queries] = np.where(some, value, np.nan)


def parsed(measure: str) -> tuple[str, int]:
    """Name and depth of a measure; the depth of map@r is 0, for it depends on the query."""
    match = MEASURE.fullmatch(measure) if isinstance(measure, str) else None
    if match is None:
        raise ValueError(
            f"{measure!r} is no measure; there are 'r@1', 'recall@5' (or another number), 'ir_recall@5', 'precision@5', "
            "'mrr', 'ndcg@10' and 'map@r'"
        )
    if match[1]:
        return {"r@1": ("recall", 1), "map@r": ("map", 0), "mrr": ("mrr", 1)}[match[1]]
    return match[2], int(match[3])


def depth_of(wanted: list[tuple[str, int]], most_relevant: int, available: int) -> int:
    """How many rows of a ranking the measures need."""
    if not wanted:
        raise ValueError("measures is empty; name at least one, such as 'map@r'")
    return max(1, min(available, max(most_relevant if name == "map" else k for name, k in wanted)))


def checked_judgements(judgements: Any, n_queries: int, n_documents: int) -> tuple[Ints, Ints, Floats]:
    """Query, document and gain of each relevant document."""
    judgements = np.asarray(judgements, dtype=np.float64)
    if judgements.ndim != 2 or judgements.shape[1] != 3:
        raise ValueError(f"judgements have shape {judgements.shape}; they must be rows of (query, document, gain)")
    for column, name, n in ((0, "query", n_queries), (1, "document", n_documents)):
        wrong = np.flatnonzero((judgements[:, column] < 0) | (judgements[:, column] >= n) | (judgements[:, column] % 1 != 0))
        if len(wrong):
            value = judgements[wrong[0], column]
            raise ValueError(f"judgement {wrong[0]} has {name} {value:g}; it must be a whole number from 0 to {n - 1}")
    if not np.isfinite(judgements[:, 2]).all():
        place = int(np.flatnonzero(~np.isfinite(judgements[:, 2]))[0])
        raise ValueError(f"judgement {place} has gain {judgements[place, 2]}; it must be a finite number")
    judgements = judgements[judgements[:, 2] > 0]
    query, document = judgements[:, 0].astype(np.int64), judgements[:, 1].astype(np.int64)
    keys, counts = np.unique(query * n_documents + document, return_counts=True)
    if (counts > 1).any():
        again = int(keys[counts > 1][0])
        pair = f"query {again // n_documents} and document {again % n_documents}"
        raise ValueError(f"judgements have {pair} more than once; give each pair one gain")
    return query, document, judgements[:, 2]


def rows_of(X: Any, name: str) -> NDArray[Any]:
    X = np.asarray(X)
    if X.dtype.kind not in "f":
        X = X.astype(np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"{name} has shape {X.shape}; it must be a table with rows and columns")
    for part in slices(len(X), GALLERY_CHUNK):
        finite = np.isfinite(X[part]).all(axis=1)
        if not finite.all():
            raise ValueError(f"{name} has NaN or infinity in row {part.start + int(np.argmin(finite))}; drop the row, or embed it again")
    return X


def check_labels(labels: NDArray[Any], rows: NDArray[Any], name: str) -> None:
    if labels.shape != (len(rows),):
        raise ValueError(f"{name} has {len(rows)} rows and labels of shape {labels.shape}; there must be one label a row")


def slices(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))
