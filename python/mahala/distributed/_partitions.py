"""What Spark and Dask share: the sums of one partition, their merging in a fixed order, the choice of t.

Every partition is cut into blocks of a fixed number of rows, and partial sums are merged in groups of neighbouring
partitions. Both depend on the partitions alone, so the same partitions give the same bits, whichever engine or
worker did the work, and however often a part of it was done again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._common import class_names, classes_of, folds, learning_params, most_samples, seed
from .._gmml import GMML
from .._moments import Moments

Floats = NDArray[np.float64]

#: Partial sums that are merged into one at a time.
FAN_IN = 8
#: What may be done with rows that cannot be learned from.
POLICIES = ("error", "drop")


@dataclass
class Labelled:
    """Rows of one batch: features, class names, codes into them (-1 where there is no label), weights."""

    X: Floats
    names: list[str]
    codes: NDArray[np.int64]
    weight: Floats | None = None


@dataclass
class Partial:
    """The sums of some partitions, and how many of their rows were left out."""

    moments: Moments | None = None
    null_labels: int = 0
    not_finite: int = 0


@dataclass
class Sample:
    """Some rows of one partition, each with the number it was drawn by."""

    draws: Floats = field(default_factory=lambda: np.empty(0))
    X: Floats | None = None
    y: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=str))
    weight: Floats | None = None


def block_rows(n_features: int) -> int:
    """Rows summed at a time: at most 64 MB of them, and enough for an efficient product."""
    return max(1024, min(8192, 2**23 // n_features))


def coded(y: NDArray[Any], null: NDArray[np.bool_]) -> tuple[list[str], NDArray[np.int64]]:
    """Class names, and each row's as a code into them; -1 where there is no label."""
    codes = np.full(len(y), -1, dtype=np.int64)
    classes, codes[~null] = np.unique(y[~null], return_inverse=True)
    return class_names(classes), codes


def sum_partition(batches: Iterable[Labelled]) -> Partial:
    """The sums over the usable rows of one partition."""
    partial = Partial()
    codes: dict[str, int] = {}
    pending = Pending()
    for batch in batches:
        usable = count_unusable(batch, partial)
        if not usable.any():
            continue
        if partial.moments is None:
            partial.moments = Moments(batch.X.shape[1])
        if batch.X.shape[1] != partial.moments.n_features:
            raise ValueError(
                f"a row has {batch.X.shape[1]} features, those before it have {partial.moments.n_features}; "
                "arrays must have one length"
            )
        order = [codes.setdefault(name, len(codes)) for name in batch.names]
        known = np.array(order or [0], dtype=np.uint32)[batch.codes]
        rows = slice(None) if usable.all() else usable  # whole batches without a copy
        weight = None if batch.weight is None else batch.weight[rows]
        pending.put(batch.X[rows], known[rows], weight)
        while pending.rows >= block_rows(batch.X.shape[1]):
            add(partial.moments, codes, *pending.take(block_rows(batch.X.shape[1])))
    if partial.moments is not None and pending.rows:
        add(partial.moments, codes, *pending.take(pending.rows))
    return partial


def add(moments: Moments, codes: dict[str, int], X: Floats, y: NDArray[np.uint32], weight: Floats | None) -> None:
    # One thread: the engine runs as many partitions at a time as there are cores.
    moments.add(X, list(codes), y, weight, 1)


class Pending:
    """Rows that wait until a block is full."""

    def __init__(self) -> None:
        self.rows = 0
        self.parts: list[tuple[Any, ...]] = []

    def put(self, *columns: Any) -> None:
        if len(columns[0]):
            self.rows += len(columns[0])
            self.parts.append(columns)

    def take(self, rows: int) -> list[Any]:
        whole = self.parts[0] if len(self.parts) == 1 else [joined(c) for c in zip(*self.parts, strict=True)]
        taken = [None if column is None else column[:rows] for column in whole]
        self.parts, self.rows = [], self.rows - rows
        if self.rows:
            self.parts.append(tuple(None if column is None else column[rows:] for column in whole))
        return taken


def joined(columns: tuple[Any, ...]) -> Any:
    return None if columns[0] is None else np.concatenate(columns)


def count_unusable(batch: Labelled, counts: Partial) -> NDArray[np.bool_]:
    """Which rows have a label and finite numbers; the others are counted, a row without a label only as that."""
    labelled = batch.codes >= 0
    finite = np.isfinite(batch.X).all(axis=1)
    if batch.weight is not None:
        finite &= np.isfinite(batch.weight)
    counts.null_labels += int(np.count_nonzero(~labelled))
    counts.not_finite += int(np.count_nonzero(labelled & ~finite))
    return labelled & finite


def merge_group(parts: Iterable[Partial]) -> Partial:
    """Partial sums as one, merged from left to right. None of them is altered."""
    merged = Partial()
    for part in parts:
        merged.null_labels += part.null_labels
        merged.not_finite += part.not_finite
        if part.moments is not None:
            merged.moments = part.moments.copy() if merged.moments is None else merged.moments.merge(part.moments)
    return merged


def groups(partitions: Iterable[int]) -> dict[int, list[int]]:
    """One level of the tree: partitions 0 to 7 make the new partition 0, 8 to 15 the new 1, and so on."""
    members: dict[int, list[int]] = {}
    for partition in sorted(partitions):
        members.setdefault(partition // FAN_IN, []).append(partition)
    return members


def merge_tree(parts: dict[int, Any], merge: Callable[[list[Any]], Any] = merge_group) -> Any:
    """All partial sums as one, merged level by level."""
    while len(parts) > 1:
        parts = {group: merge([parts[i] for i in members]) for group, members in groups(parts).items()}
    return next(iter(parts.values()), Partial())


def sample_partition(batches: Iterable[Labelled], partition: int, seed: int, share: float) -> Sample:
    """About this share of the usable rows of one partition."""
    random = np.random.Generator(np.random.Philox(key=np.array([seed, partition], dtype=np.uint64)))
    pending = Pending()
    for batch in batches:
        usable = np.flatnonzero(count_unusable(batch, Partial()))
        draws = random.random(len(usable))
        rows = usable[draws < share]
        weight = None if batch.weight is None else batch.weight[rows]
        names = np.array(batch.names or [""])[batch.codes[rows]]
        pending.put(draws[draws < share], batch.X[rows], names, weight)
    return Sample(*pending.take(pending.rows)) if pending.rows else Sample()


def check_policies(on_null_label: str, on_nan: str) -> None:
    for name, policy in (("on_null_label", on_null_label), ("on_nan", on_nan)):
        if policy not in POLICIES:
            raise ValueError(f"{name} is {policy!r}; it must be 'error' or 'drop'")


def checked(params: dict[str, Any], what: str) -> GMML:
    """The estimator with these parameters, if it can learn from sums."""
    gmml = GMML(**params)
    gmml._check_summable(what)
    if isinstance(gmml.class_weight, Mapping):
        raise ValueError(f"class_weight is a dict; {what} takes weights of rows from a column: weight=")
    # Here rather than after a pass over all rows; of a copy, for a generator would move on.
    learning_params(clone(gmml), n_features=2**31, n_samples=2**31)
    folds(gmml.cv, used=False)
    if not (gmml.cv is None or isinstance(gmml.cv, Integral) or hasattr(gmml.cv, "split")):
        raise ValueError(f"cv is {gmml.cv!r}; {what} chooses t on a sample of the rows, which a list of splits cannot name")
    return gmml


def check_dropped(partial: Partial, on_null_label: str, on_nan: str) -> Moments:
    """The sums, if the rows left out may be."""
    if partial.null_labels and on_null_label == "error":
        raise ValueError(f"{partial.null_labels} rows have no label; remove them, or set on_null_label='drop'")
    if partial.not_finite and on_nan == "error":
        raise ValueError(
            f"{partial.not_finite} rows have a feature or weight that is null, NaN or infinite; fill or remove them, "
            "or set on_nan='drop'"
        )
    if partial.moments is None or partial.moments.n_samples == 0:
        left = partial.null_labels + partial.not_finite
        raise ValueError(f"there are no rows to learn from; {left} rows were left out")
    return partial.moments


def learn(
    gmml: GMML, partial: Partial, moments: Moments, draw: Callable[[int, float], list[Sample]]
) -> GMML:
    """Solves on the driver; if t is to be chosen, on rows that ``draw(seed, share)`` brings."""
    wanted, path = clone(gmml), None
    if isinstance(gmml.t, str):
        rows = most_samples(gmml, 20_000, moments.n_samples)
        # A few more than wanted, so that there are hardly ever fewer.
        share = min(1.0, (rows + 5 * rows**0.5) / moments.n_samples)
        chosen = choose_t(gmml, rows, draw(seed(gmml.random_state), share))
        wanted.set_params(t=chosen.t_)
        path = chosen.t_path_
    wanted.fit_moments(moments)
    if path is not None:
        wanted.t_path_ = path
    wanted.dropped_ = {"null_label": partial.null_labels, "nan": partial.not_finite}
    wanted.diagnostics_["dropped"] = wanted.dropped_
    return wanted


def choose_t(gmml: GMML, rows: int, samples: list[Sample]) -> GMML:
    """Cross-validates on the ``rows`` rows drawn by the smallest numbers, in the order of partitions."""
    parts = [sample for sample in samples if sample.X is not None]
    draws, X, y = (np.concatenate([getattr(part, name) for part in parts]) for name in ("draws", "X", "y"))
    kept = np.sort(np.argsort(draws, kind="stable")[:rows])
    weights = [part.weight for part in parts if part.weight is not None]
    weight = np.concatenate(weights)[kept] if weights else None
    return clone(gmml).set_params(t="cv", max_samples=max(4, rows)).fit(X[kept], labels_of(y[kept]), weight)


def labels_of(names: NDArray[Any]) -> NDArray[Any]:
    unique, codes = np.unique(names, return_inverse=True)
    return classes_of(unique.tolist())[codes]
