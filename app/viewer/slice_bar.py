"""The slice bar of a volume: a slider, and playing the slices."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QSizePolicy, QSlider, QToolButton, QWidget

from semblance.app.shell.icons import icon
from semblance.app.shell.theme import set_look
from semblance.app.viewer.slices import Slices
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.menus import Menu
from semblance.core.language import tr

#: Slices a second: the default, and those in the menu.
RATE, RATES = 12, (4, 8, 12, 20, 30)


class SliceBar(QWidget):
    """Controls a :class:`Slices`; hidden without a volume. ``playing_changed(bool)`` · ``rate_changed(rate)``: the
    user chose another rate."""

    playing_changed = Signal(bool)
    rate_changed = Signal(int)

    def __init__(self, slices: Slices, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slices = slices
        self.setObjectName("slice-bar")
        self.slider = QSlider(Qt.Orientation.Vertical)
        self.slider.setInvertedAppearance(True)
        self.slider.setInvertedControls(True)
        self.slider.setAccessibleName(tr("Slice"))
        self.slider.setToolTip(tr("Scroll through the slices (wheel, Page Up, Page Down)"))
        self.play = QToolButton()
        self.play.setCheckable(True)
        self.play.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.play.setToolTip(tr("Play the slices (C)"))
        self.play.setAccessibleName(tr("Play the slices"))
        self.play.setIcon(icon("play"))
        self.rate_button = QToolButton()
        self.rate_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.rate_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        set_look(self.rate_button, role="pace")
        menu = Menu(self.rate_button)
        for rate in RATES:
            act = menu.addAction(tr("{rate} slices a second", rate=rate))
            act.triggered.connect(lambda _=False, rate=rate: self._choose(rate))
        self.rate_button.setMenu(menu)
        column = vbox(self, spacing=4)
        column.addWidget(self.slider, 1, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.play, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.rate_button, 0, Qt.AlignmentFlag.AlignHCenter)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.rate = RATE
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._show_next)
        self._loading: int | None = None
        self.slider.valueChanged.connect(slices.go_to_slice)
        self.play.toggled.connect(self.set_playing)
        slices.moved.connect(self._follow)
        slices.ready.connect(lambda *_: self._arrived())
        slices.failed.connect(lambda *_: self._arrived())
        self.set_rate(RATE)
        self.begin()

    def begin(self) -> None:
        """Another volume, or none."""
        self.play.setChecked(False)
        several = len(self._slices) > 1
        self.setVisible(several)
        if several:
            with QSignalBlocker(self.slider):
                self.slider.setRange(0, len(self._slices) - 1)
                self.slider.setPageStep(max(1, len(self._slices) // 10))
                self.slider.setValue(self._slices.place)

    def set_playing(self, on: bool) -> None:
        """Begin or end running through the slices."""
        if self.play.isChecked() != on:
            self.play.setChecked(on)
            return
        self.play.setIcon(icon("pause" if on else "play"))
        self._loading = None
        if on:
            self._timer.start(round(1000 / self.rate))
        else:
            self._timer.stop()
        self.playing_changed.emit(on)

    def set_rate(self, rate: int) -> None:
        """Slices a second."""
        self.rate = rate
        self._timer.setInterval(round(1000 / rate))
        self.rate_button.setText(tr("{rate}/s", rate=rate))
        self.rate_button.setToolTip(tr("Speed: {rate} slices a second", rate=rate))
        self.rate_button.setAccessibleName(self.rate_button.toolTip())

    def _choose(self, rate: int) -> None:
        self.set_rate(rate)
        self.rate_changed.emit(rate)

    def _show_next(self) -> None:
        # Wait until the last slice is shown: a slow disk makes it slower, not jerky.
        if self._loading is None:
            following = (self._slices.place + 1) % max(1, len(self._slices))
            if following not in self._slices.loaded:
                self._loading = following
            self._slices.go_to_slice(following)

    def _arrived(self) -> None:
        self._loading = None

    def _follow(self, place: int) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setValue(place)
