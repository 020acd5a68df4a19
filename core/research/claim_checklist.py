"""The Checklist for Artificial Intelligence in Medical Imaging (CLAIM), filled with what an experiment knows.

A. S. Tejani, M. E. Klontzas, A. A. Gatti et al.: Checklist for Artificial Intelligence in Medical Imaging (CLAIM):
2024 update. Radiology: Artificial Intelligence 6(4), 2024, e240300. Its 44 items are paraphrased here.

Every value is found in the document of the experiment by its place there (a JSON pointer, RFC 6901), so none can stand
here that the experiment does not have. What it does not know is left to the authors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from semblance.core.csv_cells import csv_text

ANSWERED, OPEN = "answered by the experiment", "to be written by the authors"
#: Values of an item at most; the table that it names has all.
MAX_VALUES = 60
#: The item on internal data, of which an experiment with other cases for testing has none.
_INTERNAL = 32
#: Scores of single cases: whether a finding is told from the others.
_DIAGNOSTIC = ("auc", "knn_", "balanced_", "ccknn_")


@dataclass(frozen=True)
class ChecklistItem:
    """An item: its ``number``, its ``section``, and what it asks for.

    ``places``: where the document has values of it, with ``*`` for any index or name, "" for the compared scores of a
    row. ``remains``: what the authors have to add to them. ``table``: the exported file with all of them.
    """

    number: int
    section: str
    asks: str
    places: tuple[str, ...] = ()
    remains: str = ""
    table: str = ""


_TITLE, _INTRODUCTION, _DESIGN = "Title and abstract", "Introduction", "Methods: study design"
_DATA, _STANDARD, _PARTITIONS = "Methods: data", "Methods: reference standard", "Methods: data partitions"
_TESTING, _MODEL, _TRAINING = "Methods: testing data", "Methods: model", "Methods: training"
_EVALUATION, _RESULTS, _PERFORMANCE = "Methods: evaluation", "Results: data", "Results: model performance"
_DISCUSSION, _OTHER = "Discussion", "Other information"

ITEMS = (
    ChecklistItem(1, _TITLE, "The title says that it is a study of AI, and of which kind."),
    ChecklistItem(2, _TITLE, "The abstract has design, methods, results and conclusions."),
    ChecklistItem(3, _INTRODUCTION, "Background, and what the method is for."),
    ChecklistItem(4, _INTRODUCTION, "Aims and hypotheses."),
    ChecklistItem(5, _DESIGN, "Prospective or retrospective."),
    ChecklistItem(6, _DESIGN, "What the study is to show."),
    ChecklistItem(
        7,
        _DATA,
        "Where the data come from.",
        ("/cases/*/source/path", "/spec/cases/*/features"),
        "Institutions, dates, and whether the data are public.",
    ),
    ChecklistItem(8, _DATA, "Which patients or examinations were included and excluded."),
    ChecklistItem(
        9,
        _DATA,
        "How the data were processed before.",
        ("/results/*/steps_used", "/spec/cases/*/features"),
        "What was done to the images before they were imported.",
    ),
    ChecklistItem(
        10,
        _DATA,
        "Which part of the data was used.",
        (
            "/cases/*/source/n_cases",
            "/cases/*/source/n_features",
            "/spec/cases/*/findings",
            "/spec/cases/*/max_cases",
            "/cases/*/notes/*",
        ),
        "Why this part.",
    ),
    ChecklistItem(11, _DATA, "How the data were de-identified."),
    ChecklistItem(12, _DATA, "How missing data were handled."),
    ChecklistItem(13, _DATA, "How the images were acquired."),
    ChecklistItem(
        14,
        _STANDARD,
        "What the reference standard is.",
        ("/cases/*/source/findings/*",),
        "How the findings were determined.",
    ),
    ChecklistItem(15, _STANDARD, "Why this reference standard."),
    ChecklistItem(16, _STANDARD, "Who annotated, with which qualification."),
    ChecklistItem(17, _STANDARD, "How the test cases were annotated."),
    ChecklistItem(18, _STANDARD, "How much annotators differ."),
    ChecklistItem(
        19,
        _PARTITIONS,
        "How cases were assigned to the parts.",
        ("/results/*/split/rule", "/results/*/repeats/of", "/spec/seed"),
    ),
    ChecklistItem(
        20,
        _PARTITIONS,
        "On which level the parts are disjoint.",
        ("/results/*/split/by_patient", "/cases/*/source/patients"),
    ),
    ChecklistItem(21, _TESTING, "Intended size of the test data, and why."),
    ChecklistItem(
        22,
        _MODEL,
        "The model in detail.",
        ("/results/*/learner", "/results/*/params/*", "/results/*/steps_used"),
        "What it takes and gives. The help page of the learner has its formulas and paper.",
    ),
    ChecklistItem(23, _MODEL, "Software and its versions.", ("/versions/*",)),
    ChecklistItem(24, _MODEL, "How parameters were initialised.", ("/spec/seed",), "How the learner begins."),
    ChecklistItem(
        25,
        _TRAINING,
        "How it was trained.",
        (
            "/spec/learners/*/params/*",
            "/spec/learners/*/grid/*",
            "/spec/learners/*/select",
            "/results/*/split/n_train",
        ),
        "Everything that was trained before, such as an encoder.",
    ),
    ChecklistItem(
        26,
        _TRAINING,
        "How the final model was selected.",
        ("/results/*/chosen/*/*",),
        "For learners without a choice of parameters: why these.",
    ),
    ChecklistItem(27, _TRAINING, "Whether models were combined."),
    ChecklistItem(
        28, _EVALUATION, "Which measures of performance.", ("/results/*/compared/*",), "Why these."
    ),
    ChecklistItem(
        29,
        _EVALUATION,
        "Significance and uncertainty.",
        (
            "/comparisons/*/difference",
            "/comparisons/*/ci95",
            "/comparisons/*/p_corrected_t",
            "/over_tables/*/p_value",
        ),
        "Whether comparisons were planned.",
        "comparisons.csv",
    ),
    ChecklistItem(30, _EVALUATION, "Robustness or sensitivity."),
    ChecklistItem(31, _EVALUATION, "How results are explained, and whether that was tested."),
    ChecklistItem(32, _EVALUATION, "Evaluation on internal data.", ("/measured_on",)),
    ChecklistItem(
        33,
        _EVALUATION,
        "Testing on external data.",
        ("/spec/cases/*/test/table", "/spec/cases/*/test/library"),
        "Whether these data are independent of those for training.",
    ),
    ChecklistItem(34, _EVALUATION, "Registration of a clinical trial."),
    ChecklistItem(
        35,
        _RESULTS,
        "Numbers of patients or examinations, included and excluded.",
        (
            "/cases/*/source/n_cases",
            "/cases/*/notes/*",
            "/results/*/split/n_train",
            "/results/*/split/n_test",
        ),
        "What was excluded before the import. A diagram.",
    ),
    ChecklistItem(36, _RESULTS, "Demographic and clinical characteristics of each part."),
    ChecklistItem(
        37,
        _PERFORMANCE,
        "Performance with its uncertainty.",
        ("/results/*/scores//mean", "/results/*/scores//ci95"),
        table="scores.csv",
    ),
    ChecklistItem(
        38,
        _PERFORMANCE,
        "Diagnostic performance and its precision.",
        tuple(f"/results/*/scores/{name}*/{what}" for name in _DIAGNOSTIC for what in ("mean", "ci95")),
        "Sensitivity and specificity at the threshold that matters.",
        "scores.csv",
    ),
    ChecklistItem(
        39,
        _PERFORMANCE,
        "Which cases went wrong.",
        ("/worst_findings/*/findings/*/finding", "/worst_findings/*/findings/*/mean"),
        "What these cases have in common.",
        "worst_findings.csv, worst_queries.csv",
    ),
    ChecklistItem(40, _DISCUSSION, "Limitations."),
    ChecklistItem(41, _DISCUSSION, "What it means for practice."),
    ChecklistItem(
        42,
        _OTHER,
        "Where the full protocol is.",
        ("/experiment", "/cases/*/fingerprint"),
        "Where experiment-spec.json and repeat.sh are published, with which the numbers can be measured again.",
    ),
    ChecklistItem(43, _OTHER, "Whether software, model and data are available."),
    ChecklistItem(44, _OTHER, "Funding, and the role of funders."),
)


@dataclass(frozen=True)
class ChecklistAnswer:
    """An item with the values that the experiment has for it: what each is of, where it stands, and it itself."""

    item: ChecklistItem
    values: tuple[tuple[str, str, Any], ...]
    left_out: int = 0

    @property
    def status(self) -> str:
        """Whether the experiment or the authors answer it."""
        return ANSWERED if self.values else OPEN

    def to_json(self) -> dict[str, Any]:
        """As plain values; ``where`` is a JSON pointer into results.json."""
        return {
            "number": self.item.number,
            "section": self.item.section,
            "item": self.item.asks,
            "status": self.status,
            "values": [{"of": of, "where": where, "value": value} for of, where, value in self.values],
            "left_out": self.left_out,
            "authors_add": self.item.remains if self.values else "",
            "table": self.item.table if self.values else "",
        }


def checklist_answers(document: Mapping[str, Any]) -> list[ChecklistAnswer]:
    """All items in order, with what ``document`` (:func:`semblance.core.research.results.document`) has for them."""
    answers = []
    is_internal = any("test" not in one for one in document["spec"]["cases"])
    for item in ITEMS:
        values = list(_values(document, item)) if is_internal or item.number != _INTERNAL else []
        answers.append(ChecklistAnswer(item, tuple(values[:MAX_VALUES]), max(0, len(values) - MAX_VALUES)))
    return answers


def checklist_json(document: Mapping[str, Any]) -> str:
    """The checklist as JSON."""
    items = [answer.to_json() for answer in checklist_answers(document)]
    content = {"checklist": "CLAIM 2024", "experiment": document["experiment"], "items": items}
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def checklist_csv(document: Mapping[str, Any]) -> str:
    """The checklist as a table with a line for each item."""
    header = ("number", "section", "item", "status", "values", "authors_add", "table")
    rows = []
    for answer in checklist_answers(document):
        line = answer.to_json()
        texts = [f"{of}: {_text(value)}" if of else _text(value) for of, _, value in answer.values]
        texts += [f"{answer.left_out} more"] if answer.left_out else []
        rows.append([line[name] if name != "values" else "; ".join(texts) for name in header])
    return csv_text(header, rows)


def _values(document: Mapping[str, Any], item: ChecklistItem) -> Iterator[tuple[str, str, Any]]:
    """What each value is of, where it stands, and it itself. A fact that is equal in all rows is named once."""
    for place in item.places:
        found = list(_found(document, place.split("/")[1:], ""))
        is_score = "/scores/" in place or place.startswith(("/comparisons", "/over_tables", "/worst"))
        seen: list[Any] = []
        for where, value in found:
            if is_score or value not in seen:
                seen.append(value)
                yield _of(document, where), where, value


def _found(value: Any, path: list[str], where: str, names: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Pointers and values below ``value`` by ``path``; those that are not set are left out."""
    if not path:
        if value not in (None, "", [], {}):
            yield where, value
        return
    first, *rest = path
    if isinstance(value, Mapping):
        names = tuple(value.get("compared", names))
        for key, below in value.items():
            is_meant = key in names if first == "" else _matches(str(key), first)
            if is_meant:
                yield from _found(below, rest, f"{where}/{_escaped(str(key))}", names)
    elif isinstance(value, list) and first == "*":
        for place, below in enumerate(value):
            yield from _found(below, rest, f"{where}/{place}", names)


def _matches(key: str, pattern: str) -> bool:
    return key.startswith(pattern[:-1]) if pattern.endswith("*") else key == pattern


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _of(document: Mapping[str, Any], where: str) -> str:
    """What a value is of, in the words of the document: its row, and its name there."""
    first, *rest = where.split("/")[1:]
    if not rest:
        return first
    row = document[first]
    if isinstance(row, list) and rest[0].isdigit():
        row, rest = row[int(rest[0])], rest[1:]
        names = ("protocol", "cases", "learner", "a", "b") if first != "cases" else ("name",)
        texts = [str(row[name]) for name in names if isinstance(row.get(name), str)]
        texts += [row["score"]] if first in ("comparisons", "over_tables", "worst_findings") else []
    else:
        texts = []
    return ", ".join([*texts, *(one for one in rest if not one.isdigit())])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
