"""Decisions about doubtful cases are stored with the library and can be undone."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.library.data_reviews import add_review, read_reviews, undo_review
from semblance.core.library.edit_log import given_labels
from semblance.core.library.library import Library
from semblance.core.library.metric_scores import CHANGED_FINDINGS
from tests.helpers.libraries import finding_of, make_library, numbers_set


@pytest.fixture
def path(tmp_path):
    return make_library(tmp_path / "lib.semblance", cases=4)


def test_a_new_finding_is_stored_with_the_earlier_ones_and_undone(path):
    before = finding_of(path)
    with Library.open(path) as library:
        review = add_review(library, "label_conflict", ("s/0.png", "s/1.png"), "malignant")
        assert dict(review.before) == {"s/0.png": "benign"}
        add_review(library, "outlier", ("s/2.png",), None)
    assert finding_of(path) == before | {"s/0.png": "malignant"}
    with Library.open(path) as library:
        assert [one.finding for one in read_reviews(library.catalogue)] == ["malignant", None]
        assert given_labels(library) == {"s/0.png": {"finding": "malignant"}}
        assert undo_review(library).check == "outlier"
        assert undo_review(library) == review
        assert undo_review(library) is None
        assert read_reviews(library.catalogue) == ()
    assert finding_of(path) == before


def test_a_missing_case_changes_nothing(path):
    before = finding_of(path)
    with Library.open(path) as library, pytest.raises(BadInput, match="no longer has the case"):
        add_review(library, "label_conflict", ("s/0.png", "s/9.png"), "malignant")
    assert finding_of(path) == before


def test_scores_know_which_findings_changed_since_they_were_measured(path):
    def changed():
        return library.metric("m").scores[CHANGED_FINDINGS]

    with Library.open(path) as library:
        features = numbers_set(library)
        for name, scores in (("m", {"auc": 0.8}), ("unscored", None)):
            training = np.empty(0, np.int64)
            library.add_metric(
                name, "euclidean", features.id, library.new_metric_file(), {}, training, scores
            )
        add_review(library, "label_conflict", ("s/0.png", "s/1.png"), "malignant")
        assert changed() == {"s/0.png": "benign"}
        add_review(library, "label_conflict", ("s/0.png",), "normal")
        assert changed() == {"s/0.png": "benign"}
        add_review(library, "label_conflict", ("s/0.png",), "benign")
        assert changed() == {}
        undo_review(library)
        assert changed() == {"s/0.png": "benign"}
        assert library.metric("m").scores["auc"] == 0.8
        assert library.metric("unscored").scores is None
