"""The choice of a closed form by held-out retrieval, on training rows alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..retrieval import PairedTest, paired_test
from ._family import Family, LinearMap, Member, blends, members
from ._sources import Source

Floats = NDArray[np.float64]

#: Members that are measured on every fold.
FINALISTS = 6
#: A member is dropped if its guard measure is this many standard errors of the paired difference below plain's. In the
#: first look only sure losses count; at the end one standard error keeps out most members that lose a percent.
FIRST_DOUBT, DOUBT = 2.0, 1.0


@dataclass(frozen=True)
class Look:
    """How much of a fold is measured: the most queries, and the most rows of the gallery."""

    queries: int
    gallery: int | None


#: Every member on one fold, and those that are left on all folds (the gallery is the source's own limit).
FIRST_LOOK, FULL_LOOK = Look(800, 3000), Look(1500, None)


@dataclass(frozen=True)
class Trial:
    """A member's held-out measures: means over the queries of the folds it was measured on."""

    member: Member
    criterion: float
    guard: float
    folds: int


@dataclass(frozen=True)
class Report:
    """What was tried, what was chosen and whether it is worth it.

    ``gain`` compares, on the same held-out queries, plain rows with the member that the *other* folds would choose, so
    that the choice among many does not flatter itself. ``sizes`` has the held-out criterion of the chosen member reduced
    to fewer coordinates.
    """

    criterion: str
    guard: str
    chosen: Member
    before: float
    after: float
    gain: PairedTest
    worth_it: bool
    reason: str
    trials: list[Trial] = field(repr=False)
    sizes: list[tuple[int, float]] = field(repr=False)

    def __str__(self) -> str:
        lines = [self.reason, f"{'member':58} {self.criterion:>10} {self.guard:>10}  folds"]
        for trial in sorted(self.trials, key=lambda trial: (-trial.folds, -trial.criterion)):
            lines.append(f"{trial.member!s:58} {trial.criterion:10.4f} {trial.guard:10.4f}  {trial.folds:5}")
        if self.sizes:
            lines.append("coordinates: " + ", ".join(f"{size}: {value:.4f}" for size, value in self.sizes))
        return "\n".join(lines)


class Choice:
    """Measures members on folds of a source."""

    def __init__(
        self, source: Source, apply: Callable[[LinearMap, NDArray[Any]], NDArray[Any]], criterion: str, guard: str, metric: str
    ) -> None:
        self.source, self.apply, self.metric = source, apply, metric
        self.criterion, self.guard = criterion, guard
        self.families: dict[int, Family] = {}

    def measured(self, member: Member, fold: int, n_components: int | None, look: Look) -> tuple[Floats, Floats]:
        """Criterion and guard of each held-out query."""
        if fold not in self.families:
            self.families[fold] = Family(self.source.sums(fold))
        linear = self.families[fold].map_of(member, n_components)
        measures = list(dict.fromkeys([self.criterion, self.guard]))
        apply = lambda rows: self.apply(linear, rows)
        scores = self.source.measure(fold, apply, measures, self.metric, look.queries, look.gallery)
        return scores[self.criterion], scores[self.guard]


def choose(choice: Choice, n_components: int | None, sizes: list[int], random_state: int) -> Report:
    """Looks at every member on one fold, then compares the best on all; plain rows are kept unless the gain is sure."""
    first = {}
    for member in members(choice.source.from_labels):
        first[member] = choice.measured(member, 0, n_components, FIRST_LOOK)
    groups = choice.source.groups(0, FIRST_LOOK.queries)
    finalists = shortlist(first, groups)
    for member in finalists[1:2]:
        for blend in blends(member):
            first[blend] = choice.measured(blend, 0, n_components, FIRST_LOOK)
    finalists = shortlist(first, groups)
    folds = range(choice.source.n_folds)
    measured = {member: [choice.measured(member, fold, n_components, FULL_LOOK) for fold in folds] for member in finalists}
    plain = finalists[0]
    chosen = best(choice, measured, plain, list(folds))
    gain = honest_gain(choice, measured, plain, random_state)
    before, after = (mean_of(measured[member], 0) for member in (plain, chosen))
    worth_it = chosen != plain and gain.low > 0
    if not worth_it:
        reason = (
            f"not worth it: the best member, {chosen}, changes held-out {choice.criterion} by {gain}, which is within chance; "
            "rows are left as they are"
        )
        if chosen == plain:
            reason = f"not worth it: no member is above plain rows in held-out {choice.criterion} without a loss in {choice.guard}"
        chosen = plain
    else:
        reason = f"{chosen}: held-out {choice.criterion} {before:.4f} -> {after:.4f}, gain {gain}"
    trials = [Trial(member, mean_of([values], 0), mean_of([values], 1), 1) for member, values in first.items() if member not in measured]
    trials += [Trial(member, mean_of(values, 0), mean_of(values, 1), len(values)) for member, values in measured.items()]
    curve = [(size, mean_of([choice.measured(chosen, 0, size, FULL_LOOK)], 0)) for size in sizes]
    return Report(choice.criterion, choice.guard, chosen, before, after, gain, worth_it, reason, trials, curve)


def shortlist(first: dict[Member, tuple[Floats, Floats]], groups: NDArray[Any] | None) -> list[Member]:
    """Plain, and the best in the criterion among those that hold the guard; of one form at most half of them."""
    plain = next(iter(first))
    able = [member for member in first if member != plain and holds(first[plain][1], first[member][1], groups, FIRST_DOUBT)]
    able.sort(key=lambda member: -mean_of([first[member]], 0))
    kept: list[Member] = []
    for member in able:
        if len(kept) < FINALISTS and sum(other.form == member.form for other in kept) < FINALISTS // 2:
            kept.append(member)
    return [plain, *kept]


def best(choice: Choice, measured: dict[Member, list[tuple[Floats, Floats]]], plain: Member, folds: list[int]) -> Member:
    """The largest criterion on these folds among members that hold the guard; the earlier of equals."""
    groups = joined([choice.source.groups(fold, FULL_LOOK.queries) for fold in folds])
    guard = {member: np.concatenate([values[fold][1] for fold in folds]) for member, values in measured.items()}
    able = [member for member in measured if holds(guard[plain], guard[member], groups, DOUBT)]
    return max(able, key=lambda member: mean_of([measured[member][fold] for fold in folds], 0))


def holds(before: Floats, after: Floats, groups: NDArray[Any] | None, errors: float) -> bool:
    """Is the mean of after - before not below zero by more than so many standard errors, queries of a group together?"""
    difference = after - before
    used = ~np.isnan(difference)
    difference = difference[used]
    mean = difference.mean()
    spread = difference - mean
    if groups is not None:
        spread = np.bincount(np.unique(groups[used], return_inverse=True)[1], weights=spread)
    return bool(mean >= -errors * np.sqrt(np.square(spread).sum()) / len(difference))


def joined(groups: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    given = [part for part in groups if part is not None]
    return np.concatenate(given) if given else None


def honest_gain(
    choice: Choice, measured: dict[Member, list[tuple[Floats, Floats]]], plain: Member, random_state: int
) -> PairedTest:
    """After - before on each fold, with the member that the other folds choose."""
    before, after, groups = [], [], []
    folds = list(range(choice.source.n_folds))
    for fold in folds:
        others = [other for other in folds if other != fold] or folds
        before.append(measured[plain][fold][0])
        after.append(measured[best(choice, measured, plain, others)][fold][0])
        groups.append(choice.source.groups(fold, FULL_LOOK.queries))
    return paired_test(np.concatenate(before), np.concatenate(after), groups=joined(groups), random_state=random_state)


def mean_of(values: list[tuple[Floats, Floats]], which: int) -> float:
    return float(np.nanmean(np.concatenate([part[which] for part in values])))
