"""Cases of one lesion are grouped when they are imported; those that contradict each other are named."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from PIL import Image

from semblance.core.library.lesion_group_rows import BY_HAND
from semblance.core.library.lesion_groups import read_groups
from semblance.core.library.library import Library
from semblance.core.tasks import Cancelled, Reporter
from semblance.core.workflows.features.detect_same_lesions import detect_crops, detect_same_lesions
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.images import texture
from tests.helpers.libraries import split


@pytest.fixture
def folder(tmp_path):
    for finding in ("benign", "malignant"):
        (tmp_path / "images" / finding).mkdir(parents=True)
    for seed in range(6):
        texture(seed).save(tmp_path / "images" / "benign" / f"{seed}.png")
    return tmp_path / "images"


def grouped(library):
    """The groups of several cases, by the names of their files."""
    found: dict[int, set[str]] = {}
    with Library.open(library) as opened:
        names = {r.id: r.case_id.partition("/")[2] for r in opened.catalogue.all_cases()}
        for row, member in read_groups(opened.catalogue).items():
            found.setdefault(member.group, set()).add(names[row])
    return sorted((names for names in found.values() if len(names) > 1), key=min)


def test_copies_and_near_duplicates_are_grouped_and_contradictions_named(folder, tmp_path):
    texture(1).save(folder / "malignant" / "copy.png")
    texture(2).resize((90, 90)).transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(
        folder / "benign" / "again.jpg"
    )
    result = import_source(folder, tmp_path / "lib")
    assert grouped(tmp_path / "lib") == [
        {"benign/1.png", "malignant/copy.png"},
        {"benign/2.png", "benign/again.jpg"},
    ]
    assert result.lesions == {"groups": 2, "cases": 4}
    assert any("2 same-lesion groups (4 cases)" in note for note in result.notes)
    assert result.label_conflicts == [
        {"cases": ["images/benign/1.png", "images/malignant/copy.png"], "findings": ["benign", "malignant"]}
    ]


def test_a_later_import_is_compared_with_all_and_leaves_what_was_split_by_hand(folder, tmp_path):
    texture(1).resize((100, 100)).save(folder / "benign" / "again.png")
    import_source(folder, tmp_path / "lib")
    with Library.open(tmp_path / "lib") as opened:
        again = opened.catalogue.row_of("images/benign/again.png")
        split(opened, [again])
    texture(3).resize((80, 80)).save(folder / "malignant" / "third.png")
    import_source(folder, tmp_path / "lib")
    assert grouped(tmp_path / "lib") == [{"benign/3.png", "malignant/third.png"}]
    with Library.open(tmp_path / "lib") as opened:
        # Also where everything is detected again, as without the derived outlines.
        opened.thumbnails.put_outlines([])
        detect_same_lesions(opened)
        assert read_groups(opened.catalogue)[again].source == BY_HAND


@pytest.mark.parametrize("during", ["Looking for the same lesions and copies", "Comparing possible copies"])
def test_the_next_import_completes_a_cancelled_detection(folder, tmp_path, during):
    class Cancelling(Reporter):
        def progress(self, done, total, what):
            if what == during:
                raise Cancelled

    texture(2).resize((90, 90)).save(folder / "benign" / "again.png")
    with pytest.raises(Cancelled):
        import_source(folder, tmp_path / "lib", reporter=Cancelling())
    assert grouped(tmp_path / "lib") == []
    assert import_source(folder, tmp_path / "lib").added == 0
    assert grouped(tmp_path / "lib") == [{"benign/2.png", "benign/again.png"}]


def test_parts_of_an_image_are_found_by_the_encoder(folder, tmp_path):
    texture(4).crop((10, 15, 112, 110)).save(folder / "benign" / "part.png")
    import_source(folder, tmp_path / "lib")
    assert grouped(tmp_path / "lib") == []
    with Library.open(tmp_path / "lib") as opened:
        columns = [(f"f{n}", "numbers") for n in range(8)]
        features = opened.features.make("made up", "encoder", 1, {}, columns, dtype="float32")
        rows = np.array([r.id for r in opened.catalogue.all_cases()])
        numbers = np.random.default_rng(0).normal(1.0, 0.5, size=(len(rows), 8)).astype(np.float32)
        opened.features.write_chunk(features, rows, numbers, ())
        detect_crops(opened, features, rows.tolist())
    assert grouped(tmp_path / "lib") == [{"benign/4.png", "benign/part.png"}]


def test_a_padded_copy_is_grouped_at_import(folder, tmp_path):
    copy = Image.new(texture(4).mode, (190, 150))
    copy.paste(texture(4), (37, 12))
    copy.save(folder / "malignant" / "padded.jpg")
    import_source(folder, tmp_path / "lib")
    assert grouped(tmp_path / "lib") == [{"benign/4.png", "malignant/padded.jpg"}]


def write_table(file, rows):
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["a", "b", "patient_id", "label"])
        writer.writerows(rows)


def test_repeated_rows_of_a_table_are_one_case_unless_patients_differ(tmp_path):
    rows = [[n, n * 1.5, "", "yes"] for n in range(8)]
    write_table(tmp_path / "t.csv", [*rows, [3, 4.5, "", "no"]])
    result = import_source(tmp_path / "t.csv", tmp_path / "lib")
    assert result.lesions == {"groups": 1, "cases": 2}
    assert [conflict["findings"] for conflict in result.label_conflicts] == [["no", "yes"]]
    assert any("1 case is there several times with different findings" in note for note in result.notes)
    write_table(tmp_path / "p.csv", [[*row[:2], f"P{n}", "yes"] for n, row in enumerate([*rows, rows[3]])])
    assert import_source(tmp_path / "p.csv", tmp_path / "lib2").lesions["groups"] == 0


def test_a_table_of_coarse_numbers_has_no_repeated_cases(tmp_path):
    write_table(tmp_path / "t.csv", [[n % 2, n % 3, "", "yes"] for n in range(30)])
    assert import_source(tmp_path / "t.csv", tmp_path / "lib").lesions["groups"] == 0


def test_the_source_names_the_lesion(folder, tmp_path):
    with (folder / "labels.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["file", "label", "patient_id", "lesion_id"])
        for seed, (patient, lesion) in enumerate(
            [("P", "a"), ("P", "a"), ("P", "b"), ("Q", "a"), ("Q", ""), ("Q", "")]
        ):
            writer.writerow([f"benign/{seed}.png", "benign", patient, lesion])
    import_source(folder, tmp_path / "lib")
    assert grouped(tmp_path / "lib") == [{"benign/0.png", "benign/1.png"}]
