"""Prints the tables of docs/which-method.md: what the plain distance and the learned one achieve on held-out rows, and CPU seconds of one fit, on
one thread. All data are generated or come with scikit-learn."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
import warnings

import numpy as np
import scipy.sparse
from mahala import GMML, LMNN, MLKR, NCA, AutoGMML, GMMLPairs, KernelGMML, Moments, constraints
from scipy.stats import spearmanr
from sklearn.datasets import load_digits, load_wine, make_circles, make_classification, make_multilabel_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler


def main():
    print("| your data | measure | plain distance | learned | CPU s of the fit |\n|---|---|---|---|---|")
    for task in [pairs, graded, triplets, regression, several_labels, stream, sparse, wide, rings]:
        words, measure, plain, learned, seconds = task(np.random.default_rng(0))
        print(f"| {words} | {measure} | {plain:.3g} | {learned:.3g} | {seconds:.2g} |", flush=True)
    print("\n| method | error % | CPU s |\n|---|---|---|")
    train, y_train, test, y_test = clusters()
    print(f"| plain distance | {error(train, y_train, test, y_test):.1f} | 0 |")
    for name, method in [
        ("`GMML(t=0.3)`", GMML(t=0.3, n_jobs=1)),
        ("`GMML()`", GMML(n_jobs=1)),
        ("`AutoGMML()`", AutoGMML(n_jobs=1)),
        ("`NCA()`", NCA(n_jobs=1)),
        ("`LMNN()`", LMNN(n_jobs=1)),
        ("scikit-learn's LDA", LinearDiscriminantAnalysis()),
    ]:
        seconds = timed(lambda: method.fit(train, y_train))
        wrong = error(method.transform(train), y_train, method.transform(test), y_test)
        print(f"| {name} | {wrong:.1f} | {seconds:.2g} |", flush=True)


def timed(work):
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work()
    return time.process_time() - begun


def error(train, y_train, test, y_test):
    return 100 * (1 - KNeighborsClassifier().fit(train, y_train).score(test, y_test))


def pairs(random):
    X, y = load_digits(return_X_y=True)
    order = random.permutation(len(X))
    known, marks = constraints.pairs(y[order[:900]], 4000, random_state=0)
    asked, truth = constraints.pairs(y[order[900:]], 4000, random_state=1)
    asked = X[order[900:]][asked]
    learner = GMMLPairs(shrinkage=0.1, n_jobs=1)
    seconds = timed(lambda: learner.fit(X[order[:900]][known], marks))
    plain = -np.linalg.norm(asked[:, 0] - asked[:, 1], axis=1)
    return "8,000 pairs of digits", "area under ROC", roc_auc_score(truth, plain), roc_auc_score(truth, learner.pair_score(asked)), seconds


def graded(random):
    X = random.normal(size=(2000, 30)) * np.linspace(1, 4, 30)
    drawn = random.integers(2000, size=(2, 3000, 2))
    similarity = lambda p: np.exp(-np.linalg.norm(X[p[:, 0], :5] - X[p[:, 1], :5], axis=1) / 3)
    learner = GMMLPairs(t=0.3, n_jobs=1)
    seconds = timed(lambda: learner.fit(X[drawn[0]], similarity(drawn[0])))
    asked, truth = X[drawn[1]], similarity(drawn[1])
    plain = -np.linalg.norm(asked[:, 0] - asked[:, 1], axis=1)
    rank = lambda scores: spearmanr(scores, truth).statistic
    return "3,000 graded pairs of 30 columns, five of which matter", "rank correlation", rank(plain), rank(learner.pair_score(asked)), seconds


def triplets(random):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    order = random.permutation(len(X))

    def draw(rows, n):
        anchor, near, far = random.choice(rows, size=(3, 20 * n))
        fits = (y[anchor] == y[near]) & (anchor != near) & (y[anchor] != y[far])
        return np.stack([anchor, near, far], axis=1)[fits][:n]

    known, asked = draw(order[:89], 300), draw(order[89:], 5000)
    metric = GMML(t=0.5, shrinkage=0.3, n_jobs=1)
    seconds = timed(lambda: metric.fit_triplets(X[known]))

    def share(Z):
        anchor, near, far = Z[asked.T]
        return 100 * (np.linalg.norm(anchor - near, axis=1) < np.linalg.norm(anchor - far, axis=1)).mean()

    return "300 triplets of Wine, standardised", "triplets in order, %", share(X), share(metric.transform(X)), seconds


def regression(random):
    X = random.uniform(-1, 1, size=(2000, 10))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * random.normal(size=2000)
    metric = MLKR(n_jobs=1)
    seconds = timed(lambda: metric.fit(X[:1000], y[:1000]))
    score = lambda Z: KNeighborsRegressor().fit(Z[:1000], y[:1000]).score(Z[1000:], y[1000:])
    return "a number, 1,000 × 10, two columns matter", "R²", score(X), score(metric.transform(X)), seconds


def several_labels(random):
    X, Y = make_multilabel_classification(2000, 20, n_classes=5, random_state=0)
    X = np.c_[X, 20 * random.normal(size=(2000, 10))]
    metric = GMML(t=0.3, n_jobs=1)
    seconds = timed(lambda: metric.fit(X[:1000], Y[:1000]))
    score = lambda Z: f1_score(Y[1000:], KNeighborsClassifier().fit(Z[:1000], Y[:1000]).predict(Z[1000:]), average="micro")
    return "several labels a row, 1,000 × 30, ten columns of noise", "F score", score(X), score(metric.transform(X)), seconds


def noisy(random, n, d, useful=10, step=1.2):
    y = np.arange(n) % 2
    X = random.normal(size=(n, d))
    X[:, :useful] += step * y[:, None]
    return X, y


def stream(random):
    blocks = [noisy(random, 20_000, 50, 4) for _ in range(50)]
    moments = Moments(50)
    seconds = timed(lambda: [moments.update(X, y, n_jobs=1) for X, y in blocks])
    metric = GMML(t=0.3, n_jobs=1)
    seconds += timed(lambda: metric.fit_moments(moments))
    (X, y), (T, truth) = noisy(random, 2000, 50, 4), noisy(random, 2000, 50, 4)
    learned = error(metric.transform(X), y, metric.transform(T), truth)
    return "a stream of a million rows × 50", "error %", error(X, y, T, truth), learned, seconds


def sparse(random):
    y = random.integers(10, size=4000)
    words = np.where(random.random((4000, 60)) < 0.12, 200 * y[:, None] + random.integers(200, size=(4000, 60)), random.integers(20_000, size=(4000, 60)))
    X = scipy.sparse.csr_matrix((np.ones(words.size), (np.repeat(np.arange(4000), 60), words.ravel())), shape=(4000, 20_000))
    metric = GMML(t=0.3, shrinkage=0.1, principal=200, n_jobs=1)
    seconds = timed(lambda: metric.fit(X[:3000], y[:3000]))
    learned = error(metric.transform(X[:3000]), y[:3000], metric.transform(X[3000:]), y[3000:])
    return "sparse counts, 3,000 × 20,000, ten topics", "error %", error(X[:3000], y[:3000], X[3000:], y[3000:]), learned, seconds


def wide(random):
    X, y = noisy(random, 1200, 1000)
    metric = GMML(t=0.5, shrinkage=0.5, n_jobs=1)
    seconds = timed(lambda: metric.fit(X[:200], y[:200]))
    learned = error(metric.transform(X[:200]), y[:200], metric.transform(X[200:]), y[200:])
    return "200 rows × 1,000 columns, ten of which matter", "error %", error(X[:200], y[:200], X[200:], y[200:]), learned, seconds


def rings(random):
    X, y = make_circles(1400, noise=0.1, factor=0.4, random_state=0)
    X = np.c_[X, 0.5 * random.normal(size=(1400, 4))]
    metric = KernelGMML(kernel="auto", n_jobs=1)
    seconds = timed(lambda: metric.fit(X[:400], y[:400]))
    learned = error(metric.transform(X[:400]), y[:400], metric.transform(X[400:]), y[400:])
    return "a ring around a ring, 400 × 6, four columns of noise", "error %", error(X[:400], y[:400], X[400:], y[400:]), learned, seconds


def clusters():
    X, y = make_classification(14_000, 50, n_informative=20, n_classes=6, n_clusters_per_class=2, random_state=0)
    order = np.random.default_rng(0).permutation(14_000)
    return X[order[2000:]], y[order[2000:]], X[order[:2000]], y[order[:2000]]


main()
