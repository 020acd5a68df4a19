"""The query in the place of a ranked case: in turn with it, or as the difference of both."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from semblance.app.viewer.image_display import SecondImage
from semblance.app.viewer.image_view import ImageView
from semblance.app.widgets.panel_header import header_button
from semblance.core.language import tr

#: How long each image is shown while they alternate.
BLINK_MS = 600


class SecondImageButtons(QObject):
    """The buttons ``blink`` and ``difference``, of which one is on at most."""

    def __init__(self, parent: QObject, query: ImageView, case: ImageView) -> None:
        super().__init__(parent)
        self._query, self._case = query, case
        self._timer = QTimer(self)
        self._timer.setInterval(BLINK_MS)
        self._timer.timeout.connect(self._exchange)
        self.blink = header_button("eye", tr("Blink: show the query and the case in turn, in one place (O)"))
        self.difference = header_button("contrast", tr("Difference of the displayed grey levels (X)"))
        for button in (self.blink, self.difference):
            button.setCheckable(True)
        self.blink.toggled.connect(self._set_blinking)
        self.difference.toggled.connect(self._set_difference)

    def _set_blinking(self, on: bool) -> None:
        if on:
            self.difference.setChecked(False)
            self._timer.start()
            self._exchange()
        else:
            self._timer.stop()
            self._case.show_second(None)

    def _exchange(self) -> None:
        """Show the other of both images where the case is."""
        self._case.show_second(SecondImage(self._query, tr("Query")) if self._case.second is None else None)

    def _set_difference(self, on: bool) -> None:
        if on:
            self.blink.setChecked(False)
        second = SecondImage(self._query, tr("Difference"), is_difference=True)
        self._case.show_second(second if on else None)
