from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging.region import Region
from semblance.core.library.library import Library
from semblance.core.library.records import NOT_THERE, CaseRecord, FileRecord
from tests.helpers.libraries import case_rows, fill, make_library, numbers_set, values_of


@pytest.fixture
def library(tmp_path):
    with Library.open(make_library(tmp_path / "lib")) as opened:
        yield opened


def sources(library):
    return library.catalogue.sources()


def test_what_is_written_is_read_back(library):
    source = library.catalogue.add_source("table", "t", Path("/t.csv"), ("a", "b"))
    case = CaseRecord(
        "t/日本 'x\"",
        "",
        "array",
        7,
        None,
        None,
        Region(1, 2, 3, 4),
        {"näme": "wert"},
        5,
        6,
        "content",
        (1.5, float("nan")),
    )
    library.catalogue.put(source, [FileRecord("", 10, -3, "h", "ok")], [case])
    row = library.catalogue.row_of("t/日本 'x\"")
    details = library.catalogue.details([row])[row]
    assert (details.case_id, details.finding, details.patient) == (case.case_id, None, None)
    assert (details.region, details.attributes, details.width, details.height) == (
        Region(1, 2, 3, 4),
        {"näme": "wert"},
        5,
        6,
    )
    assert (details.kind, details.content, details.state) == ("table", "content", "ok")
    # A row of a table has no width; with one it is an image with ready numbers beside it.
    assert details.address is not None
    assert (details.address.member, details.address.frame) == ("array", 7)
    rows, values, contents = library.catalogue.numbers([row, 1])
    assert contents == ["content"]
    assert rows.tolist() == [row]
    np.testing.assert_array_equal(values, [[1.5, np.nan]])
    assert library.catalogue.sources()[1].columns == ("a", "b")


def test_cases_keep_their_rows_when_written_again(library):
    before = {r.case_id: r.id for r in library.catalogue.all_cases()}
    fill(library, [9, 3, 0], findings=("other",), content="other ")
    after = {r.case_id: (r.id, r.finding, r.content) for r in library.catalogue.all_cases()}
    assert {key: after[key][0] for key in before} == before
    assert after["s/3.png"][1:] == ("other", "other 3")
    assert after["s/1.png"][1:] == ("malignant", "c1")
    assert len(after) == 7


def test_cases_that_show_something_else_lose_their_numbers_in_the_same_transaction(library):
    made, rows = numbers_set(library), case_rows(library)
    library.features.write_chunk(made, rows, values_of(rows))
    (source,) = sources(library)
    changed = library.catalogue.put(
        source,
        [FileRecord(f"{n}.png", 1, 1, "h", "ok") for n in (1, 2)],
        [
            CaseRecord("s/1.png", "1.png", content="new"),
            CaseRecord("s/2.png", "2.png", content="c2", finding="x"),
        ],
    )
    assert changed == [("s/1.png", "c1")]
    assert library.features.cases_of(made).tolist() == [row for row in rows if row != 2]
    assert library.features.cases_to_extract(made, images=True).tolist() == [2]


def test_sources_of_one_name_are_numbered_and_the_same_source_is_found_again(library):
    add = library.catalogue.add_source
    first, second, third = (add("folder", "x", Path(f"/{n}")) for n in range(3))
    assert [first.name, second.name, third.name] == ["x", "x 2", "x 3"]
    assert add("folder", "whatever", Path("/1")) == second
    assert add("corel", "x", Path("/1")).name == "x 4"


def test_states_of_files(library):
    catalogue, (source,) = library.catalogue, sources(library)
    catalogue.set_state(source, ["1.png", "2.png"], "missing", NOT_THERE)
    catalogue.put(source, [FileRecord("bad.png", 3, 4, "", "failed", "empty")], [])
    assert catalogue.files_without_cases() == [
        ("s", "bad.png", "failed", "empty"),
        ("s", "1.png", "missing", NOT_THERE),
        ("s", "2.png", "missing", NOT_THERE),
    ]
    assert [r.state for r in catalogue.all_cases()] == ["ok", "missing", "missing", "ok", "ok", "ok"]
    assert catalogue.details([2])[2].reason == NOT_THERE
    catalogue.move_source(source, Path("/elsewhere"), ["4.png", "bad.png"])
    assert [r.state for r in catalogue.all_cases()] == ["ok", "ok", "ok", "ok", "missing", "ok"]
    assert catalogue.files(source)["bad.png"].state == "failed"
    assert catalogue.details([1])[1].address.container == Path("/elsewhere/0.png")


def test_labels_are_changed_without_touching_the_rest(library):
    catalogue, (source,) = library.catalogue, sources(library)
    catalogue.relabel([("s/0.png", "new", None, {"view": "MLO"}), ("s/5.png", None, "P9", {})])
    catalogue.relabel([])
    labels = catalogue.labels(source)
    assert (labels["s/0.png"].finding, labels["s/0.png"].patient, labels["s/0.png"].attributes) == (
        "new",
        None,
        {"view": "MLO"},
    )
    assert (labels["s/5.png"].finding, labels["s/5.png"].patient) == (None, "P9")
    assert (labels["s/1.png"].finding, labels["s/1.png"].path) == ("malignant", "1.png")
    assert catalogue.details([1])[1].content == "c0"
    assert library.summary()["findings"] == {"benign": 2, "malignant": 2, "new": 1, "(none)": 1}


def test_removed_cases_leave_no_trace_and_their_row_ids_are_not_reused(library):
    catalogue, (source,) = library.catalogue, sources(library)
    made, rows = numbers_set(library), case_rows(library)
    library.features.write_chunk(made, rows[:5], values_of(rows[:5]), [(6, "c5", "unreadable")])
    catalogue.remove(source, ["5.png"], ["s/5.png", "s/0.png"])
    assert [r.case_id for r in catalogue.all_cases()] == ["s/1.png", "s/2.png", "s/3.png", "s/4.png"]
    assert library.features.cases_of(made).tolist() == [2, 3, 4, 5]
    assert library.features.failures(made) == []
    assert "5.png" not in catalogue.files(source)
    fill(library, [70])
    assert library.features.cases_to_extract(made, images=True).tolist() == [catalogue.row_of("s/70.png")]


def test_an_unknown_case_is_reported_with_a_hint(library):
    with pytest.raises(BadInput, match=r"no case 's/77.png' in lib.*info LIB --json"):
        library.catalogue.row_of("s/77.png")
    assert library.catalogue.details([77]) == {}


def test_images_in_folders_zips_and_arrays_have_addresses(library):
    def address(source_path, path, member="", frame=None):
        source = library.catalogue.add_source("any", "any", Path(source_path))
        case = CaseRecord(f"{source.name}/x", path, member, frame)
        library.catalogue.put(source, [FileRecord(path, 1, 1, "h", "ok")], [case])
        row = library.catalogue.row_of(case.case_id)
        found = library.catalogue.details([row])[row].address
        return str(found.container), found.member, found.frame

    assert address("/a folder", "b/c.png") == ("/a folder/b/c.png", "", None)
    assert address("/a.ZIP", "b/c.png") == ("/a.ZIP", "b/c.png", None)
    assert address("/a.npz", "", "train_images", 3) == ("/a.npz", "train_images", 3)
    assert address("/b.zip", "in.npz", "train_images", 3) == ("/b.zip", "in.npz!train_images", 3)
    assert address("/single.png", "") == ("/single.png", "", None)


def test_the_stamp_changes_with_every_write_of_anyone(library):
    stamps = {library.catalogue.stamp()}
    with Library.open(library.location) as other:
        for number in range(5):
            other.save_search("mine", {"k": number})
            stamps.add(library.catalogue.stamp())
            assert len(stamps) == number + 2
        other.summary()
        library.summary()
        assert library.catalogue.stamp() in stamps


@pytest.mark.slow
def test_many_cases_are_read_at_once(library):
    source = fill(library, range(25_000))
    rows = case_rows(library)
    assert len(library.catalogue.details(rows.tolist())) == 25_000
    library.catalogue.set_state(source, [f"{n}.png" for n in range(25_000)], "missing")
    library.catalogue.remove(source, [], [f"s/{n}.png" for n in range(24_990)])
    assert library.summary()["cases"] == 10
