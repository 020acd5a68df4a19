"""The header above an image of the Compare page."""

from __future__ import annotations

from PySide6.QtCore import Qt

from semblance.app.widgets.copy_details_button import CopyDetailsButton
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.finding_chip import FindingChip
from semblance.app.widgets.image_header import ImageHeader
from semblance.core.errors import SemblanceError
from semblance.core.language import tr


class CompareHeader(ImageHeader):
    """Title, name, finding and distance of an image."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self._chip = FindingChip(-1, "?")
        self._row.insertWidget(self._row.indexOf(self._subtitle) + 1, self._chip)
        self._distance = ElidedLabel(role="second", mode=Qt.TextElideMode.ElideMiddle)
        self.add_action(self._distance)
        self.copy_details = CopyDetailsButton()
        self.add_action(self.copy_details)

    def show_case(
        self, title: str, name: str, finding: str | None, code: int, letter: str, distance: str
    ) -> None:
        self.set_title(title)
        self.set_subtitle(name)
        self._chip.set_finding(code, letter, finding or tr("not given"))
        self._distance.setText(distance)

    def show_nothing(self) -> None:
        """Show no case."""
        self.show_problem(None)
        self.show_case("", "", "", -1, "", "")

    def show_problem(self, error: SemblanceError | None) -> None:
        """Show why there is no image, in place of the distance."""
        if error is not None:
            self._distance.setText(str(error))
        self.copy_details.set_error(error)
