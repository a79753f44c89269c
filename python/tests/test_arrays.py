"""Arrays of every layout and type give the same bits."""

import subprocess
import sys

import numpy as np
import pytest
from mahala import GMML, MahalanobisKNN, Moments, _mahala


def misaligned(X):
    buffer = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = np.frombuffer(buffer.data, dtype=np.float64, count=X.size, offset=1).reshape(X.shape)
    view.flags.writeable = True
    view[:] = X
    assert not view.flags.aligned
    return view


def in_record(X):
    """A field of a packed record: strides that are no multiple of eight."""
    table = np.zeros(len(X), dtype=np.dtype([("tag", "u1"), ("x", "f8", X.shape[1:])]))
    table["x"] = X
    return table["x"]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "backwards in columns": lambda X: np.ascontiguousarray(X[:, ::-1])[:, ::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "misaligned": misaligned,
    "in a record": in_record,
    "read-only": read_only,
    "list": lambda X: X.tolist(),
    "transposed twice": lambda X: np.array(X.T, order="F").T,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_changes_no_bit(wine, layout):
    X, y = wine
    other = LAYOUTS[layout](X)
    wanted, got = (GMML(t=0.3).fit(rows, y) for rows in (X, other))
    assert (wanted.components_ == got.components_).all()
    assert (wanted.transform(X) == got.transform(other)).all()
    assert Moments(13).update(X, y) == Moments(13).update(other, y)
    knns = [MahalanobisKNN().fit(rows, y).kneighbors(rows)[1] for rows in (X, other)]
    assert (knns[0] == knns[1]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint16, bool, object])
def test_other_types_are_converted(iris, dtype):
    X, y = iris
    X = X.round().astype(dtype)
    wanted, got = (GMML(t=0.3).fit(rows, y) for rows in (X.astype(np.float64), X))
    assert (wanted.components_ == got.components_).all()
    assert got.transform(X).dtype == (np.float32 if dtype == np.float32 else np.float64)


@pytest.mark.parametrize("order", ["C", "F"])
def test_moments_of_32_bits_are_those_of_the_same_numbers(wine, order):
    X, y = wine
    single = np.array(X, dtype=np.float32, order=order)
    assert Moments(13).update(single, y) == Moments(13).update(single.astype(np.float64), y)


@pytest.mark.parametrize("layout", ["misaligned", "big-endian", "in a record", "backwards"])
def test_the_compiled_part_itself_takes_every_layout(wine, layout):
    X, _ = wine
    state = (np.eye(13), np.zeros(13), None, None)
    wanted, got = (_mahala.transform(state, rows, None) for rows in (X, LAYOUTS[layout](X)))
    assert (wanted == got).all()


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
def test_rows_are_summed_where_they_lie(wine):
    """The peak memory of adding rows does not grow with a copy of them."""
    import resource

    X = np.zeros((400_000, 60), order="F")
    X[:, 0] = np.arange(len(X)) % 17
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _mahala.Moments(60).add(X, ["a"], np.zeros(len(X), dtype=np.uint32), None, 1)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # The rows are 192 MB; their labels are kept as indices, 8 bytes each.
    assert grown * 1024 < X.nbytes / 4


def test_the_input_is_not_changed(wine):
    X, y = wine[0].copy(), wine[1].copy()
    MahalanobisKNN(metric=GMML(standardize=True)).fit(X, y).predict(X)
    assert (X == wine[0]).all() and (y == wine[1]).all()


def test_a_classifier_keeps_its_own_rows(iris):
    X, y = iris[0].copy(), iris[1]
    knn = MahalanobisKNN().fit(X, y)
    before = knn.predict(iris[0])
    X[:] = 0
    assert (knn.predict(iris[0]) == before).all()


def test_wrong_calls_of_the_compiled_part_raise(iris):
    X, _ = iris
    codes = np.zeros(150, dtype=np.uint32)
    index = _mahala.NeighborIndex(X, None)
    found = index.search(X, 1, None)
    with pytest.raises(ValueError, match="class code"):
        _mahala.vote(found, ["a"], codes + 1, None)
    with pytest.raises(ValueError, match="rows with a label or target: 3 given, 150 expected"):
        _mahala.vote(found, ["a"], codes[:3], None)
    with pytest.raises(ValueError, match="weights of neighbours: 300 given, 150 expected"):
        _mahala.neighbor_means(found, X, np.ones((150, 2)))
    with pytest.raises(ValueError, match="n_neighbors is 0"):
        index.search(X, 0, None)
    with pytest.raises(ValueError, match="as many first as second"):
        _mahala.pair_distances((np.eye(4), np.zeros(4), None, None), X, X[:3], None)
    with pytest.raises(ValueError, match="2 dimensions"):
        _mahala.NeighborIndex(X[0], None)
    with pytest.raises(ValueError, match="finite"):
        _mahala.NeighborIndex(X * np.nan, None)
    assert index.search(X[:0], 1, None)[0].shape == (0, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
def test_a_fit_reads_row_major_arrays_where_they_lie():
    script = """
import resource
import subprocess
import sys

import numpy as np
from mahala import GMML
rows = np.random.default_rng(0).normal(size=(400_000, 64))
labels = np.arange(len(rows)) % 2
GMML(t=0.5).fit(rows[:1000], labels[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
GMML(t=0.5).fit(rows, labels)
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before), rows.nbytes)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    grown, size = map(int, run.stdout.split())
    # Labels and their groups take a tenth of the rows; a copy would take all of it.
    assert grown < size / 2
