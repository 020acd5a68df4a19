"""Agreement between people on concepts and judgements, from the marks that a library holds."""

from __future__ import annotations

import json

import pytest

from semblance.app.cli.main import run
from semblance.core.library.library import Library
from semblance.core.library.records import JudgementRecord
from semblance.core.workflows.research.annotator_agreement import annotator_agreement
from tests.helpers.libraries import make_library


def judged(author, kind, query, case, other=None, time="t"):
    return JudgementRecord(kind, query, case, other, None, (), author, time)


@pytest.fixture
def library(tmp_path):
    path = make_library(tmp_path / "lib")
    with Library.open(path) as opened:
        key = opened.concepts.add("round", "ann")
        for author, answers in (("ann", "yynn"), ("bob", "yynyn"), ("eve", "y")):
            marks = [(f"s/{n}.png", answer == "y") for n, answer in enumerate(answers)]
            opened.concepts.mark(key, marks, author)
        opened.concepts.mark(opened.concepts.add("alone"), [("s/0.png", True)], "ann")
        (undone,) = opened.judgements("x").append([judged("ann", "alike", "q", "b")])
        opened.judgements("x").set_undone([(undone, 0)])
        opened.judgements("x").append(
            [judged("ann", "alike", "q", "a"), judged("ann", "not alike", "q", "a")]
        )
        opened.judgements("y").append(
            [judged("bob", "not alike", "q", "a"), judged("bob", "alike", "q", "b")]
        )
        opened.judgements("y").append([judged("", "alike", "q", "a")])
        opened.judgements("x").append([judged("ann", "closer", "q", "a", "b")])
        opened.judgements("y").append([judged("bob", "closer", "q", "b", "a")])
    return path


def test_every_person_counts_with_their_latest_mark(library):
    concept, similarity, comparisons = annotator_agreement(library)
    assert (concept.kind, concept.name) == ("concept", "round")
    assert [(one.name, one.n) for one in concept.annotators] == [("ann", 4), ("bob", 5), ("eve", 1)]
    assert (concept.shared, concept.complete, concept.fleiss) == (4, 1, None)
    pair = concept.pairs[0]
    assert (pair.names, pair.n, pair.agreed) == (("ann", "bob"), 4, 3)
    assert pair.kappa.value == pytest.approx(0.5)
    assert [(one.cases, one.answers) for one in concept.differences] == [
        (("s/3.png",), {"ann": "without", "bob": "with"})
    ]
    assert (similarity.shared, similarity.alpha, similarity.differences) == (1, None, ())
    assert [(one.name, one.n) for one in similarity.annotators] == [("ann", 1), ("bob", 2)]
    assert comparisons.pairs[0].agreed == 0
    assert comparisons.differences[0].answers == {"ann": "a", "bob": "b"}


def test_the_command_prints_coefficients_and_all_differences(library, capsys):
    assert run(["agreement", str(library), "--json"]) == 0
    (concept, _, _) = json.loads(capsys.readouterr().out)["subjects"]
    assert concept["pairs"][0]["cohen_kappa"]["value"] == pytest.approx(0.5)
    assert concept["differences"][0]["cases"] == ["s/3.png"]
    assert run(["agreement", str(library)]) == 0
    out = capsys.readouterr().out
    assert "concept round" in out
    assert "0.50 (" in out


def test_a_library_of_one_person_has_nothing_to_compare(tmp_path, capsys):
    assert run(["agreement", str(make_library(tmp_path / "lib"))]) == 0
    assert "No concept was marked by two people" in capsys.readouterr().out
