"""What labels buy

Error on held-out digits over the number of labelled rows. With few rows S is nearly singular: shrinkage keeps the metric close to
the plain one where nothing is known. With 50 rows of 64 columns the closed form without it is far worse than doing nothing, and with it no better.

Figure: Three curves of error over the number of labelled rows. With shrinkage the learned metric follows the plain one and ends below it;
without, it starts far above.
"""

import matplotlib.pyplot as plt
from mahala import GMML
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

X, y = load_digits(return_X_y=True)
X, T, y, truth = train_test_split(X, y, test_size=797, random_state=0, stratify=y)
counts = [50, 100, 200, 400, 1000]
models = {
    # Pixels are whole numbers: a tree orders equal distances in one way on any machine.
    "plain distance": KNeighborsClassifier(3, algorithm="kd_tree"),
    "t = 0.3, no shrinkage": make_pipeline(GMML(t=0.3, reg=1e-6), KNeighborsClassifier(3)),
    "t = 0.3, shrinkage 0.3": make_pipeline(GMML(t=0.3, shrinkage=0.3, shrinkage_target="identity"), KNeighborsClassifier(3)),
}
figure, axes = plt.subplots(figsize=(6.2, 3.6))
for name, model in models.items():
    errors = [100 * (1 - model.fit(X[:n], y[:n]).score(T, truth)) for n in counts]
    axes.plot(counts, errors, marker="o", markersize=4, label=name)
    print(f"{name}: " + ", ".join(f"{error:.1f} % of {n}" for n, error in zip(counts, errors)))
axes.set(xscale="log", xlabel="labelled rows", ylabel="error on held-out rows (%)", ylim=(0, None))
axes.set_xticks(counts, counts)
axes.minorticks_off()
axes.legend()
plt.show()
