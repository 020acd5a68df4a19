"""A file of labels changes the cases that its lines name. The preview explains every line."""

from __future__ import annotations

import pytest

from semblance.core.errors import BadInput
from semblance.core.library.library import Library
from semblance.core.workflows.library.edit_cases import set_patient
from semblance.core.workflows.library.import_labels import LabelLineStatus, import_labels, preview_labels
from semblance.core.workflows.library.undo_edits import undo
from tests.helpers.libraries import fill, finding_of, make_library, tables_of


@pytest.fixture
def path(tmp_path):
    """Six images of a source, and two of another with the names of the first two."""
    path = make_library(tmp_path / "lib.semblance")
    with Library.open(path) as library:
        fill(library, range(2), source="other", content="o")
    return path


@pytest.fixture
def labels(tmp_path):
    def write(*lines):
        file = tmp_path / "labels.csv"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file

    return write


def states(result):
    return [(line.line, line.case_id, line.state.value) for line in result.lines]


def test_lines_are_matched_by_id_path_and_unique_name(path, labels):
    before = finding_of(path)
    file = labels(
        "file,finding,patient",
        "s/0.png,odd,",
        "3.PNG,malignant,P1",
        "some/where/4,odd,P9",
        "nowhere.png,odd,",
        "1.png,odd,",
        "s/5.png,odd,",
        "5,even,",
        "2.png,benign,",
        "2.png,benign,",
    )
    preview = preview_labels(path, file)
    assert finding_of(path) == before
    made = import_labels(path, file)
    assert states(preview) == states(made) == [
        (2, "s/0.png", "changed"),
        (3, "s/3.png", "same"),
        (4, "s/4.png", "changed"),
        (5, "", "unmatched"),
        (6, "", "ambiguous"),
        (7, "s/5.png", "contradictory"),
        (8, "s/5.png", "contradictory"),
        (9, "s/2.png", "same"),
        (10, "s/2.png", "same"),
    ]  # fmt: skip
    assert made.edit.changed == made.counts[LabelLineStatus.CHANGED] == 2
    assert "other/1.png" in made.lines[4].reason
    assert finding_of(path) == before | {"s/0.png": "odd", "s/4.png": "odd"}
    assert str(made.edit.text) == "Label 2 cases from labels.csv"
    undo(path)
    assert finding_of(path) == before


def test_patients_of_deidentified_dicom_files_get_the_librarys_codes(tmp_path, labels):
    path = tmp_path / "lib.semblance"
    with Library.create(path) as library:
        fill(library, range(2))
        with library.catalogue.transaction() as connection:
            connection.exec_driver_sql("UPDATE sources SET kind = 'dicom', identified = 0")
        code = library.pseudonyms().patient("4711")
    file = labels("case_id;patient", "s/0.png;4711")
    assert import_labels(path, file).lines[0].patient == ("P0", code)
    # The code itself is known now.
    set_patient(path, ["s/1.png"], "P5")
    assert import_labels(path, labels("case_id;patient", f"s/1.png;{code}")).lines[0].patient == ("P5", code)
    with Library.open(path) as library:
        assert {r.patient for r in library.catalogue.all_cases()} == {code}


def test_a_label_that_cannot_be_is_named(path, labels):
    (line,) = import_labels(path, labels("case_id,finding", f"s/0.png,{'x' * 200}")).lines
    assert (line.state, "cannot be called" in line.reason) == (LabelLineStatus.UNREADABLE, True)


@pytest.mark.parametrize(
    ("lines", "message"),
    [(("finding,size", "odd,3"), "names cases"), (("case_id,size", "s/0.png,3"), "findings or patients")],
)
def test_a_file_without_the_columns_is_refused(path, labels, lines, message):
    before = tables_of(path)
    with pytest.raises(BadInput, match=message):
        import_labels(path, labels(*lines))
    assert tables_of(path) == before
