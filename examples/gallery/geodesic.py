"""The geodesic of two metrics

``geometric_mean(A, B, t)`` walks from one symmetric positive definite matrix to another. The weighted mean of matrices that commute is
A^(1-t) B^t; for others it is the point on the shortest path. Determinants follow the same rule, so no ball on the way is larger
than both ends, as it would be with a straight line.

Figure: Seven ellipses in a row, the unit balls of metrics on the geodesic, turning from one orientation into the other.
"""

import matplotlib.pyplot as plt
import numpy as np
from mahala import geometric_mean

A, B = np.array([[6.0, 2.5], [2.5, 1.5]]), np.array([[0.6, -0.4], [-0.4, 2.5]])
angle = np.linspace(0, 2 * np.pi, 200)
circle = np.stack([np.cos(angle), np.sin(angle)])

figure, axes = plt.subplots(figsize=(8, 2.4))
for t in np.linspace(0, 1, 7):
    M = geometric_mean(A, B, t)
    ball = np.linalg.inv(np.linalg.cholesky(M)).T @ circle
    axes.plot(ball[0] + 25 * t, ball[1], color="C0")
    axes.text(25 * t, -2.6, f"t = {t:.2f}", ha="center", va="top")
    print(f"t = {t:.2f}: determinant {np.linalg.det(M):.3f}, of the straight line {np.linalg.det((1 - t) * A + t * B):.3f}")
axes.set(aspect="equal", ylim=(-3.3, 2.4))
axes.axis("off")
plt.show()
