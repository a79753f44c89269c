"""A metric for each class

Two classes with one mean: the one varies in the first five columns, the other in the last five. One metric for all must compromise;
``LocalGMML`` measures each training row by the metric of its class.
``share_`` says how far it went from the global metric: 0 means not at all, which is what it mostly chooses on real data.

Figure: Two crossing clouds in two of ten columns, and bars of the error of the plain, the global and the local metric.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML, LocalGMML
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

random = np.random.default_rng(0)
y = np.arange(1400) % 2
spread = np.where(y[:, None] == 1, np.repeat([2.5, 1], 5), np.repeat([1, 2.5], 5))
X = random.normal(size=(1400, 10)) * spread
X, T, y, truth = X[:400], X[400:], y[:400], y[400:]
models = {"plain": KNeighborsClassifier(), "one metric": make_pipeline(GMML(), KNeighborsClassifier()), "a metric a class": LocalGMML()}
errors = {name: 100 * (1 - model.fit(X, y).score(T, truth)) for name, model in models.items()}
print(", ".join(f"{name} {error:.1f} %" for name, error in errors.items()), f"; share {models['a metric a class'].share_:.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
left.scatter(X[:, 0], X[:, 5], c=y, cmap="coolwarm", s=12)
left.set(aspect="equal", xticks=[], yticks=[], title="two of the ten columns")
right.bar(list(errors), list(errors.values()))
right.set(ylabel="error (%)")
plt.show()
