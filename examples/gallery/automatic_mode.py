"""The automatic mode beside fixed methods

``AutoGMML`` tries recipes of scaling, shrinkage, discriminant directions and rounds on held-out rows and takes what is best there. It is
the slowest of these methods. It wins where there are rows enough to choose by; on Iris, 150 rows, the choice is a gamble among recipes that
differ by a row or two. LDA is hard to beat where classes are single clouds.

Figure: Grouped bars of the error of five neighbours on four data sets under four methods.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML, AutoGMML
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

sets = {"Wine": load_wine, "Iris": load_iris, "breast cancer": load_breast_cancer, "digits": load_digits}
methods = {
    # Pixels are whole numbers: a tree orders equal distances in one way on any machine.
    "plain distance": KNeighborsClassifier(algorithm="kd_tree"),
    "LDA": make_pipeline(LinearDiscriminantAnalysis(), KNeighborsClassifier()),
    "GMML()": make_pipeline(GMML(), KNeighborsClassifier()),
    "AutoGMML()": make_pipeline(AutoGMML(), KNeighborsClassifier()),
}

errors = np.zeros((len(methods), len(sets)))
for j, (name, load) in enumerate(sets.items()):
    X, y = load(return_X_y=True)
    for i, model in enumerate(methods.values()):
        errors[i, j] = 100 * (1 - cross_val_score(model, X, y, cv=5).mean())
    print(f"{name}: " + ", ".join(f"{method} {error:.1f} %" for method, error in zip(methods, errors[:, j])))

figure, axes = plt.subplots(figsize=(7.4, 3.6))
for i, method in enumerate(methods):
    axes.bar(np.arange(len(sets)) + 0.2 * i, errors[i], width=0.18, label=method)
axes.set_xticks(np.arange(len(sets)) + 0.3, list(sets))
axes.set(ylabel="error (%)")
axes.legend()
plt.show()
