"""What was tried and chosen, as the library tells it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from .._html import table
from ..retrieval import PairedTest

#: Members shown in a notebook.
BEST = 10


@dataclass(frozen=True)
class Member:
    """One closed form with its settings.

    With S and D the two sums, S shrunk towards a multiple of the identity, and (mu, w) the eigenpairs of D w = mu S w:

    =============  ==============================================  =======================================
    form           metric                                          weight of a direction
    =============  ==============================================  =======================================
    plain          I                                               (the embeddings as they are)
    centred        I, about the mean                               (the same under L2)
    whitening      inv(T)                                          T the covariance of all rows
    wccn           inv(S)                                          1
    pencil, power  W diag(mu^power) W'                             mu^power
    kissme         (inv(S) - inv(D)) clipped in these directions   1 - 1/mu, at least 0
    lda            W_r W_r'                                        1 for the r largest, else 0
    gmml, t        inv(S) #_t D                                    (the eigenvectors of D S)
    =============  ==============================================  =======================================

    ``gmml`` with ``within`` < 1 has within * S + between for D. A ``plain_share`` a adds the plain metric:
    (1 - a) A / c + a I, with c such that both give rows the same mean square; it is the weight of whatever lies outside the
    directions that labels say something about.
    """

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
            parts.append(f"{100 * self.share_of_directions:.0f} % of directions")
        if self.plain_share:
            parts.append(f"plain share {self.plain_share:g}")
        return f"{self.form} ({', '.join(parts)})" if parts else self.form

    def as_dict(self) -> dict[str, Any]:
        """The settings, as a model file has them."""
        return asdict(self)


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
    text: str = field(repr=False, default="")

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """In notebooks: what was chosen, what it gains, and the best of what was tried."""
        rows = [
            ("chosen", str(self.chosen)),
            (f"{self.criterion}, plain rows", self.before),
            (f"{self.criterion}, chosen", self.after),
            ("gain", str(self.gain)),
            ("worth it", self.worth_it),
            ("reason", self.reason),
        ]
        best = sorted(self.trials, key=lambda trial: -trial.criterion)[:BEST]
        tried = [(str(trial.member), trial.criterion, trial.guard, trial.folds) for trial in best]
        caption = f"the best {len(best)} of {len(self.trials)} members"
        return table(rows) + table(tried, header=("member", self.criterion, self.guard, "folds"), caption=caption)


def report_of(written: str, text: str) -> Report:
    """The library's report."""
    report = json.loads(written)
    gain = report["gain"]
    gain = PairedTest(gain["difference"], gain["low"], gain["high"], gain["p_value"], gain["queries"])
    trials = [Trial(Member(**trial["member"]), trial["criterion"], trial["guard"], trial["folds"]) for trial in report["trials"]]
    sizes = [(size, value) for size, value in report["sizes"]]
    parts = {name: report[name] for name in ("criterion", "guard", "before", "after", "worth_it", "reason")}
    return Report(chosen=Member(**report["chosen"]), gain=gain, trials=trials, sizes=sizes, text=text, **parts)
