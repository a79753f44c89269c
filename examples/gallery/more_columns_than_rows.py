"""More columns than rows

Sixty rows of a thousand columns, ten of which differ between two classes. The matrix S is singular, and learning takes place in the span of the
rows; ``reg`` or ``shrinkage`` decides how much is weighed outside. The fit costs O(n²d) and never forms a matrix of 1000 × 1000.

Figure: Error over the number of columns, for the plain distance and two settings of the learned one; all grow, the learned ones later.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

random = np.random.default_rng(0)
y = np.arange(660) % 2
columns = [20, 50, 100, 300, 1000]
models = {
    "plain distance": KNeighborsClassifier(),
    "GMML(t=0.5, shrinkage=0.5)": make_pipeline(GMML(t=0.5, shrinkage=0.5), KNeighborsClassifier()),
    "GMML(t=0, shrinkage=0.9, n_components=1)": make_pipeline(GMML(t=0, shrinkage=0.9, n_components=1), KNeighborsClassifier()),
}
errors = {name: [] for name in models}
for d in columns:
    X = random.normal(size=(660, d))
    X[:, :10] += 1.2 * y[:, None]
    for name, model in models.items():
        errors[name].append(100 * (1 - model.fit(X[:60], y[:60]).score(X[60:], y[60:])))
figure, axes = plt.subplots(figsize=(6.4, 3.6))
for name, values in errors.items():
    axes.plot(columns, values, marker="o", markersize=4, label=name)
    print(f"{name}: " + ", ".join(f"{value:.1f} % of {d}" for d, value in zip(columns, values)))
axes.set(xscale="log", xlabel="columns", ylabel="error (%)", ylim=(0, 55))
axes.set_xticks(columns, columns)
axes.minorticks_off()
axes.legend()
plt.show()
