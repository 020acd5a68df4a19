"""Train on one, test on the other: the same features, no patient on both sides."""

from __future__ import annotations

import csv
import sqlite3

import numpy as np
import pytest
from PIL import Image

from semblance.core.errors import BadInput
from semblance.core.evaluation.splits import check_leakage_between
from semblance.core.library.library import Library
from semblance.core.research import export
from semblance.core.research.cases import ExperimentCases, read_cases
from semblance.core.research.results import live_table
from semblance.core.research.spec import CasesSpec
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.edit_lesions import join_lesions
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.images import striped_folder
from tests.helpers.tables import table_library, write_table
from tests.unit.core.research.test_run_cells import document, measure, spec


def renamed(source, target, **columns):
    """The table with the values of some columns made by a function of them; ``None`` drops one."""
    with source.open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for column, change in columns.items():
            if change is None:
                del row[column]
            else:
                row[column] = change(row[column])
    with target.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return target


@pytest.fixture
def a(tmp_path):
    return write_table(tmp_path / "a.csv", n=60, seed=1)


@pytest.fixture
def b(tmp_path):
    raw = write_table(tmp_path / "raw.csv", n=40, seed=2)
    return renamed(raw, tmp_path / "b.csv", patient_id=lambda name: f"other {name}")


def both(a, b, **more) -> dict:
    return {"table": str(a), "test": {"table": str(b)}, **more}


def read(a, b, **more) -> ExperimentCases:
    return read_cases(CasesSpec.from_json(both(a, b, **more)), (), 0)


def test_all_of_one_is_trained_on_and_all_of_the_other_tested(tmp_path, a, b):
    made = document(measure(tmp_path / "e", spec(both(a, b), protocols=({"protocol": "bdm", "repeats": 1},))))
    row = made["results"][0]
    assert row["cases"] == "a → b"
    assert row["split"] == {
        "rule": "trained on one, tested on the other", "by_patient": True, "n_train": 60.0, "n_test": 40.0,
    }  # fmt: skip
    assert row["scores"]["auc"]["mean"] > 0.8
    assert made["worst_queries"][0]["queries"][0]["case_id"].startswith("test c")


def test_repeats_of_one_split_have_no_interval_or_comparison(tmp_path, a, b):
    """The same cases are tested again: only the learner's seed differs."""
    chosen = spec(
        both(a, b), learners=("euclidean", "lda", "nca"), protocols=({"protocol": "bdm", "repeats": 3},)
    )
    state = measure(tmp_path / "e", chosen)
    made = document(state)
    assert made["comparisons"] == []
    assert "mean over 3 splits" in export.latex(made)
    for row in [*made["results"], *live_table(state)["results"]]:
        for score in row["scores"].values():
            assert score["ci95"] is None
            assert len(score["values"]) == 3


def test_features_of_another_unit_are_noted(a, b, tmp_path):
    column = read(a, b).data.feature_names[0]
    assert not any("scale" in note for note in read(a, b).notes)
    metres = renamed(b, tmp_path / "mm.csv", **{column: lambda value: str(1000 * float(value))})
    note = read(a, metres).notes[-1]
    assert note.startswith("1 features of") and column in note and "same unit" in note


def test_patient_on_both_sides_is_refused_unless_unrelated(a, tmp_path):
    b = write_table(tmp_path / "raw.csv", n=40, seed=2)
    with pytest.raises(BadInput, match="20 of the patients have cases in the training part"):
        read(a, b)
    cases = read(a, b, unrelated=True)
    check_leakage_between(cases.train, cases.test, cases.data.groups, cases.data.n_cases)


def test_the_same_table_on_both_sides_is_refused(a):
    with pytest.raises(BadInput, match="every case would be on both sides"):
        read(a, a)


def test_other_features_are_refused_and_named(a, b, tmp_path):
    fewer = renamed(b, tmp_path / "c.csv", f2=None)
    with pytest.raises(BadInput, match=r"do not have the same features. Only one of them has: f2"):
        read(a, fewer)


def test_findings_that_one_side_lacks(a, b, tmp_path):
    third = renamed(b, tmp_path / "c.csv", case_id=lambda n: n, label=lambda f: f)
    with third.open("a") as file:
        file.write("x,z,0,0,0,0,0,kind 7\n")
    cases = read(a, third)
    assert len(cases.test) == 40
    assert any("have findings that" in note for note in cases.notes)
    strange = renamed(b, tmp_path / "d.csv", label=lambda finding: f"other {finding}")
    with pytest.raises(BadInput, match="no finding in common"):
        read(a, strange)


def test_the_same_cases_under_other_names_are_refused(a, tmp_path):
    """Where a table has case ids, other names of patients do not change which cases they are."""
    c = renamed(a, tmp_path / "c.csv", patient_id=lambda name: f"other {name}")
    with pytest.raises(BadInput, match="does not hold too"):
        read(a, c)


def test_from_a_library_to_a_table(tmp_path, b):
    library = table_library(tmp_path / "l", n=60, seed=1)
    values = {"library": str(library), "test": {"table": str(b)}}
    cases = read_cases(CasesSpec.from_json(values), (), 0)
    assert (len(cases.train), len(cases.test)) == (60, 40)


def test_protocol_with_validation_part_is_refused(tmp_path, a, b):
    made = document(measure(tmp_path / "e", spec(both(a, b), protocols=("boostmetric",))))
    assert all("cannot train on one table and test on another" in row["failed"] for row in made["results"])


def test_cases_round_trip_through_bytes(a, b):
    cases = read(a, b)
    again = ExperimentCases.from_bytes(cases.to_bytes())
    assert again.fingerprint == cases.fingerprint
    assert again.data.groups.tolist() == cases.data.groups.tolist()
    assert again.data.case_ids.tolist() == cases.data.case_ids.tolist()
    assert (again.extractor, again.notes) == (cases.extractor, cases.notes)


def test_images_of_both_libraries_are_left_out_of_training(tmp_path):
    sides = {}
    for name, seed in (("a", 1), ("b", 2)):
        images = striped_folder(tmp_path / name, n=16, seed=seed, patients=False)
        if name == "b":
            for image in sorted((tmp_path / "a" / "level").glob("*.png"))[:3]:
                (images / "level" / f"copy {image.name}").write_bytes(image.read_bytes())
        sides[name] = tmp_path / f"{name}.semblance"
        import_source(images, sides[name])
        extract_features(sides[name], "pixels", settings={"size": 8})
    values = {"library": str(sides["a"]), "test": {"library": str(sides["b"])}}
    cases = read_cases(CasesSpec.from_json(values), (), 0)
    assert (len(cases.train), len(cases.test)) == (13, 19)
    assert any("3 cases of" in note and "left out of training" in note for note in cases.notes)


def test_copy_of_the_table_is_the_same_table(tmp_path):
    a = write_table(tmp_path / "a.csv", n=60, patients=False)
    copy = tmp_path / "b.csv"
    copy.write_bytes(a.read_bytes())
    with pytest.raises(BadInput, match="does not hold too"):
        read(a, copy)
    link = tmp_path / "link.csv"
    link.symlink_to(a)
    with pytest.raises(BadInput, match="every case would be on both sides"):
        read(a, link)
    with pytest.raises(BadInput, match="every case would be on both sides"):
        read(a, tmp_path / "." / ".." / tmp_path.name / "a.csv")


def test_rows_of_both_tables_are_trained_on_only_where_equal_rows_are_usual(tmp_path):
    a = write_table(tmp_path / "a.csv", n=60, patients=False)
    b = write_table(tmp_path / "b.csv", n=40, seed=5, patients=False)
    shared = [f"again {line}" for line in a.read_text().splitlines()[1:11]]
    b.write_text("\n".join([*b.read_text().splitlines(), *shared]) + "\n")
    cases = read(a, b)
    assert (len(cases.train), len(cases.test)) == (50, 50)
    assert any("left out of training" in note for note in cases.notes)
    # Few steps in every column: there equal rows are other cases that look the same.
    columns = dict.fromkeys([f"f{number}" for number in range(5)], lambda cell: f"{round(float(cell) / 2)}")
    coarse = read(renamed(a, tmp_path / "ca.csv", **columns), renamed(b, tmp_path / "cb.csv", **columns))
    assert len(coarse.train) == 60


def test_other_features_of_the_same_library_are_refused(tmp_path):
    folder = striped_folder(tmp_path / "p", n=16, patients=False)
    import_source(folder, tmp_path / "p.semblance")
    for number in (1, 2):
        extract_features(tmp_path / "p.semblance", "colour_edge_texture", name=f"set {number}")
    library = str(tmp_path / "p.semblance")
    spec_of = {"library": library, "features": "set 1", "test": {"library": library, "features": "set 2"}}
    with pytest.raises(BadInput, match="every case would be on both sides"):
        read_cases(CasesSpec.from_json(spec_of), (), 0)


def test_copies_stay_together_in_every_cell(tmp_path):
    folder = striped_folder(tmp_path / "p", n=16, patients=False)
    for file in sorted(folder.rglob("*.png")):
        (file.parent / f"copy of {file.name}").write_bytes(file.read_bytes())
    import_source(folder, tmp_path / "p.semblance")
    extract_features(tmp_path / "p.semblance", "colour_edge_texture")
    cases = read_cases(CasesSpec(library=str(tmp_path / "p.semblance")), (), 0)
    again = ExperimentCases.from_bytes(cases.to_bytes())
    assert again.data.units.tolist() == cases.data.units.tolist()
    assert len(set(again.data.units)) == 16
    assert again.fingerprint == cases.fingerprint
    assert again.data.groups is None


def test_features_with_other_settings_are_refused(tmp_path):
    """Columns called alike are not enough: another version or encoder gives other numbers."""
    sides = []
    for name, seed in (("a", 1), ("b", 2)):
        sides.append(tmp_path / f"{name}.semblance")
        import_source(striped_folder(tmp_path / name, n=8, seed=seed, patients=False), sides[-1])
        extract_features(sides[-1], "pixels", settings={"size": 8})
    values = {"library": str(sides[0]), "test": {"library": str(sides[1])}}
    assert read_cases(CasesSpec.from_json(values), (), 0).data.n_cases == 16
    with sqlite3.connect(sides[1] / "catalogue.sqlite") as catalogue:
        catalogue.execute("UPDATE feature_sets SET version = 7")
    catalogue.close()
    with pytest.raises(BadInput, match="were extracted with different settings: version=1 and version=7"):
        read_cases(CasesSpec.from_json(values), (), 0)


def folder_with_frames(folder, *, patients):
    """Two frames of one scan, of equal tissue and different speckle: alike, but not the same image."""
    striped_folder(folder, n=12, patients=patients)
    y, x = np.mgrid[:192, :192] / 192
    tissue = 128 + 80 * np.sin(5 * x + 1) * np.cos(4 * y)
    for number in range(2):
        speckle = np.random.default_rng(number).normal(0, 10, tissue.shape)
        pixels = np.clip(tissue + speckle, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / "level" / f"frame{number}.png")
    if patients:
        with (folder / "labels.csv").open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows((f"level/frame{n}.png", "level", f"F{n}") for n in range(2))
    return folder


def notes_on(library):
    return read_cases(CasesSpec(library=str(library)), (), 0).notes


def test_near_duplicates_in_no_group_are_noted_if_patients_are_unknown(tmp_path):
    folder = folder_with_frames(tmp_path / "folder", patients=False)
    image = folder / "level" / "p000.png"
    # Copies are one same-lesion group, which no split divides.
    Image.open(image).save(folder / "level" / "again.png", compress_level=0)
    image.with_name("copy.png").write_bytes(image.read_bytes())
    library = tmp_path / "library"
    assert import_source(folder, library).lesions == {"groups": 1, "cases": 3}
    extract_features(library, "pixels", settings={"size": 8})
    (note,) = notes_on(library)
    assert note.startswith("2 cases of ")
    assert "show the same lesion as cases" in note
    with Library.open(library) as opened:
        frames = [r.case_id for r in opened.catalogue.all_cases() if "frame" in r.case_id]
    join_lesions(library, frames)
    assert notes_on(library) == ()


def test_near_duplicates_of_known_patients_are_not_noted(tmp_path):
    library = tmp_path / "library"
    import_source(folder_with_frames(tmp_path / "folder", patients=True), library)
    extract_features(library, "pixels", settings={"size": 8})
    with Library.open(library) as opened:
        assert all(r.patient for r in opened.catalogue.all_cases())
    assert notes_on(library) == ()
