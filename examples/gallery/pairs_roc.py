"""The same or not?

No labels, only pairs marked same (1) or different (-1). ``GMMLPairs`` learns from them and ranks pairs it has not seen; the curve shows
what share of same pairs is found for each share of different pairs called the same.

Figure: ROC curves of the plain and the learned distance on pairs of unseen digits; the learned one is above.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMMLPairs
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score, roc_curve

X, y = load_digits(return_X_y=True)
random = np.random.default_rng(0)
order = random.permutation(len(X))
known, asked = (random.choice(rows, size=(10_000, 2)) for rows in (order[:1200], order[1200:]))
same = lambda pairs: np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)

learner = GMMLPairs(preprocessor=X, shrinkage=0.1).fit(known, same(known))
scores = {"plain": -np.linalg.norm(X[asked[:, 0]] - X[asked[:, 1]], axis=1), "learned": learner.pair_score(asked)}
figure, axes = plt.subplots(figsize=(4.4, 4))
for name, score in scores.items():
    area = roc_auc_score(same(asked), score)
    axes.plot(*roc_curve(same(asked), score)[:2], label=f"{name}, area {area:.3f}")
    print(f"{name}: area {area:.3f}")
axes.set(xlabel="different pairs called the same", ylabel="same pairs found", aspect="equal")
axes.legend()
plt.show()
