"""Exact nearest neighbours by the peers: FAISS IndexFlatL2 and scikit-learn (brute force, best tree).

Usage: python benchmarks/knn_peers.py ROWS.npy QUERIES.npy --k K --threads N --repeats N [--peers faiss,brute,tree]

Prints one JSON line per peer: least and median wall and CPU seconds of building the index and searching,
and a checksum of the indices found.
"""

import argparse
import json
import statistics
import time

import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows")
    parser.add_argument("queries")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", default="faiss")
    arguments = parser.parse_args()
    rows, queries = np.load(arguments.rows), np.load(arguments.queries)
    searches = {"faiss": faiss_search, "brute": brute_search, "tree": tree_search}
    for peer in arguments.peers.split(","):
        search = searches[peer](rows, queries, arguments.k, arguments.threads)
        print(json.dumps({"peer": peer, **measure(search, arguments.repeats)}), flush=True)


def faiss_search(rows, queries, k, threads):
    import faiss

    faiss.omp_set_num_threads(threads)
    rows, queries = rows.astype(np.float32), queries.astype(np.float32)

    def search():
        index = faiss.IndexFlatL2(rows.shape[1])
        index.add(rows)
        return index.search(queries, k)[1]

    return search


def brute_search(rows, queries, k, threads):
    return scikit_search(rows, queries, k, threads, ["brute"])


def tree_search(rows, queries, k, threads):
    return scikit_search(rows, queries, k, threads, ["kd_tree", "ball_tree"])


def scikit_search(rows, queries, k, threads, algorithms):
    from sklearn.neighbors import NearestNeighbors
    from threadpoolctl import threadpool_limits

    def run(algorithm):
        with threadpool_limits(threads):
            index = NearestNeighbors(n_neighbors=k, algorithm=algorithm, n_jobs=threads).fit(rows)
            return index.kneighbors(queries, return_distance=False)

    def seconds(algorithm):
        start = time.perf_counter()
        run(algorithm)
        return time.perf_counter() - start

    best = min(algorithms, key=seconds) if len(algorithms) > 1 else algorithms[0]
    return lambda: run(best)


def measure(search, repeats):
    search()  # warms caches and the thread pool
    wall, cpu = [], []
    for _ in range(repeats):
        start_wall, start_cpu = time.perf_counter(), time.process_time()
        found = search()
        wall.append(time.perf_counter() - start_wall)
        cpu.append(time.process_time() - start_cpu)
    return {
        "wall_min": min(wall),
        "wall_median": statistics.median(wall),
        "cpu_min": min(cpu),
        "cpu_median": statistics.median(cpu),
        "checksum": int(found.sum()),
    }


main()
