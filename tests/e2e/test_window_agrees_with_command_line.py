"""Every score and estimate in the window, on the card and in the report is the one that the command line prints."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from semblance.app.cli.main import run
from semblance.app.evaluation.panel import CALIBRATION_TAB, TABLE, EvaluationPanel
from semblance.app.evaluation.score_table import FULL
from semblance.app.metrics.card_page import MetricCardPage
from semblance.app.screenshot import wait_until_idle
from semblance.app.search.similar.summary_strip import SummaryStrip
from semblance.app.shell import search_operations
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.window.main_window import MainWindow
from semblance.core.reports.card_document import CardDocument
from semblance.core.searches.query import Query
from semblance.core.workflows.evaluation.scored_metrics import scored_metrics, scores_csv
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.score_metric import score_metric
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from tests.helpers.images import striped_folder
from tests.helpers.windows import open_window

Document = Callable[..., Any]


@pytest.fixture
def document(capsys: pytest.CaptureFixture[str]) -> Document:
    """What a command line prints with --json."""

    def run_it(*arguments: object) -> Any:
        capsys.readouterr()
        assert run([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run_it


def some_wrong_findings(folder: Path, seed: int = 0) -> Path:
    """Striped images of which every fifteenth pair has the finding of the others, or no score were below 1."""
    striped_folder(folder, n=120, seed=seed)
    lines = (folder / "labels.csv").read_text().splitlines()
    for first in range(1, len(lines), 30):
        for place in (first, first + 1):
            path, finding, patient = lines[place].split(",")
            lines[place] = f"{path},{'level' if finding == 'upright' else 'upright'},{patient}{seed}"
    (folder / "labels.csv").write_text("\n".join(lines))
    return folder


def spread(value: float, ends: Any) -> str:
    low, high = ends or (None, None)
    return f"{value:.2f}" if low is None or high is None else f"{value:.2f} ({low:.2f}–{high:.2f})"


def at(curve: Mapping[str, Any], k: int) -> str:
    return spread(curve["mean"][k - 1], (curve["low"][k - 1], curve["high"][k - 1]))


def expected_facts(scores: Mapping[str, Any]) -> dict[str, str]:
    """The lines with decimals of the card that belong to ``scores``."""
    calibration, control = scores["calibration"], scores["shuffled_control"]
    low, high = control["interval"]
    macro = scores["macro_retrieval_accuracy"]
    worst, at_worst = min(scores["by_finding"].items(), key=lambda one: one[1]["mean"])
    return {
        "Search accuracy @10": f"{at(scores['retrieval_accuracy'], 10)}, chance {scores['retrieval_chance']:.2f}",
        "Macro search accuracy @10": f"{spread(macro['mean'], (macro['low'], macro['high']))}, "
        f"chance {scores['macro_retrieval_chance']:.2f}",
        "Search accuracy of the worst finding @10": f"{spread(at_worst['mean'], (at_worst['low'], at_worst['high']))}, "
        f"{worst}",
        f"{scores['voters']}-NN accuracy": at(scores["knn_accuracy"], scores["voters"]),
        "Mean AUC over findings": f"{scores['auc']:.2f}",
        **{
            f"AUC, {name} against the rest": spread(curve["auc"], curve["ci95"])
            for name, curve in scores["roc"].items()
        },
        **{
            f"Weakest, {name}": f"{spread(one['mean'], (one['low'], one['high']))} accuracy @10 of {one['n']} cases"
            for name, one in scores["by_finding"].items()
        },
        "Control, trained on shuffled findings": f"{control['accuracy']:.2f} @10, by chance {control['chance']:.2f} "
        f"({low:.2f}–{high:.2f} in 99 of 100): near chance, as it should be",
        "Expected calibration error": f"{calibration['ece']:.3f} (perfect forecasters: below "
        f"{calibration['perfect']:.3f} in 95 of 100)",
    }


def with_decimals(document: CardDocument) -> dict[str, str]:
    sections = {"Scores", "Where it fails", "Calibration"}
    facts = [fact for section in document.sections if section.title in sections for fact in section.facts]
    return {str(fact.label): str(fact.value) for fact in facts if re.search(r"\d\.\d", fact.value)}


def check_panel(panel: EvaluationPanel, scores: Mapping[str, Any]) -> None:
    retrieval, calibration = scores["retrieval_accuracy"], scores["calibration"]
    panel.header.tabs.setCurrentIndex(TABLE)
    row = panel.table.names().index("mine")
    shown = {column.key: panel.table.item(row, place).text() for place, column in enumerate(FULL)}
    assert (
        shown
        | {
            **{f"@{k}": at(retrieval, k) for k in (1, 10, 50)},
            "mean_auc": f"{scores['auc']:.2f}",
            "ece": f"{calibration['ece']:.2f}",
            "control": spread(scores["shuffled_control"]["accuracy"], scores["shuffled_control"]["interval"]),
            "n_train": str(scores["n_train"]),
            "n_test": str(scores["n_test"]),
            "measured": scores["measured_on"],
            "seed": str(scores["seed"]),
        }
        == shown
    )
    brief = panel.overview.table
    row = brief.names().index("mine")
    assert [brief.item(row, column).text() for column in (1, 2, 3)] == [
        at(retrieval, 10),
        f"{scores['retrieval_chance']:.2f}",
        f"{scores['auc']:.2f}",
    ]
    finding = panel._finding
    curve = scores["roc"][finding]
    measured = f"Measured on {scores['n_test']} cases of {scores['measured_on']}."
    for view in (panel.overview.accuracy.view, panel.accuracy.view):
        text = view.accessibleDescription().replace(" to ", "–").replace("95 % interval ", "")
        reach, chance = scores["retrieval_ceiling"][9], scores["retrieval_chance"]
        assert f"{retrieval['mean'][9]:.2f}" in text
        assert f"At most {reach:.2f} can be reached, chance gives {chance:.2f}." in text
        assert text.endswith(measured)
        assert list(view.curves[0].mean) == retrieval["mean"][: len(view.curves[0].k)]
    for view in (panel.overview.roc.view, panel.roc.view):
        assert f"area under the curve {curve['auc']:.2f}" in view.accessibleDescription()
        assert (list(view.curves[0].fpr), list(view.curves[0].tpr)) == (curve["fpr"], curve["tpr"])
    panel.header.tabs.setCurrentIndex(CALIBRATION_TAB)
    text = panel.calibration.plot.view.accessibleDescription()
    assert f"calibration error {calibration['ece']:.3f} on {calibration['n_cases']} cases" in text
    assert f"up to {calibration['perfect']:.3f}" in text
    bins = panel.calibration.bins
    assert [[bins.item(row, column).text() for column in range(4)] for row in range(bins.rowCount())] == [
        [f"{start:.1f}–{end:.1f}", str(n), f"{predicted:.2f}", spread(observed, ends)]
        for start, end, n, predicted, observed, *ends in calibration["bins"]
    ]


def check_estimate(window: MainWindow, vote: Mapping[str, Any]) -> None:
    strip = window.panels.ranking.findChild(SummaryStrip)
    low, high = vote["interval"]
    shown = re.sub("<[^>]*>", "", html.unescape(strip.estimate.text()))
    assert shown.endswith(f"{vote['probability']:.2f} ({low:.2f}–{high:.2f})")
    assert f"Estimate for {vote['finding']}: {vote['probability']:.2f}" in strip.estimate.accessibleName()
    assert vote["measured_on"] in strip.estimate.accessibleName()
    assert strip._counts.text() == ", ".join(f"{n} {finding}" for finding, n in vote["counts"].items())


def test_all_readings_of_a_number_agree(qtbot: QtBot, tmp_path: Path, document: Document) -> None:
    library = tmp_path / "lib"
    import_source(some_wrong_findings(tmp_path / "images"), library)
    extract_features(library, "colour_edge_texture", workers=1)
    document("train", library, "--learner", "euclidean", "--name", "plain")
    trained = document("train", library, "--learner", "bdm", "--name", "mine", "--set", "rounds=8")
    # Only the command that trains lists the cases of the calibration.
    del trained["scores"]["calibration"]["cases"]
    assert document("card", library, "--metric", "mine")["scores"] == trained["scores"]
    # Cases that come later change the scores, while the metric's own card keeps those of its training.
    import_source(some_wrong_findings(tmp_path / "later", seed=3), library)
    extract_features(library, "colour_edge_texture", workers=1)
    score_metric(library, "mine")
    close_loaded_metrics()

    card = document("card", library, "--metric", "mine")
    scores = card["scores"]
    assert scores["auc"] != trained["scores"]["auc"]
    short = {
        "retrieval_accuracy@10": scores["retrieval_accuracy"]["mean"][9],
        "chance@10": scores["retrieval_chance"],
        "macro_retrieval_accuracy@10": scores["macro_retrieval_accuracy"]["mean"],
        "macro_chance@10": scores["macro_retrieval_chance"],
        "worst_finding@10": min(one["mean"] for one in scores["by_finding"].values()),
        "auc": scores["auc"],
        "calibration_error": scores["calibration"]["ece"],
    }
    assert card["card"]["scores"] == short
    assert card["card"]["measured_on"] == scores["measured_on"]
    held_out = next(
        found
        for number in range(118, 0, -2)
        for path in (tmp_path / "later").glob(f"*/p{number:03d}.png")
        if (
            found := document(
                "search", library, "--metric", "mine", "--case", f"later/{path.parent.name}/{path.name}"
            )
        )["vote"]["calibrated"]
    )
    vote, case = held_out["vote"], held_out["query"]["case_id"]

    with open_window(library) as window:
        window.state.set_metric("mine")
        snapshot = window.state.library
        assert snapshot is not None and window.state.metric is not None
        check_panel(window.panels.evaluation, scores)
        dialog = MetricCardPage(window.state.metric)
        qtbot.addWidget(dialog)
        assert with_decimals(dialog.document) == expected_facts(scores)
        labels = {label.text().replace("\u200b", "") for label in dialog.findChildren(WrappedLabel)}
        assert set(expected_facts(scores).values()) <= labels
        assert dialog.document.values["scores"] == scores
        for row, counts in zip(
            next(s.table for s in dialog.document.sections if s.title == "Where it fails").rows,
            scores["confusion"],
            strict=True,
        ):
            assert list(row[1:]) == [str(count) for count in counts]
        search_operations.submit_query(window.context, Query(case=case))
        wait_until_idle(window)
        check_estimate(window, vote)
        window.context.actions["why"].trigger()
        wait_until_idle(window)
        named = {one.accessibleName() for one in window.panels.side.why.findChildren(ElidedLabel)}
        assert f"Accuracy @10: {at(scores['retrieval_accuracy'], 10)}" in named

    (line,) = [
        line
        for line in csv.DictReader(io.StringIO(scores_csv(scored_metrics(snapshot)).lstrip("\ufeff")))
        if line["metric"] == "mine"
    ]
    assert float(line["accuracy_at_10"]) == pytest.approx(scores["retrieval_accuracy"]["mean"][9], abs=1e-6)
    assert float(line["mean_auc"]) == pytest.approx(scores["auc"], abs=1e-6)

    for kind in ("html", "json"):
        document("report", library, "--metric", "mine", "--case", case, "--out", tmp_path / f"report.{kind}")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["vote"] == vote
    assert [row["distance"] for row in report["results"]][:10] == [
        row["distance"] for row in held_out["results"]
    ][:10]
    roc = scores["roc"][vote["finding"]]
    facts = {fact["label"]: fact["value"] for fact in report["card"]["facts"]}
    assert (
        facts
        | {
            "Search accuracy @10": f"{short['retrieval_accuracy@10']:.2f}",
            "Mean AUC over findings": f"{short['auc']:.2f}",
            "Calibration error": f"{short['calibration_error']:.2f}",
        }
        == facts
    )
    tested = (
        f"The metric was tested with {scores['n_queries']} queries ({scores['measured_on']}): "
        f"AUC, {vote['finding']} against the rest {spread(roc['auc'], roc['ci95'])}; "
        f"Search accuracy @10 {expected_facts(scores)['Search accuracy @10']}; "
        f"Macro search accuracy @10 {expected_facts(scores)['Macro search accuracy @10']}; "
        f"Calibration error {scores['calibration']['ece']:.2f}."
    )
    assert (
        report["card"]["tested"]
        .replace(", Search", "; Search")
        .replace(", Macro", "; Macro")
        .replace(", Calib", "; Calib")
        == tested
    )
    text = html.unescape((tmp_path / "report.html").read_text())
    low, high = vote["interval"]
    assert report["card"]["tested"] in text
    assert f"Estimate for {vote['finding']}: {vote['probability']:.2f} ({low:.2f}–{high:.2f})" in text
    for label, value in facts.items():
        assert f"<dt>{label}</dt><dd>{value}</dd>" in text
