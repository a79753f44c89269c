"""A map of digits

The 64 pixels of handwritten digits in two coordinates, shown for rows that were not learned from. Two coordinates are few for ten classes:
the map is for looking, not for classifying.

Figure: Two scatter plots of held-out digits, coloured by digit: principal axes with classes overlapping, learned coordinates with more of
them apart.
"""

import matplotlib.pyplot as plt
from mahala import GMML
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

X, y = load_digits(return_X_y=True)
X, T, y, truth = train_test_split(X, y, test_size=600, random_state=0)
figure, both = plt.subplots(1, 2, figsize=(8.4, 3.8))
for axes, (name, method) in zip(both, {"PCA": PCA(2), "GMML": GMML(t=0, shrinkage=0.1, n_components=2)}.items()):
    Z = method.fit(X, y).transform(T)
    error = 1 - KNeighborsClassifier().fit(method.transform(X), y).score(Z, truth)
    print(f"{name}: five neighbours in the plane are wrong on {100 * error:.0f} %")
    axes.scatter(*Z.T, c=truth, cmap="tab10", s=8)
    for digit in range(10):
        axes.text(*Z[truth == digit].mean(axis=0), str(digit), weight="bold", ha="center", va="center")
    axes.set(title=name, xticks=[], yticks=[])
plt.show()
