"""Wrong labels

A part of the training labels is wrong. The closed form sums over all pairs, so single wrong labels hardly move it; what suffers is the vote. A vote
of more neighbours helps more than another metric.

Figure: Error over the share of wrong training labels, for 1, 5 and 25 neighbours, plain and learned; more neighbours stay flat longest.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

X, y = load_wine(return_X_y=True)
random = np.random.default_rng(0)
shares = [0, 0.1, 0.2, 0.3, 0.4]
curves = {(metric, k): [] for metric in ("plain", "learned") for k in (1, 5, 25)}
for share in shares:
    wrong = {key: [] for key in curves}
    for learn, held_out in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
        labels = np.where(random.random(len(learn)) < share, random.integers(3, size=len(learn)), y[learn])
        learned = GMML(t=0.05).fit(X[learn], labels).transform
        for metric, k in curves:
            Z = X if metric == "plain" else learned(X)
            knn = KNeighborsClassifier(k).fit(Z[learn], labels)
            wrong[metric, k].append(1 - knn.score(Z[held_out], y[held_out]))
    for key, values in wrong.items():
        curves[key].append(100 * np.mean(values))
figure, axes = plt.subplots(figsize=(6.2, 3.6))
for (metric, k), values in curves.items():
    axes.plot(shares, values, color="grey" if metric == "plain" else "C0", linestyle={1: ":", 5: "--", 25: "-"}[k], label=f"{metric}, {k}")
    print(f"{metric}, {k} neighbours: {values[0]:.1f} % without wrong labels, {values[-1]:.1f} % with 40 % drawn anew")
axes.set(xlabel="share of labels drawn anew", ylabel="error (%)", ylim=(0, None))
axes.legend(ncols=2)
plt.show()
