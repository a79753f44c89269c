"""Measures of a ranking: gallery rows ordered by their similarity to a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _mahala

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    gallery = rows_of(gallery, "gallery")
    gallery_labels = np.asarray(gallery_labels)
    check_labels(gallery_labels, gallery, "gallery")
    if (queries is None) != (query_labels is None):
        raise ValueError("queries and query_labels must be given together, or neither")
    names = list(measures)
    if queries is None:
        codes = np.unique(gallery_labels, return_inverse=True)[1].astype(np.uint32).ravel()
        values = _mahala.measures_by_labels((gallery, codes), None, names, metric)
        return dict(zip(names, values, strict=True))
    queries, query_labels = rows_of(queries, "queries"), np.asarray(query_labels)
    check_labels(query_labels, queries, "queries")
    check_columns(gallery, queries)
    codes = np.unique(np.concatenate([gallery_labels, query_labels]), return_inverse=True)[1].astype(np.uint32).ravel()
    own, asked = codes[: len(gallery)], codes[len(gallery) :]
    values = _mahala.measures_by_labels((gallery, own), (queries, asked), names, metric)
    return dict(zip(names, values, strict=True))


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
    check_columns(gallery, queries)
    judged = checked_judgements(judgements, len(queries), len(gallery))
    names = list(measures)
    values = _mahala.measures_by_judgements(gallery, queries, judged, names, metric)
    return dict(zip(names, values, strict=True))


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
    check_columns(gallery, queries)
    if not 1 <= k <= len(gallery):
        raise ValueError(f"k is {k}; it must be between 1 and the number of gallery rows, {len(gallery)}")
    found, similarity = _mahala.nearest(gallery, queries, k, metric)
    return found, similarity


def checked_judgements(judgements: Any, n_queries: int, n_documents: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64], Floats]:
    """Query, document and gain of each judgement."""
    judgements = np.asarray(judgements, dtype=np.float64)
    if judgements.ndim != 2 or judgements.shape[1] != 3:
        raise ValueError(f"judgements have shape {judgements.shape}; they must be rows of (query, document, gain)")
    for column, name, n in ((0, "query", n_queries), (1, "document", n_documents)):
        wrong = np.flatnonzero(~((judgements[:, column] >= 0) & (judgements[:, column] < n) & (judgements[:, column] % 1 == 0)))
        if len(wrong):
            value = judgements[wrong[0], column]
            raise ValueError(f"judgement {wrong[0]} has {name} {value:g}; it must be a whole number from 0 to {n - 1}")
    return judgements[:, 0].astype(np.uint64), judgements[:, 1].astype(np.uint64), np.ascontiguousarray(judgements[:, 2])


def rows_of(X: Any, name: str) -> NDArray[Any]:
    """A table of floats as it is; other numbers as float64. Rows are checked for NaN and infinity where they are read."""
    X = np.asarray(X)
    if X.dtype.kind not in "f":
        X = X.astype(np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"{name} has shape {X.shape}; it must be a table with rows and columns")
    return X


def check_columns(gallery: NDArray[Any], queries: NDArray[Any]) -> None:
    if queries.shape[1] != gallery.shape[1]:
        raise ValueError(f"queries have {queries.shape[1]} columns and the gallery {gallery.shape[1]}; transform both, or neither")


def check_labels(labels: NDArray[Any], rows: NDArray[Any], name: str) -> None:
    if labels.shape != (len(rows),):
        raise ValueError(f"{name} has {len(rows)} rows and labels of shape {labels.shape}; there must be one label a row")
