"""Errors: scikit-learn's types and words where it has them."""

import numpy as np
import pytest
from mahala import GMML, GMMLPairs, MahalanobisKNN, Moments, geometric_mean, load
from sklearn.exceptions import NotFittedError

X = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 6.0], [6.0, 5.0]])
Y = np.array([0, 0, 1, 1])


@pytest.mark.parametrize("estimator", [GMML(), MahalanobisKNN(), GMMLPairs()])
def test_unfitted_use(estimator):
    method = estimator.predict if hasattr(estimator, "predict") else estimator.transform
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        method(X)
    if isinstance(estimator, GMML):
        for call in (estimator.get_metric, estimator.get_mahalanobis_matrix, estimator.to_onnx):
            with pytest.raises(NotFittedError, match="is not fitted yet"):
                call()


@pytest.mark.parametrize("learner", [GMML(t=0.5), MahalanobisKNN(n_neighbors=1)])
@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        (X[0], Y, "Expected 2D array, got 1D array instead"),
        (np.zeros((2, 2, 2)), Y[:2], "Found array with dim 3"),
        (X, Y[:3], "inconsistent numbers of samples"),
        (np.where(X == 6, np.nan, X), Y, "contains NaN"),
        (np.where(X == 6, np.inf, X), Y, "contains infinity"),
        ([["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]], Y, "could not convert string to float"),
        (X[:0], Y[:0], "0 sample"),
        (X, Y + 0.5, "Unknown label type"),
        (X, None, "requires y to be passed, but the target y is None"),
        (X, np.array([0, 0, 1, np.nan]), "contains NaN"),
        (X + 1j, Y, "Complex data not supported"),
    ],
)
def test_rows_and_labels_that_cannot_be(learner, rows, labels, words):
    with pytest.raises(ValueError, match=words):
        learner.fit(rows, labels)


def test_one_class():
    with pytest.raises(ValueError, match="number of classes has to be greater than one; got 1 class"):
        GMML().fit(X, [1, 1, 1, 1])


def test_classes_of_one_row_each():
    with pytest.raises(ValueError, match="no similar pair"):
        GMML(t=0.5).fit(X, [0, 1, 2, 3])


def test_columns_that_never_vary():
    with pytest.raises(ValueError, match="none of the 2 columns varies"):
        GMML(t=0.5).fit(np.ones((4, 2)), Y)


def test_other_features_than_in_fit():
    gmml = GMML(t=0.5).fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but GMML is expecting 2 features as input"):
        gmml.transform(np.ones((2, 3)))
    with pytest.raises(ValueError, match="X has 3 features, but GMML is expecting 2 features as input"):
        gmml.pair_distance(np.ones((2, 2, 3)))
    with pytest.raises(ValueError, match="3D array of formed tuples expected"):
        gmml.pair_distance(np.ones((2, 2)))
    with pytest.raises(ValueError, match="Tuples of 2 element"):
        gmml.pair_distance(np.ones((2, 3, 2)))
    with pytest.raises(ValueError, match="1-D"):
        gmml.get_metric()(X, X)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"t": 1.5}, "t is 1.5; it must be 'cv' or a number between 0 and 1"),
        ({"t": "auto"}, r"t is 'auto'; it must be 'cv' or a number between 0 and 1 \(AutoGMML chooses everything\)"),
        ({"t": "half"}, "t is 'half'"),
        ({"t": None}, "t is None; it must be a number"),
        ({"t": float("nan")}, "t is nan"),
        ({"reg": -1.0}, "^reg is -1; it must be finite and at least 0"),
        ({"reg": "much"}, "reg is 'much'; it must be a number"),
        ({"shrinkage": 2.0}, "shrinkage is 2; it must be between 0 and 1"),
        ({"reg": 1.0, "shrinkage": 0.5}, "cannot both be given"),
        ({"prior": "covariance"}, "no effect without reg"),
        ({"reg": 1.0, "prior": "flat"}, "prior is 'flat'"),
        ({"reg": 1.0, "prior": np.ones((2, 2))}, "prior is not positive definite"),
        ({"reg": 1.0, "prior": np.eye(3)}, "3 given, 2 expected"),
        ({"reg": 1.0, "prior": np.ones(2)}, "2 dimensions"),
        ({"pairs": "some"}, "pairs is 'some'; it must be 'all' or 'sampled'"),
        ({"n_components": 3}, "n_components is 3; it must be at most the number of features, 2"),
        ({"n_components": 0}, "n_components is 0; it must be a whole number, at least 1"),
        ({"n_components": 1.5}, "n_components is 1.5; as a share it must be above 0 and below 1"),
        ({"n_neighbors": 0}, "n_neighbors is 0"),
        ({"cv": 1}, "cv is 1"),
        ({"max_samples": 1}, "max_samples is 1"),
        ({"random_state": -1}, "random_state is -1"),
        ({"random_state": "x"}, "cannot be used to seed"),
        ({"n_jobs": 0}, "n_jobs == 0"),
    ],
)
def test_parameters_out_of_range(settings, words):
    with pytest.raises(ValueError, match=words):
        GMML(**({"t": 0.5} | settings)).fit(X, Y)


def test_parameters_are_keyword_only():
    with pytest.raises(TypeError):
        GMML(0.5)


def test_more_neighbours_than_rows():
    knn = MahalanobisKNN().fit(X, Y)
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit, but n_neighbors = 5"):
        knn.predict(X)
    with pytest.raises(ValueError, match="Expected n_neighbors < n_samples_fit"):
        MahalanobisKNN(n_neighbors=4).fit(X, Y).kneighbors()
    for bad in (0, -1, 2.5, "many"):
        with pytest.raises(ValueError, match="n_neighbors is"):
            MahalanobisKNN(n_neighbors=bad).fit(X, Y)


def test_a_metric_that_is_none():
    for bad, words in [("cosine", "metric is 'cosine'"), (np.eye(3), "square"), (-np.eye(2), "positive definite")]:
        with pytest.raises(ValueError, match=words):
            MahalanobisKNN(metric=bad).fit(X, Y)


def test_moments_that_do_not_fit():
    moments = Moments(2).update(X, Y)
    with pytest.raises(ValueError, match="3"):
        moments.update(np.ones((2, 3)), [0, 1])
    with pytest.raises(ValueError, match="3 given, 2 expected"):
        moments.merge(Moments(3))
    with pytest.raises(ValueError, match="cannot be taken away"):
        Moments(2).subtract(moments)
    with pytest.raises(ValueError, match="not a valid"):
        Moments.from_bytes(b"nothing")
    altered = bytearray(moments.to_bytes())
    altered[40] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        Moments.from_bytes(bytes(altered))
    with pytest.raises(ValueError, match="empty"):
        Moments(0)
    with pytest.raises(IndexError):
        moments.class_mean(2)
    with pytest.raises(ValueError, match="weight"):
        moments.update(X, Y, sample_weight=[1, 1, 1, -1])


def test_matrices_that_are_not_positive_definite():
    with pytest.raises(ValueError, match="not positive definite"):
        geometric_mean(-np.eye(2), np.eye(2), 0.5)
    with pytest.raises(ValueError, match="must be square"):
        geometric_mean(np.ones((2, 3)), np.eye(2), 0.5)
    with pytest.raises(ValueError, match="finite"):
        geometric_mean(np.full((2, 2), np.nan), np.eye(2), 0.5)
    with pytest.raises(ValueError, match="not symmetric"):
        geometric_mean(np.array([[2.0, 1.0], [0.0, 2.0]]), np.eye(2), 0.5)
    with pytest.raises(ValueError):
        geometric_mean(np.eye(3), np.eye(2), 0.5)


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.safetensors")
    (tmp_path / "text").write_text("not a model at all, by far")
    with pytest.raises(ValueError, match="text: not a valid model file"):
        load(tmp_path / "text")


def test_changed_attributes_are_refused_not_crashed_on():
    gmml = GMML(t=0.5).fit(X, Y)
    for broken in (np.full((2, 2), np.nan), np.ones((2, 5)), np.ones(3), "text", np.ones((0, 2))):
        gmml.components_ = broken
        with pytest.raises((ValueError, TypeError)):
            gmml.transform(X)
