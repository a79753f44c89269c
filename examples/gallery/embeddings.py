"""Embeddings and a few labels

Synthetic embeddings of 128 dimensions, twenty topics, a weak signal under strong common noise. The metric learned on a few labelled rows
damps the noise, and the share of right neighbours grows. Map the whole store once, and any index that searches by L2 holds it.

Figure: Precision of ten neighbours over the number of labelled rows: flat for the plain distance, rising for the learned one.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML
from sklearn.neighbors import NearestNeighbors

random = np.random.default_rng(0)
y = random.integers(20, size=6000)
turn = np.linalg.qr(random.normal(size=(128, 128)))[0]
X = random.normal(size=(20, 128))[y] + random.normal(size=(6000, 128)) * np.linspace(0.5, 6, 128) @ turn


def precision(Z):
    nearest = NearestNeighbors(n_neighbors=10).fit(Z[:5000]).kneighbors(Z[5000:], return_distance=False)
    return 100 * (y[nearest] == y[5000:, None]).mean()


counts = [100, 200, 500, 1000, 2000, 5000]
learned = [precision(GMML(t=0.3, shrinkage=0.1).fit(X[:n], y[:n]).transform(X)) for n in counts]
plain = precision(X)
print(f"plain distance {plain:.1f} %; " + ", ".join(f"{n} labels {share:.1f} %" for n, share in zip(counts, learned)))

figure, axes = plt.subplots(figsize=(6, 3.5))
axes.plot(counts, learned, marker="o", markersize=4, label="learned")
axes.axhline(plain, color="grey", linestyle="--", label="plain distance")
axes.set(xscale="log", xlabel="labelled rows", ylabel="right among ten neighbours (%)", ylim=(0, None))
axes.set_xticks(counts, counts)
axes.minorticks_off()
axes.legend()
plt.show()
