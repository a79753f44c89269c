"""How far a fit is: a line in a terminal or a notebook, or a call of the program's own function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

#: The width of the bar, in characters.
WIDTH = 24


class Progress(NamedTuple):
    """How far a fit is.

    Parameters
    ----------
    estimator : str
        The name of the class that learns.
    done : int
        Iterations, folds or searches done.
    total : int or None
        How many there will be, if that is known.
    objective : float or None
        The objective there, if there is one; of ``AutoGMML`` and ``KernelGMML("auto")``, the smallest loss so far.
    trying : str or None
        What is being tried, by an estimator that chooses.
    """

    estimator: str
    done: int
    total: int | None
    objective: float | None
    trying: str | None = None


Callback = Callable[[Progress], Any]
#: Told what is done, the total, the objective and what is being tried.
Report = Callable[..., None]
_CALLBACK: ContextVar[Callback | None] = ContextVar("mahala_progress", default=None)


@contextmanager
def progress(callback: Callback) -> Iterator[None]:
    """Tell a function how far the fits inside the ``with`` block are.

    It is called at the first step of a fit, then at most ten times a second, and at the last step where that is known. What it
    raises ends the fit and comes out of ``fit``. Fits in other processes, as joblib starts them, are not heard of.

    Parameters
    ----------
    callback : callable
        Gets a ``Progress``: a tuple of estimator, done, total, objective and trying.

    Yields
    ------
    None
        Nothing; the block runs.

    Examples
    --------
    >>> from mahala import GMML, progress
    >>> from sklearn.datasets import load_iris
    >>> steps = []
    >>> with progress(steps.append):
    ...     _ = GMML().fit(*load_iris(return_X_y=True))
    >>> steps[-1].estimator, steps[-1].done == steps[-1].total
    ('GMML', True)
    """
    token = _CALLBACK.set(callback)
    try:
        yield
    finally:
        _CALLBACK.reset(token)


def reporter(estimator: Any) -> Report | None:
    """The function that a fit of this estimator is to tell its progress, if there is one."""
    callback, verbose = _CALLBACK.get(), getattr(estimator, "verbose", 0)
    if callback is None and not verbose:
        return None
    name = type(estimator).__name__
    line = Line(name) if verbose else None

    def report(done: int, total: int | None, objective: float | None = None, trying: str | None = None) -> None:
        step = Progress(name, done, total, objective, trying)
        if callback is not None:
            callback(step)
        if line is not None:
            line.show(step)

    return report


class Line:
    """One line that is written over in a terminal or notebook; elsewhere, a line for every report."""

    def __init__(self, name: str) -> None:
        self.start = time.monotonic()
        self.display = notebook_display(name)
        self.over = self.display is None and sys.stdout.isatty()

    def show(self, step: Progress) -> None:
        """Write the step, over the one before where that can be done."""
        text = sentence(step, time.monotonic() - self.start)
        if self.display is not None:
            self.display.update({"text/plain": text}, raw=True)
        elif self.over:
            end = "\n" if step.done == step.total else ""
            print(f"\r\x1b[K{text}", end=end, flush=True)
        else:
            print(text, flush=True)


def sentence(step: Progress, seconds: float) -> str:
    """A step in words: a bar where the total is known, else the iteration."""
    if step.total:
        filled = WIDTH * step.done // step.total
        how = f"|{'#' * filled}{'.' * (WIDTH - filled)}| {step.done}/{step.total}"
    else:
        how = f"iteration {step.done}"
    name = "objective" if step.trying is None else "best so far"
    value = "" if step.objective is None else f", {name} {step.objective:.6g}"
    how += "" if step.trying is None else f", trying {step.trying}"
    return f"[{step.estimator}] {how}{value}, {seconds:.1f} s"


def notebook_display(name: str) -> Any:
    """A place in the notebook that can be written again; None outside of notebooks."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

    return display({"text/plain": f"[{name}]"}, raw=True, display_id=True)
