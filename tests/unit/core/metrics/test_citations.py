from __future__ import annotations

import importlib.metadata
from pathlib import Path

import yaml

from semblance.core.metrics import citations
from semblance.core.metrics.declarations import BDM, BDMV, CCML, LearnerDeclaration
from semblance.core.metrics.registry import learners
from semblance.core.version import DISTRIBUTION

TOP = Path(__file__).resolve().parents[4]


def test_every_paper_of_a_learner_has_an_entry_with_its_first_author_and_year():
    wrong = []
    for learner in learners():
        entries = citations.citations([learner])
        if bool(learner.paper) != bool(entries):
            wrong.append(learner.name)
        for entry, short in zip(entries, learner.paper.split(";"), strict=False):
            first = entry.fields["author"].partition(",")[0]
            if not (short.strip().startswith(first) and entry.fields["year"] in short):
                wrong.append(f"{learner.name}: {short}")
    assert not wrong


def test_every_entry_is_read_whole_and_used():
    text = (TOP / "resources" / "papers.bib").read_text(encoding="utf-8")
    read = citations.read_bibtex(text)
    assert len(read) == text.count("\n@")
    required = {"author", "title", "year"}
    assert [entry.key for entry in read if not required <= entry.fields.keys()] == []
    assert {entry.key for entry in read} == {entry.key for entry in citations.citations(learners())}


def test_a_paper_of_several_learners_is_cited_once():
    assert citations.bibtex(BDM, BDMV, CCML).count("@") == 2


def test_a_reference_is_a_line_of_text():
    (entry,) = citations.citations([CCML])
    assert entry.reference == (
        "Im DJ, Taylor GW. Learning a metric for class-conditional KNN. "
        "International Joint Conference on Neural Networks, 2016. arXiv:1607.03050."
    )


def test_a_learner_from_elsewhere_brings_its_own_entry():
    class Own(LearnerDeclaration):
        name, title, summary = "own", "Own", "An own learner."
        citations = ("@misc{own2026,\n  author = {Own, A.},\n  title = {Mine},\n  year = {2026},\n}",)

    (entry,) = citations.citations([Own])
    assert (entry.key, entry.reference) == ("own2026", "Own A. Mine. 2026.")


def test_the_citation_file_says_what_the_program_says_of_itself():
    written = yaml.safe_load((TOP / "CITATION.cff").read_text(encoding="utf-8"))
    assert written["cff-version"] == "1.2.0"
    assert written["version"] == importlib.metadata.version(DISTRIBUTION)
    assert written["title"] == citations.TITLE
    assert [one["name"] for one in written["authors"]] == [citations.AUTHORS]
    assert {"message", "license", "type"} <= written.keys()
    own = citations.program_citation()
    assert citations.read_bibtex(own.text)[0].fields == own.fields
