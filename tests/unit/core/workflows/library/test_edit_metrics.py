"""Feature sets and metrics are renamed, duplicated and deleted, and come back with their files."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.library.library import Library
from semblance.core.library.records import DELETED
from semblance.core.library.schema import edits
from semblance.core.workflows.library.edit_metrics import (
    delete_features,
    delete_metric,
    duplicate_features,
    duplicate_metric,
    rename_features,
    rename_metric,
)
from semblance.core.workflows.library.undo_edits import forget_deleted, read_history, redo, undo
from semblance.core.workflows.maintenance.verify_library import verify_library
from tests.helpers.libraries import case_rows, make_library, numbers_set, tables_of, values_of


@pytest.fixture
def path(tmp_path):
    """A library with the feature set "made up" and the current metric "m" on it."""
    path = make_library(tmp_path / "lib.semblance")
    with Library.open(path) as library:
        features, rows = numbers_set(library), case_rows(library)
        library.features.write_chunk(features, rows, values_of(rows))
        file = library.new_metric_file()
        file.write_bytes(b"a metric")
        library.add_metric("m", "euclidean", features.id, file, {}, rows[:2], {"auc": 0.8})
        library.set_current_metric("m")
        library.save_search("mine", {"metric": "m"})
    return path


def content_of(path):
    return {name: rows for name, rows in tables_of(path).items() if name != edits.name}


def files_of(path):
    found = (file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
    return {name for name in found if name.startswith(("features", "metrics"))}


def values_in(path, name):
    with Library.open(path) as library:
        return library.features.read(library.features.get(name))[1]


@pytest.mark.parametrize(
    "edit",
    [
        lambda path: rename_metric(path, "m", "new"),
        lambda path: duplicate_metric(path, "m", "new"),
        lambda path: delete_metric(path, "m"),
        lambda path: rename_features(path, "made up", "new"),
        lambda path: duplicate_features(path, "made up", "new"),
        lambda path: delete_features(path, "made up"),
    ],
)
def test_each_is_undone_and_redone_with_its_files(path, edit):
    before, files = content_of(path), files_of(path)
    edit(path)
    after, changed_files = content_of(path), files_of(path)
    assert after != before
    undo(path)
    assert (content_of(path), files_of(path)) == (before, files)
    redo(path)
    assert (content_of(path), files_of(path)) == (after, changed_files)
    undo(path)
    assert not [one for one in verify_library(path).findings if one.part in ("features", "files")]


def test_a_renamed_metric_stays_current_and_is_found_by_searches(path):
    rename_metric(path, "m", "best")
    with Library.open(path) as library:
        assert library.selected_metric == "best"
        assert library.load_search("mine") == {"metric": "best"}


def test_a_copy_has_values_of_its_own(path):
    duplicate_features(path, "made up", "copy")
    delete_features(path, "made up")
    np.testing.assert_array_equal(values_in(path, "copy"), values_of(range(1, 7)))


def test_deleting_a_feature_set_deletes_its_metrics_and_its_number_is_not_reused(path):
    assert delete_features(path, "made up").changed == 1
    with Library.open(path) as library:
        assert library.metrics() == []
        made = numbers_set(library, "other")
        library.features.write_chunk(made, case_rows(library)[:1], values_of([50]))
    undo(path)
    np.testing.assert_array_equal(values_in(path, "made up"), values_of(range(1, 7)))
    np.testing.assert_array_equal(values_in(path, "other"), values_of([50]))


def test_a_restored_metric_is_renamed_if_its_name_is_taken(path):
    delete_metric(path, "m")
    with Library.open(path) as library:
        file = library.new_metric_file()
        file.write_bytes(b"another")
        library.add_metric("m", "euclidean", 1, file, {}, np.empty(0, np.int64), None)
    undo(path)
    with Library.open(path) as library:
        assert {one.name: one.file.read_bytes() for one in library.metrics()} == {
            "m": b"another",
            "m 2": b"a metric",
        }


def test_forgotten_files_are_gone_with_the_edits_that_deleted_them(path):
    rename_metric(path, "m", "new")
    delete_features(path, "made up")
    assert read_history(path).deleted_bytes > 0
    assert forget_deleted(path) > 0
    assert not (path / DELETED).exists()
    history = read_history(path)
    assert ([edit.kind for edit in history.edits], history.deleted_bytes) == (["rename metric"], 0)


def test_a_copied_set_with_a_metric_is_not_undone(path):
    duplicate_features(path, "made up", "copy")
    with Library.open(path) as library:
        file = library.new_metric_file()
        file.write_bytes(b"on the copy")
        library.add_metric("c", "euclidean", 2, file, {}, np.empty(0, np.int64), None)
    with pytest.raises(SemblanceError, match="'c' uses"):
        undo(path)
    assert values_in(path, "copy").shape == (6, 3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda path: rename_metric(path, "m", "m"),
        lambda path: rename_metric(path, "other", "x"),
        lambda path: duplicate_metric(path, "m", " "),
        lambda path: rename_features(path, "made up", "made up"),
        lambda path: delete_features(path, "other"),
    ],
)
def test_what_makes_no_sense_is_refused(path, wrong):
    before = tables_of(path)
    with pytest.raises(BadArguments):
        wrong(path)
    assert tables_of(path) == before
