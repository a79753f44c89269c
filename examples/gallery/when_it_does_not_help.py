"""When it does not help

A linear map cannot help where the plain distance is right already, and cannot separate what no linear map separates. On digits, whose
pixels share a unit, there is little to win; on a checkerboard there is nothing. On two noisy blobs in 20 columns, of which two matter,
there is much. Measure before you rely on it: ``mahala evaluate`` prints a verdict.

Figure: Pairs of bars, plain and learned error, on four data sets: a large gain on blobs in noise, hardly any on digits, none on the
checkerboard.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

random = np.random.default_rng(0)
squares = random.uniform(0, 4, size=(600, 2))
label = np.arange(600) % 2
noisy = random.normal(size=(600, 20)) * np.r_[1, 1, np.full(18, 4)] + label[:, None] * np.r_[3, 3, np.zeros(18)]
sets = {
    "blobs in noise": (noisy, label),
    "Wine": load_wine(return_X_y=True),
    "digits": load_digits(return_X_y=True),
    "checkerboard": (squares, squares.astype(int).sum(axis=1) % 2),
}
figure, axes = plt.subplots(figsize=(6.4, 3.4))
for j, (name, (X, y)) in enumerate(sets.items()):
    plain, learned = (
        100 * (1 - cross_val_score(model, X, y, cv=5).mean())
        for model in (KNeighborsClassifier(), make_pipeline(GMML(), KNeighborsClassifier()))
    )
    print(f"{name}: plain {plain:.1f} %, learned {learned:.1f} %")
    axes.bar([j, j + 0.4], [plain, learned], width=0.36, color=["grey", "C0"], label=["plain", "learned"] if j == 0 else None)
axes.set_xticks(np.arange(4) + 0.2, list(sets))
axes.set(ylabel="error (%)")
axes.legend()
plt.show()
