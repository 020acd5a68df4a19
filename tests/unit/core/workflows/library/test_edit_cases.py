"""Labels and removals are edits that are undone exactly, and make the scores out of date that depend on them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.library import Library
from semblance.core.library.metric_scores import CHANGED_FINDINGS, CHANGED_PATIENTS, REMOVED_CASES
from semblance.core.library.schema import CASE_TEXTS, edits, metrics
from semblance.core.workflows.library.edit_cases import LabelConflict, remove_cases, set_finding, set_patient
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.undo_edits import read_history, redo, undo
from semblance.core.workflows.metrics.leakage import contents_elsewhere
from tests.helpers.images import striped_folder
from tests.helpers.libraries import (
    case_rows,
    fill,
    finding_of,
    join,
    make_library,
    numbers_set,
    tables_of,
    values_of,
)


@pytest.fixture
def path(tmp_path):
    """Six cases with features, and a metric trained on the first two."""
    path = make_library(tmp_path / "lib.semblance")
    with Library.open(path) as library:
        features = numbers_set(library)
        rows = case_rows(library)
        library.features.write_chunk(features, rows, values_of(rows))
        file = library.new_metric_file()
        file.write_bytes(b"a metric")
        library.add_metric("m", "euclidean", features.id, file, {}, rows[:2], {"auc": 0.8})
    return path


def scores(path):
    with Library.open(path) as library:
        return library.metric("m").scores


def content_of(path):
    """Everything in the catalogue except the log of edits and the inner tables of the text index."""
    return {
        name: rows
        for name, rows in tables_of(path).items()
        if name != edits.name and not name.startswith(f"{CASE_TEXTS}_")
    }


def test_a_finding_is_given_undone_and_given_again(path):
    before, ids = finding_of(path), ["s/0.png", "s/1.png"]
    result = set_finding(path, ids, " malignant ")
    # The second case had it already.
    assert (result.changed, result.outdated, str(result.text)) == (1, ("m",), "Label 1 case malignant")
    assert finding_of(path) == before | {"s/0.png": "malignant"}
    assert scores(path)[CHANGED_FINDINGS] == {"s/0.png": "benign"}
    assert undo(path).edit.kind == "finding"
    assert finding_of(path) == before
    assert scores(path)[CHANGED_FINDINGS] == {}
    assert undo(path) is None
    redo(path)
    assert finding_of(path)["s/0.png"] == "malignant"
    assert scores(path)[CHANGED_FINDINGS] == {"s/0.png": "benign"}
    assert redo(path) is None


def test_a_dry_run_reports_the_same_and_changes_nothing(path):
    before = tables_of(path)
    preview = set_finding(path, ["s/0.png", "s/2.png"], None, dry_run=True)
    assert tables_of(path) == before
    made = set_finding(path, ["s/0.png", "s/2.png"], None)
    assert (preview.changed, preview.outdated) == (made.changed, made.outdated) == (2, ("m",))
    # They are out of date already.
    assert set_finding(path, ["s/4.png"], None).outdated == ()


def test_a_patient_is_set_and_its_scores_are_out_of_date(path):
    set_patient(path, ["s/0.png"], "P9")
    assert scores(path)[CHANGED_PATIENTS] == {"s/0.png": "P0"}
    undo(path)
    assert scores(path)[CHANGED_PATIENTS] == {}


def test_what_cannot_be_labelled_changes_nothing(path):
    before = tables_of(path)
    for wrong, error in (
        (lambda: set_finding(path, ["s/0.png", "s/9.png"], "x"), BadInput),
        (lambda: set_finding(path, [], "x"), BadArguments),
        (lambda: set_finding(path, ["s/0.png"], " "), BadArguments),
        (lambda: set_finding(path, ["s/0.png"], "a\nb"), BadArguments),
        (lambda: remove_cases(path, ["s/9.png"]), BadInput),
    ):
        with pytest.raises(error):
            wrong()
    assert tables_of(path) == before


def test_labels_that_change_nothing_are_no_edit(path):
    assert set_finding(path, ["s/0.png"], "benign").changed == 0
    assert read_history(path).edits == ()


def test_a_new_edit_takes_the_place_of_those_undone(path):
    set_finding(path, ["s/0.png"], "a")
    set_finding(path, ["s/0.png"], "b")
    undo(path)
    set_patient(path, ["s/0.png"], "P9")
    assert [edit.kind for edit in read_history(path).edits] == ["finding", "patient"]
    assert redo(path) is None


def test_undoing_leaves_what_was_changed_meanwhile(path):
    set_finding(path, ["s/0.png", "s/2.png"], "malignant")
    with Library.open(path) as library:
        library.catalogue.relabel([("s/0.png", "normal", "P0", {})])
    assert undo(path).skipped == 1
    assert (finding_of(path)["s/0.png"], finding_of(path)["s/2.png"]) == ("normal", "benign")


def test_removed_cases_come_back_with_features_groups_and_scores(path):
    with Library.open(path) as library:
        join(library, [1, 5])
    before = content_of(path)
    result = remove_cases(path, ["s/0.png", "s/4.png"])
    assert (result.changed, result.outdated) == (2, ("m",))
    with Library.open(path) as library:
        ids, values = library.features.read(library.features.get(None))
        assert ids.tolist() == [2, 3, 4, 6]
        np.testing.assert_array_equal(values, values_of([2, 3, 4, 6]))
        assert contents_elsewhere(library.metric("m").card) == ("c0",)
    assert scores(path)[REMOVED_CASES] == {"s/0.png": True, "s/4.png": True}
    undo(path)
    after = content_of(path)
    assert {name for name in before if before[name] != after[name]} == {metrics.name}
    assert scores(path) == {"auc": 0.8, REMOVED_CASES: {}}
    redo(path)
    assert sorted(finding_of(path)) == ["s/1.png", "s/2.png", "s/3.png", "s/5.png"]
    undo(path)
    assert content_of(path) == after


def test_a_removed_case_comes_back_beside_one_that_took_its_number(path):
    remove_cases(path, ["s/5.png"])
    with Library.open(path) as library:
        fill(library, [6])
        assert library.catalogue.row_of("s/6.png") == 6
        features = library.features.get(None)
        library.features.write_chunk(features, np.array([6]), values_of([60]))
    undo(path)
    with Library.open(path) as library:
        row = library.catalogue.row_of("s/5.png")
        ids, values = library.features.read(library.features.get(None))
        by_row = dict(zip(ids.tolist(), values.tolist(), strict=True))
        assert row == 7
        assert by_row[row] == values_of([6])[0].tolist()
        assert by_row[6] == values_of([60])[0].tolist()
    # An older edit of the case is not one of the other.
    assert finding_of(path)["s/6.png"] == "benign"


def test_a_damaged_log_is_named(path):
    set_finding(path, ["s/0.png"], "x")
    with Library.open(path) as library, library.catalogue.transaction() as connection:
        connection.execute(edits.update().values(changes=[{"table": "sources", "columns": []}]))
    with pytest.raises(BadInput, match="log"):
        undo(path)


def test_importing_again_keeps_labels_and_leaves_removed_cases_out(tmp_path):
    source = striped_folder(tmp_path / "images")
    path = tmp_path / "lib.semblance"
    others = import_source(source, path).ignored
    first, second, third, *_ = finding_of(path)
    set_finding(path, [first], "odd")
    set_patient(path, [first], "P9")
    remove_cases(path, [second, third])
    result = import_source(source, path)
    assert (result.added, result.relabelled) == (0, 0)
    assert len(result.ignored) == len(others) + 2
    assert "2 cases were left out" in result.notes[0]
    assert {first, second, third} & finding_of(path).keys() == {first}
    assert finding_of(path)[first] == "odd"
    undo(path)
    assert import_source(source, path).ignored == others
    assert len(finding_of(path)) == result.cases + 2


def test_a_label_that_is_not_what_was_seen_is_not_overwritten(path):
    known = finding_of(path)
    ids = list(known)[:3]
    seen = [known[case] for case in ids]
    set_finding(path, ids[:1], "theirs", seen=seen[:1])
    before = content_of(path)
    with pytest.raises(LabelConflict) as conflict:
        set_finding(path, ids, "mine", seen=seen)
    # All of it, or nothing.
    assert content_of(path) == before
    (changed,) = pickle.loads(pickle.dumps(conflict.value)).changed
    assert (changed.case_id, changed.current) == (ids[0], "theirs")
    assert changed.author and changed.time
    # Another patient is no conflict, nor is the value that somebody else has set already.
    with Library.open(path) as library:
        patient = library.catalogue.all_cases()[0].patient
    assert set_patient(path, ids[:1], "another", seen=[patient]).changed == 1
    assert set_finding(path, ids[:1], "theirs", seen=seen[:1]).changed == 0
    assert set_finding(path, ids, "mine", seen=["theirs", *seen[1:]]).changed == 3
