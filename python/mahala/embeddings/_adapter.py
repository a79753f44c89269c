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
from .._labelled import check_two
from .._native import frozen, kept
from .._notice import validated
from .._progress import reporter
from ..retrieval._ranking import checked_judgements, rows_of
from ._modules import write_dense
from ._report import Member, Report, report_of

#: Rows mapped at a time, so that what is mapped is held once.
CHUNK = 65_536


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
    max_samples : int, default=10_000
        The most rows in the gallery of the held-out search, or held-out pairs; the maps are learned from all. A gallery
        of documents is a sample that has all those relevant to the held-out queries.
    random_state : int, RandomState instance or None, default=None
        Decides what is held out. None means 0.
    verbose : int, default=0
        With 1, a line tells how far the choice is; ``mahala.progress`` tells a function.

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
        max_samples: int = 10_000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.classes = classes
        self.n_components = n_components
        self.criterion = criterion
        self.member = member
        self.max_samples = max_samples
        self.random_state = random_state
        self.verbose = verbose

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
        self._learn(lambda options: _mahala.adapt_labels(X, codes, *options), X.shape[1])
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
        similar = np.ascontiguousarray(marks == 1)
        self._learn(lambda options: _mahala.adapt_pairs(first, second, similar, *options), first.shape[1])
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
        judged = checked_judgements(judgements, len(queries), len(documents))
        self._learn(lambda options: _mahala.adapt_clicks(queries, documents, judged, *options), queries.shape[1])
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
        anchors, near, far = parts
        self._learn(lambda options: _mahala.adapt_triplets(anchors, near, far, *options), anchors.shape[1])
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
        native, dtype = self._native(), single_or_double(X)
        Z = np.empty((len(X), len(self.components_)), dtype)
        for start in range(0, len(X), CHUNK):
            Z[start : start + CHUNK] = native.transform(X[start : start + CHUNK])
        return Z

    def transform_array(self, X: NDArray[Any]) -> NDArray[Any]:
        """Mapped rows without scikit-learn's checks: for one row at a time, as a server gets them.

        The same numbers as ``transform`` gives, for an array that fits into memory. Column names and ``set_output`` are not
        looked at; shape and finite numbers are.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features) or (n_features,), float16, float32 or float64
            Rows, or one row.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components) or (n_components,)
        """
        native = self._native()
        return native.transform(X[None])[0] if X.ndim == 1 else native.transform(X)

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
        g, offset = self._native().query_map(X)
        return g, offset.astype(g.dtype)

    def document_terms(self, X: Any) -> NDArray[Any]:
        """The one number to store with each document x: ``sqrt((x - m)' A (x - m))`` under "cosine", its square under "l2"."""
        check_is_fitted(self, "components_")
        X = floating(validated(self, X, reset=False, dtype="numeric"))
        native = self._native()
        parts = [native.document_terms(X[start : start + CHUNK]) for start in range(0, len(X), CHUNK)]
        return np.concatenate(parts).astype(single_or_double(X))

    def scores(self, queries: Any, documents: Any, terms: Any) -> NDArray[Any]:
        """Similarities of queries to plain documents by their stored terms: cosines, or minus squared distances.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
        documents : array-like of shape (n_documents, n_features)
        terms : array-like of shape (n_documents,)
            ``document_terms(documents)``, as stored.
        """
        check_is_fitted(self, "components_")
        X = floating(validated(self, queries, reset=False, dtype="numeric"))
        documents, terms = self._stored(documents, terms)
        return self._native().scores(X, documents, terms).astype(single_or_double(X))

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
        check_is_fitted(self, "components_")
        X = floating(validated(self, queries, reset=False, dtype="numeric"))
        documents, terms = self._stored(documents, terms)
        candidates = np.asarray(candidates)
        if candidates.ndim != 2 or len(candidates) != len(X) or candidates.dtype.kind not in "iu":
            raise ValueError(
                f"candidates have shape {candidates.shape} and type {candidates.dtype}; there must be one row of whole numbers "
                f"for each of the {len(X)} queries"
            )
        if candidates.size and not -1 <= candidates.min() <= candidates.max() < len(documents):
            wrong = candidates.min() if candidates.min() < -1 else candidates.max()
            raise ValueError(f"candidates have place {wrong}; places are from 0 to {len(documents) - 1}, and -1 for none")
        if not 1 <= k <= candidates.shape[1]:
            raise ValueError(f"k is {k}; it must be between 1 and the number of candidates of a query, {candidates.shape[1]}: fetch more")
        # Only the candidates are read from documents that may be memory-mapped.
        used, places = np.unique(candidates[candidates >= 0], return_inverse=True)
        local = np.full(candidates.shape, -1, np.int64)
        local[candidates >= 0] = places.ravel()
        if not len(used):
            return np.full((len(X), k), -1), np.full((len(X), k), -np.inf, single_or_double(X))
        found, similarity = self._native().rescore(X, documents[used], terms[used], local, k)
        return np.where(found >= 0, used[found], -1), similarity.astype(single_or_double(X))

    def augmented_documents(self, X: Any) -> NDArray[Any]:
        """Documents rescaled once, for an inner-product index that stays exact: [x, 1] / s, or [x, s] under "l2"."""
        check_is_fitted(self, "components_")
        return self._native().augmented_documents(floating(validated(self, X, reset=False, dtype="numeric")))

    def augmented_queries(self, queries: Any) -> NDArray[Any]:
        """Queries whose inner products with ``augmented_documents`` rank as the adapter does: [g, -g @ m], or [2 g, -1]."""
        check_is_fitted(self, "components_")
        return self._native().augmented_queries(floating(validated(self, queries, reset=False, dtype="numeric")))

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the map to a model file, as ``mahala.save`` does.

        The file holds the linear map and by what mapped rows are searched: the command's ``mahala transform`` gives the
        coordinates that ``transform`` gives, of norm 1 under "cosine".
        """
        check_is_fitted(self, "components_")
        self._native().save(path)

    def to_sentence_transformers(self, folder: str | PathLike[str]) -> None:
        """Writes the map as a ``Dense`` module of sentence-transformers, to be put behind a model's other modules.

        The folder gets ``config.json`` and ``model.safetensors``: weight, bias for the mean, no activation, float32. Under
        "cosine" let a ``Normalize`` module follow, and the model encodes to what ``transform`` gives. sentence-transformers
        itself is not needed to write it.

        Parameters
        ----------
        folder : path
            Made if it does not exist; files of those names in it are replaced.
        """
        check_is_fitted(self, "components_")
        write_dense(folder, self.components_, self.mean_)

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

    def _learn(self, learn: Any, d: int) -> None:
        """Lets the library choose a member and learn it from everything."""
        wanted = components(self.n_components, d)
        if isinstance(wanted, float):
            raise ValueError(f"n_components is {wanted}; it must be a whole number or None")
        options = {
            "metric": self.metric,
            "classes": self.classes,
            "n_components": wanted,
            "criterion": self.criterion,
            "member": None if self.member is None else self.member.as_dict(),
            "selection_rows": count("max_samples", self.max_samples, 4),
            "seed": seed(self.random_state),
        }
        for name in ("report_", "reason_"):
            if hasattr(self, name):
                delattr(self, name)
        native = learn((json.dumps(options), reporter(self)))
        if native.report is not None:
            self.report_: Report = report_of(*native.report)
        self.member_, self.reason_ = Member(**json.loads(native.member)), native.reason
        self.components_, self.mean_, self.n_features_in_ = frozen(native.components), frozen(native.mean), d

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for name in ("components_", "mean_"):
            frozen(self.__dict__.get(name))

    def _native(self) -> Any:
        """The library's adaptation, made once."""
        try:
            state = self.components_, self.mean_, self.metric, self.classes, self.member_, self.reason_
        except AttributeError:
            check_is_fitted(self, "components_")
            raise
        return kept(self, state, self._make)

    def _make(self) -> Any:
        params = {"method": "embeddings", "metric": self.metric, "classes": self.classes, "member": self.member_.as_dict()}
        return _mahala.Adaptation(self.components_, self.mean_, json.dumps(params), self.reason_)

    def _stored(self, documents: Any, terms: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        documents, terms = np.asarray(documents), np.ascontiguousarray(terms, dtype=np.float64)
        if documents.ndim != 2 or documents.shape[1] != self.n_features_in_:
            raise ValueError(f"documents have shape {documents.shape}; they must be plain rows of {self.n_features_in_} columns")
        if terms.shape != (len(documents),):
            raise ValueError(
                f"terms have shape {terms.shape} for {len(documents)} documents; store one number for each, from document_terms"
            )
        return documents, terms

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
    adapter.components_, adapter.mean_ = frozen(content["components"]), frozen(content["mean"])
    adapter.member_, adapter.reason_ = Member(**params["member"]), json.loads(content["diagnostics"])["reason"]
    adapter.n_features_in_ = adapter.components_.shape[1]
    return adapter


def single_or_double(X: NDArray[Any]) -> Any:
    return np.float64 if X.dtype == np.float64 else np.float32


def floating(X: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as float64; floats as they are."""
    return X if X.dtype.kind == "f" else X.astype(np.float64)
