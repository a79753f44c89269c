"""Which columns count

The squared length of a column of the map, times the column's variance, says how much of the learned distance comes from it. Columns share
their weight with columns they correlate with: read it as a description of the metric, not as a test of a column.

Figure: A bar chart of the ten columns of the breast cancer data with the largest share of the learned distance.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML
from sklearn.datasets import load_breast_cancer

data = load_breast_cancer()
metric = GMML().fit(data.data, data.target)
share = (metric.components_**2).sum(axis=0) * data.data.var(axis=0)
share /= share.sum()
largest = np.argsort(share)[-10:]
print("the ten largest of 30:", ", ".join(f"{data.feature_names[j]} {100 * share[j]:.0f} %" for j in largest[::-1][:4]), "…")

figure, axes = plt.subplots(figsize=(6.4, 3.6))
axes.barh([data.feature_names[j] for j in largest], 100 * share[largest])
axes.set(xlabel="share of the learned distance (%)")
figure.tight_layout()
plt.show()
