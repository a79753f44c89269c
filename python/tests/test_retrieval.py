"""Measures of retrieval and verification, against scikit-learn's, loops over the definitions, and hand-computed values."""

import numpy as np
import pytest
from mahala.retrieval import (
    bootstrap_interval,
    judged_scores,
    nearest,
    paired_test,
    retrieval_scores,
    verification_scores,
)
from sklearn.metrics import ndcg_score, roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances

MEASURES = ("r@1", "recall@5", "ir_recall@5", "precision@5", "mrr", "ndcg@10", "map@r")


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    labels = generator.integers(6, size=90)
    return generator.normal(size=(6, 8))[labels] + generator.normal(size=(90, 8)), labels


def by_definition(similarity, relevant):
    """Every measure of one query by a loop over its ranking."""
    order = sorted(range(len(similarity)), key=lambda place: (-similarity[place], place))
    hits = [bool(relevant[place]) for place in order]
    R = sum(hits)
    gain = lambda ranked: sum(hit / np.log2(place + 2) for place, hit in enumerate(ranked[:10]))
    return {
        "r@1": float(hits[0]),
        "recall@5": float(any(hits[:5])),
        "ir_recall@5": sum(hits[:5]) / R,
        "precision@5": sum(hits[:5]) / 5,
        "mrr": 1 / (hits.index(True) + 1),
        "ndcg@10": gain(hits) / gain(sorted(hits, reverse=True)),
        "map@r": sum(sum(hits[: place + 1]) / (place + 1) for place in range(R) if hits[place]) / R,
    }


@pytest.mark.parametrize("metric", ["cosine", "l2", "dot"])
def test_measures_are_their_definitions(rows, metric):
    X, y = rows
    similarity = {"cosine": cosine_similarity, "l2": lambda a, b: -euclidean_distances(a, b), "dot": lambda a, b: a @ b.T}
    table = similarity[metric](X[60:], X[:60])
    scores = retrieval_scores(X[:60], y[:60], X[60:], y[60:], measures=MEASURES, metric=metric)
    for query, row in enumerate(table):
        wanted = by_definition(row, y[:60] == y[60 + query])
        for name in MEASURES:
            assert scores[name][query] == pytest.approx(wanted[name], abs=1e-12), name


def test_without_queries_a_row_is_not_its_own_neighbour(rows):
    X, y = rows
    scores = retrieval_scores(X, y, measures=MEASURES)
    for query in range(len(X)):
        others = np.arange(len(X)) != query
        wanted = by_definition(cosine_similarity(X[query : query + 1], X[others])[0], y[others] == y[query])
        assert scores["map@r"][query] == pytest.approx(wanted["map@r"], abs=1e-12)
        assert scores["mrr"][query] == pytest.approx(wanted["mrr"], abs=1e-12)


def test_graded_ndcg_is_scikit_learns(rows):
    X, _ = rows
    gains = np.random.default_rng(1).choice([0, 0, 0, 1, 2, 4], size=(30, 60))
    judgements = [(query, document, gains[query, document]) for query, document in np.argwhere(gains > 0)]
    scores = judged_scores(X[:60], X[60:], judgements, measures=["ndcg@10", "ndcg@3", "mrr", "map@r"])
    table = cosine_similarity(X[60:], X[:60])
    for k in (10, 3):
        reference = [ndcg_score(gains[q : q + 1], table[q : q + 1], k=k) for q in range(30)]
        np.testing.assert_allclose(scores[f"ndcg@{k}"], reference, atol=1e-12)
    for query in range(30):
        wanted = by_definition(table[query], gains[query] > 0)
        assert scores["map@r"][query] == pytest.approx(wanted["map@r"])
        assert scores["mrr"][query] == pytest.approx(wanted["mrr"])


def test_equal_distances_are_in_the_order_of_the_gallery():
    gallery = np.tile([[1.0, 0.0]], (20, 1))
    found, similarity = nearest(gallery, [[2.0, 0.0]], 5)
    assert found.tolist() == [[0, 1, 2, 3, 4]] and (similarity == 1).all()
    labels = ["b"] * 3 + ["a"] * 17
    scores = retrieval_scores(gallery, labels, [[1.0, 0.0]], ["a"], measures=["mrr", "r@1", "recall@5"])
    assert [float(scores[name][0]) for name in ("mrr", "r@1", "recall@5")] == [0.25, 0, 1]


def test_queries_without_a_relevant_row_are_nan_and_left_out():
    scores = retrieval_scores([[1.0, 0.0], [0.0, 1.0]], ["a", "b"], [[1.0, 0.0], [1.0, 0.0]], ["a", "c"], measures=["r@1"])
    assert scores["r@1"][0] == 1 and np.isnan(scores["r@1"][1])
    assert bootstrap_interval(scores["r@1"]).n_queries == 1


def test_half_precision_is_ranked_in_single(rows):
    X, y = rows
    half = X.astype(np.float16)
    scores = retrieval_scores(half, y, measures=["map@r"])["map@r"]
    np.testing.assert_array_equal(scores, retrieval_scores(half.astype(np.float32), y, measures=["map@r"])["map@r"])


def test_verification_against_scikit_learn_and_by_hand():
    generator = np.random.default_rng(2)
    y = np.where(generator.random(4000) < 0.3, 1, -1)
    similarity = generator.normal(size=4000) + (y == 1)
    scores = verification_scores(similarity, y, far=[0.05])
    assert scores["roc_auc"] == pytest.approx(roc_auc_score(y, similarity))
    # Two normal densities one standard deviation apart have equal errors at one half: Phi(-1/2) = .3085.
    assert scores["eer"] == pytest.approx(0.3085, abs=0.02)
    threshold = np.sort(similarity[y == -1])[::-1][int(0.05 * (y == -1).sum())]
    assert scores["tar@far=0.05"] == pytest.approx((similarity[y == 1] > threshold).mean(), abs=1e-12)
    assert verification_scores([3, 2, 1, 0], [1, 1, 0, 0])["eer"] == 0
    assert verification_scores([0, 1, 2, 3], [1, 1, 0, 0])["eer"] == 1


def test_the_interval_covers_as_often_as_it_says():
    generator = np.random.default_rng(3)
    covered = 0
    for draw in range(200):
        interval = bootstrap_interval(generator.normal(1, 1, 60), confidence=0.9, n_resamples=400, random_state=draw)
        covered += interval.low <= 1 <= interval.high
    assert 165 <= covered <= 195  # 180 expected, three standard errors of 4.2 and the percentile's bias


def test_the_interval_of_groups_is_wider():
    generator = np.random.default_rng(4)
    groups = np.repeat(np.arange(12), 30)
    values = generator.normal(size=12)[groups] + 0.1 * generator.normal(size=360)
    alone, together = bootstrap_interval(values), bootstrap_interval(values, groups=groups)
    assert together.high - together.low > 3 * (alone.high - alone.low)


def test_the_paired_test():
    generator = np.random.default_rng(5)
    before = generator.random(300)
    same = paired_test(before, before + generator.normal(0, 0.1, 300))
    better = paired_test(before, before + 0.05 + generator.normal(0, 0.1, 300))
    assert not same.significant and same.p_value > 0.05
    assert better.significant and better.p_value < 0.01 and better.difference == pytest.approx(0.05, abs=0.02)
    # Eight differences of one sign: two of 256 sign patterns are as extreme.
    assert paired_test(np.zeros(8), np.ones(8), n_resamples=20_000).p_value == pytest.approx(2 / 256, abs=0.002)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: retrieval_scores(np.eye(2), [0, 1], measures=["map"]), "the measure is 'map'; it must be 'r@1'"),
        (lambda: retrieval_scores(np.eye(2), [0]), r"gallery has 2 rows and labels of shape \(1,\)"),
        (lambda: retrieval_scores(np.eye(2), [0, 1], np.eye(2)), "must be given together"),
        (lambda: retrieval_scores(np.eye(2), [0, 1], metric="l1"), "metric is 'l1'; it must be 'cosine', 'l2' or 'dot'"),
        (lambda: retrieval_scores(np.eye(2), [0, 1], np.eye(3), [0, 1, 1]), "3 columns and the gallery 2"),
        (lambda: retrieval_scores([[1.0], [np.nan]], [0, 1]), "row index 1, column index 0 is NaN"),
        (lambda: judged_scores(np.eye(2), np.eye(2), [[0, 2, 1]]), "judgement 0 has document 2; it must be .* 0 to 1"),
        (lambda: judged_scores(np.eye(2), np.eye(2), [[0, 1, 1], [0, 1, 2]]), "given twice for query 0 and document 1"),
        (lambda: bootstrap_interval([np.nan]), "no query has a relevant row"),
        (lambda: paired_test([1.0], [1.0, 2.0]), "must be of the same queries"),
        (lambda: verification_scores([1.0, 2.0], [1, 1]), "it must have both marks"),
        (lambda: nearest(np.eye(2), np.eye(2), 3), "k is 3; it must be between 1 and"),
    ],
)
def test_errors_say_what_is_allowed(call, words):
    with pytest.raises(ValueError, match=words):
        call()
