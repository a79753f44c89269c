"""What a fit warns of, and errors that name the thing to change."""

import json
import pickle
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from mahala import (
    GMML,
    ITML,
    AutoGMML,
    GMMLPairs,
    KernelGMML,
    LocalGMML,
    MahalanobisKNN,
    MahalaWarning,
    geometric_mean,
    riemannian_distance,
    save,
)
from mahala._diagnostics import Diagnostics
from mahala.embeddings import Adapter
from mahala.retrieval import bootstrap_interval, paired_test
from sklearn.datasets import load_diabetes
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def test_a_quiet_fit_warns_of_nothing(wine):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for estimator in (GMML(), AutoGMML(budget=2.0), LocalGMML(), KernelGMML(standardize=True)):
            estimator.fit(*wine)


def test_a_ridge_is_told(wine):
    X, y = wine
    # A column that is the class does not vary within classes: S is singular, D is not.
    with pytest.warns(MahalaWarning, match="S is singular or nearly so.*drop columns that repeat.*shrinkage or reg"):
        GMML(t=0.5).fit(np.column_stack([X, y]), y)
    # Columns that repeat others need no ridge: the metric is learned in the span of the rows.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        repeated = GMML(t=0.5).fit(np.column_stack([X, X[:, 0]]), y)
        GMML(t=0.5, shrinkage=0.1).fit(np.column_stack([X, X[:, 0]]), y)
    assert repeated.diagnostics_["span"]["directions"] == 13


def test_labels_that_look_like_a_quantity_are_told():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(MahalaWarning, match="y has 214 classes for 442 rows; if it is a quantity, bin it"):
        GMML(t=0.5).fit(X, y.astype(int))
    for estimator in (GMML(t=0.5), AutoGMML(), KernelGMML(), LocalGMML(), ITML(), MahalanobisKNN()):
        with pytest.raises(ValueError, match=r"Unknown label type: continuous.*KBinsDiscretizer.*GMMLPairs"):
            estimator.fit(X, y + 0.5)


def test_minus_one_beside_other_classes_is_told(iris):
    X, y = iris
    partly = np.where(np.arange(150) % 5 == 0, -1, y)
    for estimator in (GMML(t=0.5), AutoGMML(budget=2.0), ITML()):
        with pytest.warns(MahalaWarning, match="a class -1 beside others.*leave them out"):
            estimator.fit(X, partly)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MahalaWarning)
        GMML(t=0.5).fit(X, np.where(y == 0, -1, 1))
        GMML(t=0.5).fit(X, y - 2)


def test_a_choice_that_held_out_rows_do_not_speak_for_is_told():
    X = np.array([[0.0, 1.0], [9.0, 8.0], [1.0, 0.0], [8.0, 9.0]])
    with pytest.warns(MahalaWarning, match="100.0% of held-out rows into a wrong class.*most frequent class 50.0%"):
        GMML(n_neighbors=1).fit(X, [0, 0, 1, 1])
    random = np.random.default_rng(0)
    noise, y = random.normal(size=(80, 3)), np.arange(80) % 8 > 1
    for estimator in (GMML(n_neighbors=1), AutoGMML(n_neighbors=1, budget=1.0), KernelGMML(n_neighbors=1)):
        with pytest.warns(MahalaWarning, match="the columns say nothing about the classes"):
            estimator.fit(noise, y)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_text_is_named(iris, library):
    frames = pytest.importorskip(library)
    X, y = iris
    frame = frames.DataFrame({"length": X[:, 0], "kind of leaf": ["long", "short", "wide"] * 50, "width": X[:, 1]})
    for estimator in (GMML(t=0.5), AutoGMML(), KernelGMML(), LocalGMML(), ITML(), MahalanobisKNN()):
        with pytest.raises(ValueError, match="could not convert string.*; column 'kind of leaf' holds text: drop it"):
            estimator.fit(frame, y)
    with pytest.raises(ValueError, match="column 1 holds text"):
        GMML(t=0.5).fit(frame.to_numpy().astype(object), y)


def test_marks_of_pairs_may_be_zeros_ones_and_booleans(iris, pairs):
    X, _ = iris
    indices, marks = pairs
    learner = GMMLPairs(preprocessor=X).fit(indices, marks)
    for other in (marks == 1, (marks == 1).astype(int), (marks == 1).astype(float)):
        again = GMMLPairs(preprocessor=X).fit(indices, other)
        assert (again.components_ == learner.components_).all() and again.threshold_ == learner.threshold_
        assert again.score(indices, other) == learner.score(indices, marks)
        assert ((again.predict(indices) == again.classes_[1]) == (learner.predict(indices) == 1)).all()
        itml = ITML(max_iter=500).fit_pairs(X[indices], other)
        assert (itml.components_ == ITML(max_iter=500).fit_pairs(X[indices], marks).components_).all()
    with pytest.raises(ValueError, match="Marks may be 0 and 1"):
        GMMLPairs(preprocessor=X).fit(indices, np.where(marks == 1, 2, 0))


def test_probabilities_without_calibration_name_the_parameter(iris, pairs):
    learner = GMMLPairs(preprocessor=iris[0]).fit(*pairs)
    assert not hasattr(learner, "predict_proba")
    with pytest.raises(AttributeError, match="set calibration='platt' or calibration='isotonic'.*or call calibrate"):
        learner.predict_proba(pairs[0])
    assert learner.calibrate(*pairs).predict_proba(pairs[0]).shape == (600, 2)


def test_what_holds_a_metric_is_not_one(wine, tmp_path):
    X, y = wine
    pipeline = make_pipeline(StandardScaler(), GMML(t=0.5), KNeighborsClassifier()).fit(X, y)
    with pytest.raises(TypeError, match=r"a Pipeline cannot be.*save\(pipeline\['gmml'\], path\)"):
        save(pipeline, tmp_path / "m.st")
    with pytest.raises(TypeError, match=r"save\(knn.metric_, path, X, y\)"):
        save(MahalanobisKNN(metric=GMML(t=0.5)).fit(X, y), tmp_path / "m.st")
    with pytest.raises(TypeError, match="only metrics of this package"):
        save(KNeighborsClassifier().fit(X, y), tmp_path / "m.st")
    assert list(tmp_path.iterdir()) == []


def test_asymmetry_of_rounding_size_is_no_error_and_matrices_have_names():
    random = np.random.default_rng(0)
    root = random.normal(size=(6, 6)) * np.logspace(0, 4, 6)
    inverse = np.linalg.inv(root.T @ root)
    # What inverting leaves: 5e-8 of the scale.
    inverse[0, 1] += 5e-8 * np.sqrt(inverse[0, 0] * inverse[1, 1])
    assert np.isfinite(geometric_mean(inverse, np.eye(6))).all()
    askew = np.array([[2.0, 1.0], [0.5, 2.0]])
    with pytest.raises(ValueError, match="^B is not symmetric"):
        geometric_mean(np.eye(2), askew)
    with pytest.raises(ValueError, match="^A is not positive definite"):
        riemannian_distance(-np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="^prior is not symmetric"):
        GMML(t=0.5, reg=1.0, prior=askew).fit(random.normal(size=(8, 2)), np.arange(8) % 2)
    with pytest.raises(ValueError, match="^metric is not symmetric"):
        MahalanobisKNN(metric=askew).fit(random.normal(size=(8, 2)), np.arange(8) % 2)


def test_an_onnx_file_appears_whole_or_not_at_all(wine, tmp_path):
    gmml = GMML(t=0.5).fit(*wine)
    path = tmp_path / "m.onnx"
    first = gmml.to_onnx(path)
    assert path.read_bytes() == first
    # A reader that has the old file open keeps it whole: the new one takes its name.
    with open(path, "rb") as reader:
        second = GMML(t=0.1).fit(*wine).to_onnx(path)
        assert reader.read() == first
    assert path.read_bytes() == second != first and [file.name for file in tmp_path.iterdir()] == ["m.onnx"]
    with pytest.raises(OSError):
        gmml.to_onnx(tmp_path / "nowhere" / "m.onnx")


def test_what_a_fit_tells_is_a_table_in_notebooks_and_escaped(wine):
    X, y = wine
    auto = AutoGMML(max_samples=60, budget=1.0).fit(X, y)
    choice = auto.diagnostics_["choice"]
    parse = lambda html: ElementTree.fromstring(f"<div>{html}</div>")
    assert [cell.text for cell in parse(auto.diagnostics_._repr_html_()).iter("th")][:2] == list(auto.diagnostics_)[:2]
    tables = list(parse(choice._repr_html_()).iter("table"))
    assert len(tables) == 2 and "of 60 trials" not in str(choice)
    assert tables[1].find("caption").text == f"the best 10 of {len(choice['trials'])} trials"
    assert json.loads(json.dumps(auto.diagnostics_)) == auto.diagnostics_ == pickle.loads(pickle.dumps(auto.diagnostics_))
    adapter = Adapter().fit(X, y)
    told = parse(adapter.report_._repr_html_())
    assert adapter.report_.reason in [cell.text for cell in told.iter("td")] and str(adapter.report_) == adapter.report_.text
    assert len(list(parse(bootstrap_interval([0.0, 1.0])._repr_html_()).iter("tr"))) == 4
    assert "p_value" in paired_test([0.0, 0.1], [0.2, 0.3])._repr_html_()
    strange = Diagnostics({"<b>": "<script>alert(1)</script>", "nested": {"a & b": [1, 2]}})
    assert "<script>" not in strange._repr_html_() and parse(strange._repr_html_()) is not None
