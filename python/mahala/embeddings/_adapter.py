"""The adapter: a linear map of embeddings, chosen among closed forms by held-out retrieval."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import _mahala
from .._common import check_classes, components, count, encode, marks_of, seed
from .._gmml import check_two
from .._notice import validated
from ..retrieval._ranking import checked_judgements, parsed, rows_of
from ._family import Family, LinearMap, Member
from ._selection import Choice, Report, choose
from ._sources import N_FOLDS, Clicks, LabelledRows, MarkedPairs, Source

Floats = NDArray[np.float64]
#: Rows mapped at a time.
CHUNK = 16_384


class Adapter(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Adapts embeddings to what they are searched for, by a linear map in closed form.

    Plain rows, whitening, LDA, KISSME and GMML at several t and shrinkages are tried, and the best in held-out retrieval
    is learned on all rows. Rows stay as they are unless the gain is beyond chance: ``print(adapter.report_)``.

    Parameters
    ----------
    metric : {"cosine", "l2"}, default="cosine"
        By which the mapped rows will be searched. Under "cosine", ``transform`` gives rows of norm 1, for which cosine,
        inner product and Euclidean distance rank alike.
    classes : {"seen", "unseen"}, default="seen"
        Which classes future rows will have: those of ``y`` (rows are held out), or others (whole classes are held out).
        The answers differ: what is best for known classes may harm new ones. Without labels it has no effect.
    n_components : int or None, default=None
        The most coordinates to keep. ``report_.sizes`` has the held-out quality of fewer.
    criterion : str or None, default=None
        What the choice is by, as in ``mahala.retrieval``. None: "map@r" from labels, "ndcg@10" from clicks. Pairs are
        measured by ROC-AUC. A member that loses against plain rows in the first place (R@1; MRR for clicks) is not
        chosen.
    member : Member or None, default=None
        A closed form to be used as it is; nothing is chosen then, and there is no ``report_``.
    selection_rows : int, default=10_000
        The most rows in the gallery of the held-out search; the maps are learned from all.
    random_state : int, RandomState instance or None, default=None
        Decides what is held out. None means 0.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
    mean_ : array of shape (n_features,)
        Subtracted first; zero where rows are left as they are.
    member_ : Member
    report_ : Report
    n_features_in_ : int

    Notes
    -----
    Rows may be float16, float32 or float64, memory-mapped too; they are never copied as a whole. ``transform`` gives
    float32 for float32 and float16.

    Examples
    --------
    >>> import numpy as np
    >>> from mahala.embeddings import Adapter
    >>> generator = np.random.default_rng(0)
    >>> y = np.repeat(np.arange(8), 25)
    >>> noise = generator.normal(size=(200, 16)) * np.r_[np.ones(8), np.full(8, 4.0)]
    >>> X = (2 * generator.normal(size=(8, 16))[y] + noise).astype(np.float32)
    >>> adapter = Adapter().fit(X, y)
    >>> adapter.report_.worth_it, adapter.transform(X).dtype
    (True, dtype('float32'))
    """

    _parameter_values: ClassVar[dict[str, tuple[str, ...]]] = {"metric": ("cosine", "l2"), "classes": ("seen", "unseen")}

    def __init__(
        self,
        *,
        metric: str = "cosine",
        classes: str = "seen",
        n_components: int | None = None,
        criterion: str | None = None,
        member: Member | None = None,
        selection_rows: int = 10_000,
        random_state: Any = None,
    ) -> None:
        self.metric = metric
        self.classes = classes
        self.n_components = n_components
        self.criterion = criterion
        self.member = member
        self.selection_rows = selection_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Adapter:
        """Learns from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        """
        self._check_parameters()
        X, y = validated(self, X, y, dtype="numeric", ensure_min_samples=2)
        X = floating(X)
        names, codes = encode(check_classes(y))
        check_two(names)
        counts = np.bincount(codes)
        if counts.max() < 2:
            raise ValueError(f"y has {len(names)} classes of one row each; at least one class must have two rows, to be near each other")
        unseen = self.classes == "unseen"
        rows = LabelledRows(X, codes.astype(np.int64), unseen, count("selection_rows", self.selection_rows, 4), seed(self.random_state))
        self._learn(rows, X.shape[1], "map@r", "r@1")
        return self

    def fit_pairs(self, pairs: Any, y: Any) -> Adapter:
        """Learns from pairs of rows.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or a tuple of two tables of shape (n_pairs, n_features)
        y : array-like of shape (n_pairs,)
            +1 for a similar pair, -1 for a dissimilar one; or 1 and 0, or booleans.
        """
        self._check_parameters()
        first, second = pairs if isinstance(pairs, tuple) else (np.asarray(pairs)[:, 0], np.asarray(pairs)[:, 1])
        first, second = rows_of(first, "the first row of pairs"), rows_of(second, "the second row of pairs")
        self._check_widths(first, second)
        marks = marks_of(np.asarray(y))
        if marks.shape != (len(first),) or len(first) != len(second) or not np.isin(marks, (-1, 1)).all():
            raise ValueError("y must have one mark for each pair: +1 (similar) or -1 (dissimilar), or 1 and 0")
        fewest = min((marks == 1).sum(), (marks == -1).sum())
        if fewest < N_FOLDS:
            raise ValueError(f"y marks {fewest} pairs of one kind; each kind needs at least {N_FOLDS}, for some are held out")
        self._learn(MarkedPairs(first, second, marks == 1, seed(self.random_state)), first.shape[1], "roc_auc", "roc_auc")
        return self

    def fit_clicks(self, queries: Any, documents: Any, judgements: Any) -> Adapter:
        """Learns from queries and the documents that were clicked, or judged.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
        documents : array-like of shape (n_documents, n_features)
        judgements : array-like of shape (n_judgements, 2) or (n_judgements, 3)
            Query, document, and their gain (1 for clicks). Everything else counts as not relevant.
        """
        self._check_parameters()
        queries, documents = rows_of(queries, "queries"), rows_of(documents, "documents")
        self._check_widths(queries, documents)
        judgements = np.asarray(judgements, dtype=np.float64)
        if judgements.ndim == 2 and judgements.shape[1] == 2:
            judgements = np.column_stack([np.unique(judgements, axis=0), np.ones(len(np.unique(judgements, axis=0)))])
        relevant = checked_judgements(judgements, len(queries), len(documents))
        self._learn(Clicks(queries, documents, relevant, None, seed(self.random_state)), queries.shape[1], "ndcg@10", "mrr")
        return self

    def fit_triplets(self, queries: Any, positives: Any, negatives: Any) -> Adapter:
        """Learns from triplets: a query, a row that should be near, and one that should not.

        Parameters
        ----------
        queries, positives, negatives : array-like of shape (n_triplets, n_features)
        """
        self._check_parameters()
        names = ("queries", "positives", "negatives")
        parts = [rows_of(part, name) for part, name in zip((queries, positives, negatives), names, strict=True)]
        if len({part.shape for part in parts}) > 1:
            shapes = ", ".join(f"{name} {part.shape}" for part, name in zip(parts, names, strict=True))
            raise ValueError(f"shapes differ: {shapes}; a triplet is one row of each")
        unique_queries, query = np.unique(parts[0], axis=0, return_inverse=True)
        documents, place = np.unique(np.concatenate(parts[1:]), axis=0, return_inverse=True)
        query, (near, far) = query.ravel(), np.split(place.ravel(), 2)
        relevant = np.unique(np.column_stack([query, near]), axis=0).T
        source = Clicks(unique_queries, documents, (*relevant, np.ones(relevant.shape[1])), (query, far), seed(self.random_state))
        self._learn(source, documents.shape[1], "mrr", "mrr")
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Mapped rows: ``(X - mean_) @ components_.T``, of norm 1 under "cosine".

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            float32 for float32 and float16, else float64.
        """
        check_is_fitted(self, "components_")
        X = floating(validated(self, X, reset=False, dtype="numeric"))
        return mapped(LinearMap(self.components_, self.mean_), X, normalise=self.metric == "cosine")

    def query_map(self, queries: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Queries for documents that stay in their store as they are.

        With A = components_' components_, m = mean_ and g = A (q - m), the similarity of q to a document x with its
        ``document_terms`` s is

        - under "cosine": ``(g @ x - g @ m) / s``, times one number a query that changes no ranking;
        - under "l2": ``2 (g @ x - g @ m) - s``, minus the squared distance but for one number a query.

        Returns
        -------
        g : array of shape (n_queries, n_features)
        offset : array of shape (n_queries,)
            ``g @ m``: under "cosine" it must be subtracted before the division.

        Notes
        -----
        Exact for a full scan, or for an index of ``augmented_documents``. Over an approximate index of plain rows it is
        rescoring: fetch more than needed, and measure the recall.
        """
        check_is_fitted(self, "components_")
        X = floating(validated(self, queries, reset=False, dtype="numeric"))
        dtype = single_or_double(X)
        A = (self.components_.T @ self.components_).astype(dtype)
        g = (X.astype(dtype, copy=False) - self.mean_.astype(dtype)) @ A
        return g, g @ self.mean_.astype(dtype)

    def document_terms(self, X: Any) -> NDArray[Any]:
        """The one number to store with each document x: ``sqrt((x - m)' A (x - m))`` under "cosine", its square under "l2"."""
        check_is_fitted(self, "components_")
        X = floating(validated(self, X, reset=False, dtype="numeric"))
        terms = np.empty(len(X), single_or_double(X))
        linear = LinearMap(self.components_, self.mean_)
        for start in range(0, len(X), CHUNK):
            z = mapped(linear, X[start : start + CHUNK])
            terms[start : start + CHUNK] = np.einsum("ij,ij->i", z, z)
        return np.sqrt(terms) if self.metric == "cosine" else terms

    def scores(self, queries: Any, documents: Any, terms: Any) -> NDArray[Any]:
        """Similarities of queries to plain documents by their stored terms: cosines, or minus squared distances.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
        documents : array-like of shape (n_documents, n_features)
        terms : array-like of shape (n_documents,)
            ``document_terms(documents)``, as stored.
        """
        g, offset = self.query_map(queries)
        documents, terms = self._stored(documents, terms)
        products = g @ documents.astype(g.dtype, copy=False).T - offset[:, None]
        return self._similarity(products, terms, self.document_terms(queries))

    def rescore(self, queries: Any, documents: Any, terms: Any, candidates: Any, k: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The k most similar of the candidates that an index of plain documents gave for each query.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
        documents : array-like of shape (n_documents, n_features)
            As they are in the store; memory-mapped is enough, for candidates alone are read.
        terms : array-like of shape (n_documents,)
            ``document_terms(documents)``, as stored.
        candidates : array-like of shape (n_queries, n_candidates)
            Places in ``documents``; -1 where the index found nothing.
        k : int

        Returns
        -------
        found : array of shape (n_queries, k)
            Places in ``documents``, best first; equal ones in the order of the candidates. -1 where there were fewer than k.
        similarity : array of shape (n_queries, k)
            As ``scores`` has it; minus infinity where there were fewer than k.

        Notes
        -----
        A neighbour under the adapter that is not among the candidates is lost. The recall depends on how far the map
        turns the rows and on how many candidates are fetched: measure it on some queries by a full scan of ``scores``.
        """
        g, offset = self.query_map(queries)
        documents, terms = self._stored(documents, terms)
        candidates = np.asarray(candidates)
        if candidates.ndim != 2 or len(candidates) != len(g) or candidates.dtype.kind not in "iu":
            raise ValueError(
                f"candidates have shape {candidates.shape} and type {candidates.dtype}; there must be one row of whole numbers "
                f"for each of the {len(g)} queries"
            )
        if candidates.size and not -1 <= candidates.min() <= candidates.max() < len(documents):
            wrong = candidates.min() if candidates.min() < -1 else candidates.max()
            raise ValueError(f"candidates have place {wrong}; places are from 0 to {len(documents) - 1}, and -1 for none")
        if not 1 <= k <= candidates.shape[1]:
            raise ValueError(f"k is {k}; it must be between 1 and the number of candidates of a query, {candidates.shape[1]}: fetch more")
        own = self.document_terms(queries)
        found, similarity = np.empty((len(g), k), np.int64), np.empty((len(g), k), g.dtype)
        for query, places in enumerate(candidates.astype(np.int64)):
            rows = documents[places].astype(g.dtype, copy=False)
            scores = self._similarity(rows @ g[query] - offset[query], terms[places], own[query : query + 1]).ravel()
            scores[places < 0] = -np.inf
            order = np.argsort(-scores, kind="stable")[:k]
            found[query], similarity[query] = places[order], scores[order]
        return found, similarity

    def augmented_documents(self, X: Any) -> NDArray[Any]:
        """Documents rescaled once, for an inner-product index that stays exact: [x, 1] / s, or [x, s] under "l2"."""
        terms = self.document_terms(X)
        rows = np.empty((len(terms), self.n_features_in_ + 1), terms.dtype)
        rows[:, :-1], rows[:, -1] = X, 1 if self.metric == "cosine" else terms
        if self.metric == "cosine":
            rows /= np.where(terms > 0, terms, 1)[:, None]
        return rows

    def augmented_queries(self, queries: Any) -> NDArray[Any]:
        """Queries whose inner products with ``augmented_documents`` rank as the adapter does: [g, -g @ m], or [2 g, -1]."""
        g, offset = self.query_map(queries)
        if self.metric == "cosine":
            return np.column_stack([g, -offset])
        return np.column_stack([2 * g, np.full(len(g), -1, g.dtype)])

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the map to a model file, as ``mahala.save`` does.

        The file holds the linear map. The command's ``mahala transform`` gives its coordinates before they are
        normalised; under "cosine" search them by cosine.
        """
        check_is_fitted(self, "components_")
        params = {"method": "embeddings", "metric": self.metric, "classes": self.classes, "member": vars(self.member_)}
        state = (self.components_, self.mean_, None, None)
        content: dict[str, Any] = {"log_eigenvalues": [], "feature_names": [], "threshold": None, "calibration": None, "column_means": None}
        text = {"params": json.dumps(params), "diagnostics": json.dumps({"reason": self.reason_})}
        _mahala.save_model(path, state, content | text | {"references": None})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Adapter:
        """Reads what ``save`` wrote; without ``report_``."""
        from .._model import read  # the model file knows all estimators

        content = read(path)
        params = json.loads(content["params"])
        if params.get("method") != "embeddings":
            raise ValueError(f"{path}: the model is of method {params.get('method', 'gmml')!r}, not of an Adapter; read it with mahala.load")
        return restored_adapter(content, params)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _learn(self, source: Source, d: int, criterion: str, guard: str) -> None:
        """Chooses a member and learns it from everything."""
        wanted = components(self.n_components, d)
        if isinstance(wanted, float):
            raise ValueError(f"n_components is {wanted}; it must be a whole number or None")
        if self.criterion is not None and criterion != "roc_auc":
            parsed(self.criterion)
            criterion = self.criterion
        for name in ("report_", "reason_"):
            if hasattr(self, name):
                delattr(self, name)
        if self.member is None:
            choice = Choice(source, mapped, criterion, guard, self.metric)
            sizes = [size for size in (d // 16, d // 8, d // 4, d // 2) if 1 < size < (wanted or d)]
            self.report_: Report = choose(choice, wanted, sizes, seed(self.random_state))
            self.member_, self.reason_ = self.report_.chosen, self.report_.reason
        else:
            self.member_, self.reason_ = self.member, f"{self.member}: given"
        linear = Family(source.sums(None)).map_of(self.member_, wanted)
        self.components_, self.mean_, self.n_features_in_ = linear.components, linear.mean, d

    def _stored(self, documents: Any, terms: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        documents, terms = np.asarray(documents), np.asarray(terms)
        if documents.ndim != 2 or documents.shape[1] != self.n_features_in_:
            raise ValueError(f"documents have shape {documents.shape}; they must be plain rows of {self.n_features_in_} columns")
        if terms.shape != (len(documents),):
            raise ValueError(
                f"terms have shape {terms.shape} for {len(documents)} documents; store one number for each, from document_terms"
            )
        return documents, terms

    def _similarity(self, products: NDArray[Any], terms: NDArray[Any], own: NDArray[Any]) -> NDArray[Any]:
        """Cosines, or minus squared distances, from g @ x - g @ m and the terms of documents and queries."""
        if self.metric == "cosine":
            return products / np.where(terms > 0, terms, 1) / np.where(own > 0, own, 1)[:, None]
        return 2 * products - terms - own[:, None]

    def _check_parameters(self) -> None:
        for name, allowed in self._parameter_values.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be {' or '.join(map(repr, allowed))}")
        if not (self.member is None or isinstance(self.member, Member)):
            raise ValueError(f"member is {self.member!r}; it must be a Member, such as Member('gmml', 0.1, t=0.3), or None")

    def _check_widths(self, first: NDArray[Any], second: NDArray[Any]) -> None:
        if first.shape[1] != second.shape[1]:
            raise ValueError(f"rows have {first.shape[1]} and {second.shape[1]} columns; they must come from one embedding")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def restored_adapter(content: dict[str, Any], params: dict[str, Any]) -> Adapter:
    """An adapter as a model file describes it."""
    adapter = Adapter(metric=params["metric"], classes=params["classes"])
    adapter.components_, adapter.mean_ = content["components"], content["mean"]
    adapter.member_, adapter.reason_ = Member(**params["member"]), json.loads(content["diagnostics"])["reason"]
    adapter.n_features_in_ = adapter.components_.shape[1]
    return adapter


def mapped(linear: LinearMap, X: NDArray[Any], normalise: bool = False) -> NDArray[Any]:
    """(X - mean) components', in chunks, in float32 unless X is float64."""
    dtype = single_or_double(X)
    matrix, mean = linear.components.T.astype(dtype), linear.mean.astype(dtype)
    Z = np.empty((len(X), matrix.shape[1]), dtype)
    for start in range(0, len(X), CHUNK):
        part = slice(start, start + CHUNK)
        z = np.matmul(X[part].astype(dtype, copy=False) - mean, matrix, out=Z[part])
        if normalise:
            length = np.linalg.norm(z, axis=1, keepdims=True)
            z /= np.where(length > 0, length, 1)
    return Z


def single_or_double(X: NDArray[Any]) -> Any:
    return np.float64 if X.dtype == np.float64 else np.float32


def floating(X: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as float64; floats as they are."""
    return X if X.dtype.kind == "f" else X.astype(np.float64)
