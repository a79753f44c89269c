"""A number instead of a class

``MLKR`` learns a metric for a regression by neighbours. Ten columns, of which two decide the target; the plain distance is lost in the
other eight.

Figure: Predicted over true values of held-out rows, under the plain distance a wide band, under the learned one a narrow one.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import MLKR
from sklearn.neighbors import KNeighborsRegressor

random = np.random.default_rng(0)
X = random.uniform(-1, 1, size=(600, 10))
y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * random.normal(size=600)
X, T, y, truth = X[:300], X[300:], y[:300], y[300:]
metric = MLKR(max_iter=300).fit(X, y)

figure, both = plt.subplots(1, 2, figsize=(7.6, 3.6), sharey=True)
for axes, (name, transform) in zip(both, {"plain": lambda rows: rows, "MLKR": metric.transform}.items()):
    model = KNeighborsRegressor(weights="distance").fit(transform(X), y)
    axes.scatter(truth, model.predict(transform(T)), s=10)
    axes.set(title=f"{name}: R² = {model.score(transform(T), truth):.2f}", xlabel="true")
    print(f"{name}: R² = {model.score(transform(T), truth):.2f}")
both[0].set_ylabel("predicted")
plt.show()
