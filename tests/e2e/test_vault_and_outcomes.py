"""A researcher seals patients, trains, opens the vault twice, and enters what past queries turned out to be."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from semblance.app.metrics.card_page import MetricCardPage
from semblance.app.metrics.train_ticked_learner import train_ticked_learner
from semblance.app.research.outcomes_page import OutcomesPage
from semblance.app.research.vault_page import VaultPage
from semblance.app.screenshot import wait_until_idle
from semblance.app.search.saved import save_search
from semblance.app.search.saved.searches_panel import SearchesPanel
from semblance.app.shell import search_operations
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.window.main_window import MainWindow
from semblance.core.evaluation.outcome_drift import MIN_OUTCOMES
from semblance.core.searches.query import Query
from semblance.core.workflows.evaluation.scored_metrics import scored_metrics, scores_csv
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.reports.metric_cards import LATER_OPENING
from semblance.core.workflows.searches.batch_queries import held_out_cases
from semblance.core.workflows.searches.outcomes import drift_report, followed_searches
from tests.helpers.tables import PLAIN, write_table
from tests.helpers.windows import open_window, wait_for


@pytest.fixture
def library(tmp_path: Path) -> Path:
    import_source(write_table(tmp_path / "t.csv", n=240), tmp_path / "lib")
    extract_features(tmp_path / "lib", "raw")
    return tmp_path / "lib"


def search(window: MainWindow, case: str) -> None:
    before = window.state.ranking
    search_operations.submit_query(window.context, Query(case=case))
    wait_for(window, lambda: window.state.ranking is not before)


def test_a_vault_is_sealed_and_opened_twice(qtbot: QtBot, library: Path) -> None:
    with open_window(library) as window:
        window.context.actions["vault"].trigger()
        wait_until_idle(window)
        dialog = window.findChild(VaultPage)
        dialog.share.setValue(25)
        dialog.seal_button.click()
        wait_for(window, dialog.unseal_button.isEnabled)
        assert window.state.library is not None
        sealed = window.state.library.sealed
        assert f"{len(sealed)} cases are sealed of {len(sealed) // 2} patients" in dialog.facts.text()
        train_ticked_learner(window.context, PLAIN)
        wait_for(window, lambda: window.state.metric is not None and window.state.metric.name == "plain")

        rows = [window.state.columns.index_of_row(row) for row in sealed]
        names = {window.state.columns.ids[index] for index in rows}
        search(window, next(name for name in window.state.columns.ids if name not in names))
        ranking = window.state.ranking
        assert ranking is not None
        assert ranking.sealed == len(sealed)
        assert not names & {case.case_id for case in ranking.ranked}

        for number in (1, 2):
            dialog.finished_box.setChecked(True)
            dialog.open_button.click()
            wait_for(window, lambda number=number: dialog.openings.rowCount() == number)
        assert not dialog.unseal_button.isEnabled()
        accuracy = dialog.openings.item(0, 3).text()
        assert [dialog.openings.item(row, 0).text() for row in (0, 1)] == ["1", "2 *"]
        assert window.state.metric is not None
        card = MetricCardPage(window.state.metric)
        qtbot.addWidget(card)
        shown = [label.text() for label in card.findChildren(WrappedLabel)]
        first, second = (text for text in shown if f"{len(sealed)} sealed cases" in text)
        assert f"@10 {accuracy}" in first
        assert str(LATER_OPENING) not in first
        assert str(LATER_OPENING) in second
        (line,) = csv.DictReader(
            io.StringIO(scores_csv(scored_metrics(window.state.library)).lstrip("\ufeff"))
        )
        assert re.fullmatch(r"1 \(.+\); 2 \(.+\)", line["vault_openings"])
        assert f"{float(line['vault_accuracy_at_10']):.2f}" == accuracy.split()[0]


def test_saved_estimates_are_compared_with_later_diagnoses(
    qtbot: QtBot, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = ["kind 1", *["(another finding)"] * 2, *["kind 0"] * (MIN_OUTCOMES - 3)]
    answers = iter(given)
    with open_window(library) as window:
        train_ticked_learner(window.context, PLAIN)
        wait_for(window, lambda: window.state.metric is not None and window.state.metric.name == "plain")
        shown: dict[str, float] = {}
        for number, case in enumerate(held_out_cases(library, "plain")[:MIN_OUTCOMES]):
            search(window, case)
            ranking = window.state.ranking
            assert ranking is not None and ranking.vote is not None
            shown[f"query {number}"] = ranking.vote.probability
            save_search.save(window.context, f"query {number}")
            wait_for(window, lambda number=number: window.state.search_name == f"query {number}")
            window.state.set_search_name("")
        window.context.actions["searches"].trigger()
        wait_until_idle(window)
        dialog = window.findChild(SearchesPanel)
        for name in shown:
            dialog.select(name)
            dialog.outcome.setCurrentIndex(dialog.outcome.findText(next(answers)))
            dialog.enter_outcome()
            wait_until_idle(window)
        entered = {
            dialog.list.item(row).text().split("\n")[0]: dialog.list.item(row).text()
            for row in range(len(shown))
        }
        assert "diagnosis kind 1" in entered["query 0"]
        assert "diagnosis another finding" in entered["query 1"]
        followed = {one.name: one for one in followed_searches(library)}
        assert {name: one.probability for name, one in followed.items()} == pytest.approx(shown)

        window.context.actions["outcomes"].trigger()
        wait_until_idle(window)
        table = window.findChild(OutcomesPage).table
        (whole, *_) = drift_report(library).scores
        assert [table.item(0, column).text() for column in (1, 2)] == [
            str(MIN_OUTCOMES),
            f"{sum(shown.values()) / MIN_OUTCOMES:.2f}",
        ]
        had_it = [one.outcome == one.estimated for one in followed.values()]
        assert table.item(0, 3).text().startswith(f"{sum(had_it) / MIN_OUTCOMES:.2f} (")
        assert whole.brier == pytest.approx(
            sum((one.probability - had) ** 2 for one, had in zip(followed.values(), had_it, strict=True))
            / MIN_OUTCOMES
        )
        assert table.item(0, 4).text().startswith(f"{whole.brier:.2f} (")
