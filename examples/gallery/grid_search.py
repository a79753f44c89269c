"""A search over parameters

GMML is a transformer, so scikit-learn's tools choose its parameters together with those of the classifier. Here t and the shrinkage of
S are searched on Wine's standardised columns, on the same folds for all.

Figure: A heat map of the cross-validated error over t and shrinkage; low nearly everywhere but at the corner of t = 1.
"""

import matplotlib.pyplot as plt
from mahala import GMML
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

X, y = load_wine(return_X_y=True)
model = Pipeline([("metric", GMML(standardize=True)), ("vote", KNeighborsClassifier())])
grid = {"metric__t": [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1], "metric__shrinkage": [0, 0.01, 0.1, 0.3, 0.6]}
search = GridSearchCV(model, grid, cv=10).fit(X, y)
print("best:", search.best_params_, f"error {100 * (1 - search.best_score_):.1f} %")

errors = 100 * (1 - search.cv_results_["mean_test_score"]).reshape(5, 7)
figure, axes = plt.subplots(figsize=(6, 3.4))
image = axes.imshow(errors, cmap="Blues", origin="lower", aspect="auto")
axes.set_xticks(range(7), grid["metric__t"])
axes.set_yticks(range(5), grid["metric__shrinkage"])
axes.set(xlabel="t", ylabel="shrinkage")
figure.colorbar(image, label="error (%)")
plt.show()
