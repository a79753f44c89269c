"""Small tables for notebooks: what ``_repr_html_`` returns. Every cell is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

RIGHT = ' style="text-align:right"'


def table(rows: Iterable[Sequence[Any]], *, header: Sequence[str] = (), caption: str = "") -> str:
    """A table; the first cell of each row is its heading, and numbers are to the right."""
    lines = ["<table>"]
    if caption:
        lines.append(f"<caption>{escape(caption)}</caption>")
    if header:
        lines.append("<thead><tr>" + "".join(f"<th>{escape(name)}</th>" for name in header) + "</tr></thead>")
    lines.append("<tbody>")
    for first, *others in rows:
        cells = "".join(f"<td{RIGHT if is_number(cell) else ''}>{shown(cell)}</td>" for cell in others)
        lines.append(f'<tr><th style="text-align:left">{shown(first)}</th>{cells}</tr>')
    return "\n".join([*lines, "</tbody>", "</table>"])


def is_number(cell: Any) -> bool:
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def shown(cell: Any) -> str:
    """A cell as text, escaped."""
    return escape(f"{cell:.6g}" if isinstance(cell, float) else str(cell))
