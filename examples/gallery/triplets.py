"""Nearer than that

Triplets say that one row is nearer to a second than to a third. They can come from clicks or from people; here they are drawn from labels that
the learner does not see. Twenty triplets do most of the work.

Figure: Share of triplets in order over the number of triplets learned from, rising above the plain distance.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML, constraints
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
random = np.random.default_rng(0)
half = random.permutation(len(X))[:89]
rest = np.setdiff1d(np.arange(len(X)), half)


def draw(rows, n):
    anchor, near, far = random.choice(rows, size=(3, 20 * n))
    fits = (y[anchor] == y[near]) & (anchor != near) & (y[anchor] != y[far])
    return np.stack([anchor, near, far], axis=1)[fits][:n]


def in_order(Z, triplets):
    anchor, near, far = Z[triplets.T]
    return 100 * (np.linalg.norm(anchor - near, axis=1) < np.linalg.norm(anchor - far, axis=1)).mean()


asked, counts = draw(rest, 5000), [20, 50, 100, 300, 1000]
known = draw(half, 1000)
learned = [in_order(GMML(t=0.5, shrinkage=0.3).fit_triplets(X[known[:n]]).transform(X), asked) for n in counts]
plain = in_order(X, asked)
print(f"plain distance: {plain:.1f} %; " + ", ".join(f"{n} triplets: {share:.1f} %" for n, share in zip(counts, learned)))

figure, axes = plt.subplots(figsize=(5.8, 3.4))
axes.plot(counts, learned, marker="o", markersize=4, label="learned")
axes.axhline(plain, color="grey", linestyle="--", label="plain distance")
axes.set(xscale="log", xlabel="triplets learned from", ylabel="new triplets in order (%)")
axes.legend()
plt.show()
