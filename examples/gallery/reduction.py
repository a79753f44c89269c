"""Fewer coordinates

``n_components`` keeps the coordinates of the metric in which classes differ most, where PCA keeps those in which rows vary most. LDA has
at most one coordinate less than classes (9 of digits); GMML can have as many as columns. The differences are of a few per cent.

Figure: Error on digits over the number of coordinates for PCA, LDA and GMML: all fall, GMML lowest.
"""

import matplotlib.pyplot as plt
from mahala import GMML
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

X, y = load_digits(return_X_y=True)
methods = {
    "PCA": (PCA, [1, 2, 3, 5, 9, 16, 32]),
    "LDA": (LinearDiscriminantAnalysis, [1, 2, 3, 5, 9]),
    "GMML, t = 0.1": (lambda n_components: GMML(t=0.1, shrinkage=0.1, n_components=n_components), [1, 2, 3, 5, 9, 16, 32]),
}
figure, axes = plt.subplots(figsize=(6.2, 3.6))
for name, (method, sizes) in methods.items():
    models = [make_pipeline(method(n_components=size), KNeighborsClassifier()) for size in sizes]
    errors = [100 * (1 - cross_val_score(model, X, y, cv=5).mean()) for model in models]
    axes.plot(sizes, errors, marker="o", markersize=4, label=name)
    print(f"{name}: " + ", ".join(f"{size}: {error:.1f} %" for size, error in zip(sizes, errors)))
axes.set(xscale="log", xlabel="coordinates", ylabel="error (%)", ylim=(0, None))
axes.set_xticks([1, 2, 3, 5, 9, 16, 32], [1, 2, 3, 5, 9, 16, 32])
axes.minorticks_off()
axes.legend()
plt.show()
