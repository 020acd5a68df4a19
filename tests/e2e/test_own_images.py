"""Own images: drop a folder, search with its first case and with a file, write a report."""

from __future__ import annotations

import shutil
from pathlib import Path

from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from semblance.app.reports import report_operations
from semblance.core.searches.query import Query
from tests.helpers.images import striped_folder
from tests.helpers.windows import open_window, wait_for


def drop(widget: QWidget, path: Path) -> None:
    """Let a file or folder go over the middle of ``widget``."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    where, copying = widget.rect().center(), Qt.DropAction.CopyAction
    held = (mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(widget, QDragEnterEvent(where, copying, *held))
    QApplication.sendEvent(widget, QDropEvent(QPointF(where), copying, *held))


def test_from_a_dropped_folder_to_a_report(qtbot: QtBot, tmp_path: Path) -> None:
    folder = striped_folder(tmp_path / "Striped images", n=40)
    (folder / "upright" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    outside = tmp_path / "outside.png"
    shutil.copy(folder / "upright" / "p002.png", outside)
    with open_window() as window:
        drop(window, folder)
        wait_for(window, lambda: window.state.ranking is not None and not window.jobs.active)
        assert window.state.library is not None
        assert window.state.path == tmp_path / "Striped images.semblance"
        assert len(window.state.columns) == 40
        assert window.status.not_read.text() == "Could not read 1 file"
        assert [line[1] for line in window.state.library.unusable_files] == ["upright/broken.png"]
        assert [facts.cases for facts in window.state.library.feature_sets] == [40]
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
        report_operations.write_report(window.context, report)
        wait_for(window, report.exists)
        assert report.read_bytes().startswith(b"%PDF")
