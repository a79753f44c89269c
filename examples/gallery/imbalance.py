"""Classes of unequal size

Fifty rows against a thousand. The sums over all pairs are ruled by the large class; ``class_weight="balanced"`` lets every class count
the same. Here the metric helps the small class and the weights add nothing; on other data they do, or harm. Compare. Look at the
error of each class, not at the error of all rows: calling everything large is 4.8 % wrong.

Figure: Bars of the share of the small and of the large class that is found, for three methods.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML
from sklearn.metrics import recall_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

random = np.random.default_rng(1)


def draw(small, large):
    y = np.r_[np.ones(small, int), np.zeros(large, int)]
    X = random.normal(size=(len(y), 8)) * [1, 1, 3, 3, 3, 3, 3, 3]
    X[:, 0] += 2.5 * y
    X[:, 2:] *= np.where(y == 1, 0.5, 1)[:, None]
    return X, y


X, y = draw(50, 1000)
T, truth = draw(500, 500)
methods = {"plain": [], "GMML": [GMML(t=0.3)], "GMML, balanced": [GMML(t=0.3, class_weight="balanced")]}
figure, axes = plt.subplots(figsize=(6, 3.4))
for j, (name, steps) in enumerate(methods.items()):
    found = make_pipeline(*steps, KNeighborsClassifier()).fit(X, y).predict(T)
    recall = 100 * recall_score(truth, found, average=None, labels=[1, 0])
    print(f"{name}: {recall[0]:.1f} % of the small class found, {recall[1]:.1f} % of the large")
    axes.bar([j, j + 0.4], recall, width=0.36, color=["C1", "grey"], label=["small class", "large class"] if j == 0 else None)
axes.set_xticks(np.arange(3) + 0.2, list(methods))
axes.set(ylabel="found (%)")
axes.legend(loc="lower right")
plt.show()
