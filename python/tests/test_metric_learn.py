"""mahala.metric_learn: what its learners minimise, checked against formulas in NumPy and against scikit-learn.

metric-learn's own tests run in `python/test --full`; they ask for the interface and hardly for numbers.
"""

import warnings

import mahala.metric_learn as metric_learn
import numpy as np
import pytest
from mahala.metric_learn import Constraints
from mahala.metric_learn.constraints import wrap_pairs
from sklearn.covariance import graphical_lasso
from sklearn.datasets import load_iris, load_wine, make_regression

X, y = load_iris(return_X_y=True)
SPD = np.array([[2.0, 0.3, 0.1, 0.0], [0.3, 1.0, 0.2, 0.1], [0.1, 0.2, 3.0, 0.4], [0.0, 0.1, 0.4, 1.5]])


@pytest.fixture(scope="module")
def marked():
    return wrap_pairs(X, Constraints(y).positive_negative_pairs(60, random_state=0))


@pytest.fixture(scope="module")
def quadruplets():
    return X[np.column_stack(Constraints(y).positive_negative_pairs(80, same_length=True, random_state=1))]


def differences(pairs):
    return pairs[:, 0] - pairs[:, 1]


@pytest.mark.parametrize("prior", ["identity", SPD])
def test_itml_meets_its_conditions_of_optimality(marked, prior):
    pairs, marks = marked
    itml = metric_learn.ITML(prior=prior, tol=1e-9, max_iter=20_000, gamma=1.0).fit(pairs, marks, bounds=[1.0, 9.0])
    A = itml.get_mahalanobis_matrix()
    start = np.eye(4) if isinstance(prior, str) else prior
    v = differences(pairs)
    # A^-1 - A0^-1 is a sum of vv^T with weights that say by how much each pair's bound gave way.
    bound = np.where(marks == 1, 1.0, 9.0)
    slack = np.einsum("ij,jk,ik->i", v, A, v)
    multiplier = np.where(marks == 1, np.maximum(0, 1 / bound - 1 / slack), np.minimum(0, 1 / bound - 1 / slack))
    expected = np.linalg.inv(start) + np.einsum("i,ij,ik->jk", multiplier, v, v)
    np.testing.assert_allclose(np.linalg.inv(A), expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("prior", ["identity", SPD])
def test_lsml_is_at_the_minimum_of_its_objective_with_weights(quadruplets, prior):
    weights = np.random.default_rng(2).uniform(0.5, 2, len(quadruplets))
    lsml = metric_learn.LSML(prior=prior, tol=1e-6).fit(quadruplets, weights=weights)
    inverse = np.linalg.inv(np.eye(4) if isinstance(prior, str) else prior)
    near, far = differences(quadruplets[:, :2]), differences(quadruplets[:, 2:])

    def objective(A):
        a, b = (np.sqrt(np.einsum("ij,jk,ik->i", v, A, v)) for v in (near, far))
        hinge = np.maximum(0, a - b) ** 2
        return hinge @ (weights / weights.sum()) + np.trace(A @ inverse) - np.linalg.slogdet(A)[1]

    A = lsml.get_mahalanobis_matrix()
    least, random = objective(A), np.random.default_rng(3)
    for _ in range(50):
        step = random.normal(size=(4, 4)) * 1e-3 * np.abs(A).max()
        assert objective(A + step + step.T) > least - 1e-9
    assert least < objective(np.linalg.inv(inverse)) - 1e-6


def test_sdml_solves_the_graphical_lasso_that_scikit_learn_solves(marked):
    pairs, marks = marked
    v = differences(pairs)
    P = np.linalg.inv(SPD) + 1e-4 * np.einsum("i,ij,ik->jk", marks, v, v)
    assert np.linalg.eigvalsh(P).min() > 0.1  # so that no ridge is needed
    _, expected = graphical_lasso(P, alpha=0.02, tol=1e-10, enet_tol=1e-10, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sdml = metric_learn.SDML(balance_param=1e-4, sparsity_param=0.02, prior=SPD).fit(pairs, marks)
    np.testing.assert_allclose(sdml.get_mahalanobis_matrix(), expected, atol=1e-4)


def test_sdml_names_the_ridge_it_needs(marked):
    with pytest.warns(UserWarning, match="was added to its diagonal; lower balance_param"):
        metric_learn.SDML(balance_param=10.0).fit(*marked)


@pytest.mark.parametrize("init", ["identity", SPD])
def test_mmc_has_the_size_that_its_start_gives_it(marked, init):
    pairs, marks = marked
    mmc = metric_learn.MMC(init=init).fit(pairs, marks)
    start = np.eye(4) if isinstance(init, str) else init
    v = differences(pairs[marks == 1])
    sizes = [np.einsum("ij,jk,ik->", v, M, v) for M in (mmc.get_mahalanobis_matrix(), start)]
    assert sizes[0] == pytest.approx(sizes[1] / 100, rel=0.02)


def test_diagonal_mmc_is_at_the_minimum_for_any_c(marked):
    pairs, marks = marked
    similar, other = differences(pairs[marks == 1]) ** 2, differences(pairs[marks == -1]) ** 2
    for c in (1.0, 4.0):
        mmc = metric_learn.MMC(diagonal=True, diagonal_c=c, tol=1e-9, max_iter=1000).fit(pairs, marks)
        A = mmc.get_mahalanobis_matrix()
        np.testing.assert_allclose(A, np.diag(np.diag(A)))
        objective = lambda w: (similar @ w).sum() - c * np.log(np.sqrt(other @ w).sum())
        w = np.diag(A)
        for k in range(4):
            for factor in (0.9, 1.1):
                changed = w.copy()
                changed[k] = max(changed[k], 1e-3 * w.max()) * factor
                assert objective(changed) > objective(w)


def test_rca_is_the_inverse_covariance_within_chunks():
    chunks = Constraints(y).chunks(40, 3, random_state=0)
    rca = metric_learn.RCA().fit(X, chunks)
    centred = np.vstack([X[chunks == c] - X[chunks == c].mean(axis=0) for c in range(40)])
    np.testing.assert_allclose(np.linalg.inv(rca.get_mahalanobis_matrix()), centred.T @ centred / 120, rtol=1e-9)


def test_rca_warns_where_chunks_do_not_span_the_columns():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(UserWarning, match="inner covariance matrix is not invertible"):
        rca = metric_learn.RCA_Supervised(n_chunks=5, chunk_size=2, random_state=0).fit(X, y)
    assert np.isfinite(rca.components_).all()


def test_chunks_are_of_one_class_and_every_class_has_some():
    chunks = Constraints(y).chunks(30, 2, random_state=0)
    owners = [set(y[chunks == c]) for c in range(30)]
    assert all(len(owner) == 1 for owner in owners)
    assert set.union(*owners) == {0, 1, 2}


def test_covariance_is_the_inverse_covariance():
    A = metric_learn.Covariance().fit(X).get_mahalanobis_matrix()
    np.testing.assert_allclose(np.linalg.inv(A), np.cov(X, rowvar=False), rtol=1e-9)


def test_a_given_basis_spans_the_metric_of_scml():
    basis = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    scml = metric_learn.SCML_Supervised(basis=basis, random_state=0, max_iter=2000).fit(X, y)
    A = scml.get_mahalanobis_matrix()
    weights = [A[0, 0], A[2, 2]]
    np.testing.assert_allclose(A, sum(w * np.outer(b, b) for w, b in zip(weights, basis)), atol=1e-9 * A.max())
    assert weights[1] > 0  # the petals tell the classes apart


def test_mlkr_and_nca_start_where_they_are_told_and_improve():
    rows, targets = make_regression(80, 4, n_informative=2, random_state=0)
    start = np.eye(4)[:2] * 0.1

    def loss(L):
        Z = rows @ L.T
        K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(-1))
        np.fill_diagonal(K, 0)
        return ((targets - K @ targets / K.sum(1)) ** 2).sum()

    once = metric_learn.MLKR(n_components=2, init=start, max_iter=1).fit(rows, targets)
    more = metric_learn.MLKR(n_components=2, init=start, max_iter=50).fit(rows, targets)
    assert loss(more.components_) < loss(once.components_) < loss(start)
    nca = metric_learn.NCA(n_components=2, init=np.eye(4)[2:], max_iter=1).fit(X, y)
    other = metric_learn.NCA(n_components=2, init=np.eye(4)[:2], max_iter=1).fit(X, y)
    assert not np.allclose(nca.get_mahalanobis_matrix(), other.get_mahalanobis_matrix())


def test_rows_of_unknown_class_are_left_out():
    hidden = np.where(np.arange(150) % 5 == 0, -1, y)
    for name in ("LFDA", "NCA", "LMNN", "SCML_Supervised", "GMML_Supervised"):
        learner = getattr(metric_learn, name)
        more = {"n_basis": 20} if name == "SCML_Supervised" else {}
        seen = learner(**more).fit(X[hidden >= 0], y[hidden >= 0]).get_mahalanobis_matrix()
        np.testing.assert_array_equal(learner(**more).fit(X, hidden).get_mahalanobis_matrix(), seen)


def test_old_names_of_parameters_still_work_with_a_warning():
    with pytest.warns(FutureWarning, match='"num_constraints" parameter has been renamed to "n_constraints"'):
        assert metric_learn.ITML_Supervised(num_constraints=7).n_constraints == 7
    with pytest.warns(FutureWarning, match='"k" parameter'):
        assert metric_learn.LMNN(k=4).n_neighbors == 4
    with pytest.warns(FutureWarning, match='"convergence_threshold" parameter'):
        assert metric_learn.MMC(convergence_threshold=0.1).tol == 0.1


def test_too_few_pairs_are_given_with_a_warning_and_none_twice():
    with pytest.warns(UserWarning, match=r"Only generated 2 positive constraints \(requested 9\)"):
        a, b, c, d = Constraints([0, 0, 1, 1, -1]).positive_negative_pairs(9, random_state=0)
    assert {frozenset(pair) for pair in zip(a, b)} == {frozenset({0, 1}), frozenset({2, 3})}
    assert len({frozenset(pair) for pair in zip(c, d)}) == len(c) == 4


def test_pairs_of_many_rows_are_drawn_without_listing_all():
    labels = np.arange(4000) % 7
    a, b, c, d = Constraints(labels).positive_negative_pairs(500, random_state=3)
    assert len(a) == len(c) == 500
    assert (labels[a] == labels[b]).all() and (labels[c] != labels[d]).all()
    assert len({frozenset(pair) for pair in zip(a, b)}) == 500


def test_a_preprocessor_may_be_a_table_and_errors_of_it_are_named():
    index = np.random.default_rng(0).integers(150, size=(80, 2))
    marks = np.where(y[index[:, 0]] == y[index[:, 1]], 1, -1)
    by_index = metric_learn.ITML(preprocessor=X).fit(index, marks)
    by_value = metric_learn.ITML().fit(X[index], marks)
    np.testing.assert_array_equal(by_index.components_, by_value.components_)
    with pytest.raises(metric_learn.exceptions.PreprocessorError, match="out of bounds"):
        by_index.predict([[0, 999]])
