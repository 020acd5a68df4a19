"""The checklist has every item once, and no value that the experiment does not have."""

from __future__ import annotations

import csv
import io
import json

import pytest

from semblance.core.research import claim_checklist
from semblance.core.research.claim_checklist import (
    ANSWERED,
    ITEMS,
    OPEN,
    checklist_answers,
    checklist_csv,
    checklist_json,
)
from semblance.core.research.export import deidentified_document, export_results
from semblance.core.research.results import document
from tests.helpers.tables import write_table
from tests.unit.core.research.test_run_cells import measure, spec

#: Items that nobody but the authors can know.
AUTHORS = {1, 2, 3, 4, 5, 6, 8, 11, 12, 13, 15, 16, 17, 18, 21, 27, 30, 31, 34, 36, 40, 41, 43, 44}


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment") / "Jane Doe"
    (folder / "far").mkdir(parents=True)
    one = write_table(folder / "one.csv", n=60)
    two = write_table(folder / "far" / "two.csv", n=60, seed=3)
    learners = ("euclidean", "lda", {"learner": "bdm", "grid": {"rounds": [1, 4]}})
    protocol = {"protocol": "full", "repeats": 2, "settings": {"draws": 20}}
    return measure(
        folder.parent / "e",
        spec(
            {"table": str(one)},
            {"table": str(two), "max_cases": 40},
            {"table": str(one), "test": {"table": str(two)}, "unrelated": True},
            learners=learners,
            protocols=(protocol,),
        ),
    )


def pointed(content, where: str):
    """What a JSON pointer points at (RFC 6901)."""
    for part in where.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        content = content[int(key)] if isinstance(content, list) else content[key]
    return content


def test_every_item_is_there_once_in_order():
    assert [item.number for item in ITEMS] == list(range(1, 45))
    assert len({item.asks for item in ITEMS}) == 44
    assert {item.number for item in ITEMS if not item.places} == AUTHORS


def test_every_value_stands_in_the_results_beside_it(state, tmp_path):
    export_results(state, tmp_path, plots=False)
    results = json.loads((tmp_path / "results.json").read_text("utf-8"))
    made = json.loads((tmp_path / "claim.json").read_text("utf-8"))
    assert (made["checklist"], made["experiment"]) == ("CLAIM 2024", results["experiment"])
    assert [item["number"] for item in made["items"]] == list(range(1, 45))
    count = 0
    for item in made["items"]:
        assert item["status"] == (ANSWERED if item["values"] else OPEN)
        for value in item["values"]:
            assert pointed(results, value["where"]) == value["value"], value
            count += 1
    assert count > 150
    answered = {item["number"] for item in made["items"] if item["values"]}
    assert answered == set(range(1, 45)) - AUTHORS
    assert {
        (tmp_path / name).is_file() for item in made["items"] for name in item["table"].split(", ") if name
    } == {True}


def test_the_table_has_the_same_values(state, tmp_path):
    export_results(state, tmp_path, plots=False)
    made = json.loads((tmp_path / "claim.json").read_text("utf-8"))
    lines = list(csv.DictReader(io.StringIO((tmp_path / "claim.csv").read_text("utf-8"))))
    assert [int(line["number"]) for line in lines] == list(range(1, 45))
    for line, item in zip(lines, made["items"], strict=True):
        assert (line["status"], line["item"]) == (item["status"], item["item"])
        assert bool(line["values"]) == bool(item["values"])
        for value in item["values"]:
            text = value["value"] if isinstance(value["value"], str) else json.dumps(value["value"])
            assert text in line["values"]


def test_no_folder_of_this_computer_is_in_it(state, tmp_path):
    export_results(state, tmp_path, plots=False)
    for name in ("claim.csv", "claim.json"):
        assert "Jane Doe" not in (tmp_path / name).read_text("utf-8")
    export_results(state, tmp_path / "identified", plots=False, identified=True)
    assert "Jane Doe" in (tmp_path / "identified" / "claim.json").read_text("utf-8")


def test_what_the_experiment_does_not_have_is_left_to_the_authors(state):
    made = document(state)
    answers = {answer.item.number: answer for answer in checklist_answers(made)}
    assert {where for _, where, _ in answers[33].values} == {"/spec/cases/2/test/table"}
    assert {value for _, _, value in answers[20].values} == {True, "known"}
    without = {
        **made,
        "spec": {**made["spec"], "cases": made["spec"]["cases"][:1]},
        "comparisons": [],
        "over_tables": [],
        "results": [{**row, "chosen": [], "scores": {}} for row in made["results"]],
    }
    only_external = {**made, "spec": {**made["spec"], "cases": made["spec"]["cases"][2:]}}
    assert {answer.item.number: answer.status for answer in checklist_answers(only_external)}[32] == OPEN
    bare = {answer.item.number: answer.status for answer in checklist_answers(without)}
    assert {number for number in (26, 29, 33, 37, 38) if bare[number] == ANSWERED} == set()


def test_a_large_experiment_names_the_table_with_the_rest(state, monkeypatch):
    monkeypatch.setattr(claim_checklist, "MAX_VALUES", 3)
    made = deidentified_document(document(state), state.spec)
    (performance,) = [item for item in json.loads(checklist_json(made))["items"] if item["number"] == 37]
    assert len(performance["values"]) == 3 and performance["left_out"] > 10
    assert performance["table"] == "scores.csv"
    assert f"{performance['left_out']} more" in checklist_csv(made)
