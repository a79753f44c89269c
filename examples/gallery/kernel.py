"""Rings in noise: a kernel

A ring around a ring, in two of six columns; the other four are noise. No linear map tells the rings apart, for their means are the same.
``KernelGMML`` learns in the space of a kernel; with ``kernel="auto"`` it chooses the kernel and what comes before it.

Figure: A scatter plot of two rings, and bars of the error of the plain distance, GMML and two kernels.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML, KernelGMML
from sklearn.datasets import make_circles
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

rings, y = make_circles(1200, noise=0.1, factor=0.4, random_state=0)
X = np.c_[rings, 0.5 * np.random.default_rng(0).normal(size=(1200, 4))]
X, T, y, truth = X[:400], X[400:], y[:400], y[400:]
methods = {"plain": [], "GMML": [GMML()], "rbf": [KernelGMML()], "auto": [KernelGMML(kernel="auto")]}
errors = {}
for name, steps in methods.items():
    errors[name] = 100 * (1 - make_pipeline(*steps, KNeighborsClassifier()).fit(X, y).score(T, truth))
print(", ".join(f"{name} {error:.1f} %" for name, error in errors.items()))

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
left.scatter(*X[:, :2].T, c=y, cmap="coolwarm", s=10)
left.set(aspect="equal", xticks=[], yticks=[], title="two of the six columns")
right.bar(list(errors), list(errors.values()))
right.set(ylabel="error (%)")
plt.show()
