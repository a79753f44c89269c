"""A stream that drifts

Rows come in blocks, and the direction that tells the classes apart turns. ``Moments`` of all blocks remember too much; a ``Window``
of the last ten blocks, or forgetting by a factor a block, follows. Both cost one pass over each row, whatever the length of the stream.

Figure: Error over the blocks of a drifting stream: with all rows it grows, with a window or forgetting it stays low.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML, Moments, Window
from sklearn.neighbors import KNeighborsClassifier

random = np.random.default_rng(0)


def block(time):
    y = np.arange(200) % 2
    angle = np.pi * time / 100
    X = random.normal(size=(200, 6)) * 2
    X[:, :2] = random.normal(size=(200, 2)) @ np.diag([0.4, 3]) + np.outer(2 * y - 1, [1, 0])
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    X[:, :2] = X[:, :2] @ turn
    return X, y


everything, window, fading = Moments(6), Window(6, 10), Moments(6)
errors = {"all rows": [], "window of ten blocks": [], "forgetting, 0.8 a block": []}
last = block(0)
for time in range(1, 60):
    X, y = block(time)
    everything.update(*last)
    window.push(*last)
    fading.forget(0.8).update(*last) if time > 1 else fading.update(*last)
    for name, moments in zip(errors, (everything, window.moments, fading)):
        metric = GMML(t=0.2).fit_moments(moments)
        knn = KNeighborsClassifier().fit(metric.transform(last[0]), last[1])
        errors[name].append(100 * (1 - knn.score(metric.transform(X), y)))
    last = X, y

figure, axes = plt.subplots(figsize=(6.4, 3.6))
for name, values in errors.items():
    axes.plot(np.convolve(values, np.ones(5) / 5, "valid"), label=name)
    print(f"{name}: {np.mean(values[-20:]):.1f} % wrong over the last 20 blocks")
axes.set(xlabel="block", ylabel="error on the next block (%)", ylim=(0, None))
axes.legend()
plt.show()
