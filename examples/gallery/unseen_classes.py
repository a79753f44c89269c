"""Classes that were not there

A metric measures rows of any class. Here it is learned on the digits 0 to 5 and searched on 6 to 9. Few coordinates fit the known classes and drop what
tells others apart: five lose a quarter here. A full metric with shrinkage keeps it, and on these data wins nothing over the plain distance.
Measure it on classes you hold out.

Figure: Bars of the share of right nearest neighbours, on known and on unseen digits, for four metrics.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML
from mahala.baselines import Euclidean
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

X, y = load_digits(return_X_y=True)
known = y < 6
order = np.random.default_rng(0).permutation(len(X))
learn = order[known[order]][::2]
metrics = {
    "plain": Euclidean(),
    "5 coordinates": GMML(t=0, shrinkage=0.1, n_components=5),
    "all, t = 0": GMML(t=0, shrinkage=0.1),
    "all, shrunk": GMML(t=0.3, shrinkage=0.8, shrinkage_target="identity"),
}
figure, axes = plt.subplots(figsize=(6.6, 3.6))
for j, (name, metric) in enumerate(metrics.items()):
    Z = metric.fit(X[learn], y[learn]).transform(X)
    shares = []
    for rows in (np.setdiff1d(np.flatnonzero(known), learn), np.flatnonzero(~known)):
        nearest = KNeighborsClassifier().fit(Z[rows], y[rows]).kneighbors(n_neighbors=1, return_distance=False)[:, 0]
        shares.append(100 * (y[rows][nearest] == y[rows]).mean())
    print(f"{name}: {shares[0]:.1f} % right on known digits, {shares[1]:.1f} % on unseen ones")
    axes.bar([j, j + 0.4], shares, width=0.36, color=["grey", "C0"], label=["digits 0 to 5", "digits 6 to 9, unseen"] if j == 0 else None)
axes.set_xticks(np.arange(4) + 0.2, list(metrics))
axes.set(ylabel="nearest neighbour right (%)", ylim=(70, 100))
axes.legend(loc="lower right")
plt.show()
