"""Own images: drop a folder, search with its first case and with a file, write a report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from PySide6.QtCore import QMimeData, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from semblance.app.reports import report_commands
from semblance.app.reports.report_dialog import ReportDialog
from semblance.app.screenshot import wait_until_idle
from semblance.app.widgets.cards.card_layout import card_feedback_buttons
from semblance.core.searches.query import Query
from tests.helpers.images import striped_folder
from tests.helpers.windows import open_window, wait_for

LEFT = Qt.MouseButton.LeftButton


def drop(widget: QWidget, path: Path) -> None:
    """Let a file or folder go over the middle of ``widget``."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    where, copying = widget.rect().center(), Qt.DropAction.CopyAction
    held = (mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(widget, QDragEnterEvent(where, copying, *held))
    QApplication.sendEvent(widget, QDropEvent(QPointF(where), copying, *held))


def test_a_dropped_folder_is_seen_marked_compared_and_reported(qtbot: QtBot, tmp_path: Path) -> None:
    """By mouse and keys alone, in the workspace Read."""
    folder, report = striped_folder(tmp_path / "Striped images", n=40), tmp_path / "report.json"
    with open_window(workspace="read") as window:
        state, panels = window.state, window.panels
        drop(window, folder)
        wait_for(window, lambda: state.ranking is not None and not window.jobs.active)
        grid = panels.ranking.grid
        grid.set_current(state.ranking.ranked[2].row)
        wait_until_idle(window)
        marked, before = state.ranking.ranked[2].case_id, state.ranking
        more, _ = card_feedback_buttons(grid.card_rect(2), grid._layout)
        qtbot.mouseMove(grid.viewport(), more.center())
        qtbot.mouseClick(grid.viewport(), LEFT, pos=more.center())
        wait_for(window, lambda: state.judgement_count == 1 and state.ranking is not before)
        assert state.ranking.ranked[0].case_id == marked

        qtbot.mouseDClick(grid.viewport(), LEFT, pos=grid.card_rect(1).center())
        wait_until_idle(window)
        page = panels.compare
        assert page.isVisible()
        compared = page.current_case()
        assert compared == state.ranking.ranked[1].case_id
        qtbot.mouseClick(page.notes, LEFT)
        qtbot.keyClicks(page.notes, "like the query")
        qtbot.mouseClick(page.in_report, LEFT)
        wait_until_idle(window)
        qtbot.keyClick(page, Qt.Key.Key_Escape)
        wait_until_idle(window)
        assert not window.parts.full.open

        def create() -> None:
            dialog = QApplication.activeModalWidget()
            if not isinstance(dialog, ReportDialog):
                QTimer.singleShot(20, create)
                return
            formats = dialog.format_box
            formats.setCurrentIndex(formats.findData("json"))
            dialog.folder = report.parent
            dialog.name.setText(report.name)
            qtbot.mouseClick(dialog.create_button, LEFT)

        QTimer.singleShot(20, create)
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        grid.setFocus()
        qtbot.keyClick(grid, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
        wait_for(window, report.exists)
        text = report.read_text(encoding="utf-8")
        assert "like the query" in text
        assert json.loads(text)["judgements"]


def test_from_a_dropped_folder_to_a_report(qtbot: QtBot, tmp_path: Path) -> None:
    folder = striped_folder(tmp_path / "Striped images", n=40)
    (folder / "upright" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    outside = tmp_path / "outside.png"
    shutil.copy(folder / "upright" / "p002.png", outside)
    with open_window() as window:
        drop(window, folder)
        wait_for(window, lambda: window.state.ranking is not None and not window.jobs.active)
        assert window.state.library is not None
        assert window.state.location == tmp_path / "Striped images.semblance"
        assert len(window.state.columns) == 40
        assert window.status.not_read.text() == "Could not read 1 file"
        assert [line[1] for line in window.state.library.unusable_files] == ["upright/broken.png"]
        measured = {facts.name: facts.cases for facts in window.state.library.feature_sets}
        assert measured == {"encoder": 40, "encoder levels": 40}
        assert window.state.query == Query(case=window.state.columns.ids[0])
        assert window.panels.side.why.isVisible()
        assert not window.panels.side.why.is_empty

        drop(window.panels.query, outside)
        wait_for(window, lambda: window.state.ranking is not None and window.state.query.image == outside)
        ranking = window.state.ranking
        assert ranking is not None
        assert not any(case.case_id.endswith("upright/p002.png") for case in ranking.ranked)
        assert ranking.same_patient + ranking.near_duplicates > 0

        report = tmp_path / "report.pdf"
        report_commands.write_report(window.context, report)
        wait_for(window, report.exists)
        assert report.read_bytes().startswith(b"%PDF")
