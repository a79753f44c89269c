"""The diagnostics of a fit: a dictionary that prints on a few lines."""

from __future__ import annotations

from typing import Any

#: Longer lists are printed by their length and first entries.
SHOWN = 3
#: Longer texts are cut.
WIDTH = 110


class Diagnostics(dict[str, Any]):
    """A dictionary whose long lists are abbreviated when it is printed; ``json.dumps`` and ``dict`` have all of it."""

    def __repr__(self) -> str:
        lines = [f"{key!r}: {short(value)}" for key, value in self.items()]
        return "{" + ",\n ".join(lines) + "}"


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
