from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLabel, QLineEdit

from semblance.app.search.feedback.save_refined_metric import FEW, SaveRefinedDialog


@pytest.fixture
def dialog(qtbot):
    made = SaveRefinedDialog("BDM+V", 3, ["BDM+V", "Euclidean"], "ann")
    qtbot.addWidget(made)
    made.show()
    return made


def test_unused_name_and_author_are_proposed(dialog):
    assert dialog.name() == "BDM+V refined"
    assert dialog.author() == "ann"
    assert dialog.save_button.isEnabled()


def test_existing_or_empty_name_cannot_be_saved(qtbot, dialog):
    field = dialog.findChildren(QLineEdit)[0]
    for name in ("Euclidean", "", "   "):
        field.setText(name)
        assert not dialog.save_button.isEnabled()
        qtbot.keyClick(field, Qt.Key.Key_Return)
        assert dialog.isVisible()
    field.setText("mine")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert dialog.result() == QDialog.DialogCode.Accepted
    assert dialog.name() == "mine"


@pytest.mark.parametrize(("judgements", "note"), [(1, True), (FEW - 1, True), (FEW, False)])
def test_few_judgements_show_a_note(qtbot, judgements, note):
    made = SaveRefinedDialog("BDM+V", judgements, [], "")
    qtbot.addWidget(made)
    labels = " ".join(label.text() for label in made.findChildren(QLabel))
    assert ("rarely change" in labels) == note
    assert "No report" in labels
