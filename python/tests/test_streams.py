"""Streams of rows: forgetting, and a window over the last blocks."""

import numpy as np
import pytest
from mahala import GMML, Moments, Window


def block(seed, n=60, d=4):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    return random.normal(size=(n, d)) * np.arange(1, d + 1) + y[:, None], y


def test_a_window_holds_the_last_blocks_and_no_others():
    window = Window(4, 3)
    for seed in range(8):
        window.push(*block(seed))
    assert len(window) == 3
    X, y = (np.concatenate(parts) for parts in zip(*(block(seed) for seed in (5, 6, 7)), strict=True))
    learned = GMML(t=0.4).fit_moments(window.moments).get_mahalanobis_matrix()
    np.testing.assert_allclose(learned, GMML(t=0.4).fit(X, y).get_mahalanobis_matrix(), rtol=1e-10)


def test_forgetting_is_a_weight_that_falls_with_every_batch():
    online = GMML(t=0.4)
    for seed in range(3):
        online.partial_fit(*block(seed), forgetting=0.5)
    moments = Moments(4)
    for seed, weight in enumerate([0.25, 0.5, 1.0]):
        X, y = block(seed)
        moments.update(X, y, np.full(len(y), weight))
    wanted = GMML(t=0.4).fit_moments(moments).get_mahalanobis_matrix()
    np.testing.assert_allclose(online.get_mahalanobis_matrix(), wanted, rtol=1e-10)


@pytest.mark.parametrize("factor", [0.0, -1.0, 1.5, float("nan")])
def test_nothing_is_forgotten_by_a_factor_that_is_none(factor):
    moments = Moments(4).update(*block(0))
    with pytest.raises(ValueError, match="forgetting .* above 0 and at most 1"):
        moments.forget(factor)
    assert moments == Moments(4).update(*block(0))


def test_a_window_of_nothing_is_refused():
    with pytest.raises(ValueError, match="window is 0; it must be at least 1"):
        Window(4, 0)
