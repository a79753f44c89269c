"""Iterative metric learning on a CSV (label last): LMNN and ITML of metric-learn, NCA of scikit-learn.

Usage: python benchmarks/iterative_peers.py TABLE.csv. One JSON line a method: wall and CPU seconds of one fit.
metric-learn needs scikit-learn 1.7 or older: an environment of its own.
"""

import csv
import json
import sys
import time
import warnings

import numpy as np


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    rows = np.array([line[:-1] for line in lines], dtype=np.float64)
    labels = np.unique([line[-1] for line in lines], return_inverse=True)[1]
    # As their authors advise: standardised. A constant column stays 0.
    deviation = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    warnings.simplefilter("ignore")
    from metric_learn import ITML_Supervised, LMNN
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    methods = {
        "ITML": ITML_Supervised(random_state=0),
        "NCA (scikit-learn)": NeighborhoodComponentsAnalysis(random_state=0),
        "LMNN": LMNN(random_state=0),
    }
    for name, method in methods.items():
        wall, cpu = time.perf_counter(), time.process_time()
        method.fit(rows, labels)
        times = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        print(json.dumps({"method": name, **times}), flush=True)


main()
