"""What a fit notices and a user should know: warnings, and errors that name the column."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

#: Classes from which labels with hardly three rows each look like a quantity.
MANY_CLASSES = 20


class MahalaWarning(UserWarning):
    """The fit is what was asked for, but may not be what was meant."""


def validated(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """scikit-learn's ``validate_data``; an error about text says which column it is in."""
    try:
        return validate_data(estimator, X, *y, **options)
    except ValueError as error:
        column = text_column(X) if "could not convert string to float" in str(error) else None
        if column is None:
            raise
        raise ValueError(
            f"{error}; {column} holds text: drop it, or encode it first (OneHotEncoder, OrdinalEncoder)"
        ) from error


def text_column(X: Any) -> str | None:
    """The first column that holds text that is no number, in words."""
    named = hasattr(X, "columns") and not callable(X.columns)
    columns = [np.asarray(X[name]) for name in X.columns] if named else list(np.asarray(X, dtype=object).T)
    for index, column in enumerate(columns):
        try:
            column.astype(np.float64)
        except (TypeError, ValueError):
            return f"column {X.columns[index]!r}" if named else f"column {index}"
    return None


def warn_of_labels(classes: NDArray[Any], rows: int, stacklevel: int = 3) -> None:
    """Labels that look like a quantity, or like rows without a label."""
    if len(classes) > MANY_CLASSES and 3 * len(classes) > rows:
        warn_user(
            f"y has {len(classes)} classes for {rows} rows; if it is a quantity, bin it (KBinsDiscretizer), or mark pairs "
            "of rows with similarities (GMMLPairs)",
            stacklevel,
        )
    if classes.dtype.kind in "if" and len(classes) > 2 and classes[0] == -1:
        warn_user(
            "y has a class -1 beside others of 0 and above, and it is learned from like any other; if it stands for rows "
            "without a label, leave them out",
            stacklevel,
        )


def warn_of_ridge(diagnostics: dict[str, Any], stacklevel: int = 3) -> None:
    """S was singular: what was done, and what would be better."""
    if diagnostics.get("ridge", 0) > 0:
        warn_user(
            f"S is singular or nearly so, and {diagnostics['ridge']:.0e} of each column's variance was added to its "
            "diagonal; drop columns that repeat or combine others, give more rows, or set shrinkage or reg",
            stacklevel,
        )


def warn_of_error(error: float, codes: NDArray[np.uint32], stacklevel: int = 3) -> None:
    """A choice that held-out rows do not speak for."""
    guessed = 1 - np.bincount(codes).max() / len(codes)
    if error >= guessed:
        warn_user(
            f"the best choice puts {error:.1%} of held-out rows into a wrong class, and always naming the most frequent class "
            f"{guessed:.1%}: there are too few rows to choose on, or the columns say nothing about the classes",
            stacklevel,
        )


def warn_user(message: str, stacklevel: int) -> None:
    warnings.warn(message, MahalaWarning, stacklevel=stacklevel + 1)
