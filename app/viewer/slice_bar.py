"""The bar beside a volume: which slice, and going through them by mouse, keyboard or by itself."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QSizePolicy, QSlider, QToolButton, QWidget

from semblance.app.shell.icons import icon
from semblance.app.shell.theme import set_look
from semblance.app.viewer.slices import Slices
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.menus import Menu
from semblance.core.language import tr

#: Slices a second while they run by themselves: the first rate, and those the menu offers.
RATE, RATES = 12, (4, 8, 12, 20, 30)


class SliceBar(QWidget):
    """Follows and moves a :class:`Slices`; hidden without a volume. ``running_changed``: by itself;
    ``rate_changed(rate)``: a person chose another."""

    running_changed = Signal(bool)
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
        self.pace = QToolButton()
        self.pace.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.pace.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        set_look(self.pace, role="pace")
        menu = Menu(self.pace)
        for rate in RATES:
            act = menu.addAction(tr("{rate} slices a second", rate=rate))
            act.triggered.connect(lambda _=False, rate=rate: self._choose(rate))
        self.pace.setMenu(menu)
        column = vbox(self, spacing=4)
        column.addWidget(self.slider, 1, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.play, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.pace, 0, Qt.AlignmentFlag.AlignHCenter)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.rate = RATE
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._on)
        self._awaited: int | None = None
        self.slider.valueChanged.connect(slices.go)
        self.play.toggled.connect(self.run)
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

    def run(self, on: bool) -> None:
        """Begin or end running through the slices."""
        if self.play.isChecked() != on:
            self.play.setChecked(on)
            return
        self.play.setIcon(icon("pause" if on else "play"))
        self._awaited = None
        if on:
            self._timer.start(round(1000 / self.rate))
        else:
            self._timer.stop()
        self.running_changed.emit(on)

    def set_rate(self, rate: int) -> None:
        """Slices a second."""
        self.rate = rate
        self._timer.setInterval(round(1000 / rate))
        self.pace.setText(tr("{rate}/s", rate=rate))
        self.pace.setToolTip(tr("Speed: {rate} slices a second", rate=rate))
        self.pace.setAccessibleName(self.pace.toolTip())

    def _choose(self, rate: int) -> None:
        self.set_rate(rate)
        self.rate_changed.emit(rate)

    def _on(self) -> None:
        # The next slice only when the last one was seen: a slow disk makes it slower, not jerky.
        if self._awaited is None:
            following = (self._slices.place + 1) % max(1, len(self._slices))
            if following not in self._slices.loaded:
                self._awaited = following
            self._slices.go(following)

    def _arrived(self) -> None:
        self._awaited = None

    def _follow(self, place: int) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setValue(place)
