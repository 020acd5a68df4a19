from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter

from semblance.core.engine import WorkerEnded
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.features.registry import make_extractor
from semblance.core.imaging import open_image
from semblance.core.library.library import Library
from semblance.core.tasks import Cancelled
from semblance.core.workflows.features import extract_features as module
from semblance.core.workflows.features import measuring_order
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.suitable_extractors import suitable_extractors
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.bad_images import encoded, pattern, write_zip
from tests.helpers.burnt_in_marks import draw_mark
from tests.helpers.engine_here import EngineHere, TaskHere
from tests.helpers.images import striped_folder
from tests.helpers.program import run_at_once
from tests.helpers.recording_reporter import RecordingReporter

TOP = Path(__file__).resolve().parents[4]
#: The quickest extractor of images.
QUICK = "colour_edge_texture"


@pytest.fixture
def images(tmp_path):
    return striped_folder(tmp_path / "images", n=12)


@pytest.fixture
def library(tmp_path, images):
    import_source(images, tmp_path / "lib")
    return tmp_path / "lib"


class Here(EngineHere):
    """Cases whose row is deadly end the worker."""

    deadly: frozenset[int] = frozenset()
    handed_out: list[int] = []  # noqa: RUF012 - emptied by the fixture

    def submit(self, function: Any, *args: Any, **options: Any) -> Any:
        rows = [image.row for image in args[2]]
        self.handed_out.append(len(rows))
        if self.deadly.intersection(rows):
            task = TaskHere()
            task.future.set_exception(WorkerEnded())
            return task
        return super().submit(function, *args, **options)


@pytest.fixture
def here(monkeypatch):
    """Extraction whose workers die at will."""
    monkeypatch.setattr(module, "open_engine", lambda workers, *_: Here(workers))
    monkeypatch.setattr(Here, "deadly", frozenset())
    monkeypatch.setattr(Here, "handed_out", [])
    return Here


def numbers(library: Path, name: str | None = None) -> dict[str, np.ndarray]:
    with Library.open(library) as opened:
        ids, values = opened.features.read(opened.features.get(name))
        details = opened.catalogue.details(ids.tolist())
        return {details[row].case_id: value for row, value in zip(ids.tolist(), values, strict=True)}


def chunks(library: Path) -> dict[int, list[int]]:
    with Library.open(library) as opened:
        made = opened.features.get(None)
        return {number: rows.tolist() for number, rows in opened.features.chunk_rows(made).items()}


@pytest.mark.usefixtures("features_in_processes")
def test_every_case_gets_the_numbers_of_its_own_image(library, images):
    recorder = RecordingReporter()
    result = extract_features(library, QUICK, reporter=recorder)
    assert (result.extracted, result.cases, result.failed, result.n_features) == (12, 12, [], 36)
    found = numbers(library)
    extractor = make_extractor(QUICK)
    for path in images.rglob("*.png"):
        own = found[f"images/{path.relative_to(images).as_posix()}"]
        np.testing.assert_array_equal(own, extractor.extract(open_image(path)))
    assert recorder.messages[0][:2] == (0, 12)
    assert recorder.messages[-1][:2] == (12, 12)
    assert recorder.partials[-1] == 12


@pytest.mark.usefixtures("here")
def test_again_does_nothing_and_new_cases_only_are_done(library, images):
    extract_features(library, QUICK)
    before = chunks(library)
    assert extract_features(library, QUICK).extracted == 0
    assert chunks(library) == before
    striped_folder(images, n=16)
    import_source(images, library)
    result = extract_features(library, QUICK)
    assert (result.extracted, result.cases) == (4, 16)
    after = chunks(library)
    assert {number: after[number] for number in before} == before


@pytest.mark.usefixtures("here")
def test_a_changed_image_is_extracted_again(library, images):
    extract_features(library, QUICK)
    changed = images / "level" / "p000.png"
    changed.write_bytes(encoded(pattern(channels=3)))
    import_source(images, library)
    assert len(numbers(library)) == 11
    assert extract_features(library, QUICK).extracted == 1
    np.testing.assert_array_equal(
        numbers(library)["images/level/p000.png"], make_extractor(QUICK).extract(open_image(changed))
    )


@pytest.mark.usefixtures("here")
def test_an_image_changed_since_the_import_is_never_counted(library, images):
    changed = images / "level" / "p000.png"
    before = changed.read_bytes()
    changed.write_bytes(encoded(pattern()))
    result = extract_features(library, QUICK)
    assert (result.extracted, [item["case_id"] for item in result.failed]) == (11, ["images/level/p000.png"])
    assert "has changed since it was imported. Import it again." in result.failed[0]["reason"]
    changed.write_bytes(before)
    result = extract_features(library, QUICK)
    assert (result.extracted, result.failed) == (1, [])


@pytest.mark.usefixtures("here")
def test_an_image_that_is_away_is_tried_again(library, images):
    images.rename(images.with_name("unplugged"))
    result = extract_features(library, QUICK)
    assert (result.extracted, len(result.failed)) == (0, 12)
    assert "does not exist" in result.failed[0]["reason"]
    images.with_name("unplugged").rename(images)
    result = extract_features(library, QUICK)
    assert (result.extracted, result.failed) == (12, [])


def test_a_case_that_fails_is_recorded_and_not_tried_again_until_it_changes(
    library, images, monkeypatch, here
):
    bad = images / "level" / "p000.png"
    content = bad.read_bytes()
    refuse, tried = {"it"}, []
    usual = make_extractor(QUICK).extract

    def extract(self, image, region=None):
        tried.append(image.name)
        if refuse and str(bad) in image.name:
            raise BadInput("It has no colour.", "Colour it in.")
        return usual(image, region)

    monkeypatch.setattr(type(make_extractor(QUICK)), "extract", extract)
    result = extract_features(library, QUICK)
    assert (result.extracted, result.cases) == (11, 11)
    assert result.failed == [
        {"case_id": "images/level/p000.png", "reason": "It has no colour. Colour it in."}
    ]
    tried.clear()
    assert extract_features(library, QUICK).failed == result.failed
    assert tried == []
    refuse.clear()
    shutil.copy(images / "upright" / "p002.png", bad)
    import_source(images, library)
    result = extract_features(library, QUICK)
    assert (result.extracted, result.failed, len(tried)) == (1, [], 1)
    bad.write_bytes(content)


def test_an_image_that_ends_its_worker_is_found_and_recorded(library, here):
    here.deadly = frozenset((5,))
    result = extract_features(library, QUICK)
    assert (result.extracted, result.cases) == (11, 11)
    assert [item["case_id"] for item in result.failed] == ["images/level/p008.png"]
    assert "worker process ended" in result.failed[0]["reason"]
    here.deadly = frozenset()
    assert extract_features(library, QUICK).extracted == 0


def test_a_machine_on_which_every_worker_ends_is_reported(library, here):
    here.deadly = frozenset(range(100))
    with pytest.raises(WorkerEnded):
        extract_features(library, QUICK)
    here.deadly = frozenset()
    assert extract_features(library, QUICK).cases >= 12 - module.MAX_CRASHES


def test_few_cases_are_divided_among_all_processes(library, here, monkeypatch):
    monkeypatch.setattr(measuring_order, "STEP", 2)
    extract_features(library, QUICK, workers=3)
    assert here.handed_out == [4, 4, 4]


@pytest.mark.parametrize("after", [1, 3])
def test_cancelling_keeps_the_features_that_were_reported(library, here, monkeypatch, after):
    monkeypatch.setattr(measuring_order, "STEP", 2)
    recorder = RecordingReporter(cancel_after=after)
    with pytest.raises(Cancelled):
        extract_features(library, QUICK, workers=6, reporter=recorder)
    partial = recorder.partials[-1]
    assert len(numbers(library)) == partial > 0
    result = extract_features(library, QUICK)
    assert (result.extracted, result.cases) == (12 - partial, 12)


@pytest.mark.usefixtures("features_in_processes")
def test_cancelling_ends_the_processes(library):
    with pytest.raises(Cancelled):
        extract_features(library, QUICK, reporter=RecordingReporter(cancel_after=0))
    assert extract_features(library, QUICK).extracted == 12


def test_two_programs_extracting_at_once_leave_every_case_once(library):
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from semblance.core.workflows.features import extract_features as module, measuring_order\n"
        "if __name__ == '__main__':\n"
        "    measuring_order.STEP = 2\n"
        "    sys.stdin.readline()\n"
        f"    print(module.extract_features(Path(sys.argv[1]), '{QUICK}', workers=2).extracted)\n"
    )
    outputs = run_at_once(code, *[(library,)] * 2)
    assert sum(map(int, outputs)) == 12
    assert sorted(row for rows in chunks(library).values() for row in rows) == list(range(1, 13))


def test_masses_are_offered_after_the_encoder_where_cases_have_regions(tmp_path):
    plain = encoded(pattern(40, 40))
    box = np.zeros((40, 40), np.uint8)
    box[10:30, 12:28] = 255
    files = {"a/1.png": plain, "a/1_mask.png": encoded(box)}
    import_source(write_zip(tmp_path / "busi.zip", files), tmp_path / "regions")
    import_source(write_zip(tmp_path / "x.zip", {"a/1.png": plain}), tmp_path / "plain")
    regions, without = suitable_extractors(tmp_path / "regions"), suitable_extractors(tmp_path / "plain")
    assert regions[:2] == ["encoder", "mass"]
    assert (without[:2], without[-1]) == (["encoder", "gabor"], "mass")
    assert extract_features(tmp_path / "regions", "mass").failed == []
    assert numbers(tmp_path / "regions", "mass")["busi/a/1.png"][0] == 20 * 16


def test_a_table_is_copied(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,label\n1,,x\n3,4,y\n5,6,x\n")
    library = tmp_path / "lib"
    import_source(tmp_path / "t.csv", library)
    assert suitable_extractors(library) == ["raw"]
    result = extract_features(library, "raw")
    assert (result.extracted, result.n_features, result.failed) == (3, 2, [])
    np.testing.assert_array_equal(np.stack(list(numbers(library).values())), [[1, np.nan], [3, 4], [5, 6]])
    (tmp_path / "t.csv").write_text("a,b,label\n1,,x\n3,40,y\n5,6,x\n7,8,y\n")
    import_source(tmp_path / "t.csv", library)
    assert extract_features(library, "raw").extracted == 2
    np.testing.assert_array_equal(
        np.stack(list(numbers(library).values())), [[1, np.nan], [3, 40], [5, 6], [7, 8]]
    )
    (tmp_path / "t.csv").write_text("a,c,label\n1,2,x\n3,40,y\n")
    import_source(tmp_path / "t.csv", library)
    with pytest.raises(BadArguments, match=r"'raw' has another extractor.*--name"):
        extract_features(library, "raw")
    assert extract_features(library, "raw", name="raw 2").extracted == 2


def test_tables_of_different_columns_do_not_mix(tmp_path):
    for name, column in (("t", "a"), ("u", "b")):
        (tmp_path / f"{name}.csv").write_text(f"{column},label\n1,x\n3,y\n")
        import_source(tmp_path / f"{name}.csv", tmp_path / "lib")
    with pytest.raises(BadInput, match=r"tables of lib have different columns.*separate libraries"):
        extract_features(tmp_path / "lib", "raw")


def test_what_cannot_be_extracted_is_reported(library, tmp_path):
    with pytest.raises(BadArguments, match=r"no extractor 'magic'.*gabor"):
        extract_features(library, "magic")
    with pytest.raises(BadArguments, match="no parameter 'size'"):
        extract_features(library, "gabor", settings={"size": 3})
    with pytest.raises(BadInput, match=r"lib holds no table for 'raw'.*--extractor gabor"):
        extract_features(library, "raw")
    (tmp_path / "t.csv").write_text("a,label\n1,x\n3,y\n")
    import_source(tmp_path / "t.csv", tmp_path / "table")
    with pytest.raises(BadInput, match=r"table holds no images for 'gabor'.*--extractor raw"):
        extract_features(tmp_path / "table", "gabor")
    with pytest.raises(SemblanceError, match="does not exist"):
        extract_features(tmp_path / "gone", "gabor")
    Library.create(tmp_path / "new").close()
    for name in ("gabor", "raw"):
        with pytest.raises(BadInput, match=r"new holds no cases yet\. Import some first"):
            extract_features(tmp_path / "new", name)


@pytest.mark.usefixtures("here")
def test_images_in_zips_and_arrays(tmp_path):
    images = np.random.default_rng(0).integers(0, 255, (5, 40, 32), dtype=np.uint8)
    np.savez(tmp_path / "set.npz", train_images=images, train_labels=np.arange(5))
    library = tmp_path / "lib"
    import_source(tmp_path / "set.npz", library)
    striped_folder(tmp_path / "more", n=4)
    import_source(Path(shutil.make_archive(str(tmp_path / "more"), "zip", tmp_path / "more")), library)
    result = extract_features(library, QUICK)
    assert (result.extracted, result.failed) == (9, [])
    assert "more/level/p000.png" in numbers(library)


def marked_folder(folder: Path) -> Path:
    """Two equal images, one of them with a cross in its pixels, as files of grey."""
    grey = gaussian_filter(np.random.default_rng(0).uniform(0, 200, (128, 128)), 2).astype(np.uint8)
    marked = draw_mark(grey, "plus", seed=1).pixels
    for name, pixels in (("plain", grey), ("marked", marked)):
        path = folder / "a" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
    return folder


def attributes(library: Path) -> dict[str, str]:
    """The number of marks by the file's name, of cases that have any."""
    with Library.open(library) as opened:
        details = opened.catalogue.details(opened.catalogue.case_rows().tolist())
        return {Path(d.case_id).stem: d.attributes.get("burnt_in_marks", "") for d in details.values()}


@pytest.mark.usefixtures("here")
def test_burnt_in_marks_are_hidden_unless_the_set_keeps_them(tmp_path):
    import_source(marked_folder(tmp_path / "images"), tmp_path / "lib")
    extract_features(tmp_path / "lib", "pixels")
    extract_features(tmp_path / "lib", "pixels", settings={"burnt_in_marks": "keep"}, name="kept")
    apart = {}
    for name in ("pixels", "kept"):
        found = {Path(case).stem: value for case, value in numbers(tmp_path / "lib", name).items()}
        apart[name] = np.abs(found["plain"] - found["marked"]).max()
    assert apart["pixels"] < 0.2 * apart["kept"]


@pytest.mark.usefixtures("here")
def test_the_number_of_marks_is_kept_when_the_source_is_imported_again(tmp_path):
    images, library = marked_folder(tmp_path / "images"), tmp_path / "lib"
    import_source(images, library)
    assert attributes(library) == {"plain": "", "marked": ""}
    extract_features(library, "pixels", settings={"burnt_in_marks": "keep"})
    assert attributes(library) == {"plain": "", "marked": "2"}
    assert import_source(images, library).relabelled == 0
    assert attributes(library) == {"plain": "", "marked": "2"}
    (images / "labels.csv").write_text("image,label,side\na/marked.png,b,left\na/plain.png,a,left\n")
    assert import_source(images, library).relabelled == 2
    assert attributes(library) == {"plain": "", "marked": "2"}


@pytest.mark.usefixtures("here")
def test_a_set_measured_with_marks_is_continued_with_them(tmp_path):
    images, library = marked_folder(tmp_path / "images"), tmp_path / "lib"
    import_source(images, library)
    extract_features(library, "pixels", settings={"burnt_in_marks": "keep"})
    before = numbers(library)
    shutil.copy(images / "a/marked.png", images / "a/copy.png")
    import_source(images, library)
    assert extract_features(library, "pixels").extracted == 1
    after = {Path(case).stem: value for case, value in numbers(library).items()}
    np.testing.assert_array_equal(after["copy"], before[next(c for c in before if "marked" in c)])
    with pytest.raises(BadArguments, match="other settings"):
        extract_features(library, "pixels", settings={"burnt_in_marks": "hide"})
