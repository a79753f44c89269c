"""Rows in partitions as clusters have them, and what must come out of them."""

import os
import pathlib
import signal
import time

import numpy as np
from mahala import GMML, Moments

FEATURES = [f"a{i}" for i in range(6)]
#: Rows of each partition: one has nearly all, some have none. More than 8, so that the tree has two levels.
SIZES = [20_000, 0, 40, 300, 0, 1, 700, 30, 500, 2, 10, *([0] * 6), 60, 5, 8, 90]
UNLABELLED, SPOILED = 11, 7


def partition(i):
    """X, y and weights of one partition; labels may be None, cells may be NaN or infinite."""
    random = np.random.default_rng(i)
    n = SIZES[i]
    codes = random.integers(3, size=n)
    # A class that only one partition has.
    y = np.array([f"c{code}" for code in codes], dtype=object)
    if i == 3:
        codes[:50], y[:50] = 3, "rare"
    mix = np.random.default_rng(99).normal(size=(6, 6))
    X = random.normal(size=(n, 6)) @ mix + 0.15 * codes[:, None] * np.arange(6)
    weight = random.uniform(0.5, 2.0, size=n)
    if i == 0:
        y[: UNLABELLED - 1], X[100, 2], X[101, 0], X[8191, 5] = None, np.nan, np.inf, -np.inf
    if i == 6:
        y[699], X[600:604, 1], X[699, 1] = None, np.nan, np.nan  # the last has neither: counted once
    return X, y, weight


def usable(i):
    X, y, weight = partition(i)
    good = np.isfinite(X).all(axis=1) & np.array([label is not None for label in y], dtype=bool)
    return X[good], y[good], weight[good]


def expected_moments(weighted=False):
    """The sums of the same blocks, merged in the same order, in memory."""
    level = {}
    for i in range(len(SIZES)):
        X, y, weight = usable(i)
        for start in range(0, len(X), 8192):
            rows = slice(start, start + 8192)
            level.setdefault(i, Moments(6)).update(X[rows], y[rows], weight[rows] if weighted else None)
    while len(level) > 1:
        above = {}
        for i, moments in sorted(level.items()):
            above[i // 8] = above[i // 8].merge(moments) if i // 8 in above else moments
        level = above
    return level[0]


def all_rows():
    return tuple(np.concatenate(column) for column in zip(*map(usable, range(len(SIZES))), strict=True))


def in_memory(**params):
    X, y, _ = all_rows()
    return GMML(**params).fit(X, y)


def relative_difference(one, two):
    one, two = one.get_mahalanobis_matrix(), two.get_mahalanobis_matrix()
    return np.abs(one - two).max() / np.abs(two).max()


def first_time(marker):
    """Whether this is the first attempt: there is no file of this name yet."""
    try:
        pathlib.Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for(path, seconds=120):
    for _ in range(10 * seconds):
        if pathlib.Path(path).exists():
            return
        time.sleep(0.1)
    raise TimeoutError(f"{path} has not appeared")
