"""Neighbours that explain

A vote of neighbours can be shown: these are the training rows that decided. Here is a held-out digit that the plain distance gets wrong,
with its five nearest training rows under the plain and under the learned distance.

Figure: Two rows of six small images of digits: the digit asked about, then its five nearest neighbours, above under the plain distance, below
under the learned one.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML, MahalanobisKNN
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X, T, y, truth = train_test_split(X, y, test_size=0.5, random_state=0)
plain = MahalanobisKNN().fit(X, y)
learned = MahalanobisKNN(metric=GMML(t=0.3, shrinkage=0.3, shrinkage_target="identity")).fit(X, y)
mended = np.flatnonzero((plain.predict(T) != truth) & (learned.predict(T) == truth))
spoiled = np.flatnonzero((plain.predict(T) == truth) & (learned.predict(T) != truth))
print(f"{len(mended)} rows mended, {len(spoiled)} spoiled, of {len(T)}")

asked = mended[0]
figure, grid = plt.subplots(2, 6, figsize=(8, 3))
for row, (name, model) in zip(grid, {"plain": plain, "learned": learned}.items()):
    nearest = model.kneighbors(T[[asked]], return_distance=False)[0]
    images = [(T[asked], f"asked: {truth[asked]}"), *((X[i], str(y[i])) for i in nearest)]
    for axes, (image, title) in zip(row, images):
        axes.imshow(image.reshape(8, 8), cmap="gray_r")
        axes.set(title=title, xticks=[], yticks=[])
    row[0].set_ylabel(name)
plt.show()
