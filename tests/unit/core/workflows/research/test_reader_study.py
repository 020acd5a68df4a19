"""A reader study of a library: which cases are read, what is shown beside them, answers and export."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta

import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.library import Library
from semblance.core.library.reader_studies import ReaderStudyTable
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.research import reader_study
from semblance.core.workflows.research.reader_study import (
    SHOWN,
    StudyRequest,
    analyse_study,
    create_study,
    delete_study,
    export_study,
    next_case,
    record_answer,
    studies,
)
from tests.helpers.images import striped_folder

REQUEST = StudyRequest("pilot", "level", ("R1", "R2"), ("learnt",), n_cases=6, random=True, washout_days=0)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    import_source(striped_folder(folder / "images", n=40), folder / "lib")
    extract_features(folder / "lib", "colour_edge_texture")
    train_metric(folder / "lib", TrainRequest("rca", "learnt"))
    return folder / "lib"


@pytest.fixture
def library(made, tmp_path):
    shutil.copytree(made, tmp_path / "lib")
    return tmp_path / "lib"


def read_all(library, reader, finding=None):
    """Answer every reading; with the right finding where none is given."""
    with Library.open(library) as opened:
        finding_of = {int(r.id): r.finding for r in opened.catalogue.all_cases()}
    while not (case := next_case(library, "pilot", reader)).finished:
        record_answer(library, "pilot", reader, case.number, finding or finding_of[case.row], 4, 2.5)


def test_no_case_was_used_for_training_and_no_similar_case_is_read_in_the_study(library):
    status = create_study(library, REQUEST)
    with Library.open(library) as opened:
        trained = set(opened.metric("learnt").training.tolist())
        row_of = {r.case_id: int(r.id) for r in opened.catalogue.all_cases()}
    read = {case.case_id for case in status.design.cases}
    assert len(read) == 6
    assert not trained & {row_of[case] for case in read}
    for case in status.design.cases:
        assert set(case.similar) == {"learnt", "random"}
        for shown in case.similar.values():
            assert len(set(shown)) == SHOWN
            assert not set(shown) & read


def test_a_named_case_of_the_training_part_is_refused(library):
    with Library.open(library) as opened:
        trained = set(opened.metric("learnt").training.tolist())
        ids = [r.case_id for r in opened.catalogue.all_cases() if int(r.id) in trained]
    with pytest.raises(BadInput) as error:
        create_study(library, StudyRequest("x", "level", ("R1",), ("learnt",), cases=tuple(ids[:4])))
    assert (
        error.value.message
        == f"4 of the cases were used to train a metric of the study, {ids[0]} among them."
    )
    assert studies(library) == ()


def test_the_reader_sees_no_similar_cases_in_the_unaided_arm_only(library):
    design = create_study(library, REQUEST).design
    for reading in design.readings("R1")[:8]:
        case = next_case(library, "pilot", "R1")
        assert (case.number, case.session, case.sessions) == (reading.number, reading.session, 3)
        assert len(case.similar_rows) == (0 if reading.arm.kind == "unaided" else SHOWN)
        record_answer(library, "pilot", "R1", case.number, "level", 1, 1.0)


def test_an_answer_counts_once_and_only_for_the_case_that_is_due(library):
    create_study(library, REQUEST)
    record_answer(library, "pilot", "R1", 0, "level", 1, 1.0)
    for number in (0, 2):
        with pytest.raises(BadArguments):
            record_answer(library, "pilot", "R1", number, "level", 1, 1.0)
    with pytest.raises(BadArguments):
        record_answer(library, "pilot", "R1", 1, "unknown", 1, 1.0)
    assert [reader.answered for reader in studies(library)[0].readers] == [1, 0]


def test_the_next_session_opens_after_the_washout(library, monkeypatch):
    create_study(library, StudyRequest("pilot", "level", ("R1",), ("learnt",), n_cases=4, washout_days=10))
    for number in range(4):
        record_answer(library, "pilot", "R1", number, "level", 3, 1.0)
    case = next_case(library, "pilot", "R1")
    opens = datetime.fromisoformat(case.opens)
    assert timedelta(days=9.9) < opens - datetime.now(UTC) <= timedelta(days=10)
    assert case.number == -1
    earlier = (datetime.now(UTC) - timedelta(days=11)).isoformat(timespec="seconds")
    with Library.open(library) as opened:
        table = ReaderStudyTable(opened.catalogue)
        before = reader_study._answers(table.answers(1))
    monkeypatch.setattr(
        reader_study, "_answers", lambda _: [type(one)(**{**vars(one), "time": earlier}) for one in before]
    )
    assert next_case(library, "pilot", "R1").number == 4


def test_results_and_export_without_names_of_cases(library, tmp_path):
    design = create_study(library, REQUEST).design
    assert analyse_study(library, "pilot") is None
    read_all(library, "R1")
    read_all(library, "R2", "level")
    analysis = analyse_study(library, "pilot")
    assert analysis.readers == ("R1", "R2")
    assert analysis.scores["accuracy"].values.tolist() == [[1.0, 0.5]] * 3
    files = export_study(library, "pilot", tmp_path / "out")
    assert sorted(file.name for file in files) == [
        "answers.csv",
        "codebook.csv",
        "readers.csv",
        "results.csv",
        "summary.md",
    ]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    assert not any(case.case_id in text for case in design.cases)
    assert len((tmp_path / "out" / "answers.csv").read_text().splitlines()) == 1 + 2 * 18
    header = (tmp_path / "out" / "answers.csv").read_text().splitlines()[0].split(",")
    codebook = [line.split(",")[0] for line in (tmp_path / "out" / "codebook.csv").read_text().splitlines()]
    assert codebook[1:] == header


def test_studies_have_names_of_their_own_and_can_be_deleted(library):
    create_study(library, REQUEST)
    with pytest.raises(BadArguments):
        create_study(library, REQUEST)
    read_all(library, "R1")
    delete_study(library, "pilot")
    assert studies(library) == ()
    assert [reader.answered for reader in create_study(library, REQUEST).readers] == [0, 0]
