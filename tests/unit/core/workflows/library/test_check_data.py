"""A library with known faults: each is listed once with its cases, and settling one changes what is listed."""

from __future__ import annotations

import csv
import shutil

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from semblance.core.errors import BadInput
from semblance.core.library.library import Library
from semblance.core.workflows.library.check_data import check_data, record_decision, undo_decision
from semblance.core.workflows.library.data_issues import IssueKind
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.images import striped_folder
from tests.helpers.libraries import finding_of
from tests.helpers.mammograms import breast

N = 60
BLANK, CUT, TEXT, COPY = "level/p000.png", "upright/p002.png", "level/p004.png", "upright/copy.png"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checked")
    images = striped_folder(folder / "images", n=N)
    Image.new("L", (48, 48), 90).save(images / BLANK)
    cut = np.array(Image.open(images / CUT))
    cut[30:] = 0
    Image.fromarray(cut).save(images / CUT)
    written = Image.open(images / TEXT).resize((192, 192))
    draw, font = ImageDraw.Draw(written), ImageFont.load_default(size=16)
    draw.rectangle((20, 20, 170, 50), fill=0)
    draw.text((30, 25), "JOHN SMITH 4711", fill=255, font=font)
    written.save(images / TEXT)
    shutil.copy(images / "level/p001.png", images / COPY)
    library = folder / "lib.semblance"
    import_source(images, library)
    with Library.open(library) as opened:
        features = opened.features.make(
            "made", "gabor", 1, {}, [(f"f{n}", "g") for n in range(4)], dtype="float32"
        )
        rows = opened.catalogue.all_cases()
        rng = np.random.default_rng(0)
        values = np.stack([rng.normal(8 if r.finding == "upright" else 0, 1, 4) for r in rows])
        # One finding is wrong, and one image is of something else.
        place = {r.case_id: n for n, r in enumerate(rows)}
        values[place["images/level/p008.png"]] = 8
        values[place["images/level/p009.png"]] = 8 + rng.normal(0, 1, 4)
        values[place["images/upright/p010.png"]] = 300
        ids = np.array([r.id for r in rows], np.int64)
        opened.features.write_chunk(features, ids, values.astype(np.float32))
    return library


@pytest.fixture
def library(made, tmp_path):
    return shutil.copytree(made, tmp_path / "lib.semblance")


def listed(result):
    return {(issue.check, tuple(one.split("/", 1)[1] for one in issue.case_ids)) for issue in result.issues}


def test_every_fault_is_listed_once_with_its_cases(made):
    result = check_data(made)
    assert listed(result) == {
        (IssueKind.BLANK, (BLANK,)),
        (IssueKind.CUT, (CUT,)),
        (IssueKind.TEXT, (TEXT,)),
        (IssueKind.MARKS, (TEXT,)),
        (IssueKind.LABEL_CONFLICT, ("level/p001.png", COPY)),
        (IssueKind.LABEL_ERROR, ("level/p008.png",)),
        (IssueKind.LABEL_ERROR, ("level/p009.png",)),
        (IssueKind.OUTLIER, ("upright/p010.png",)),
    }
    assert (result.cases, result.features, result.not_checked, result.unreadable) == (N + 1, "made", (), ())
    severities = [issue.severity for issue in result.issues]
    assert severities == sorted(severities, reverse=True)
    (error,) = [i for i in result.issues if i.case_ids[0].endswith("p009.png")]
    assert error.findings == ("upright",)


@pytest.mark.slow
def test_settled_issues_are_listed_no_more_until_that_is_undone(library):
    issues = {issue.check: issue for issue in check_data(library).issues}
    conflict, blank = issues[IssueKind.LABEL_CONFLICT], issues[IssueKind.BLANK]
    record_decision(library, blank, None)
    record_decision(library, conflict, "level")
    after = check_data(library)
    assert {IssueKind.BLANK, IssueKind.LABEL_CONFLICT}.isdisjoint(issue.check for issue in after.issues)
    assert after.reviewed == 1
    assert finding_of(library)["images/" + COPY] == "level"
    undo_decision(library)
    assert finding_of(library)["images/" + COPY] == "upright"
    assert conflict in check_data(library).issues


def test_a_given_finding_stays_when_the_source_is_imported_again(library, made):
    conflict = next(i for i in check_data(library).issues if i.check == IssueKind.LABEL_CONFLICT)
    record_decision(library, conflict, "level")
    assert import_source(made.parent / "images", library).relabelled == 0
    assert finding_of(library)["images/" + COPY] == "level"
    undo_decision(library)
    import_source(made.parent / "images", library)
    assert finding_of(library)["images/" + COPY] == "upright"


def test_what_cannot_be_checked_says_why(tmp_path):
    images = striped_folder(tmp_path / "images", n=8)
    import_source(images, tmp_path / "lib")
    (images / "level/p000.png").unlink()
    result = check_data(tmp_path / "lib")
    assert [check for check, _ in result.not_checked] == [IssueKind.LABEL_ERROR, IssueKind.OUTLIER]
    assert "no features yet" in result.not_checked[0][1]
    assert [case_id for case_id, _ in result.unreadable] == ["images/level/p000.png"]
    with pytest.raises(BadInput, match="has no features yet"):
        check_data(tmp_path / "lib", "other")


def test_a_mirrored_mammogram_of_a_collection_is_listed(tmp_path):
    images = tmp_path / "mias"
    images.mkdir()
    lines = []
    for number in range(1, 21):
        pixels = (255 * breast(seed=number)).astype(np.uint8)
        is_left = number % 2 == 0
        # The image of number 6 is mirrored.
        pixels = pixels if is_left != (number == 6) else pixels[:, ::-1]
        Image.fromarray(pixels).save(images / f"mdb{number:03d}.png")
        lines.append((f"mdb{number:03d}.png", "normal"))
    with (images / "labels.csv").open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("path", "label"), *lines])
    import_source(images, tmp_path / "lib", kind="mammograms")
    wrong = [issue for issue in check_data(tmp_path / "lib").issues if issue.check == IssueKind.WRONG_SIDE]
    assert [issue.case_ids for issue in wrong] == [("mias/mdb006.png",)]
