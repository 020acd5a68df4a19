from __future__ import annotations

import csv
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.library.library import Library
from semblance.core.tasks import Cancelled
from semblance.core.workflows.library import import_source as workflow
from semblance.core.workflows.library.file_reader import INCOMPLETE_STAMP
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.bad_images import AWKWARD_NAMES, encoded, pattern, png_claiming
from tests.helpers.images import striped_folder
from tests.helpers.import_checks import arrays, counts, facts
from tests.helpers.libraries import case_rows, numbers_set, raw, tables_of, values_of
from tests.helpers.recording_reporter import RecordingReporter


def give_numbers(library: Path) -> None:
    with Library.open(library) as opened:
        rows = case_rows(opened)
        opened.features.write_chunk(numbers_set(opened), rows, values_of(rows))


def waiting(library: Path) -> list[str]:
    """Ids of cases without numbers."""
    with Library.open(library) as opened:
        rows = opened.features.cases_to_extract(opened.features.get(None), images=True)
        return [details.case_id for details in opened.catalogue.details(rows.tolist()).values()]


def touch(path: Path, seconds: int) -> None:
    os.utime(path, (1_000_000_000 + seconds,) * 2)


# The same source again


def test_a_folder_and_again(images, library):
    first = import_source(images, library)
    assert counts(first) == (12, 0, 0, 1)
    assert (first.kind, first.cases, first.patients) == ("folder", 12, 6)
    assert first.findings == {"level": 6, "upright": 6}
    assert first.ignored == [{"path": "labels.csv", "reason": "Read as labels."}]
    assert facts(library)["images/level/p000.png"] == ("level", "P000", "ok")
    before = tables_of(library)
    again = import_source(images, library)
    assert counts(again) == (0, 12, 0, 1)
    assert tables_of(library) == before
    assert again.to_json() | {"added": 12, "unchanged": 0} == first.to_json()


def test_the_result_has_the_keys_scripts_rely_on(images, library):
    document = import_source(images, library).to_json()
    assert {
        "library", "kind", "added", "unchanged", "failed", "ignored", "cases", "patients", "findings",
    } <= set(document)  # fmt: skip
    assert document["library"] == str(library)


def test_a_changed_image_replaces_its_case_and_its_numbers(images, library):
    import_source(images, library)
    give_numbers(library)
    changed = images / "level" / "p000.png"
    shutil.copy(images / "upright" / "p002.png", changed)
    result = import_source(images, library)
    assert counts(result) == (1, 11, 0, 1)
    assert result.updated == 1
    assert result.duplicates == [{"path": "level/p000.png", "of": "images/upright/p002.png"}]
    assert waiting(library) == ["images/level/p000.png"]
    assert len(facts(library)) == 12


def test_an_image_only_touched_keeps_its_numbers(images, library):
    import_source(images, library)
    give_numbers(library)
    touch(images / "level" / "p000.png", 5)
    result = import_source(images, library)
    assert (*counts(result), result.updated) == (0, 12, 0, 1, 0)
    assert waiting(library) == []
    before = tables_of(library)
    import_source(images, library)
    assert tables_of(library) == before


def test_other_labels_change_cases_without_reading_images(images, library, monkeypatch):
    import_source(images, library)
    give_numbers(library)
    with (images / "labels.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    lines[1][1:] = ["oblique", "P777"]
    lines[0].append("view")
    for number, line in enumerate(lines[1:]):
        line.append(f"v{number}")
    with (images / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)
    monkeypatch.setattr("semblance.core.workflows.library.file_reader.inspect", None)
    result = import_source(images, library)
    assert (*counts(result), result.relabelled) == (0, 12, 0, 1, 12)
    assert result.findings == {"level": 5, "oblique": 1, "upright": 6}
    assert facts(library)["images/level/p000.png"] == ("oblique", "P777", "ok")
    with Library.open(library) as opened:
        assert opened.catalogue.details([1])[1].attributes == {"view": "v0"}
    assert waiting(library) == []
    assert import_source(images, library).relabelled == 0


def test_removed_images_are_missing_until_they_are_back(images, library):
    import_source(images, library)
    give_numbers(library)
    gone = images / "level" / "p000.png"
    aside = images.parent / "aside.png"
    gone.rename(aside)
    for _ in range(2):
        result = import_source(images, library)
        assert (result.missing, result.unchanged) == (["level/p000.png"], 11)
        assert facts(library)["images/level/p000.png"] == ("level", "P000", "missing")
        assert result.cases == 12
    aside.rename(gone)
    result = import_source(images, library)
    assert (result.missing, result.unchanged, result.added) == ([], 12, 0)
    assert facts(library)["images/level/p000.png"] == ("level", "P000", "ok")
    assert waiting(library) == []


def test_a_removed_image_that_comes_back_changed(images, library):
    import_source(images, library)
    give_numbers(library)
    gone = images / "level" / "p000.png"
    gone.unlink()
    import_source(images, library)
    gone.write_bytes(encoded(pattern(seed=9)))
    result = import_source(images, library)
    assert (result.updated, result.missing) == (1, [])
    assert waiting(library) == ["images/level/p000.png"]


def test_new_images_are_added_beside_the_old(images, library):
    import_source(images, library)
    striped_folder(images, n=16)
    result = import_source(images, library)
    assert (result.added, result.unchanged, result.cases) == (4, 12, 16)


# Files that cannot be used


def test_every_file_is_in_exactly_one_list(tmp_path, library):
    folder = tmp_path / "mixed"
    (folder / "sub").mkdir(parents=True)
    good = encoded(pattern())
    files = {
        "good.png": good,
        "sub/also good.jpg": encoded(pattern(seed=1), "JPEG"),
        "twin.png": good,
        "image without ending": encoded(pattern(seed=2)),
        "wrong ending.jpg": encoded(pattern(seed=3)),
        "cut.png": good[: len(good) // 2],
        "empty.png": b"",
        "text.png": b"just some words",
        "huge.png": png_claiming(60_000, 60_000),
        "notes.txt": b"remember the milk",
        "table.csv": b"a,b\n1,2\n",
        ".hidden.png": good,
        "Thumbs.db": b"x",
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "link.png").symlink_to(folder / "good.png")
    result = import_source(folder, library)
    paths = [item["path"] for item in result.failed + result.ignored]
    usable = {"good.png", "sub/also good.jpg", "twin.png", "image without ending", "wrong ending.jpg"}
    assert {case_id.removeprefix("mixed/") for case_id in facts(library)} == usable
    assert sorted(paths) == sorted({*files, "link.png"} - usable)
    assert len(paths) == len(set(paths))
    assert result.added == len(usable)
    assert {item["path"] for item in result.failed} == {
        "cut.png",
        "empty.png",
        "text.png",
        "huge.png",
        "link.png",
    }
    assert all(len(item["reason"]) > 10 for item in result.failed + result.ignored)
    assert result.duplicates == [{"path": "twin.png", "of": "mixed/good.png"}]
    again = import_source(folder, library)
    assert (again.added, again.unchanged) == (0, len(usable))
    assert (again.failed, again.ignored) == (result.failed, result.ignored)
    with Library.open(library) as opened:
        recorded = {
            path: (state, reason) for _, path, state, reason in opened.catalogue.files_without_cases()
        }
    assert set(recorded) == set(paths)
    assert recorded["empty.png"] == ("failed", "The file is empty (0 bytes).")


def test_a_failed_file_is_tried_again_and_forgotten_once_it_is_gone(images, library):
    bad = images / "level" / "bad.png"
    bad.write_bytes(b"no image")
    touch(bad, 0)
    assert [item["path"] for item in import_source(images, library).failed] == ["level/bad.png"]
    bad.write_bytes(encoded(pattern()))
    touch(bad, 0)
    result = import_source(images, library)
    assert (result.added, result.failed) == (1, [])
    bad.write_bytes(b"")
    result = import_source(images, library)
    assert [item["path"] for item in result.failed] == ["level/bad.png"]
    assert facts(library)["images/level/bad.png"][2] == "failed"
    bad.unlink()
    result = import_source(images, library)
    assert (result.failed, result.missing) == ([], ["level/bad.png"])
    with Library.open(library) as opened:
        states = [(path, state) for _, path, state, _ in opened.catalogue.files_without_cases()]
    assert states == [("labels.csv", "ignored"), ("level/bad.png", "missing")]


def test_what_never_gave_a_case_is_forgotten_with_its_file(images, library):
    (images / "notes.txt").write_text("x")
    (images / "bad.png").write_text("x")
    (images / "labels.csv").write_text("path,label\nnowhere.png,x\n")
    first = import_source(images, library)
    assert {item["path"] for item in first.failed} == {"bad.png", "labels.csv:2"}
    for name in ("notes.txt", "bad.png", "labels.csv"):
        (images / name).unlink()
    result = import_source(images, library)
    assert counts(result) == (0, 12, 0, 0)
    with Library.open(library) as opened:
        assert opened.catalogue.files_without_cases() == []


def test_a_source_of_which_nothing_can_be_used_is_reported(tmp_path, library):
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "a.txt").write_text("x")
    (tmp_path / "nothing").mkdir()
    for source, says in (
        ("words", "contains nothing that can be imported"),
        ("nothing", "is empty"),
        ("gone", "does not exist"),
    ):
        with pytest.raises(BadInput, match=says):
            import_source(tmp_path / source, library)
    assert not library.exists()
    with pytest.raises(BadArguments, match=r"no kind of source called 'xray'.*folder, table"):
        import_source(tmp_path / "words", library, kind="xray")


def test_a_library_cannot_be_created_in_a_folder_with_other_files(images, tmp_path):
    with pytest.raises(BadInput, match="exists and is not a library"):
        import_source(images, images)
    assert not (images / "catalogue.sqlite").exists()


# Names


def test_files_with_unusual_names_are_imported(tmp_path, library):
    folder = tmp_path / 'it\'s "odd" — 画像'
    for finding in ("良性", 'it\'s; "benign", maybe'):
        (folder / finding).mkdir(parents=True)
        for number, name in enumerate(AWKWARD_NAMES):
            (folder / finding / name).write_bytes(encoded(pattern(seed=10 * len(finding) + number)))
    result = import_source(folder, library)
    assert (result.added, result.failed) == (2 * len(AWKWARD_NAMES), [])
    assert set(result.findings) == {"良性", 'it\'s; "benign", maybe'}
    assert f"{folder.name}/良性/{AWKWARD_NAMES[2]}" in facts(library)
    assert import_source(folder, library).unchanged == 2 * len(AWKWARD_NAMES)


@pytest.mark.skipif(os.name == "nt", reason="such names exist on Unix only")
def test_a_name_that_is_no_text_is_reported(images, library):
    with open(os.fsencode(images) + b"/level/\xff\xfe.png", "wb") as file:  # noqa: PTH123
        file.write(encoded(pattern()))
    result = import_source(images, library)
    assert (result.added, len(result.failed)) == (12, 1)
    assert "not valid text; rename it" in result.failed[0]["reason"]


# Ended early


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(workflow, "BATCH", 5)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("after", [0, 1, 2])
def test_cancelling_keeps_what_was_reported_and_the_next_import_finishes(images, library, after):
    recorder = RecordingReporter(cancel_after=after)
    with pytest.raises(Cancelled):
        import_source(images, library, reporter=recorder)
    reported = max(done for done, _, _ in recorder.messages)
    with Library.open(library) as opened:
        cases, files = opened.summary()["cases"], len(opened.catalogue.files_without_cases())
    assert cases + files >= reported
    assert cases < 12
    result = import_source(images, library)
    assert (result.added + cases, result.unchanged, result.cases) == (12, cases, 12)


@pytest.mark.usefixtures("small_batches")
def test_an_array_whose_change_was_only_half_read_is_read_whole(tmp_path, library):
    source = arrays(tmp_path / "set.npz")
    import_source(source, library)
    with Library.open(library) as opened:
        before = {r.case_id: r.content for r in opened.catalogue.all_cases()}
    arrays(source, seed=1)
    with pytest.raises(Cancelled):
        import_source(source, library, reporter=RecordingReporter(cancel_after=2))
    with Library.open(library) as opened:
        half = {r.case_id: r.content for r in opened.catalogue.all_cases()}
        assert 0 < sum(half[key] != before[key] for key in before) < 30
        (record,) = opened.catalogue.sources()
        assert opened.catalogue.files(record)[""].stamp == INCOMPLETE_STAMP
    result = import_source(source, library)
    assert result.updated + result.unchanged == 30
    import_source(source, tmp_path / "fresh")
    with Library.open(library) as opened, Library.open(tmp_path / "fresh") as fresh:
        contents = [{r.case_id: r.content for r in one.catalogue.all_cases()} for one in (opened, fresh)]
    assert contents[0] == contents[1]


@pytest.mark.usefixtures("small_batches")
def test_progress_shows_what_is_written(images, library):
    recorder = RecordingReporter()
    import_source(images, library, reporter=recorder)
    done = [number for number, total, _ in recorder.messages if total == 13]
    assert done == sorted(done)
    assert done[0] == 0
    assert done[-1] == 13


def test_large_images_are_written_in_smaller_groups(images, library, monkeypatch):
    monkeypatch.setattr(workflow, "BATCH_BYTES", 1)
    recorder = RecordingReporter()
    import_source(images, library, reporter=recorder)
    assert len(recorder.messages) >= 12


def test_a_full_disk_keeps_the_batches_before(images, library, monkeypatch):
    monkeypatch.setattr(workflow, "BATCH", 5)
    usual, calls = workflow.FileReader.read, []

    def read(self, path, cases, *, whole):
        calls.append(path)
        if len(calls) == 8:
            with raw(library) as other:
                other.execute(
                    "CREATE TRIGGER full BEFORE INSERT ON cases BEGIN SELECT RAISE(ABORT, 'x'); END"
                )
        return usual(self, path, cases, whole=whole)

    monkeypatch.setattr(workflow.FileReader, "read", read)
    with pytest.raises(SemblanceError):
        import_source(images, library)
    with raw(library) as other:
        other.execute("DROP TRIGGER full")
    assert len(facts(library)) == 5
    monkeypatch.setattr(workflow.FileReader, "read", usual)
    result = import_source(images, library)
    assert (result.added, result.unchanged) == (7, 5)


def test_real_archives_give_the_counts_they_promise(data, tmp_path):
    expected = {"medical_mnist_a.zip": (1800, 6, 300), "corel1k_a.zip": (500, 10, 50)}
    for name, (cases, findings, each) in expected.items():
        library = tmp_path / name
        result = import_source(data / "images" / name, library)
        assert (result.added, result.unchanged, result.failed) == (cases, 0, [])
        assert list(result.findings.values()) == [each] * findings
        again = import_source(data / "images" / name, library)
        assert (again.added, again.unchanged, again.failed) == (0, cases, [])
    with zipfile.ZipFile(data / "images" / "corel1k_a.zip") as packed:
        assert sum(name.endswith(".jpg") for name in packed.namelist()) == 500


def test_an_image_that_comes_again_with_another_finding_is_reported(tmp_path):
    images = striped_folder(tmp_path / "images", n=4)
    assert import_source(images, tmp_path / "lib").label_conflicts == []
    (tmp_path / "more" / "upright").mkdir(parents=True)
    shutil.copy(images / "level" / "p000.png", tmp_path / "more" / "upright" / "again.png")
    shutil.copy(images / "upright" / "p002.png", tmp_path / "more" / "upright" / "same.png")
    result = import_source(tmp_path / "more", tmp_path / "lib")
    cases = ["images/level/p000.png", "more/upright/again.png"]
    assert result.label_conflicts == [{"cases": cases, "findings": ["level", "upright"]}]
    (note,) = [note for note in result.notes if "different findings" in note]
    assert note.startswith(
        f"1 case is there several times with different findings: {', '.join(cases)} (level,"
    )
