"""The automatic mode by each criterion on sentence embeddings, with classes that are known and with classes that are not.

Usage: python benchmarks/criteria.py [FOLDER] [-o RESULTS.json] [--only banking77|clinc150]
       python benchmarks/criteria.py --tables RESULTS.json     prints what docs/results/criteria.md holds
FOLDER is that of benchmarks/embeddings.py, whose protocols these are: classes seen (learn on train, gallery = train, queries = test), and classes
unseen (halves of the classes: learn on one, search in the other; means of the draws). Search is by cosine. Choices are made on training rows alone:
by folds of rows where the classes are known, by folds of classes where they are not. CPU seconds of a fit on one thread, choice included.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"]:
    os.environ[variable] = "1"

import numpy as np
from embeddings import arrays, seen, unseen
from mahala import AutoGMML
from mahala.embeddings import Adapter, Member
from mahala.retrieval import retrieval_scores

CRITERIA = ["knn-error", "balanced-error", "r@1", "recall@5", "map@r", "mrr", "ndcg@10", "roc-auc", "eer"]
MEASURES = ["r@1", "recall@5", "map@r"]
CLOSED = {
    "cosine": Member("plain"),
    "LDA": Member("lda", 0.1),
    "KISSME": Member("kissme", 0.1),
    "GMML t = .3": Member("gmml", 0.1, t=0.3),
    "between-GMML t = .3": Member("gmml", 0.1, t=0.3, within=0.1),
}
DRAWS = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("criteria.json"))
    parser.add_argument("--only", choices=["banking77", "clinc150"])
    parser.add_argument("--tables", type=Path, metavar="RESULTS")
    args = parser.parse_args()
    if args.tables:
        return tables(json.loads(args.tables.read_text()))
    folder = args.folder or Path(os.environ.get("MAHALA_DATA", "."), "embeddings")
    results = {}
    for name in [args.only] if args.only else ["banking77", "clinc150"]:
        data = np.load(folder / f"{name}.npz")
        for model in ["wordllama", "minilm"]:
            found = results[f"{name}, {model}"] = {}
            for method, make in methods().items():
                for protocol, parts in {"seen": seen, "unseen": unseen}.items():
                    draws = [measured(make(protocol), *part) for part in parts(*arrays(data, model), DRAWS)]
                    found.setdefault(method, {})[protocol] = draws
                    print(name, model, method, protocol, np.mean(draws, axis=0).round(4), flush=True)
                args.output.write_text(json.dumps(results, indent=1))
    return 0


def methods():
    """Each method by its name, to be made for classes that are seen or unseen."""
    table = {name: lambda protocol, member=member: Adapter(member=member) for name, member in CLOSED.items()}
    table["Adapter"] = lambda protocol: Adapter(classes=protocol)
    for criterion in CRITERIA:
        table[f"auto by {criterion}"] = lambda protocol, criterion=criterion: AutoGMML(
            scoring=criterion, similarity="cosine", folds_over="rows" if protocol == "seen" else "classes", n_jobs=1
        )
    return table


def measured(method, X, y, gallery, gallery_labels, queries, query_labels):
    """R@1, recall@5, MAP@R, the error of five neighbours, and CPU seconds of the fit."""
    start = time.process_time()
    method.fit(X, y)
    seconds = time.process_time() - start
    gallery, queries = method.transform(gallery), method.transform(queries)
    scores = retrieval_scores(gallery, gallery_labels, queries, query_labels, measures=MEASURES)
    return [*(float(np.nanmean(scores[m])) for m in MEASURES), voted(gallery, gallery_labels, queries, query_labels), seconds]


def voted(gallery, gallery_labels, queries, query_labels, k=5):
    """Error of the vote of five neighbours by cosine; of equal votes the class of the nearest wins."""
    unit = lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True)
    likeness, wrong = unit(queries) @ unit(gallery).T, 0
    for row, truth in zip(likeness, query_labels):
        nearest = np.argpartition(-row, k)[:k]
        labels = gallery_labels[nearest[np.argsort(-row[nearest])]]
        votes = {label: np.sum(labels == label) for label in labels}
        wrong += max(votes, key=votes.get) != truth
    return wrong / len(query_labels)


def tables(results):
    for name, found in results.items():
        print(f"### {name}\n")
        print("| method | seen: R@1 / recall@5 / MAP@R | 5-NN error | CPU s | unseen: R@1 / recall@5 / MAP@R | 5-NN error | CPU s |")
        print("|---|---|---|---|---|---|---|")
        for method, protocols in found.items():
            cells = []
            for draws in protocols.values():
                *scores, wrong, seconds = np.mean(draws, axis=0)
                cells += [" / ".join(f"{100 * score:.1f}" for score in scores), f"{100 * wrong:.1f}", f"{seconds:.2g}"]
            print(f"| {method} | " + " | ".join(cells) + " |")
        for protocol in ["seen", "unseen"]:
            quality = {method: np.mean(protocols[protocol], axis=0)[2] for method, protocols in found.items()}
            best = max(quality, key=quality.get)
            print(f"\nMAP@R, {protocol}: best {best} {100 * quality[best]:.1f}, auto by map@r {100 * quality['auto by map@r']:.1f}.")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
