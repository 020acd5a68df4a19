from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from semblance.app.library.label_dialogs import SetLabelDialog


@pytest.mark.parametrize(
    ("typed", "key", "chosen", "is_new"),
    [
        ("spic", None, "spiculated", False),
        ("SPIC", None, "spiculated", False),
        ("spic", Qt.Key.Key_Delete, "spic", True),
        ("oval", None, "oval", True),
        ("round", None, "round", False),
    ],
)
def test_enter_takes_the_proposed_name_and_a_new_one_is_said_to_be_new(qtbot, typed, key, chosen, is_new):
    dialog = SetLabelDialog(
        "Set finding", "Finding", ("round", "spiculated"), "", "", "No finding", "“{name}” is new."
    )
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.keyClicks(dialog.field, typed)
    if key is not None:
        qtbot.keyClick(dialog.field, key)
    assert dialog.new_label.text().strip() == (f"“{chosen}” is new." if is_new else "")
    qtbot.keyClick(dialog.field, Qt.Key.Key_Return)
    assert not dialog.isVisible()
    assert dialog.label() == chosen
