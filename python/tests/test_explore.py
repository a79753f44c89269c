"""The page on which t moves the points."""

import base64
import html
import json
import re

import numpy as np
import pandas as pd
import pytest
from mahala import GMML
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris, load_wine


def block(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page.html, re.S).group(1))


def array(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype=dtype)


def test_every_t_has_the_distances_of_a_fit():
    X, y = load_wine(return_X_y=True)
    data = block(GMML(standardize=True).explore(X, y))
    z = array(data["rows"]["z"], "<f4").reshape(len(X), -1).astype(float)
    for t in (0.0, 0.4, 1.0):
        weights = np.exp(0.5 * t * array(data["logLambda"], "<f8")) * np.sqrt(array(data["rows"]["variance"], "<f8"))
        ours = np.linalg.norm((z - z[0]) * weights, axis=1)
        moved = GMML(standardize=True, t=t).fit(X, y).transform(X)
        # Single precision, 6e-8 of a coordinate.
        np.testing.assert_allclose(ours, np.linalg.norm(moved - moved[0], axis=1), rtol=1e-5)


def test_the_t_is_that_of_the_fit_and_the_estimator_stays_as_it_was():
    X, y = load_iris(return_X_y=True)
    estimator = GMML(random_state=3)
    page = estimator.explore(X, y)
    assert not hasattr(estimator, "components_") and not hasattr(estimator, "n_features_in_")
    assert block(page)["heldOut"]["t"] == estimator.fit(X, y).t_
    assert estimator.explore(X, y).html == page.html
    assert GMML(random_state=3, n_jobs=1).explore(X, y).html == page.html


def test_names_come_from_the_data_frame_and_stay_text():
    X, y = load_iris(return_X_y=True)
    hostile = "</script><b>"
    frame = pd.DataFrame(X, columns=["a", hostile, "c", "d"])
    page = GMML(t=0.5).explore(frame, np.array(["x", hostile, "z"])[y], title=hostile)
    assert hostile not in page.html
    assert block(page)["columns"]["names"] == ["a", hostile, "c", "d"]
    assert hostile in block(page)["classes"]


def test_a_notebook_shows_it_in_a_frame_and_a_file_holds_it(tmp_path):
    X, y = load_iris(return_X_y=True)
    page = GMML(t=0.5).explore(X, y, max_rows=40)
    shown = page._repr_html_()
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', shown).group(1)) == page.html
    page.save(tmp_path / "iris.html")
    assert (tmp_path / "iris.html").read_text(encoding="utf-8") == page.html
    assert block(page)["rows"]["count"] == 40
    assert repr(page).startswith("Explorer(")


@pytest.mark.parametrize(
    "parameters, given, words",
    [
        ({"n_components": 2}, {}, "n_components is 2"),
        ({"scoring": "accuracy"}, {}, "scoring has no effect"),
        ({"class_weight": {0: 2.0}}, {}, "class_weight is a dict"),
        ({}, {"max_rows": 1}, "max_rows"),
        ({}, {"coordinates": 0}, "coordinates"),
    ],
)
def test_what_has_no_effect_is_refused(parameters, given, words):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=words):
        GMML(**parameters).explore(X, y, **given)


def test_sparse_rows_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="X is sparse"):
        GMML().explore(csr_matrix(X), y)


def test_groups_are_kept_whole_where_the_error_is_measured():
    X, y = load_iris(return_X_y=True)
    groups = np.arange(len(y)) // 10
    grouped, plain = GMML(t=0.3).explore(X, y, groups=groups), GMML(t=0.3).explore(X, y)
    assert block(grouped)["heldOut"] != block(plain)["heldOut"]
