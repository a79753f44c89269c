"""Draws the gallery: `gallery.py [FOLDER]`. Needs matplotlib; the same figures come out every time."""

import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML, GMMLPairs, KernelGMML, geometric_mean
from sklearn.datasets import load_digits, load_wine, make_circles
from sklearn.metrics import roc_curve
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#767676"
CLASSES = [BLUE, ORANGE, GREEN]
STYLE = {
    "svg.hashsalt": "mahala", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False,
    "axes.titlesize": 12, "figure.dpi": 100, "legend.frameon": False,
}  # fmt: skip


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "docs" / "python" / "gallery")
    plt.rcParams.update(STYLE)
    for name, draw in [
        ("error-over-t", error_over_t),
        ("two-coordinates", two_coordinates),
        ("geodesic", geodesic),
        ("pairs", pairs),
        ("embeddings", embeddings),
        ("kernel", kernel),
    ]:
        figure = draw()
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
        plt.close(figure)


def error_over_t():
    """Cross-validated error of 5-NN on Wine, raw and standardised."""
    X, y = load_wine(return_X_y=True)
    values = np.linspace(0, 1, 21)
    figure, axes = plt.subplots(figsize=(6.2, 3.6))
    for settings, color, name in [({}, ORANGE, "raw columns"), ({"standardize": True}, BLUE, "standardised")]:
        model = lambda t: make_pipeline(GMML(t=t, **settings), KNeighborsClassifier())
        errors = [100 * (1 - cross_val_score(model(t), X, y, cv=10).mean()) for t in values]
        axes.plot(values, errors, color=color, marker="o", markersize=3)
        axes.annotate(name, (values[-1], errors[-1]), (4, 0), "data", "offset points", color=color, va="center")
    euclidean = 100 * (1 - cross_val_score(KNeighborsClassifier(), X, y, cv=10).mean())
    axes.axhline(euclidean, color=GREY, linestyle="--", linewidth=1)
    axes.annotate("Euclidean, raw", (0.02, euclidean), (0, -12), "data", "offset points", color=GREY)
    axes.set(xlabel="t", ylabel="error of 5 neighbours (%)", title="Wine: t near 0 forgives units", ylim=(0, None))
    return figure


def two_coordinates():
    """Wine in the two leading principal axes and in two learned coordinates."""
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    axes_of_variance = np.linalg.svd(X, full_matrices=False)[2][:2]
    learned = GMML(n_components=2).fit(X, y).transform(X)
    figure, both = plt.subplots(1, 2, figsize=(8, 3.6))
    for axes, Z, title in zip(both, (X @ axes_of_variance.T, learned), ("two principal axes", "GMML, n_components=2")):
        for c, color in enumerate(CLASSES):
            axes.scatter(*Z[y == c].T, s=14, color=color, alpha=0.8, linewidths=0, label=f"cultivar {c + 1}")
        axes.set(title=title, xticks=[], yticks=[])
    both[1].legend(loc="upper left", handletextpad=0.1, borderpad=0)
    figure.tight_layout()
    return figure


def geodesic():
    """The unit balls on the path between two metrics."""
    a, b = np.array([[6.0, 2.5], [2.5, 1.5]]), np.array([[0.6, -0.4], [-0.4, 2.5]])
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    values = np.linspace(0, 1, 7)
    figure, axes = plt.subplots(figsize=(8, 2.4))
    for t in values:
        root = np.linalg.inv(np.linalg.cholesky(geometric_mean(a, b, t))).T
        axes.fill(*(root @ circle + [[4.2 * 6 * t], [0]]), facecolor=BLUE, alpha=0.15 + 0.35 * abs(t - 0.5))
        axes.plot(*(root @ circle + [[4.2 * 6 * t], [0]]), color=BLUE, linewidth=1.5)
        axes.text(4.2 * 6 * t, -2.6, f"t = {t:.2f}", ha="center", va="top")
    axes.set(aspect="equal", ylim=(-3.3, 2.4), title="Balls of radius 1 along the geodesic of two metrics")
    axes.axis("off")
    return figure


def pairs():
    """ROC curves of same or different: pairs of digits never seen together."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    rng = np.random.default_rng(0)
    draw = lambda rows, n: rng.choice(rows, size=(n, 2))
    train, test = train_test_split(np.arange(len(X)), random_state=0)
    known, asked = draw(train, 10_000), draw(test, 10_000)
    mark = lambda p: np.where(y[p[:, 0]] == y[p[:, 1]], 1, -1)
    learner = GMMLPairs(preprocessor=X, shrinkage=0.1).fit(known, mark(known))
    figure, axes = plt.subplots(figsize=(4.6, 4.2))
    distance = np.linalg.norm(X[asked[:, 0]] - X[asked[:, 1]], axis=1)
    for scores, color, name in [(-distance, GREY, "Euclidean"), (learner.pair_score(asked), BLUE, "learned")]:
        fpr, tpr, _ = roc_curve(mark(asked), scores)
        axes.plot(fpr, tpr, color=color, label=f"{name} (area {np.trapezoid(tpr, fpr):.3f})")
    axes.set(
        xlabel="different pairs called the same", ylabel="same pairs found", title="Digits: the same or not?", aspect="equal"
    )
    axes.legend(loc="lower right")
    return figure


def embeddings():
    """Precision of ten neighbours against the number of labels: a strong signal under stronger noise."""
    rng = np.random.default_rng(0)
    d, classes, n = 128, 20, 6000
    y = rng.integers(classes, size=n)
    noise = rng.normal(size=(n, d)) * np.linspace(0.5, 6, d)
    X = rng.normal(size=(classes, d))[y] + noise @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    test = slice(n - 1000, n)
    counts = [100, 200, 500, 1000, 2000, 5000]

    def precision(transform):
        base, queries = transform(X[:5000]), transform(X[test])
        squared = (queries**2).sum(1)[:, None] - 2 * queries @ base.T + (base**2).sum(1)
        nearest = np.argpartition(squared, 10, axis=1)[:, :10]
        return 100 * (y[nearest] == y[test][:, None]).mean()

    learned = [precision(GMML(shrinkage=0.1, t=0.3).fit(X[:m], y[:m]).transform) for m in counts]
    figure, axes = plt.subplots(figsize=(6, 3.6))
    axes.plot(counts, learned, color=BLUE, marker="o", markersize=4)
    axes.axhline(precision(lambda rows: rows), color=GREY, linestyle="--", linewidth=1)
    axes.annotate("learned", (counts[-1], learned[-1]), (-6, -14), "data", "offset points", color=BLUE, ha="right")
    axes.annotate("Euclidean", (counts[-1], precision(lambda rows: rows)), (0, 5), "data", "offset points", color=GREY, ha="right")
    axes.set_xscale("log")
    axes.set_xticks(counts, [f"{m:,}" for m in counts])
    axes.minorticks_off()
    axes.set(
        xlabel="labelled rows", ylabel="right among 10 neighbours (%)", ylim=(0, None),
        title="Synthetic embeddings: what a few labels buy",
    )  # fmt: skip
    return figure


def kernel():
    """Two rings: as they are, and held-out points in two coordinates of linear and of kernel GMML."""
    X, y = make_circles(400, noise=0.12, factor=0.4, random_state=0)
    learn, show = np.arange(400) < 200, np.arange(400) >= 200
    planes = [("the rings", lambda: X[show])]
    for title, method in [("GMML", GMML()), ("KernelGMML, rbf", KernelGMML(n_components=2))]:
        planes.append((title, lambda method=method: method.fit(X[learn], y[learn]).transform(X[show])[:, :2]))
    figure, row = plt.subplots(1, 3, figsize=(9.6, 3.3))
    for axes, (title, plane) in zip(row, planes):
        Z = plane()
        for c, (color, name) in enumerate([(BLUE, "outer ring"), (ORANGE, "inner ring")]):
            axes.scatter(*Z[y[show] == c].T, s=14, color=color, alpha=0.8, linewidths=0, label=name)
        axes.set(title=title, xticks=[], yticks=[])
    row[0].legend(loc="upper left", handletextpad=0.1, borderpad=0, fontsize=9)
    figure.tight_layout()
    return figure


main()
