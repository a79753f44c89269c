"""Units of the columns

One column of Iris is written in thousandths. The plain distance then sees that column alone. The learned metric at t = 0 does not
depend on units at all; with t chosen it adapts; ``standardize=True`` removes the question.

Figure: Bars of error with the original and the changed unit, for four methods.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

X, y = load_iris(return_X_y=True)
changed = X * [1, 1000, 1, 1]
methods = {"plain": [], "t = 0.5": [GMML(t=0.5)], "t chosen": [GMML()], "standardised": [GMML(t=0.5, standardize=True)]}
figure, axes = plt.subplots(figsize=(6, 3.4))
for j, (name, steps) in enumerate(methods.items()):
    model = make_pipeline(*steps, KNeighborsClassifier())
    errors = [100 * (1 - cross_val_score(model, rows, y, cv=10).mean()) for rows in (X, changed)]
    print(f"{name}: {errors[0]:.1f} %, with one column in thousandths {errors[1]:.1f} %")
    axes.bar([j, j + 0.4], errors, width=0.36, color=["grey", "C1"], label=["as it is", "one column × 1000"] if j == 0 else None)
axes.set_xticks(np.arange(4) + 0.2, list(methods))
axes.set(ylabel="error (%)")
axes.legend()
plt.show()
