"""Probabilities for pairs

``calibration="platt"`` fits a curve from distance to probability on pairs that were measured by metrics learned without them. The diagram
compares what is promised with what happens on new pairs: a good curve lies on the diagonal.

Figure: Reliability diagram: observed share of same pairs over the predicted probability, close to the diagonal.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMMLPairs, constraints
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X, T, y, truth = train_test_split(X, y, test_size=0.4, random_state=0)
known, marks = constraints.pairs(y, 6000, random_state=0)
asked, answers = constraints.pairs(truth, 6000, random_state=1)

figure, axes = plt.subplots(figsize=(4.4, 4))
axes.plot([0, 1], [0, 1], color="grey", linewidth=1)
for calibration in ("platt", "isotonic"):
    learner = GMMLPairs(shrinkage=0.1, t=0.3, calibration=calibration).fit(X[known], marks)
    probability = learner.predict_proba(T[asked])[:, 1]
    observed, predicted = calibration_curve(answers == 1, probability, n_bins=10)
    axes.plot(predicted, observed, marker="o", markersize=4, label=calibration)
    print(f"{calibration}: mean squared error of the probability {np.mean((probability - (answers == 1)) ** 2):.3f}")
axes.set(xlabel="predicted probability of the same", ylabel="share that is the same", aspect="equal")
axes.legend()
plt.show()
