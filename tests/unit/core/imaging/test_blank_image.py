"""Blank images, and images whose lower or right part is missing."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.imaging.blank_image import is_blank, missing_share


@pytest.fixture
def grey():
    return np.random.default_rng(0).uniform(0.3, 0.9, (100, 80)).astype(np.float32)


def test_one_grey_all_over_is_blank(grey):
    assert is_blank(np.full((50, 50), 0.5, np.float32))
    assert not is_blank(grey)
    lesion = np.zeros((100, 100), np.float32)
    lesion[40:45, 40:45] = 1
    assert not is_blank(lesion)


def test_a_band_that_ends_abruptly_is_missing(grey):
    cut = grey.copy()
    cut[70:] = 0.0
    assert missing_share(cut) == pytest.approx(0.3)
    assert missing_share(np.ascontiguousarray(cut.T)) == pytest.approx(0.3)
    assert missing_share(grey) == 0.0


def test_a_background_and_a_margin_are_not_missing(grey):
    fading = grey * np.clip(np.linspace(2, -0.5, 100), 0, 1)[:, None].astype(np.float32)
    margin = grey.copy()
    margin[:15] = margin[85:] = 0.0
    assert missing_share(fading) == 0.0
    assert missing_share(margin) == 0.0
    margin[85:] = 0.5
    assert missing_share(margin) == pytest.approx(0.15)
