"""A page about a vector store runs, and what its store finds is what an exact search finds.

``MAHALA_STORE=faiss pytest python/tests/stores/check_page.py``, in an environment with requirements-faiss.txt. The blocks of
docs/embeddings/faiss.md are run from top to bottom with ``documents``, ``labels`` and ``queries`` at hand. Each leaves the
places it found in ``found[WAY]``, with 10 for each query. MAHALA_WRITE=1 writes the measured table to the page.

Banking77 is used where MAHALA_DATA has it; else a generated stand-in, loudly, and the page's figures are not compared.
"""

import os
import pathlib
import re
import sys
import warnings

import numpy as np
import pytest
from mahala.retrieval import nearest

ROOT = pathlib.Path(__file__).resolve().parents[3]
STORE = os.environ.get("MAHALA_STORE", "")
PAGE = ROOT / "docs" / "embeddings" / f"{STORE}.md"
TABLE = re.compile(r"<!-- recall -->\n.*?<!-- /recall -->", re.DOTALL)
#: Similarities this near to the tenth count as equal to it: single precision, and stores that normalise again.
TIE = 2e-6
#: An index built by several threads differs from run to run.
SLACK = 0.03


def rows():
    file = pathlib.Path(os.environ.get("MAHALA_DATA") or ".", "embeddings", "banking77.npz")
    if file.is_file():
        data = np.load(file)
        part = np.random.default_rng(0).permutation(len(data["y_test"]))[:300]
        train, test = (data[f"minilm_{name}"].astype(np.float32) for name in ("train", "test"))
        return train, data["y_train"], test[part], data["y_test"][part], True
    warnings.warn(f"{file} is not there: a generated table stands in for Banking77", stacklevel=1)
    generator = np.random.default_rng(0)
    y = np.arange(2100) % 20
    X = generator.normal(size=(20, 48))[y] + generator.normal(size=(2100, 48)) * np.linspace(0.5, 3, 48)
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    return X[:2000], y[:2000], X[2000:], y[2000:], False


def test_the_store_finds_what_an_exact_search_finds(tmp_path, monkeypatch):
    if not STORE:
        pytest.skip("MAHALA_STORE names no store")
    if STORE == "sqlite-vec":
        sqlite_with_extensions(monkeypatch)
    documents, labels, queries, answers, real = rows()
    names = {"documents": documents, "labels": labels, "queries": queries, "found": {}}
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    for block in re.finditer(r"```python\n(.*?)```", text, re.DOTALL):
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], str(PAGE), "exec"), names)
    adapter = names["adapter"]
    mapped, asked = adapter.transform(documents), adapter.transform(queries)
    measured = {}
    for way, places in names["found"].items():
        plain = way.startswith("plain")
        gallery, probes = (documents, queries) if plain else (mapped, asked)
        measured[way] = recall(np.asarray(places), gallery, probes), np.mean(labels[np.asarray(places)[:, 0]] == answers)
    lines = ["| way | recall@10 | R@1 |", "|---|---|---|"]
    lines += [f"| {way} | {found:.3f} | {first:.3f} |" for way, (found, first) in measured.items()]
    print("\n".join(lines))
    if os.environ.get("MAHALA_WRITE") and real:
        PAGE.write_text(TABLE.sub("<!-- recall -->\n" + "\n".join(lines) + "\n<!-- /recall -->", text), encoding="utf-8")
        text = PAGE.read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\| (.+?) \| ([\d.]+) \| [\d.]+ \|$", TABLE.search(text)[0], re.MULTILINE))
    assert stated.keys() == measured.keys(), "the page's table has other ways than its code"
    for way, (found, _) in measured.items():
        if "exact" in way:
            assert found == 1, f"{way}: recall@10 is {found}"
        elif real:
            assert found >= float(stated[way]) - SLACK, f"{way}: recall@10 is {found}, the page says {stated[way]}"


def sqlite_with_extensions(monkeypatch):
    """The interpreter's own sqlite3 if it can load extensions, else pysqlite3 in its place."""
    import sqlite3

    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        other = pytest.importorskip("pysqlite3", reason="SKIPPED sqlite-vec: this interpreter's sqlite3 loads no extensions")
        warnings.warn("this interpreter's sqlite3 loads no extensions: pysqlite3 stands in for it", stacklevel=1)
        monkeypatch.setitem(sys.modules, "sqlite3", other)


def recall(places, gallery, queries):
    """The share of found rows that are as near as the tenth of an exact search: ties by distance, not by place."""
    assert places.shape == (len(queries), 10)
    _, similarity = nearest(gallery, queries, 10)
    unit = lambda rows: rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    gallery, queries, hits = unit(gallery), unit(queries), 0
    for query, row, least in zip(queries, places, similarity[:, -1], strict=True):
        row = np.unique(row[row >= 0])
        hits += min(10, int((gallery[row] @ query >= least - TIE).sum()))
    return hits / places.size
