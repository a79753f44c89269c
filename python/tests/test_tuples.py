"""Triplets, quadruplets and chunks: given by value or by row number, and drawn from labels."""

import mahala
import numpy as np
import pytest
from mahala import GMML, GMMLPairs, constraints
from sklearn.datasets import load_iris

X, y = load_iris(return_X_y=True)
TRIPLETS = constraints.knn_triplets(X, y, n_neighbors=2, n_impostors=3)
QUADRUPLETS = constraints.quadruplets(y, 200)
CHUNKS = constraints.chunks(y, 30, 3)
FROM_TRIPLETS = ["FlatGeo", "ITML", "KISSME", "LDML", "LEGO", "LORETA", "LSML", "MMC", "MOML", "OASIS", "POLA",
                 "RobustGMML", "SCML", "SDML", "XQDA"]  # fmt: skip
FROM_QUADRUPLETS = ["FlatGeo", "ITML", "KISSME", "LDML", "LEGO", "LSML", "MMC", "POLA", "RobustGMML", "SDML", "XQDA"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FROM_TRIPLETS)
def test_values_and_row_numbers_of_triplets_give_one_metric(name):
    learner = getattr(mahala, name)
    by_value = learner().fit_triplets(X[TRIPLETS])
    by_number = learner().fit_triplets(TRIPLETS, preprocessor=X)
    by_function = learner().fit_triplets(TRIPLETS, preprocessor=lambda rows: X[rows])
    for other in (by_number, by_function):
        np.testing.assert_array_equal(by_value.get_mahalanobis_matrix(), other.get_mahalanobis_matrix())
    # What was near by most triplets is nearer under the metric than a random metric would have it.
    near, far = (by_value.pair_distance(X[TRIPLETS[:, ends]]) for ends in ([0, 1], [0, 2]))
    assert np.mean(near < far) > 0.8
    assert not hasattr(by_value, "classes_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FROM_QUADRUPLETS)
def test_quadruplets_by_value_and_by_number(name):
    learner = getattr(mahala, name)
    by_value = learner().fit_quadruplets(X[QUADRUPLETS])
    by_number = learner().fit_quadruplets(QUADRUPLETS, preprocessor=X)
    np.testing.assert_array_equal(by_value.get_mahalanobis_matrix(), by_number.get_mahalanobis_matrix())
    near, far = (by_value.pair_distance(X[QUADRUPLETS[:, ends]]) for ends in ([0, 1], [2, 3]))
    assert np.mean(near < far) > 0.8


def test_gmml_learns_from_comparisons_what_it_learns_from_their_pairs():
    marks = np.repeat([1, -1], len(TRIPLETS))
    pairs = np.vstack([TRIPLETS[:, [0, 1]], TRIPLETS[:, [0, 2]]])
    expected = GMMLPairs(t=0.3).fit(X[pairs], marks).get_mahalanobis_matrix()
    gmml = GMML(t=0.3).fit_triplets(TRIPLETS, preprocessor=X)
    np.testing.assert_allclose(gmml.get_mahalanobis_matrix(), expected, rtol=1e-12)
    pairs = np.vstack([QUADRUPLETS[:, :2], QUADRUPLETS[:, 2:]])
    marks, weight = np.repeat([1, -1], len(QUADRUPLETS)), np.linspace(0.5, 2, len(QUADRUPLETS))
    expected = GMMLPairs(t=0.3).fit(X[pairs], marks, sample_weight=np.tile(weight, 2)).get_mahalanobis_matrix()
    gmml = GMML(t=0.3).fit_quadruplets(X[QUADRUPLETS], weight)
    np.testing.assert_allclose(gmml.get_mahalanobis_matrix(), expected, rtol=1e-12)
    assert 0 <= GMML().fit_triplets(X[TRIPLETS]).t_ <= 1


def test_gmml_takes_chunks_for_classes():
    inside = CHUNKS >= 0
    expected = GMML(t=0.4).fit(X[inside], CHUNKS[inside]).get_mahalanobis_matrix()
    gmml = GMML(t=0.4).fit_chunks(X, CHUNKS)
    np.testing.assert_array_equal(gmml.get_mahalanobis_matrix(), expected)
    assert not hasattr(gmml, "classes_")


def test_rca_of_chunks_is_its_formula():
    rca = mahala.RCA().fit_chunks(X, CHUNKS)
    centred = np.vstack([X[CHUNKS == c] - X[CHUNKS == c].mean(axis=0) for c in range(30)])
    np.testing.assert_allclose(np.linalg.inv(rca.get_mahalanobis_matrix()), centred.T @ centred / 90, rtol=1e-9)


def test_generators_keep_to_the_classes_and_to_the_seed():
    index, marks = constraints.pairs(y, 100, random_state=5)
    assert ((y[index[:, 0]] == y[index[:, 1]]) == (marks == 1)).all() and (index[:, 0] != index[:, 1]).all()
    np.testing.assert_array_equal(index, constraints.pairs(y, 100, random_state=5)[0])
    assert not np.array_equal(index, constraints.pairs(y, 100, random_state=6)[0])
    a, b, c, d = QUADRUPLETS.T
    assert (y[a] == y[b]).all() and (y[c] != y[d]).all()
    anchor, near, far = TRIPLETS.T
    assert (y[anchor] == y[near]).all() and (y[anchor] != y[far]).all() and len(TRIPLETS) == 150 * 2 * 3
    distance = lambda rows: np.linalg.norm(X[anchor] - X[rows], axis=1)
    own = np.sort([np.linalg.norm(X[0] - X[i]) for i in np.flatnonzero(y == y[0]) if i != 0])[1]
    assert distance(near)[anchor == 0].max() == own
    sizes = np.bincount(CHUNKS[CHUNKS >= 0])
    assert (sizes == 3).all() and len(sizes) == 30 and all(len(set(y[CHUNKS == c])) == 1 for c in range(30))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: mahala.SCML(n_neighbors=4).fit_triplets(X[TRIPLETS]), ["4", "left out"]),
        (lambda: mahala.ITML().fit_triplets(TRIPLETS), ["2D array", "Row numbers need a preprocessor"]),
        (lambda: mahala.ITML().fit_triplets(X[QUADRUPLETS]), ["Tuples of 3", "4 element"]),
        (lambda: GMML().fit_triplets([[0, 1, 999]], preprocessor=X), ["row number 999", "from 0 to 149"]),
        (lambda: GMML().fit_triplets([[0.5, 1, 2]], preprocessor=X), ["float64", "whole numbers"]),
        (lambda: mahala.RCA().fit_chunks(X, y + 0.5), ["chunks", "whole numbers"]),
        (lambda: mahala.LSML().fit_quadruplets(X[QUADRUPLETS], [1.0]), ["(1,)", "200"]),
        (lambda: constraints.pairs(np.zeros(5), 3), ["class"]),
        (lambda: constraints.chunks(y, 0), ["n_chunks", "0"]),
    ],
)
def test_errors_say_what_was_seen_and_what_is_allowed(call, words):
    with pytest.raises(ValueError) as error:
        call()
    assert all(word in str(error.value) for word in words), str(error.value)
