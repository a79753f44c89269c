"""Data and places the tests share."""

import os
import pathlib

# scikit-learn's check of array-API input is skipped without it; must be set before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def pairs(iris):
    """Random pairs of Iris: indices, and +1 for two of one class, else -1."""
    _, y = iris
    indices = np.random.default_rng(0).integers(150, size=(600, 2))
    return indices, np.where(y[indices[:, 0]] == y[indices[:, 1]], 1, -1)


@pytest.fixture(scope="module")
def command():
    """The command, if it has been built."""
    name = "mahala.exe" if os.name == "nt" else "mahala"
    places = [os.environ.get("MAHALA_COMMAND", ""), ROOT / "target" / "release" / name]
    for place in map(pathlib.Path, filter(None, places)):
        if place.is_file():
            return place
    pytest.skip("the command is not built: cargo build --release, or set MAHALA_COMMAND")
