"""Labels are one thing: in Python, in the model file and in the command; and they keep their type."""

import subprocess

import numpy as np
import pytest

from mahala import GMML, MahalanobisKNN, Moments, load, load_classifier, save

RNG = np.random.default_rng(0)
CODES = np.arange(60) % 2
X = RNG.normal(size=(60, 3)) + 3 * CODES[:, None]

LABELS = {
    "int": np.array([3, 12])[CODES],
    "negative": np.array([-1, 1])[CODES],
    "whole float": np.array([1.0, 2.0])[CODES],
    "bool": np.array([False, True])[CODES],
    "str": np.array(["a", "b"])[CODES],
    "numbers as str": np.array(["10", "9"])[CODES],
    "codes as str": np.array(["007", "7"])[CODES],
    "bool as str": np.array(["True", "False"])[CODES],
    "object": np.array(["x", "y"], dtype=object)[CODES],
}


@pytest.mark.parametrize("kind", LABELS)
def test_classes_keep_their_type_through_fit_vote_save_and_load(kind, tmp_path):
    y = LABELS[kind]
    gmml = GMML(t=0.5).fit(X, y)
    np.testing.assert_array_equal(gmml.classes_, np.unique(y))
    assert gmml.classes_.dtype == np.unique(y).dtype
    knn = MahalanobisKNN(metric=gmml, n_neighbors=1).fit(X, y)
    np.testing.assert_array_equal(knn.predict(X), y)
    assert knn.predict(X).dtype == y.dtype
    votes = knn.predict_proba(X)
    np.testing.assert_array_equal(knn.classes_[votes.argmax(axis=1)], y)
    path = tmp_path / "m.safetensors"
    save(gmml, path, X, y)
    again = load_classifier(path, n_neighbors=1)
    assert again.classes_.dtype.kind == ("U" if y.dtype.kind == "O" else y.dtype.kind)
    predicted = again.predict(X)
    if kind == "bool as str":
        # The file has one spelling of a boolean.
        predicted = np.char.capitalize(predicted)
    np.testing.assert_array_equal(predicted, y)
    assert load(path).classes_.dtype.kind == again.classes_.dtype.kind


def test_batches_of_different_types_are_the_same_classes():
    whole = Moments(3).update(X, CODES)
    for labels in (CODES.astype(float), CODES.astype(np.float32), CODES.astype(str), np.array(["-0.0", "+1"])[CODES]):
        assert Moments(3).update(X, labels) == whole
    parts = Moments(3).update(X[:30], CODES[:30]).merge(Moments(3).update(X[30:], CODES[30:].astype(float)))
    assert (parts.classes, parts.counts) == (["0", "1"], [30, 30])
    fractions = np.array([0.1, 2.5])
    for labels in (fractions, fractions.astype(np.float32), fractions.astype(str)):
        assert Moments(3).update(X, labels[CODES]).classes == ["0.1", "2.5"]
    booleans = Moments(3).update(X, CODES.astype(bool))
    assert booleans == Moments(3).update(X, np.array(["FALSE", "true"])[CODES])
    assert booleans.classes == ["false", "true"]


def test_text_that_spells_one_class_twice_is_refused():
    y = np.array(["1", "2", "1.0", "2"] * 15)
    for learn in (GMML(t=0.5).fit, MahalanobisKNN().fit, GMML(t=0.5).partial_fit):
        with pytest.raises(ValueError, match=r"labels '1' and '1.0', which are one class \(1\); spell it in one way"):
            learn(X, y)
    gmml = GMML(t=0.5).partial_fit(X, np.array(["1", "2"])[CODES])
    with pytest.raises(ValueError, match="which are one class"):
        gmml.partial_fit(X, np.array(["1.0", "2.0"])[CODES])
    assert GMML(t=0.5).fit(X, np.array(["01", "1"])[CODES]).classes_.tolist() == ["01", "1"]


@pytest.mark.parametrize("kind", [kind for kind in LABELS if kind != "object"])
def test_the_command_knows_the_classes_of_a_model_from_python(kind, command, tmp_path):
    y = LABELS[kind]
    save(GMML(t=0.5).fit(X, y), tmp_path / "m.safetensors", X, y)
    lines = [",".join([*map(str, x), str(label)]) for x, label in zip(X.tolist(), y, strict=True)]
    (tmp_path / "rows.csv").write_text("f1,f2,f3,y\n" + "\n".join(lines) + "\n")
    ran = subprocess.run(
        [command, "predict", "m.safetensors", "rows.csv", "--label", "y", "-k", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "0 of 60 wrong" in ran.stderr
