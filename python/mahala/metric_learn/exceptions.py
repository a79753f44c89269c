"""Errors by the names that metric-learn has for them."""

from __future__ import annotations

from typing import Any

from numpy.linalg import LinAlgError


class PreprocessorError(Exception):
    """A preprocessor failed on the indicators it was given.

    Parameters
    ----------
    original_error : Exception
        What the preprocessor raised.
    """

    def __init__(self, original_error: Any) -> None:
        super().__init__(
            f"An error occurred when trying to use the preprocessor: {original_error!r}. Check that it accepts "
            "the indicators of these data."
        )
        self.original_error = original_error


class NonPSDError(LinAlgError):
    """A matrix that should be positive semidefinite is not."""

    def __init__(self) -> None:
        super().__init__("Matrix is not positive semidefinite (PSD).")
