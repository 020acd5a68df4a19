from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.message_lines import CopyDetailsButton
from semblance.core.errors import BadInput

ERROR = BadInput("MILLER_ANNA.dcm cannot be read.", "Choose another file.")


def test_details_name_no_file_and_have_the_versions(qtbot):
    button = CopyDetailsButton()
    qtbot.addWidget(button)
    assert button.isHidden()
    button.set_error(ERROR)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert "BadInput" in copied and "semblance" in copied
    assert "MILLER" not in copied


def test_a_panel_offers_the_details_of_an_error_until_another_message_is_shown(qtbot):
    empty = EmptyState()
    qtbot.addWidget(empty)
    empty.show_error(ERROR, "No planes")
    assert not empty.copy_details.isHidden()
    empty.show_message("No metric yet")
    assert empty.copy_details.isHidden()
