"""The dialog of the sealed test vault: what can be done before and after an opening."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semblance.app.research.vault_page import VaultPage
from semblance.core.errors import BadInput
from semblance.core.library.vault import VaultOpening
from semblance.core.workflows.metrics import vault
from semblance.core.workflows.metrics.vault import VaultStatus
from tests.helpers.scored_snapshots import metric, snapshot
from tests.helpers.widgets import show_widget

EMPTY = VaultStatus("lib")
SEALED = VaultStatus(
    "lib", 40, 20, {"benign": 22, "malignant": 18}, "2026-03-01T10:00:00+00:00", "20%", ("old",)
)
RESULT = {"accuracy": [0.8, 0.7, 0.9], "mean_auc": 0.85, "cases": 40, "patients": 20}


def opening(number: int) -> VaultOpening:
    return VaultOpening(number, "2026-03-02T10:00:00+00:00", "learned", "abc", RESULT)


@pytest.fixture
def stored(monkeypatch):
    """What the workflows answer, and the calls of them."""
    state = {"status": EMPTY, "calls": []}

    def change(name, status):
        def workflow(_library, *arguments, reporter=None, **options):
            state["calls"].append((name, *arguments, *options.values()))
            state["status"] = status
            return status

        return workflow

    monkeypatch.setattr(vault, "vault_status", lambda _library, reporter=None: state["status"])
    monkeypatch.setattr(vault, "seal_share", change("seal", SEALED))
    monkeypatch.setattr(vault, "unseal_vault", change("unseal", EMPTY))
    monkeypatch.setattr(vault, "open_vault", change("open", replace(SEALED, openings=(opening(1),))))
    return state


@pytest.fixture
def dialog(context, stored, qtbot, monkeypatch):
    monkeypatch.setattr(
        "semblance.app.shell.library_operations.renew",
        lambda context: context.state.renew_library(context.state.library),
    )
    context.state.set_library(snapshot(metric("learned", 0.8)))
    made = VaultPage(context)
    show_widget(qtbot, made, 820, 600)
    context.jobs.run_pending()
    return made


def test_sealing_and_its_undo_and_the_first_opening(dialog, stored, context):
    assert "Nothing is sealed" in dialog.facts.text()
    assert not dialog.unseal_button.isEnabled()
    dialog.share.setValue(25)
    dialog.seal_button.click()
    context.jobs.run_pending()
    context.jobs.run_pending()
    assert stored["calls"] == [("seal", 0.25, 0)]
    assert "40 cases are sealed of 20 patients: benign 22, malignant 18" in dialog.facts.text()
    assert "old" in dialog.warning.text()
    assert dialog.warning.isVisible()
    assert not dialog.open_button.isEnabled()
    dialog.finished_box.setChecked(True)
    dialog.metric_box.setCurrentIndex(0)
    name = dialog.metric_box.currentText()
    dialog.open_button.click()
    context.jobs.run_pending()
    context.jobs.run_pending()
    assert stored["calls"][-1] == ("open", name)
    assert dialog.openings.item(0, 2).text() == "learned"
    assert dialog.openings.item(0, 3).text() == "0.80 (0.70–0.90)"
    assert not dialog.later.isVisible()
    for button in (dialog.seal_button, dialog.list_button, dialog.unseal_button, dialog.open_button):
        assert not button.isEnabled()
    assert "stays as it is" in dialog.unseal_button.toolTip()


def test_a_refusal_is_shown_with_its_remedy(dialog, monkeypatch, context):

    def refuse(*_, **__):
        raise BadInput("Too few.", "Import more.")

    monkeypatch.setattr(vault, "seal_share", refuse)
    dialog.seal()
    context.jobs.run_pending()
    context.jobs.run_pending()
    assert dialog.error_line.text == "Too few. Import more."


def test_a_later_opening_is_marked(dialog, stored, context):
    stored["status"] = replace(SEALED, openings=(opening(1), opening(2)))
    dialog.load()
    context.jobs.run_pending()
    context.jobs.run_pending()
    assert [dialog.openings.item(row, 0).text() for row in (0, 1)] == ["1", "2 *"]
    assert "* not the first opening" in dialog.later.text()
    assert dialog.later.isVisible()


def test_a_hidden_page_reads_nothing_until_it_is_shown(dialog, context):
    dialog.hide()
    context.state.renew_library(context.state.library)
    assert context.jobs.pending == []
    dialog.show()
    assert len(context.jobs.pending) == 1
