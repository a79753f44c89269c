"""Online learners as transformers of river: rows as dictionaries, one at a time.

Needs ``pip install mahala[river]``.

>>> from mahala.online import OnlineGMML
>>> from mahala.river import MetricTransformer
>>> from river import datasets
>>> transformer = MetricTransformer(OnlineGMML(reg=1e-6))
>>> for x, y in datasets.Phishing().take(100):
...     transformer.learn_one(x, y)
>>> len(transformer.transform_one(x)) == len(x)
True
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy as np

from ._metric import Floats
from .online import OnlineLearner

try:
    from river import base
except ImportError as error:
    raise ImportError("mahala.river needs river: pip install 'mahala[river]'") from error


# Of both: a pipeline passes rows through what is a Transformer, and labels to what is a SupervisedTransformer.
class MetricTransformer(base.SupervisedTransformer, base.Transformer):
    """Rows in coordinates where the learned distance, up to a constant factor, is Euclidean.

    They are the symmetric square root of A times the row, A scaled to a trace of one a column.

    Coordinates drift as the metric is learned; a model behind it that keeps rows keeps them as they were. Each new row makes pairs or triplets with rows kept from before: one of its class and one of another, drawn at
    random, ``n_pairs`` times.

    Parameters
    ----------
    learner : OnlineLearner
        Of ``mahala.online``; it is changed by learning.
    n_kept : int, default=50
        Rows of each class that are kept, the newest ones.
    n_pairs : int, default=3
    seed : int, default=0
        Of the draws.
    """

    def __init__(self, learner: OnlineLearner, n_kept: int = 50, n_pairs: int = 3, seed: int = 0) -> None:
        self.learner = learner
        self.n_kept = n_kept
        self.n_pairs = n_pairs
        self.seed = seed
        self._random = random.Random(seed)
        self._kept: dict[Any, deque[Floats]] = {}
        self._names: list[Any] | None = None
        self._rooted: tuple[Floats, Floats] | None = None

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learns from a row and its class.

        Parameters
        ----------
        x : dict
            Numbers by the names of columns; the first row decides the names.
        y : hashable
        """
        row = self._row(x)
        own = self._kept.setdefault(y, deque(maxlen=self.n_kept))
        others = [kept for label, kept in self._kept.items() if label != y and kept]
        if own and others:
            triplets = [
                [row, self._random.choice(own), self._random.choice(self._random.choice(others))]
                for _ in range(self.n_pairs)
            ]
            self.learner.partial_fit(np.array(triplets))
        own.append(row)

    def transform_one(self, x: dict[Any, Any]) -> dict[Any, float]:
        """The coordinates of a row; before there is a metric, the row itself.

        Parameters
        ----------
        x : dict

        Returns
        -------
        z : dict
            As many coordinates as columns, by their names.
        """
        row = self._row(x)
        try:
            z = self._root() @ row
        except (AttributeError, ValueError):
            z = row
        return dict(zip(self._names or [], z.tolist(), strict=True))

    def _root(self) -> Floats:
        """The symmetric square root of A, with a trace of A of one a column.

        It changes little where A does, not at all with a rotation of the components, and not with the number of
        pairs that A is a sum over: rows kept from before stay comparable.
        """
        components = self.learner.components_
        if self._rooted is None or self._rooted[0] is not components:
            _, values, vectors = np.linalg.svd(components, full_matrices=False)
            size = np.sqrt(np.sum(values**2) / components.shape[1]) or 1.0
            self._rooted = components, (vectors.T * (values / size)) @ vectors
        return self._rooted[1]

    def _row(self, x: dict[Any, Any]) -> Floats:
        if self._names is None:
            self._names = sorted(x, key=str)
        missing = [name for name in self._names if name not in x]
        if missing:
            raise ValueError(f"a row without column {missing[0]!r}; all columns of the first row are needed")
        return np.array([float(x[name]) for name in self._names])
