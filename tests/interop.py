"""Other programs read what mahala writes, and write what mahala reads.

ONNX through onnxruntime, the model through the safetensors package, NPY through NumPy; Parquet from
pyarrow, NPY from NumPy, LIBSVM from scikit-learn, Arrow (Feather) files and streams from pyarrow. The metric is computed once more here with SciPy from
the formula, and the neighbours with scikit-learn.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import safetensors
import scipy.linalg
import sklearn.datasets
import sklearn.neighbors
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
WINE = ROOT / "data" / "wine.csv"
MAHALA = ROOT / "target" / "release" / "mahala"


def main():
    tests = [value for name, value in globals().items() if name.startswith("test_")]
    failed = 0
    rows = np.genfromtxt(WINE, delimiter=",", skip_header=1)
    x, y = np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(int)
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(pathlib.Path(folder), x, y)
                print("ok     " + test.__name__[5:].replace("_", " "))
            except Exception as error:  # every failure is reported, none hides the next
                failed += 1
                print(f"FAILED {test.__name__[5:].replace('_', ' ')}: {error!r}")
    print(f"{len(tests) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


def mahala(*arguments):
    run = subprocess.run([MAHALA, *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def fit(folder, *options, data=WINE, label="label"):
    model = folder / "model.safetensors"
    # A LIBSVM file has its labels where the format has them.
    label = () if label is None else ("--label", label)
    mahala("fit", data, *label, "--method", "gmml", "-o", model, *options)
    return model


def test_onnxruntime_maps_rows_as_transform_does(folder, x, y):
    for options, precision, tolerance in [((), (), 1e-12), (("--standardize",), (), 1e-12), ((), ("--f32",), 1e-4)]:
        model = fit(folder, *options)
        mahala("export", model, "-o", folder / "m.onnx", *precision)
        mahala("transform", model, WINE, "-o", folder / "z.npy")
        onnx.checker.check_model(onnx.load(folder / "m.onnx"), full_check=True)
        session = onnxruntime.InferenceSession(folder / "m.onnx")
        [ours] = session.run(None, {"X": x.astype(np.float32 if precision else np.float64)})
        theirs = np.load(folder / "z.npy")
        assert ours.shape == theirs.shape
        # Sums of 13 terms in another order: rounding of the format, times the size of the terms.
        assert np.abs(ours - theirs).max() <= tolerance * np.abs(theirs).max() * 100


def test_the_model_file_opens_in_the_safetensors_package(folder, x, y):
    model = fit(folder, "--standardize")
    tensors = load_file(model)
    with safetensors.safe_open(model, framework="numpy") as file:
        metadata = file.metadata()
    assert metadata["format"] == "mahala-metric" and metadata["n_features"] == "13"
    z = ((x - tensors["mean"]) / tensors["scale"]) @ tensors["components"].T
    # The stored training rows are the transformed ones.
    assert np.abs(z - tensors["references"]).max() <= 1e-11 * np.abs(z).max()
    assert json.loads(metadata["params"])["standardize"] is True


def test_exported_matrices_agree_with_each_other(folder, x, y):
    model = fit(folder)
    mahala("export", model, "-o", folder / "l.npy")
    mahala("export", model, "--what", "matrix", "-o", folder / "a.npy")
    components, matrix = np.load(folder / "l.npy"), np.load(folder / "a.npy")
    assert np.abs(components.T @ components - matrix).max() <= 1e-13 * np.abs(matrix).max()
    text = np.genfromtxt(mahala("export", model, "--what", "matrix", "--format", "csv", "-o", "-").splitlines()[1:], delimiter=",")
    assert (text == matrix).all()


def test_scipy_computes_the_same_metric_from_the_formula(folder, x, y):
    # Standardised, so that plain double precision is enough for both.
    z = (x - x.mean(0)) / x.std(0)
    difference = z[:, None, :] - z[None, :, :]
    same = y[:, None] == y[None, :]
    s = np.einsum("ijk,ijl->kl", difference[same][:, None], difference[same][:, None])
    d = np.einsum("ijk,ijl->kl", difference[~same][:, None], difference[~same][:, None])
    for t in [0.0, 0.3, 0.5, 1.0]:
        model = fit(folder, "--standardize", "--t", t)
        mahala("export", model, "--what", "matrix", "-o", folder / "a.npy")
        ours = np.load(folder / "a.npy") * np.outer(x.std(0), x.std(0))
        root = np.real(scipy.linalg.sqrtm(s))
        inverse = np.linalg.inv(root)
        theirs = inverse @ np.real(scipy.linalg.fractional_matrix_power(root @ d @ root, t)) @ inverse
        # A common factor depends on how pairs are counted and changes no neighbour.
        ours, theirs = ours / np.trace(ours), theirs / np.trace(theirs)
        assert np.abs(ours - theirs).max() <= 1e-9 * np.abs(theirs).max(), t


def test_scikit_learn_finds_the_same_neighbours(folder, x, y):
    model = fit(folder)
    mahala("transform", model, WINE, "-o", folder / "z.npy")
    z = np.load(folder / "z.npy")
    search = sklearn.neighbors.NearestNeighbors(n_neighbors=6, algorithm="brute").fit(z)
    theirs = search.kneighbors(z, return_distance=False)[:, 1:]
    lines = mahala("neighbors", model, WINE, "-k", 5).splitlines()[1:]
    ours = np.array([int(line.split(",")[2]) - 1 for line in lines]).reshape(-1, 5)
    assert (ours == theirs).mean() > 0.999


def test_files_of_other_programs_give_the_same_model(folder, x, y):
    np.save(folder / "c.npy", np.column_stack([x, y]))
    np.save(folder / "fortran.npy", np.asfortranarray(np.column_stack([x, y])))
    np.save(folder / "big.npy", np.column_stack([x, y]).astype(">f8"))
    columns = {f"f{j + 1}": x[:, j] for j in range(x.shape[1])}
    table = pyarrow.table({**columns, "label": y})
    for compression in ["none", "snappy", "gzip", "zstd", "lz4"]:
        pyarrow.parquet.write_table(table, folder / f"{compression}.parquet", compression=compression)
    for compression in ["uncompressed", "zstd", "lz4"]:
        pyarrow.feather.write_feather(table, folder / f"{compression}.feather", compression=compression, chunksize=50)
    with pyarrow.ipc.new_stream(folder / "stream.arrows", table.schema) as stream:
        stream.write_table(table, max_chunksize=70)
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(x.ravel()), x.shape[1])
    pyarrow.feather.write_feather(pyarrow.table({"f": lists, "label": pyarrow.array(y).cast("string").dictionary_encode()}), folder / "lists.feather")
    sklearn.datasets.dump_svmlight_file(x, y, str(folder / "w.svm"), zero_based=False)
    wanted = load_file(fit(folder))["components"]
    sources = [("c.npy", "-1"), ("fortran.npy", "-1"), ("big.npy", "-1"), ("w.svm", None)]
    sources += [(f"{c}.parquet", "label") for c in ["none", "snappy", "gzip", "zstd", "lz4"]]
    sources += [(f"{c}.feather", "label") for c in ["uncompressed", "zstd", "lz4", "lists"]] + [("stream.arrows", "label")]
    for name, label in sources:
        components = load_file(fit(folder, data=folder / name, label=label))["components"]
        assert (components == wanted).all(), name


main()
