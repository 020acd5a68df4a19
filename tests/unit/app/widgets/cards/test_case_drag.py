from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QDrag, QPixmap
from PySide6.QtWidgets import QWidget

from semblance.app.widgets.cards.case_drag import CASE_MIME, drag


def test_other_programs_get_the_image_and_nothing_that_names_the_patient(qtbot, monkeypatch):
    given = []
    monkeypatch.setattr(QDrag, "exec", lambda self, _action: given.append(set(self.mimeData().formats())))
    source, data = QWidget(), QMimeData()
    qtbot.addWidget(source)
    data.setData(CASE_MIME, b"7")
    image = QPixmap(4, 4)
    image.fill(Qt.GlobalColor.white)
    drag(source, data, image)
    assert given == [{CASE_MIME, "application/x-qt-image"}]
