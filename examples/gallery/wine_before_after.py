"""Wine before and after

The plain distance on Wine is ruled by one column, the amount of proline, which runs into the thousands. Two learned coordinates
separate the three cultivars. ``n_components=2`` keeps the two coordinates in which the classes differ most.

Figure: Two scatter plots of Wine. Left, raw columns on two principal axes: three classes mixed. Right, two learned coordinates: three
clusters apart.
"""

import matplotlib.pyplot as plt
from mahala import GMML
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA

X, y = load_wine(return_X_y=True)
planes = {"two principal axes": PCA(2).fit_transform(X), "GMML, two coordinates": GMML(n_components=2).fit_transform(X, y)}

figure, both = plt.subplots(1, 2, figsize=(8, 3.4))
for axes, (title, Z) in zip(both, planes.items()):
    for cultivar in range(3):
        axes.scatter(*Z[y == cultivar].T, s=14, label=f"cultivar {cultivar + 1}")
    axes.set(title=title, xticks=[], yticks=[])
both[0].legend()
plt.show()
