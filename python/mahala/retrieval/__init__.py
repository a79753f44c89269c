"""Measures of retrieval and verification, with bootstrap intervals and a paired test of before against after.

>>> import numpy as np
>>> from mahala.retrieval import retrieval_scores
>>> rows = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
>>> scores = retrieval_scores(rows, ["a", "a", "b", "b"], measures=("r@1", "map@r"))
>>> float(scores["r@1"].mean()), float(scores["map@r"].mean())
(1.0, 1.0)
"""

from ._bootstrap import Interval, PairedTest, bootstrap_interval, paired_test
from ._ranking import judged_scores, nearest, retrieval_scores
from ._verification import verification_scores

__all__ = [
    "Interval",
    "PairedTest",
    "bootstrap_interval",
    "judged_scores",
    "nearest",
    "paired_test",
    "retrieval_scores",
    "verification_scores",
]
