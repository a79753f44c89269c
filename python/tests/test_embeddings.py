"""The adapter of embeddings: what it chooses, that it does no harm, and that stores need no new index."""

import copy
import json
import pickle
import threading

import numpy as np
import pytest
import mahala
from mahala import geometric_mean
from mahala._native import _KEPT
from mahala.embeddings import Adapter, Member
from mahala.retrieval import judged_scores, nearest, retrieval_scores, verification_scores
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError


def embeddings(classes=12, rows=30, d=24, seed=0, signal=2.0):
    """Classes differ in the first half of the columns; the second half is loud noise."""
    generator = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), rows)
    noise = generator.normal(size=(len(y), d)) * np.r_[np.ones(d // 2), np.full(d - d // 2, 3.0)]
    centres = generator.normal(size=(classes, d)) * np.r_[np.full(d // 2, signal), np.zeros(d - d // 2)]
    return (centres[y] + noise + 0.5).astype(np.float32), y


@pytest.fixture(scope="module")
def labelled():
    return embeddings()


@pytest.fixture(scope="module", params=["cosine", "l2"])
def adapter(request, labelled):
    return Adapter(metric=request.param).fit(*labelled)


def quality(adapter, X, y):
    mapped = X if adapter is None else adapter.transform(X)
    return retrieval_scores(mapped, y, measures=["map@r"], metric="cosine")["map@r"].mean()


def test_known_classes_are_found_better(labelled):
    X, y = labelled
    train = np.arange(len(X)) % 2 == 0
    adapter = Adapter().fit(X[train], y[train])
    assert adapter.report_.worth_it and adapter.report_.gain.low > 0
    assert quality(adapter, X[~train], y[~train]) > quality(None, X[~train], y[~train]) + 0.2


def test_new_classes_are_found_better_too(labelled):
    X, y = labelled
    adapter = Adapter(classes="unseen").fit(X[y < 8], y[y < 8])
    assert adapter.report_.worth_it
    assert quality(adapter, X[y >= 8], y[y >= 8]) > quality(None, X[y >= 8], y[y >= 8]) + 0.1


@pytest.mark.parametrize("classes", ["seen", "unseen"])
def test_labels_that_say_nothing_leave_rows_as_they_are(classes):
    X, y = embeddings(signal=0.0)
    adapter = Adapter(classes=classes).fit(X, np.random.default_rng(1).permutation(y))
    assert adapter.member_ == Member("plain") and "not worth it" in adapter.report_.reason
    np.testing.assert_allclose(adapter.transform(X), X / np.linalg.norm(X, axis=1, keepdims=True), rtol=1e-5)


def test_the_report_says_what_was_tried(adapter):
    report = adapter.report_
    assert {trial.member.form for trial in report.trials} >= {"plain", "centred", "gmml", "kissme", "lda", "whitening", "wccn"}
    assert str(report.chosen) in str(report) and report.reason in str(report)
    sizes = [size for size, _ in report.sizes]
    assert sizes == [3, 6, 12] and all(0 <= value <= 1 for _, value in report.sizes)


def test_the_same_rows_give_the_same_map(labelled):
    first, second = Adapter(random_state=3).fit(*labelled), Adapter(random_state=3).fit(*labelled)
    np.testing.assert_array_equal(first.components_, second.components_)
    assert str(first.report_) == str(second.report_)


def test_members_are_the_closed_forms(labelled):
    X, y = labelled
    rows = X.astype(np.float64)
    S = 2 * sum(np.cov(rows[y == c].T, bias=True) for c in range(12)) / 12  # the mean over similar pairs
    total = np.cov(rows.T, bias=True)
    i, j = np.triu_indices(len(y), 1)
    v = (rows[i] - rows[j])[y[i] != y[j]]
    between = v.T @ v / len(v) - S
    A = lambda member: (lambda L: L.T @ L)(Adapter(member=member).fit(X, y).components_)
    scaled = lambda M: M * np.trace(total) / np.trace(M @ total)
    bare, S = S, 0.9 * S + 0.1 * np.trace(S) / 24 * np.eye(24)
    D = S + between
    close = lambda seen, wanted: np.testing.assert_allclose(seen, wanted, rtol=1e-6, atol=1e-9)
    close(A(Member("gmml", 0.1, t=0.3)), scaled(geometric_mean(np.linalg.inv(S), D, 0.3)))
    close(A(Member("gmml", 0.1, t=0.3, within=0.1)), scaled(geometric_mean(np.linalg.inv(S), D - 0.9 * S, 0.3)))
    close(A(Member("kissme", 0.1)), scaled(np.linalg.inv(S) - np.linalg.inv(D)))
    close(A(Member("wccn", 0.1)), scaled(np.linalg.inv(S)))
    close(A(Member("whitening", 0.0)), scaled(np.linalg.inv(total)))
    # inv(S) (D inv(S))^p has the pencil's directions with weights mu^p; at p = 1 no power of a matrix is needed.
    close(A(Member("pencil", 0.1, power=1.0)), scaled(np.linalg.inv(S) @ D @ np.linalg.inv(S)))
    # scikit-learn's LDA spans the same directions, with the same metric in them; its shrinkage is of standardised columns.
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(rows, y).scalings_[:, :11]
    np.testing.assert_allclose(A(Member("lda", 0.0)), scaled(lda @ lda.T), rtol=1e-4, atol=1e-7)
    assert not np.allclose(scaled(np.linalg.inv(bare)), scaled(np.linalg.inv(S)), rtol=1e-3)


def test_gmml_is_the_estimators_for_classes_of_one_size(labelled):
    X, y = labelled
    ours = Adapter(member=Member("gmml", 0.0, t=0.4)).fit(X.astype(np.float64), y).components_
    theirs = mahala.GMML(t=0.4).fit(X, y).get_mahalanobis_matrix()
    A = ours.T @ ours
    np.testing.assert_allclose(A / np.trace(A), theirs / np.trace(theirs), rtol=1e-6, atol=1e-10)


def test_every_member_gives_finite_maps_of_few_rows():
    X, y = embeddings(classes=4, rows=3, d=40)
    for trial in Adapter().fit(X, y).report_.trials:
        components = Adapter(member=trial.member).fit(X, y).components_
        assert np.isfinite(components).all() and components.shape[1] == 40, trial.member


def test_few_labels_keep_what_lies_outside_their_span():
    X, y = embeddings(classes=6, rows=5, d=64)
    other, z = embeddings(classes=9, rows=12, d=64, seed=5)
    adapter = Adapter(classes="unseen").fit(X, y)
    assert quality(adapter, other, z) > quality(None, other, z) - 0.02
    blend = Adapter(member=Member("kissme", 0.3, plain_share=0.2)).fit(X, y)
    outside = np.linalg.svd(X - X.mean(axis=0))[2][-1]
    # Outside the span KISSME has no weight; the plain share is all there is.
    assert np.square(blend.components_ @ outside).sum() == pytest.approx(0.2, rel=1e-3)


def test_no_new_index_is_needed(adapter, labelled):
    X, _ = labelled
    queries, documents = X[:20].astype(np.float64), X[20:].astype(np.float64)
    metric = adapter.metric
    found, similarity = nearest(adapter.transform(documents), adapter.transform(queries), 10, metric=metric)
    scores = adapter.scores(queries, documents, adapter.document_terms(documents))
    np.testing.assert_array_equal(np.argsort(-scores, axis=1, kind="stable")[:, :10], found)
    np.testing.assert_allclose(-np.sort(-scores, axis=1)[:, :10], similarity, atol=1e-9)
    again, _ = nearest(adapter.augmented_documents(documents), adapter.augmented_queries(queries), 10, metric="dot")
    np.testing.assert_array_equal(again, found)


@pytest.mark.parametrize("member", [Member("gmml", 0.1, t=0.3), Member("kissme", 0.1), Member("lda", 0.1), Member("plain")], ids=str)
@pytest.mark.parametrize("metric", ["cosine", "l2"])
def test_scores_of_plain_documents_are_those_of_mapped_ones(labelled, metric, member):
    X, y = labelled[0].astype(np.float64) + 3.0, labelled[1]  # far from the origin, so that a forgotten mean would show
    adapter = Adapter(metric=metric, member=member).fit(X, y)
    documents, queries = X[40:], X[:40]
    u, z = (rows @ adapter.components_.T - adapter.components_ @ adapter.mean_ for rows in (queries, documents))
    if metric == "cosine":
        wanted = (u / np.linalg.norm(u, axis=1, keepdims=True)) @ (z / np.linalg.norm(z, axis=1, keepdims=True)).T
    else:
        wanted = -np.square(u[:, None] - z[None]).sum(axis=2)
    terms = adapter.document_terms(documents)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(adapter.scores(queries, documents, terms), wanted, atol=1e-12 * scale)
    products = adapter.augmented_queries(queries) @ adapter.augmented_documents(documents).T
    # One number a query is left out, for it changes no ranking.
    own, offset = adapter.document_terms(queries)[:, None], adapter.query_map(queries)[1][:, None]
    again = products / own if metric == "cosine" else products - 2 * offset - own
    np.testing.assert_allclose(again, wanted, atol=1e-11 * scale)
    # In single precision: 24 columns, terms of the size of the squared norms, hence some hundred units of the last place.
    single = adapter.scores(queries.astype(np.float32), documents.astype(np.float32), terms.astype(np.float32))
    np.testing.assert_allclose(single, wanted, atol=3e-5 * max(scale, terms.max()))


def test_without_the_stored_number_the_ranking_is_another(labelled):
    X, y = labelled
    adapter = Adapter(member=Member("kissme", 0.1)).fit(X, y)
    exact, _ = nearest(adapter.transform(X), adapter.transform(X), 10)
    g, _ = adapter.query_map(X)
    without, _ = nearest(X, g, 10, metric="dot")
    assert recall(without, exact) < 0.9


def recall(found, exact):
    return np.mean([len(np.intersect1d(a, b)) / exact.shape[1] for a, b in zip(found, exact, strict=True)])


def test_rescoring_an_overfetched_list_nears_the_full_scan(adapter, labelled):
    X, _ = labelled
    terms = adapter.document_terms(X)
    exact, similarity = nearest(adapter.transform(X), adapter.transform(X[:30]), 10, metric=adapter.metric)
    recalls = []
    for fetched in (10, 60, len(X)):
        candidates, _ = nearest(X, X[:30], fetched, metric=adapter.metric)
        found, scores = adapter.rescore(X[:30], X, terms, candidates, 10)
        recalls.append(recall(found, exact))
    assert recalls[0] < recalls[1] < recalls[2] == 1
    np.testing.assert_allclose(scores, similarity, rtol=1e-4, atol=1e-3 * np.abs(similarity).max())


def test_candidates_that_an_index_did_not_find_stay_away(adapter, labelled):
    X, _ = labelled
    found, scores = adapter.rescore(X[:2], X, adapter.document_terms(X), [[5, -1, 0], [-1, -1, 1]], 3)
    assert found.tolist() == [[0, 5, -1], [1, -1, -1]] and np.isneginf(scores[1, 1:]).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"terms": np.ones(3)}, r"terms have shape \(3,\) for 360 documents; store one number for each, from document_terms"),
        ({"documents": np.ones((360, 3))}, r"documents have shape \(360, 3\); they must be plain rows of 24 columns"),
        ({"candidates": [[1, 360]]}, "candidates have place 360; places are from 0 to 359"),
        ({"candidates": [[-2, 1]]}, "candidates have place -2; places are from 0 to 359"),
        ({"candidates": [1, 2]}, r"candidates have shape \(2,\) and type int64"),
        ({"k": 3}, "k is 3; it must be between 1 and the number of candidates of a query, 2: fetch more"),
    ],
)
def test_rescoring_says_what_does_not_fit(adapter, labelled, change, words):
    X, _ = labelled
    given = {"documents": X, "terms": adapter.document_terms(X), "candidates": [[0, 1]], "k": 1} | change
    with pytest.raises(ValueError, match=words):
        adapter.rescore(X[:1], **given)


def test_reduced_rows_and_their_queries():
    X, y = embeddings()
    adapter = Adapter(n_components=6).fit(X, y)
    assert adapter.transform(X).shape == (len(X), 6) and list(adapter.get_feature_names_out()[:1]) == ["adapter0"]
    assert quality(adapter, X, y) > quality(None, X, y)
    scores = adapter.scores(X[:5].astype(np.float64), X.astype(np.float64), adapter.document_terms(X.astype(np.float64)))
    mapped = adapter.transform(X.astype(np.float64))
    np.testing.assert_allclose(scores, mapped[:5] @ mapped.T, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_precision_is_kept(labelled, dtype, adapter):
    X, y = labelled[0].astype(dtype), labelled[1]
    fitted = Adapter(metric=adapter.metric, member=adapter.member_).fit(X, y)
    wanted = np.float64 if dtype == np.float64 else np.float32
    assert fitted.transform(X).dtype == wanted and fitted.document_terms(X).dtype == wanted
    assert fitted.query_map(X[:2])[0].dtype == wanted and fitted.augmented_documents(X).dtype == wanted
    np.testing.assert_allclose(fitted.components_, adapter.components_, rtol=2e-2, atol=2e-2)


def test_a_memory_mapped_table_is_not_copied(tmp_path):
    import tracemalloc

    rows = np.random.default_rng(0).normal(size=(60_000, 64)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    mapped, y = np.load(tmp_path / "rows.npy", mmap_mode="r"), np.arange(60_000) % 10
    tracemalloc.start()
    Adapter(member=Member("gmml", 0.1, t=0.3)).fit(mapped, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.nbytes  # a copy in double precision would be twice that


def test_pairs():
    X, y = embeddings(rows=40)
    generator = np.random.default_rng(2)
    i, j = generator.integers(len(X), size=(2, 6000))
    j[::2] = (i[::2] // 40) * 40 + j[::2] % 40
    marks = np.where(y[i] == y[j], 1, -1)
    adapter = Adapter().fit_pairs((X[i[:4000]], X[j[:4000]]), marks[:4000])
    scores = [
        verification_scores(np.einsum("ij,ij->i", Z[i[4000:]], Z[j[4000:]]), marks[4000:])["roc_auc"]
        for Z in (X / np.linalg.norm(X, axis=1, keepdims=True), adapter.transform(X))
    ]
    assert scores[1] > scores[0] + 0.05 and adapter.report_.criterion == "roc_auc"
    stacked = Adapter().fit_pairs(np.stack([X[i[:4000]], X[j[:4000]]], axis=1), marks[:4000])
    np.testing.assert_array_equal(stacked.components_, adapter.components_)


def test_clicks_and_triplets():
    X, y = embeddings(rows=40)
    generator = np.random.default_rng(3)
    asked, documents = X[::4], np.delete(X, np.s_[::4], axis=0)
    asked_y, documents_y = y[::4], np.delete(y, np.s_[::4])
    clicks = [(query, document) for query in range(len(asked)) for document in
              generator.choice(np.flatnonzero(documents_y == asked_y[query]), 4, replace=False)]  # fmt: skip
    clicks = np.array(clicks)
    learn = clicks[:, 0] % 2 == 0
    judged = [(q, d, 1) for q in range(1, len(asked), 2) for d in np.flatnonzero(documents_y == asked_y[q])]
    ndcg = lambda f: np.nanmean(judged_scores(f(documents), f(asked), judged, measures=["ndcg@10"])["ndcg@10"])
    plain = ndcg(lambda rows: rows)
    by_clicks = Adapter().fit_clicks(asked, documents, clicks[learn])
    assert by_clicks.report_.worth_it and ndcg(by_clicks.transform) > plain + 0.05
    q, p = clicks[learn].T
    triplets = asked[q], documents[p], documents[generator.permutation(len(documents))[: len(p)]]
    # One clicked row of 40 that belong together: the place of the first is noisy, and few queries may not show the gain.
    report = Adapter().fit_triplets(*triplets).report_
    assert report.criterion == "mrr" and report.after > report.before
    assert ndcg(Adapter(member=Member("kissme", 0.1)).fit_triplets(*triplets).transform) > plain + 0.05


def test_a_model_file(adapter, labelled, tmp_path):
    X, _ = labelled
    adapter.save(tmp_path / "model.safetensors")
    for again in (Adapter.load(tmp_path / "model.safetensors"), mahala.load(tmp_path / "model.safetensors")):
        np.testing.assert_array_equal(again.transform(X), adapter.transform(X))
        assert again.metric == adapter.metric and again.member_ == adapter.member_
    mahala.save(mahala.GMML(t=0.5).fit(*labelled), tmp_path / "gmml.safetensors")
    with pytest.raises(ValueError, match="not of an Adapter; read it with mahala.load"):
        Adapter.load(tmp_path / "gmml.safetensors")


def test_a_module_of_sentence_transformers_is_the_same_map(adapter, labelled, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    X = labelled[0].astype(np.float32)
    adapter.to_sentence_transformers(tmp_path / "2_Dense")
    assert sorted(file.name for file in (tmp_path / "2_Dense").iterdir()) == ["config.json", "model.safetensors"]
    config = json.loads((tmp_path / "2_Dense" / "config.json").read_text())
    state = safetensors.load_file(tmp_path / "2_Dense" / "model.safetensors")
    assert state["linear.weight"].shape == (config["out_features"], config["in_features"]) == adapter.components_.shape
    assert config["bias"] and config["activation_function"].endswith("linear.Identity")
    Z = X @ state["linear.weight"].T + state["linear.bias"]
    if adapter.metric == "cosine":
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    # Sums of 24 products in single precision, with the mean subtracted before or after.
    np.testing.assert_allclose(Z, adapter.transform(X), atol=1e-5 * np.abs(Z).max())
    huge = copy.deepcopy(adapter)
    huge.components_ = adapter.components_ * 1e39
    with pytest.raises(ValueError, match="beyond single precision"):
        huge.to_sentence_transformers(tmp_path / "huge")


def test_the_map_is_prepared_once_and_again_when_an_attribute_is_replaced(labelled):
    X = labelled[0]
    adapter = Adapter(member=Member("gmml", 0.1, t=0.3)).fit(*labelled)
    adapter.transform(X)
    prepared = _KEPT[adapter][1]
    adapter.query_map(X[:1])
    assert _KEPT[adapter][1] is prepared
    with pytest.raises(ValueError, match="read-only"):
        adapter.components_[0, 0] = 7.0
    for again in (pickle.loads(pickle.dumps(adapter)), copy.deepcopy(adapter)):
        assert (again.transform(X) == adapter.transform(X)).all() and again in _KEPT
    whole = X - adapter.mean_
    adapter.components_ = np.eye(24)
    # Single precision.
    np.testing.assert_allclose(adapter.transform(X), whole / np.linalg.norm(whole, axis=1, keepdims=True), atol=1e-6)
    adapter.metric = "l2"
    np.testing.assert_allclose(adapter.transform(X), whole, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_row_alone_is_mapped_without_checks_of_scikit_learn(adapter, labelled, dtype):
    X = labelled[0].astype(dtype)
    assert (adapter.transform_array(X) == adapter.transform(X)).all()
    assert (adapter.transform_array(X[3]) == adapter.transform(X[3:4])[0]).all()
    assert adapter.transform_array(X[3]).dtype == adapter.transform(X).dtype
    with pytest.raises(ValueError, match="columns of the embeddings: 23 given, 24 expected"):
        adapter.transform_array(X[:, :23])
    with pytest.raises(ValueError, match="finite|nan"):
        adapter.transform_array(np.full(24, np.nan, dtype))
    with pytest.raises(NotFittedError):
        Adapter().transform_array(X)


def test_threads_of_the_caller_share_one_map(labelled):
    X = np.tile(labelled[0], (20, 1)).astype(np.float32)
    adapter = Adapter(member=Member("gmml", 0.1, t=0.3)).fit(*labelled)
    other = copy.deepcopy(adapter)
    wanted = other.transform(X), *other.query_map(X), other.transform(X[:1]), *other.query_map(X[:1])
    answers = []

    def work():
        for _ in range(20):
            seen = adapter.transform(X), *adapter.query_map(X), adapter.transform(X[:1]), *adapter.query_map(X[:1])
            answers.append(all((a == b).all() for a, b in zip(seen, wanted, strict=True)))

    workers = [threading.Thread(target=work) for _ in range(4)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert len(answers) == 80 and all(answers)


def test_a_gallery_of_documents_is_a_sample(labelled):
    X, y = labelled
    clicks = [(q, d) for q in range(60) for d in np.flatnonzero(y == y[q])[:2]]
    few = Adapter(max_samples=40).fit_clicks(X[:60], X, clicks)
    again = Adapter(max_samples=40).fit_clicks(X[:60], X, clicks)
    assert (few.components_ == again.components_).all()
    # Fewer rows to be found among: the measure of plain rows is another, the sums of a member are the same.
    whole = Adapter().fit_clicks(X[:60], X, clicks)
    assert few.report_.before > whole.report_.before
    member = Member("gmml", 0.1, t=0.3)
    a, b = (Adapter(member=member, max_samples=n).fit_clicks(X[:60], X, clicks) for n in (40, 10_000))
    assert (a.components_ == b.components_).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"metric": "dot"}, "metric is 'dot'; it must be 'cosine' or 'l2'"),
        ({"classes": "new"}, "classes is 'new'; it must be 'seen' or 'unseen'"),
        ({"n_components": 25}, "n_components is 25; it must be at most the number of features, 24"),
        ({"n_components": 0.5}, "n_components is 0.5; it must be a whole number"),
        ({"criterion": "accuracy"}, "the measure is 'accuracy'; it must be 'r@1'"),
        ({"member": "lda"}, "member is 'lda'; it must be a Member"),
    ],
)
def test_parameters_out_of_range(labelled, settings, words):
    with pytest.raises(ValueError, match=words):
        Adapter(**settings).fit(*labelled)


def test_rows_that_cannot_be_learned_from(labelled):
    X, y = labelled
    with pytest.raises(ValueError, match="classes is 'unseen' with 3 classes; it must be .* at least 4 classes"):
        Adapter(classes="unseen").fit(X[y < 3], y[y < 3])
    with pytest.raises(ValueError, match="12 classes of one row each"):
        Adapter().fit(X[::30], y[::30])
    with pytest.raises(ValueError, match="NaN"):
        Adapter().fit(np.where(X > 5, np.nan, X), y)
    with pytest.raises(ValueError, match="1 of 10 pairs; at least 4 of each kind"):
        Adapter().fit_pairs((X[:10], X[10:20]), [1] * 9 + [-1])
    with pytest.raises(ValueError, match="queries that have a relevant document needs at least 4 rows; 1 given"):
        Adapter().fit_clicks(X[:5], X[5:], [[0, 1], [0, 2]])
    with pytest.raises(ValueError, match=r"shapes differ: queries \(2, 24\), positives \(3, 24\)"):
        Adapter().fit_triplets(X[:2], X[:3], X[:3])
