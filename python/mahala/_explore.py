"""A page on which t moves the points."""

from __future__ import annotations

import html
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any

import numpy as np
from sklearn.base import clone

from . import _mahala
from ._common import class_names, count, encode, folds, issparse, threads


class Explorer:
    """A page as ``GMML.explore`` makes it: shown in a notebook, or saved as one file that fetches nothing.

    Attributes
    ----------
    html : str
        The page.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page; the file appears whole or not at all.

        Parameters
        ----------
        path : str or path-like
            The file, usually ending in ``.html``.
        """
        _mahala.write_file(fspath(path), self.html.encode())

    def _repr_html_(self) -> str:
        """The page in a frame of the notebook."""
        return (
            '<iframe title="A learned distance" width="100%" height="860" style="border: 0" '
            f'sandbox="allow-scripts" srcdoc="{html.escape(self.html, quote=True)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Explorer({len(self.html) / 1e6:.1f} MB of HTML; save(path) writes it)"


def explored(estimator: Any, X: Any, y: Any, groups: Any, title: str, max_rows: int, coordinates: int, steps: int) -> Explorer:
    """The page of an estimator's parameters on rows and labels; the estimator itself is left as it is."""
    check(estimator, X)
    names = [str(name) for name in X.columns] if hasattr(X, "columns") and not callable(X.columns) else []
    learner = clone(estimator)
    X, y = learner._check_labelled(X, y, reset=True)
    classes, codes = encode(y)
    params = learner._params(X, y) | folds(learner.cv, X, y, groups, used=True)
    limits = (count("max_rows", max_rows, 2), count("coordinates", coordinates, 1), count("steps", steps, 1))
    x = np.ascontiguousarray(X, dtype=np.float64)
    return Explorer(_mahala.explore(x, class_names(classes), codes, params, str(title), names, limits, threads(learner.n_jobs)))


def check(estimator: Any, X: Any) -> None:
    """Refuses what the page could not follow."""
    if estimator.n_components is not None:
        raise ValueError(f"n_components is {estimator.n_components!r}; explore follows every coordinate: set n_components=None")
    if estimator.scoring is not None:
        raise ValueError("scoring has no effect on explore, which shows the error of the neighbours' vote; set scoring=None")
    if isinstance(estimator.class_weight, Mapping):
        raise ValueError("class_weight is a dict; explore weighs rows alike, or classes ('balanced', 'balanced-pairs')")
    if issparse(X):
        raise ValueError("X is sparse; explore needs dense rows: X.toarray(), of fewer columns if they are many")
