"""What it costs to have more chosen: CPU seconds of a fit at a given t, of one that chooses t, and of the automatic mode.

Usage: python benchmarks/choices.py [DATA] (the folder that holds embeddings/banking77.npz; its row is left out without it).
Wants mahala and scikit-learn. Each fit runs on one thread, scikit-learn's LDA beside it; the least of three fits where one takes under a
second. Prints the table of the README.
"""

import os
import sys
import time
from pathlib import Path

for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"]:
    os.environ[name] = "1"

import numpy as np
from mahala import GMML, AutoGMML
from sklearn.datasets import load_wine, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split


def main():
    learners = [
        GMML(t=0.3, n_jobs=1),
        GMML(n_jobs=1),
        AutoGMML(n_jobs=1),
        LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
    ]
    print("| rows × columns | t given | t by cross-validation | everything chosen | scikit-learn's LDA |\n|---|---|---|---|---|")
    for name, X, y in tables(Path(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] else None):
        cells = [f"{cpu_seconds(learner, X, y):.2g}" for learner in learners]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def tables(data):
    yield "178 × 13 (Wine)", *load_wine(return_X_y=True)
    shape = {"n_informative": 15, "n_redundant": 10, "n_classes": 5, "n_clusters_per_class": 2}
    X, y = make_classification(20000, 50, flip_y=0.02, class_sep=1.2, random_state=0, **shape)
    X *= np.logspace(-2, 2, 50)
    X, _, y, _ = train_test_split(X, y, test_size=0.4, random_state=1, stratify=y)
    yield "12,000 × 50", X, y
    if data is not None:
        banking = np.load(data / "embeddings" / "banking77.npz")
        X, y = banking["wordllama_train"].astype(float), banking["y_train"]
        yield f"{len(X):,} × {X.shape[1]}, {len(np.unique(y))} classes", X, y


def cpu_seconds(learner, X, y):
    least = np.inf
    for _ in range(3):
        start = time.process_time()
        learner.fit(X, y)
        least = min(least, time.process_time() - start)
        if least > 1:
            break
    return least


if __name__ == "__main__":
    main()
