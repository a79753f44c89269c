"""Native objects kept beside an estimator's NumPy attributes: made once, never pickled, never stale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

T = TypeVar("T")

_KEPT: WeakKeyDictionary[Any, tuple[tuple[Any, ...], Any]] = WeakKeyDictionary()


def kept(owner: Any, parts: tuple[Any, ...], make: Callable[[], T]) -> T:
    """What ``make`` made of these parts; made again if the owner's attributes were replaced.

    An array that can be written to could change unseen: then nothing is kept, and every call makes it anew.
    """
    held = _KEPT.get(owner)
    if held is not None and len(held[0]) == len(parts) and all(a is b for a, b in zip(held[0], parts, strict=True)):
        return held[1]
    made = make()
    if all(map(is_frozen, parts)):
        _KEPT[owner] = parts, made
    return made


def is_frozen(part: Any) -> bool:
    """Whether nobody writes to it."""
    return not isinstance(part, np.ndarray) or not part.flags.writeable


def frozen(part: Any) -> Any:
    """An array of the estimator's own that is only read from now on."""
    if isinstance(part, np.ndarray):
        part.flags.writeable = False
    return part
