"""The diagnostics of a fit: a dictionary that prints on a few lines."""

from __future__ import annotations

from typing import Any

from ._html import table

#: Longer lists are printed by their length and first entries.
SHOWN = 3
#: Longer texts are cut.
WIDTH = 110
#: Trials shown in a notebook.
BEST = 10


class Diagnostics(dict[str, Any]):
    """A dictionary whose long lists are abbreviated when it is printed; ``json.dumps`` and ``dict`` have all of it."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        for key, value in self.items():
            if type(value) is dict:
                self[key] = Diagnostics(value)

    def __repr__(self) -> str:
        lines = [f"{key!r}: {short(value)}" for key, value in self.items()]
        return "{" + ",\n ".join(lines) + "}"

    def _repr_html_(self) -> str:
        """In notebooks: a row for each entry, and a table of what was tried."""
        trials = self.get("trials", [])
        rows = [(key, text(value)) for key, value in self.items() if key != "trials"]
        if not (trials and isinstance(trials[0], dict)):
            return table(rows)
        best = sorted(trials, key=lambda trial: trial["smoothed"])[:BEST]
        tried = [(trial["recipe"], trial["error"]) for trial in best]
        caption = f"the best {len(best)} of {len(trials)} trials"
        return table(rows) + table(tried, header=("recipe", "loss"), caption=caption)


def text(value: Any) -> Any:
    """A value of one cell: numbers and texts as they are, the rest in at most a line."""
    return value if isinstance(value, (bool, int, float, str)) else short(value)


def short(value: Any) -> str:
    """A value in at most a line."""
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{key!r}: {short(part)}" for key, part in value.items()) + "}"
    elif isinstance(value, list) and len(value) > SHOWN:
        text = f"[{', '.join(short(part) for part in value[:SHOWN])}, ... {len(value)} in all]"
    elif isinstance(value, list):
        text = f"[{', '.join(map(short, value))}]"
    else:
        text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 4 * WIDTH else text[: 4 * WIDTH - 4] + " ..."
