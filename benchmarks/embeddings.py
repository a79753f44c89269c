"""Retrieval by adapted embeddings: `python benchmarks/embeddings.py [FOLDER] [--quick] [--write FILE]`.

FOLDER (or MAHALA_EMBEDDINGS, or the folder embeddings of MAHALA_DATA) holds banking77.npz, clinc150.npz and cranfield.npz.
Protocols: classes seen (learn on train, gallery = train, queries = test); classes unseen (five halves of the classes: learn
on one, search in the other); few labels (10 rows a class, five draws); Cranfield (learn from half of the queries, both halves
in turn). Search is by cosine. Seconds are those of the fit, choice included.

Beside the closed forms: a linear map trained by a supervised contrastive loss (see `contrastive`), and a logistic head whose
class scores are searched as rows. Both are linear maps of the embeddings, as the adapter is.
"""

import argparse
import os
import pathlib
import sys
import time

import numpy as np
import scipy.linalg
from mahala.embeddings import Adapter, Member
from mahala.retrieval import judged_scores, paired_test, retrieval_scores
from sklearn.linear_model import LogisticRegression

#: What stands before this line in the written file is kept.
HEADING = "## Tables"
MEASURES = ("r@1", "recall@5", "map@r")
METHODS = {
    "cosine": Member("plain"),
    "whitening": Member("whitening", 0.1),
    "LDA": Member("lda", 0.1),
    "KISSME": Member("kissme", 0.1),
    "XQDA": "xqda",
    "GMML t = .3": Member("gmml", 0.1, t=0.3),
    "between-GMML t = .3": Member("gmml", 0.1, t=0.3, within=0.1),
    "Adapter (seen)": "seen",
    "Adapter (unseen)": "unseen",
    "contrastive, trained": "contrastive",
    "logistic head": "logistic",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--quick", action="store_true", help="Banking77 with the static embeddings alone, one draw")
    parser.add_argument("--write", metavar="FILE", help="also write the tables to FILE, after the text it has")
    options = parser.parse_args()
    folder = options.folder or os.environ.get("MAHALA_EMBEDDINGS") or pathlib.Path(os.environ.get("MAHALA_DATA") or ".", "embeddings")
    folder = pathlib.Path(folder)
    if not (folder / "banking77.npz").is_file():
        print(f"SKIPPED: {folder} has no banking77.npz; name the folder, or set MAHALA_EMBEDDINGS", file=sys.stderr)
        return
    draws = 1 if options.quick else 5
    lines = []
    for name, models in {"banking77": ("wordllama", "minilm"), "clinc150": ("wordllama", "minilm")}.items():
        if options.quick and name != "banking77":
            continue
        data = np.load(folder / f"{name}.npz")
        for model in models[: 1 if options.quick else 2]:
            lines += table(f"{name}, {model}", *arrays(data, model), draws)
    if not options.quick:
        lines += cranfield(np.load(folder / "cranfield.npz"))
    if options.write:
        file = pathlib.Path(options.write)
        before = file.read_text(encoding="utf-8").partition(HEADING)[0] if file.exists() else ""
        file.write_text(before + HEADING + "\n\n" + "\n".join(lines).rstrip() + "\n", encoding="utf-8")


def arrays(data, model):
    """Rows and labels of both parts; float16 rows are given as float32, as a model would give them."""
    return tuple(data[f"{model}_{part}"].astype(np.float32) if rows else data[f"y_{part}"]
                 for part in ("train", "test") for rows in (True, False))  # fmt: skip


def table(title, X, y, Q, v, draws):
    lines = [f"### {title}", "", "R@1 / recall@5 / MAP@R in percent, and seconds of a fit. Unseen and few labels: means of the draws.", ""]
    lines += ["| method | classes seen | s | classes unseen | s | 10 rows a class | s |", "|---|---|---|---|---|---|---|"]
    tell(lines)
    for name, method in METHODS.items():
        cells = [name]
        for protocol in (seen, unseen, few):
            results = [measured(method, *part) for part in protocol(X, y, Q, v, draws)]
            scores, seconds = np.mean([result[0] for result in results], axis=0), np.mean([result[1] for result in results])
            cells += [" / ".join(f"{100 * score:.1f}" for score in scores), f"{seconds:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
        tell(lines[-1:])
    return [*lines, ""]


def seen(X, y, Q, v, draws):
    yield X, y, X, y, Q, v


def unseen(X, y, Q, v, draws):
    generator, classes = np.random.default_rng(0), np.unique(y)
    for _ in range(draws):
        half = generator.permutation(classes)[: len(classes) // 2]
        train, test = np.isin(y, half), np.isin(v, half)
        yield X[train], y[train], X[~train], y[~train], Q[~test], v[~test]


def few(X, y, Q, v, draws):
    generator = np.random.default_rng(0)
    for _ in range(draws):
        order = generator.permutation(len(y))
        order = order[np.argsort(y[order], kind="stable")]
        counts = np.unique(y, return_counts=True)[1]
        place = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = np.sort(order[place < 10])
        yield X[rows], y[rows], X[rows], y[rows], Q, v


def measured(method, X, y, gallery, gallery_labels, queries, query_labels):
    start = time.perf_counter()
    transform, seconds = fitted(method, X, y, held_out_classes=not np.isin(query_labels, y).any())
    seconds = time.perf_counter() - start if seconds is None else seconds
    scores = retrieval_scores(transform(gallery), gallery_labels, transform(queries), query_labels, measures=MEASURES)
    return [np.nanmean(scores[name]) for name in MEASURES], seconds


def fitted(method, X, y, held_out_classes):
    """Rows in, mapped rows out; seconds where they are not simply those of the call."""
    if isinstance(method, Member):
        return Adapter(member=method).fit(X, y).transform, None
    if method in ("seen", "unseen"):
        return Adapter(classes=method).fit(X, y).transform, None
    if method == "xqda":
        return xqda(X, y), None
    if method == "logistic":
        return LogisticRegression(C=10, max_iter=300).fit(X, y).decision_function, None
    return contrastive(X, np.unique(y, return_inverse=True)[1], held_out_classes)


def xqda(X, y, ridge=1e-3):
    """Cross-view quadratic discriminant analysis with one view (Liao et al. 2015).

    S^-1 D has its eigenvectors with eigenvalue above 1 as W; the metric is W [(W'SW)^-1 - (W'DW)^-1]_+ W'.
    """
    codes = np.unique(y, return_inverse=True)[1]
    counts = np.bincount(codes).astype(np.float64)
    rows = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    sums = np.zeros((len(counts), X.shape[1]))
    np.add.at(sums, codes, rows)
    n = len(y)
    of_classes = (rows * counts[codes, None]).T @ rows - sums.T @ sums  # over pairs of one class
    of_all = n * rows.T @ rows  # the sum of the rows is zero
    pairs = (counts * (counts - 1)).sum() / 2
    S = of_classes / pairs + ridge * np.eye(X.shape[1])
    D = (of_all - of_classes) / (n * (n - 1) / 2 - pairs)
    values, vectors = scipy.linalg.eigh(D, S)
    W = vectors[:, values > 1]
    values, vectors = np.linalg.eigh(np.linalg.inv(W.T @ S @ W) - np.linalg.inv(W.T @ D @ W))
    L = (vectors * np.sqrt(np.maximum(values, 0))).T @ W.T
    mean = X.mean(axis=0, dtype=np.float64)
    return lambda Z: (Z - mean) @ L.T


def contrastive(X, codes, held_out_classes, epochs=60, patience=6, batch=512, rate=1e-3, temperature=0.1):
    """A square linear map trained by the supervised contrastive loss (Khosla et al. 2020), Adam, from the identity.

    The validation set is a tenth of the rows, or a quarter of the classes where future classes are others. The seconds are
    those of training alone, until validation MAP@R is first within .2 percent points of its best.
    """
    generator = np.random.default_rng(0)
    if held_out_classes:
        chosen = generator.permutation(codes.max() + 1)[: (codes.max() + 1) // 4]
        validation = np.isin(codes, chosen)
    else:
        validation = np.zeros(len(X), bool)
        validation[generator.permutation(len(X))[: max(len(X) // 10, 50)]] = True
    rows, labels = X[~validation].astype(np.float32), codes[~validation]
    W = np.eye(X.shape[1], dtype=np.float32)
    first, second = np.zeros_like(W), np.zeros_like(W)
    seconds, steps, history = 0.0, 0, []
    while len(history) < epochs:
        history.append((validation_quality(W, X, codes, validation, held_out_classes), seconds, W.copy()))
        if np.argmax([quality for quality, *_ in history]) < len(history) - patience:
            break
        start = time.perf_counter()
        order = generator.permutation(len(rows))
        for part in np.array_split(order, max(1, len(rows) // batch)):
            gradient = contrastive_gradient(W, rows[part], labels[part], temperature)
            steps += 1
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            W = W - rate * (first / (1 - 0.9**steps)) / (np.sqrt(second / (1 - 0.999**steps)) + 1e-8)
        seconds += time.perf_counter() - start
    best = max(quality for quality, *_ in history)
    seconds = next(until for quality, until, _ in history if quality >= best - 0.002)
    W = next(weights for quality, _, weights in history if quality == best)
    return lambda Z: Z.astype(np.float32) @ W.T, seconds


def contrastive_gradient(W, rows, labels, temperature):
    """d/dW of the mean over rows of -log softmax(z_i'z_j / temperature), over the rows j of i's class, z = Wx / |Wx|."""
    mapped = rows @ W.T
    length = np.linalg.norm(mapped, axis=1, keepdims=True)
    z = mapped / length
    scores = z @ z.T / temperature
    np.fill_diagonal(scores, -np.inf)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    same = (labels[:, None] == labels).astype(np.float32)
    np.fill_diagonal(same, 0)
    count = same.sum(axis=1, keepdims=True)
    G = np.where(count > 0, p - same / np.maximum(count, 1), 0) / (temperature * max(1, (count > 0).sum()))
    dz = (G + G.T) @ z
    dmapped = (dz - z * np.einsum("ij,ij->i", dz, z)[:, None]) / length
    return dmapped.T @ rows


def validation_quality(W, X, codes, validation, held_out_classes):
    Z = X @ W.T
    if held_out_classes:
        scores = retrieval_scores(Z[validation], codes[validation], measures=["map@r"])
    else:
        scores = retrieval_scores(Z[~validation], codes[~validation], Z[validation], codes[validation], measures=["map@r"])
    return np.nanmean(scores["map@r"])


def cranfield(data):
    documents, queries = (data[f"minilm_{part}"].astype(np.float32) for part in ("documents", "queries"))
    judgements = data["judgements"].astype(np.float64)
    judgements = judgements[judgements[:, 2] > 0]
    judgements[:, 2] = 5 - judgements[:, 2]
    measure = lambda f: judged_scores(f(documents), f(queries), judgements, measures=["ndcg@10"])["ndcg@10"]
    before, after, words = measure(lambda rows: rows), np.full(len(queries), np.nan), []
    half = np.random.default_rng(0).permutation(len(queries)) % 2
    start = time.perf_counter()
    for part in (0, 1):
        adapter = Adapter().fit_clicks(queries, documents, judgements[half[judgements[:, 0].astype(int)] == part])
        after[half != part] = measure(adapter.transform)[half != part]
        words.append(adapter.report_.reason)
    seconds = (time.perf_counter() - start) / 2
    lines = ["### Cranfield, minilm", "", "Learned from half of the queries, measured on the other, both in turn; nDCG@10.", ""]
    lines += [f"Cosine {np.nanmean(before):.4f}, Adapter {np.nanmean(after):.4f}, {seconds:.2f} s a fit; "
              f"difference {paired_test(before, after)}.", "", *(f"- {reason}" for reason in words), ""]  # fmt: skip
    tell(lines)
    return lines


def tell(lines):
    print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
