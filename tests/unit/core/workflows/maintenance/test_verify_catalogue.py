from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.library import schema
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE, JudgementRecord, now
from semblance.core.library.row_sums import changed_rows
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.maintenance.verify_library import verify_library
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.checks import parts_of
from tests.helpers.libraries import query_features, raw, settled, tables_of
from tests.unit.core.workflows.maintenance.conftest import CASES


def save_long_search(library: Path) -> bytearray:
    """The catalogue's bytes with a search that fills pages of its own, at the end."""
    with Library.open(library) as opened:
        opened.save_search("long one", {"much": "x" * 400_000})
    return settled(library)


def test_a_damaged_catalogue_is_salvaged_and_the_old_one_kept(library):
    data = save_long_search(library)
    file = library / CATALOGUE
    # In the overflow pages of the long search: everything else can be read.
    start = len(data) - 200_000
    data[start : start + 9000] = b"\xa7" * 9000
    file.write_bytes(data)
    assert parts_of(verify_library(library)) == ["catalogue"]
    mended = verify_library(library, repair=True)
    assert f"{CASES} cases" in mended.findings[0].repaired
    assert (Path(mended.moved_to) / CATALOGUE).read_bytes() == bytes(data)
    assert verify_library(library).findings == []
    assert len(query_features(library)[0]) == CASES


def test_a_catalogue_nothing_can_be_read_of_is_left_as_it_is(library):
    file = library / CATALOGUE
    file.write_bytes(b"not a database at all" * 500)
    for repair in (False, True):
        result = verify_library(library, repair=repair)
        assert parts_of(result) == ["catalogue"]
        assert result.open_harm
        assert file.read_bytes() == b"not a database at all" * 500
        assert ("--repair" in result.findings[0].remedy) is not repair
        assert result.works == ["Nothing more can be said while the catalogue is damaged."]


def test_a_catalogue_that_was_cut_short_is_salvaged_as_far_as_it_goes(library):
    data = save_long_search(library)
    (library / CATALOGUE).write_bytes(data[:-300_000])
    mended = verify_library(library, repair=True)
    assert f"{CASES} cases" in mended.findings[0].repaired
    assert verify_library(library).findings == []


def test_rows_whose_text_is_damaged_are_named_and_saved(library):
    with raw(library) as connection:
        connection.execute("UPDATE feature_sets SET columns = CAST(replace(columns, 'e', x'ff') AS TEXT)")
        connection.execute("UPDATE cases SET attributes = '{\"half' WHERE id = 3")
    with pytest.raises(BadInput, match=r"catalogue .* is damaged: a text in it cannot be read\. Save what"):
        query_features(library)
    found = verify_library(library)
    assert [f.says for f in found.findings] == [
        "Rows of the catalogue cannot be read: 1 of cases, 1 of feature_sets."
    ]
    assert found.open_harm
    mended = verify_library(library, repair=True)
    assert mended.open_harm == []
    assert mended.findings[0].repaired.startswith("1 rows can be read again, 1 were taken out")
    assert (Path(mended.moved_to) / CATALOGUE).is_file()
    assert verify_library(library).findings == []
    assert len(query_features(library)[0]) == CASES - 1


def test_the_keys_of_codes_are_never_mended(library):
    with raw(library) as connection:
        connection.execute("INSERT INTO meta (key, value) VALUES ('key', CAST(x'ffff' AS TEXT))")
    result = verify_library(library, repair=True)
    assert [bool(f.repaired) for f in result.findings] == [False]
    assert result.works == ["Nothing more can be said while the catalogue is damaged."]


def test_rows_that_point_to_nothing_are_taken_out(library):
    with raw(library) as connection:
        connection.execute("UPDATE cases SET file = 99999 WHERE id = 3")
    result = verify_library(library)
    assert parts_of(result) == ["catalogue rows"]
    mended = verify_library(library, repair=True)
    assert parts_of(mended) == ["catalogue rows", "catalogue rows"]
    assert mended.open_harm == []
    assert verify_library(library).findings == []
    assert len(query_features(library)[0]) == CASES - 1


# Letters that became others


def change(library: Path, old: bytes, new: bytes) -> None:
    """Bytes of the catalogue become others past SQLite, as on a disk that fails: once."""
    data = settled(library)
    assert len(old) == len(new)
    assert data.count(old) == 1
    (library / CATALOGUE).write_bytes(data.replace(old, new))


def without_sums(library: Path, statement: str, *values: object) -> None:
    """Change the catalogue as a program would that knows nothing of sums."""
    with contextlib.closing(sqlite3.connect(library / CATALOGUE)) as connection, connection:
        assert connection.execute(statement, values).rowcount > 0


def test_a_bit_that_turned_is_turned_back(library):
    with Library.open(library) as opened:
        case = opened.catalogue.all_cases()[5]
    with raw(library) as connection:
        connection.execute("UPDATE cases SET patient = 'Nightingale' WHERE id = ?", (case.id,))
    assert verify_library(library).findings == []
    before = tables_of(library)
    # A and a are one bit apart.
    change(library, b"Nightingale", b"NightingAle")
    found = verify_library(library)
    assert [f.says for f in found.findings] == [
        f"Rows of the catalogue are not as they were written: 1 of cases ({case.case_id})."
    ]
    assert "Metric 'plain'." in found.works
    mended = verify_library(library, repair=True)
    assert mended.open_harm == []
    assert mended.findings[0].repaired == (
        "1 rows are what was written again: a single bit of each had changed."
    )
    assert b"NightingAle" in (Path(mended.moved_to) / CATALOGUE).read_bytes()
    assert tables_of(library) == before
    assert verify_library(library).findings == []


def test_a_case_that_changed_more_is_taken_out_and_imported_again(library):
    with raw(library) as connection:
        connection.execute("UPDATE cases SET patient = 'Nightingale' WHERE id = 5")
    change(library, b"Nightingale", b"Nighxxngale")
    mended = verify_library(library, repair=True)
    assert mended.open_harm == []
    assert mended.findings[0].repaired.startswith("1 rows were taken out, 0 are taken for what they say now;")
    assert b"Nighxxngale" in (Path(mended.moved_to) / CATALOGUE).read_bytes()
    assert verify_library(library).findings == []
    import_source(library.parent / "images", library)
    with Library.open(library) as opened:
        assert len(opened.catalogue.all_cases()) == CASES


def test_what_only_this_library_has_is_kept_as_it_now_reads(library):
    with Library.open(library) as opened:
        opened.save_search("my search", {"note": "carcinoma"})
    change(library, b"carcinoma", b"carxxnoma")
    assert parts_of(verify_library(library)) == ["catalogue rows"]
    mended = verify_library(library, repair=True)
    assert mended.findings[0].repaired.startswith("0 rows were taken out, 1 are taken for what they say now;")
    assert verify_library(library).findings == []
    with Library.open(library) as opened:
        assert opened.load_search("my search") == {"note": "carxxnoma"}


def test_a_judgement_that_became_another_teaches_nothing(library):
    with Library.open(library) as opened:
        one, two = (row.case_id for row in opened.catalogue.all_cases()[:2])
        for author in ("Curie", "Hodgkin"):
            record = JudgementRecord("alike", one, two, None, None, (), author, now())
            opened.judgements("mine").append([record])
    change(library, b"Curie", b"Cabie")
    mended = verify_library(library, repair=True)
    assert mended.findings[0].repaired.startswith("1 rows were taken out, 0")
    with Library.open(library) as opened:
        assert [record.author for _, record, _ in opened.judgements("mine").read()] == ["Hodgkin"]


def test_rows_of_numbers_that_stand_for_other_cases_are_extracted_again(library):
    ids, before = query_features(library)
    rows = ids.copy()
    rows[[3, 4]] = rows[[4, 3]]
    without_sums(library, "UPDATE feature_chunks SET case_rows = ?", rows.tobytes())
    assert not np.array_equal(query_features(library)[1], before)
    assert parts_of(verify_library(library)) == ["catalogue rows"]
    assert verify_library(library, repair=True).open_harm == []
    extract_features(library, "colour_edge_texture", workers=1)
    np.testing.assert_array_equal(query_features(library)[1], before)


def test_a_source_that_changed_keeps_no_ids_from_then_on(library):
    without_sums(library, "UPDATE sources SET identified = 1, kind = 'folxxr'")
    assert verify_library(library, repair=True).open_harm == []
    with Library.open(library) as opened:
        assert [source.identified for source in opened.catalogue.sources()] == [False]


def test_what_a_metric_learnt_from_is_nobodys_guess(library):
    without_sums(library, "UPDATE metrics SET training = ?", np.arange(1, 9).tobytes())
    with raw(library) as connection:
        connection.execute("INSERT INTO searches (name, state, saved) VALUES ('b', '{}', 'x')")
    without_sums(library, "UPDATE searches SET saved = 'yyy' WHERE name = 'b'")
    for _ in range(2):
        mended = verify_library(library, repair=True)
        (finding,) = mended.open_harm
        assert "1 of metrics" in finding.says
        assert "metrics that or training again" in finding.remedy
    train_metric(library, TrainRequest("euclidean", "plain"))
    assert verify_library(library).findings == []


def test_what_an_older_program_wrote_meanwhile_is_sound(library):
    without_sums(library, "INSERT INTO searches (name, state, saved) VALUES ('b', '{}', 'x')")
    without_sums(library, "UPDATE metrics SET row_sum = NULL")
    mended = verify_library(library, repair=True)
    assert mended.open_harm == []
    with Library.open(library) as opened:
        assert "b" in opened.searches()
    assert verify_library(library).findings == []


def test_changed_settings_of_a_library_are_told_and_left_and_the_rest_is_mended(library):
    with Library.open(library) as opened:
        opened.pseudonyms()
        opened.save_search("my search", {})
    without_sums(library, "UPDATE meta SET value = 'another' WHERE key != 'schema'")
    without_sums(library, "UPDATE searches SET saved = 'yyy'")
    (finding,) = verify_library(library, repair=True).findings
    assert "1 rows" not in finding.says
    assert "1 of meta" in finding.says
    assert finding.remedy.startswith("0 rows were taken out, ")
    (finding,) = verify_library(library, repair=True).findings
    assert finding.says == "Rows of the catalogue are not as they were written: 1 of meta."
    assert (finding.repaired, "settings of the library need a backup" in finding.remedy) == ("", True)


def test_a_version_that_changed_is_brought_back_before_anything_is_opened(library):
    # 6 and 2 are one bit apart: a library of version 2 would be brought up to date, and come to grief.
    without_sums(library, "UPDATE meta SET value = ? WHERE key = 'schema'", str(schema.VERSION ^ 4))
    found = verify_library(library)
    assert found.works == ["Nothing more can be said while the catalogue is damaged."]
    assert verify_library(library, repair=True).open_harm == []
    assert verify_library(library).findings == []


def test_a_library_of_a_newer_version_is_refused_and_nothing_in_it_mended(library):
    with raw(library) as connection:
        connection.execute("ALTER TABLE judgements ADD COLUMN newer TEXT")
        connection.execute(f"UPDATE meta SET value = '{schema.VERSION + 1}' WHERE key = 'schema'")
    without_sums(library, "UPDATE cases SET patient = 'other' WHERE id = 3")
    before = tables_of(library)
    for repair in (False, True):
        with pytest.raises(BadInput, match=r"made by a newer Semblance"):
            verify_library(library, repair=repair)
    assert tables_of(library) == before


def test_the_catalogue_before_all_mending_is_the_one_that_is_kept(library):
    data = save_long_search(library).replace(b"colour_edge_texture", b"colour_edge_xexturx")
    start = len(data) - 200_000
    data[start : start + 9000] = b"\xa7" * 9000
    (library / CATALOGUE).write_bytes(data)
    mended = verify_library(library, repair=True)
    assert [f.part for f in mended.findings[:2]] == ["catalogue", "catalogue rows"]
    assert "1 of feature_sets" in mended.findings[1].says
    assert (Path(mended.moved_to) / CATALOGUE).read_bytes() == bytes(data)


def test_a_name_with_letters_that_are_none_is_salvaged(library):
    data = settled(library)
    at = data.index(b"patient TEXT")
    data[at] |= 0x80
    (library / CATALOGUE).write_bytes(data)
    before = query_features(library)[1] if verify_library(library, repair=True) else None
    assert before is not None
    with Library.open(library) as opened:
        assert {row.patient for row in opened.catalogue.all_cases()} != {None}
    assert verify_library(library).findings == []


def test_every_row_that_is_written_gets_its_sum(library):
    with raw(library) as connection:
        assert changed_rows(connection) == {}
    tables = tables_of(library)
    assert all(row[-1] is not None for rows in tables.values() for row in rows)
