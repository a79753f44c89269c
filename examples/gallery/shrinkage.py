"""Shrinkage

With hardly more rows than columns the sums S and D are noisy. Shrinkage moves S towards its diagonal. ``"analytic"`` estimates
how far from the rows themselves, without cross-validation.

Figure: Error over the shrinkage for 40 and for 400 training rows of 30 columns: both fall towards strong shrinkage, with 40 rows from a higher level.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

X, y = load_breast_cancer(return_X_y=True)
values = [0, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9]
figure, axes = plt.subplots(figsize=(6.2, 3.6))
for rows in (40, 400):
    splits = StratifiedShuffleSplit(20, train_size=rows, test_size=150, random_state=0)
    error = lambda rho: 100 * (1 - cross_val_score(make_pipeline(GMML(t=0.2, standardize=True, shrinkage=rho), KNeighborsClassifier()), X, y, cv=splits).mean())
    errors = [error(rho) for rho in values]
    axes.plot(np.arange(len(values)), errors, marker="o", markersize=4, label=f"{rows} rows")
    print(f"{rows} rows: {errors[0]:.1f} % without, {min(errors):.1f} % at {values[int(np.argmin(errors))]}, {error('analytic'):.1f} % by the analytic value")
axes.set_xticks(np.arange(len(values)), values)
axes.set(xlabel="shrinkage", ylabel="error (%)", ylim=(0, None))
axes.legend()
plt.show()
