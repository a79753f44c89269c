"""Prints the table of docs/which-method.md: error of 5 nearest neighbours and CPU seconds of one fit, on one thread."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
import warnings

from mahala import GMML, LMNN, NCA, AutoGMML
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier


def main():
    X, y = make_classification(14_000, 50, n_informative=20, n_classes=6, n_clusters_per_class=2, random_state=0)
    train, test, y_train, y_test = train_test_split(X, y, test_size=2_000, random_state=0)
    print("| method | error % | CPU s |\n|---|---|---|")
    print(f"| plain distance | {error(train, y_train, test, y_test):.1f} | 0 |")
    for name, method in [
        ("`GMML(t=0.3)`", GMML(t=0.3, n_jobs=1)),
        ("`GMML()`", GMML(n_jobs=1)),
        ("`AutoGMML()`", AutoGMML(n_jobs=1)),
        ("`NCA()`", NCA(n_jobs=1)),
        ("`LMNN()`", LMNN(n_jobs=1)),
        ("scikit-learn's LDA", LinearDiscriminantAnalysis()),
    ]:
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method.fit(train, y_train)
        seconds = time.process_time() - begun
        print(f"| {name} | {error(method.transform(train), y_train, method.transform(test), y_test):.1f} | {seconds:.2g} |")


def error(train, y_train, test, y_test):
    return 100 * (1 - KNeighborsClassifier().fit(train, y_train).score(test, y_test))


main()
