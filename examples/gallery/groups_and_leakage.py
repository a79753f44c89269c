"""Groups and leakage

Forty speakers say three words, ten times each; every speaker has an offset of their own. Random folds put rows of one speaker on both sides,
where the neighbour is a row of the same speaker: the error looks small and is not. Folds by speaker tell what a new speaker will meet. Give the
groups to the choice of t as well: ``fit(X, y, groups=...)``.

Figure: Bars of the error by random folds, by folds of whole speakers, and on new speakers: the first is far too small.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

random = np.random.default_rng(3)


def speakers(n):
    speaker, word = np.repeat(np.arange(n), 30), np.tile(np.repeat(np.arange(3), 10), n)
    voice = 3 * random.normal(size=(n, 3, 12))[speaker, word]
    return voice + np.eye(12)[word] * 4 + random.normal(size=(30 * n, 12)), word, speaker


X, y, speaker = speakers(40)
T, truth, _ = speakers(200)
model = make_pipeline(GMML(t=0.3), KNeighborsClassifier())
results = {
    "random folds": 1 - cross_val_score(model, X, y, cv=KFold(5, shuffle=True, random_state=0)).mean(),
    "folds of speakers": 1 - cross_val_score(model, X, y, cv=GroupKFold(5), groups=speaker).mean(),
    "new speakers": 1 - model.fit(X, y).score(T, truth),
}
print(", ".join(f"{name} {100 * error:.1f} %" for name, error in results.items()))

figure, axes = plt.subplots(figsize=(5.4, 3.2))
axes.bar(list(results), [100 * error for error in results.values()], color=["C1", "C0", "grey"])
axes.set(ylabel="error (%)")
plt.show()
