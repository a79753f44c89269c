"""Prints measurements, one JSON object a line, as tables: report.py target/bench.jsonl."""

import json
import sys


def main():
    lines = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
    fits = [line for line in lines if line["what"] == "fit"]
    if fits:
        print("One fit over all pairs, least CPU time of the run, in ms; ratio to the faster peer\n")
        print("| n | d | c | threads | mahala | NumPy | NumPy + SciPy | ratio |")
        print("|---|---|---|---|---|---|---|---|")
    for line in fits:
        times = [1e3 * line[who]["cpu_min"] for who in ("mahala", "numpy", "scipy")]
        shape = f"{line['n']} | {line['d']} | {line['c']} | {line['threads']}"
        print(f"| {shape} | " + " | ".join(f"{time:.2f}" for time in times) + f" | {line['cpu_ratio_to_best_peer']:.2f} |")
    searches = [line for line in lines if line["what"] == "search"]
    if searches:
        print("\nChoosing t (20 values, 5 folds) against the neighbour searches it contains, CPU time in ms\n")
        print("| n | d | c | threads | whole search | searches alone | ratio |")
        print("|---|---|---|---|---|---|---|")
    for line in searches:
        whole, alone = 1e3 * line["whole"]["cpu_min"], 1e3 * line["searches_alone"]["cpu_min"]
        shape = f"{line['n']} | {line['d']} | {line['c']} | {line['threads']}"
        print(f"| {shape} | {whole:.1f} | {alone:.1f} | {line['cpu_ratio']:.2f} |")
    report_neighbours([line for line in lines if line["what"] == "knn"])


def report_neighbours(lines):
    if lines:
        print("\nExact 5 nearest neighbours, index and search, least wall / CPU time in ms; ratio of the peer to mahala\n")
        print("| queries | rows | d | threads | mahala | peer | time | ratio |")
        print("|---|---|---|---|---|---|---|---|")
    for line in lines:
        shape = f"{line['queries']} | {line['rows']} | {line['d']} | {line['threads']}"
        ours = f"{1e3 * line['mahala']['wall_min']:.0f} / {1e3 * line['mahala']['cpu_min']:.0f}"
        for peer in line["peers"]:
            theirs = f"{1e3 * peer['wall_min']:.0f} / {1e3 * peer['cpu_min']:.0f}"
            ratio = f"{peer['wall_ratio']:.2f} / {peer['cpu_ratio']:.2f}"
            print(f"| {shape} | {ours} | {peer['peer']} | {theirs} | {ratio} |")


main()
