"""The yardstick: every learner on every kind of features over image sets, as one table with ranks.

Ranks are tested over image sets, which are independent of each other; the features of one image set are not. So
Friedman's test compares learners by their means over the features, and features by their means over the learners.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from semblance.core.csv_cells import csv_text
from semblance.core.errors import BadInput
from semblance.core.evaluation.friedman import friedman, nemenyi_json
from semblance.core.language import tr_lazy
from semblance.core.reports.experiment_figures import critical_difference_figure
from semblance.core.reports.plot import Format, PlotLayout
from semblance.core.research.result_titles import learner_title, score_title

#: What is measured, the first decides the order of the table.
SCORES = ("retrieval_accuracy@10", "auc")
FORMAT, VERSION = "semblance-yardstick", 1


def rank_table(
    document: Mapping[str, Any], image_sets: Mapping[str, Mapping[str, Any]], protocol: Mapping[str, Any]
) -> dict[str, Any]:
    """The yardstick of an experiment's document, whose cases are called ``IMAGE_SET:FEATURES``.

    ``image_sets`` (what each is: its hash and numbers) and ``protocol`` are stored as they are. The result has
    ``rows`` of ``learner``, ``features`` and ``scores`` (by score and image set ``{"mean", "ci95"}``), and what
    :func:`with_ranks` adds.
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for one in document["results"]:
        image_set, _, features = one["cases"].rpartition(":")
        row = rows.setdefault(
            (one["learner"], features),
            {"learner": one["learner"], "features": features, "scores": {name: {} for name in SCORES}},
        )
        for name in SCORES:
            if name in one["scores"]:
                score = one["scores"][name]
                row["scores"][name][image_set] = {"mean": score["mean"], "ci95": score["ci95"]}
    failed = [
        {"learner": one["learner"], "cases": one["cases"], "reason": one["failed"]}
        for one in document["results"]
        if one["failed"]
    ]
    found = {
        "format": FORMAT,
        "version": VERSION,
        "image_sets": {name: dict(facts) for name, facts in image_sets.items()},
        "protocol": dict(protocol),
        "rows": list(rows.values()),
        "failed": failed,
        "configuration": configuration_hash(image_sets, protocol),
        "complete": document["complete"],
        "versions": document["versions"],
    }
    return with_ranks(found)


def configuration_hash(image_sets: Mapping[str, Mapping[str, Any]], protocol: Mapping[str, Any]) -> str:
    """SHA-256 of what is measured and how: the hashes of the image sets, and the protocol. Rows with it compare."""
    measured = _measured(
        {"format": FORMAT, "version": VERSION, "image_sets": image_sets, "protocol": protocol}
    )
    return hashlib.sha256(json.dumps(measured, sort_keys=True).encode()).hexdigest()


def _measured(found: Mapping[str, Any]) -> dict[str, Any]:
    """What must be equal for rows of two runs to be in one table; the notes on image sets have a language."""
    image_sets = found.get("image_sets")
    return {
        "format": found.get("format"),
        "version": found.get("version"),
        "image_sets": {name: facts.get("sha256", "") for name, facts in image_sets.items()}
        if isinstance(image_sets, Mapping)
        else None,
        "protocol": found.get("protocol"),
    }


def with_ranks(found: dict[str, Any]) -> dict[str, Any]:
    """``found`` with ``rank`` of each row by score, ``tests`` of learners and of features, and the rows in order.

    A row, a learner or features without a number on one of the image sets has no rank.
    """
    names = list(found["image_sets"])
    for row in found["rows"]:
        row["rank"] = {}
    for score in SCORES:
        complete = [row for row in found["rows"] if all(name in row["scores"][score] for name in names)]
        if len(complete) > 1 and len(names) > 1:
            values = {str(place): _values(row, score, names) for place, row in enumerate(complete)}
            ranks = friedman(score, values).ranks
            for place, row in enumerate(complete):
                row["rank"][score] = ranks[str(place)]
    found["rows"].sort(
        key=lambda row: (row["rank"].get(SCORES[0], math.inf), row["learner"], row["features"])
    )
    found["tests"] = [
        {"over": over, **test}
        for over in ("learner", "features")
        for score in SCORES
        if (test := _test(found["rows"], over, score, names)) is not None
    ]
    return found


def _values(row: Mapping[str, Any], score: str, names: Sequence[str]) -> list[float]:
    return [row["scores"][score][name]["mean"] for name in names]


def _test(
    rows: Sequence[Mapping[str, Any]], over: str, score: str, names: Sequence[str]
) -> dict[str, Any] | None:
    """Friedman's test of learners or features, each by its mean over the other on every image set."""
    others = "features" if over == "learner" else "learner"
    numbers = {
        (row[over], row[others]): _values(row, score, names)
        for row in rows
        if all(name in row["scores"][score] for name in names)
    }
    wanted = (
        {row[others] for row in rows}
        if over == "learner"
        else {
            row["learner"]
            for row in rows
            if all((features, row["learner"]) in numbers for features in {r["features"] for r in rows})
        }
    )
    groups = list(dict.fromkeys(row[over] for row in rows))
    means = {
        group: np.mean([numbers[group, other] for other in sorted(wanted)], axis=0).tolist()
        for group in groups
        if wanted and all((group, other) in numbers for other in wanted)
    }
    if len(means) < 2 or len(names) < 2:
        return None
    test = friedman(score, means)
    return {**test.to_json(), "nemenyi": nemenyi_json(test)}


def with_rows(found: dict[str, Any], other: Mapping[str, Any], name: str) -> dict[str, Any]:
    """``found`` with the rows of another run called ``name``, ranked together.

    Raises:
        BadInput: it was measured on other images or by another protocol.
    """
    here, there = _measured(found), _measured(other)
    different = [key for key in here if here[key] != there[key]]
    if different or not isinstance(other.get("rows"), list):
        raise BadInput(
            tr_lazy("{name} was not measured on the same images in the same way.", name=name),
            tr_lazy("These differ: {different}.", different=", ".join(different) or "rows"),
        )
    known = {(row["learner"], row["features"]) for row in found["rows"]}
    added = [row for row in other["rows"] if (row["learner"], row["features"]) not in known]
    return with_ranks({**found, "rows": [*found["rows"], *added]})


def rank_table_csv(found: Mapping[str, Any]) -> str:
    """A line for every score of every row on every image set, with its interval over repeats."""
    lines = [
        (row["learner"], row["features"], score, image_set, value["mean"], *(value["ci95"] or (None, None)))
        for row in found["rows"]
        for score in SCORES
        for image_set, value in row["scores"][score].items()
    ]
    return csv_text(("learner", "features", "score", "image_set", "mean", "ci95_low", "ci95_high"), lines)


def rank_table_markdown(found: Mapping[str, Any]) -> str:
    """The table for people, with the tests below."""
    names = list(found["image_sets"])
    head = [tr_lazy("Learner"), tr_lazy("Features"), *names, tr_lazy("Mean rank"), "AUC", tr_lazy("AUC rank")]
    lines = [
        f"# {tr_lazy('Yardstick')}",
        "",
        f"| {' | '.join(map(str, head))} |",
        "| --- | --- |" + " ---: |" * (len(names) + 3),
    ]
    for row in found["rows"]:
        accuracy, auc = (row["scores"][score] for score in SCORES)
        cells = [_percent(accuracy[name]) if name in accuracy else "–" for name in names]
        areas = [auc[name]["mean"] for name in names if name in auc]
        mean_area = f"{np.mean(areas):.3f}" if len(areas) == len(names) else "–"
        ranks = [f"{row['rank'][score]:.1f}" if score in row["rank"] else "–" for score in SCORES]
        lines.append(
            f"| {learner_title(row['learner'])} | {row['features']} | {' | '.join(cells)} | {ranks[0]} | {mean_area} "
            f"| {ranks[1]} |"
        )
    lines += [
        "",
        str(
            tr_lazy(
                "Retrieval accuracy @ 10 in percent, ± half of its 95 % interval over repeats. AUC is the mean over "
                "image sets."
            )
        ),
        "",
    ]
    for test in found["tests"]:
        order = ", ".join(
            f"{learner_title(name)} {rank:.2f}"
            for name, rank in sorted(test["ranks"].items(), key=lambda pair: pair[1])
        )
        lines.append(
            "- "
            + tr_lazy(
                "{score}: Friedman chi-squared {statistic:.2f}, p = {p_value:.2g} over {n} image sets; ranks differ "
                "from {distance:.2f} apart (Nemenyi). Ranks: {ranks}.",
                score=score_title(test["score"]),
                statistic=test["statistic"],
                p_value=test["p_value"],
                n=test["tables"],
                distance=test["nemenyi"]["critical_difference"],
                ranks=order,
            )
        )
    lines += ["", *(f"- {name}: {facts['note']}" for name, facts in found["image_sets"].items())]
    lines += [f"- {one['learner']}, {one['cases']}: {one['reason']}" for one in found["failed"]]
    lines += ["", str(tr_lazy("Configuration: {hash}", hash=found["configuration"]))]
    return "\n".join(lines) + "\n"


def _percent(value: Mapping[str, Any]) -> str:
    half = "" if value["ci95"] is None else f" ± {50.0 * (value['ci95'][1] - value['ci95'][0]):.1f}"
    return f"{100.0 * value['mean']:.1f}{half}"


def rank_table_figures(found: Mapping[str, Any], format: Format) -> dict[str, bytes]:
    """Nemenyi's diagram of each test, by file name."""
    return {
        f"ranks-{test['over']}-{test['score'].replace('@', '-')}.{format}": critical_difference_figure(
            {learner_title(name): rank for name, rank in test["ranks"].items()},
            test["nemenyi"]["critical_difference"],
            [[learner_title(name) for name in group] for group in test["nemenyi"]["alike"]],
            PlotLayout(
                "print",
                (760, 0),
                3.0 if format == "png" else 1.0,
                format,
                title=tr_lazy("Average ranks, {test}", test=score_title(test["score"])),
                note=tr_lazy(
                    "{n} image sets, Friedman p {p_value:.2g}", n=test["tables"], p_value=test["p_value"]
                ),
            ),
        )
        for test in found["tests"]
    }
