"""Buttons that show their key, that choose one of several, and with an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QMenu,
    QSizePolicy,
    QToolButton,
    QToolTip,
    QWidget,
)

from semblance.app.shell.actions import Actions
from semblance.app.shell.icons import icon
from semblance.app.shell.theme import BASE, SMALL, colour, plain_tip, set_look, theme
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.menus import Menu, open_below
from semblance.app.widgets.panel import header_button
from semblance.app.widgets.text_cache import CENTRE, LEFT, RIGHT, text_cache
from semblance.core.language import tr

GRID_OR_LIST = (("grid", "grid", tr("As cards")), ("list", "list", tr("As a list")))

_CAPTION, _GAP = 18, 4


class KeyTip(QObject):
    """Keeps ``text`` with the key of ``command`` as the tooltip of ``widget``, also when the user changes the key."""

    def __init__(self, widget: QWidget, text: str, actions: Actions, command: str) -> None:
        super().__init__(widget)
        self._widget, self._text, self._actions, self._command = widget, text, actions, command
        actions[command].changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        self._widget.setToolTip(self._actions.text_with_key(self._text, self._command))


def key_button(icon: str, text: str, actions: Actions, command: str) -> QToolButton:
    """A button of a header with the key of ``command`` in its tooltip."""
    button = header_button(icon, text)
    KeyTip(button, text, actions, command)
    return button


class Segmented(QWidget):
    """``options``: pairs of key and text. ``changed(key)``: the user chose another. ``tips``: by key."""

    changed = Signal(str)

    def __init__(self, options: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._options = list(options)
        self._tips: Mapping[str, str] = {}
        self._chosen = 0
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._update_accessible_text()

    def value(self) -> str:
        return self._options[self._chosen][0]

    def set_options(self, options: Sequence[tuple[str, str]], tips: Mapping[str, str]) -> None:
        """Offer other options. What was chosen stays chosen, or else the first one is."""
        if (list(options), tips) == (self._options, self._tips):
            return
        chosen = self.value()
        self._options, self._tips = list(options), tips
        keys = [option[0] for option in options]
        self._chosen = keys.index(chosen) if chosen in keys else 0
        self.updateGeometry()
        self._update_accessible_text()

    def set_value(self, key: str) -> None:
        """Choose an option without a signal.

        Raises:
            KeyError: no such option.
        """
        keys = [option[0] for option in self._options]
        if key not in keys:
            raise KeyError(key)
        if self._chosen != (place := keys.index(key)):
            self._chosen = place
            self._update_accessible_text()

    def sizeHint(self) -> QSize:
        face = text_cache(BASE, 600)
        widest = max(face.width(text) for _, text in self._options)
        return QSize(int(widest + 24) * len(self._options), theme().px(26))

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * len(self._options), theme().px(26))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1}
        if event.key() in step:
            self._choose(self._chosen + step[Qt.Key(event.key())])
        elif event.key() == Qt.Key.Key_Space:
            self._choose((self._chosen + 1) % len(self._options))
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if (place := self._option_at(event.position().toPoint())) is not None:
            self._choose(place)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip and self._tips:
            place = self._option_at(event.pos())
            tip = "" if place is None else self._tips.get(self._options[place][0], "")
            QToolTip.showText(event.globalPos(), plain_tip(tip), self)
            return True
        return super().event(event)

    def _option_at(self, at: QPoint) -> int | None:
        parts = (place for place in range(len(self._options)) if self._part(place).contains(at))
        return next(parts, None)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(colour(tokens.line))
        painter.setBrush(colour(tokens.card_hover if self.isEnabled() else tokens.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        for place, (_, text) in enumerate(self._options):
            part, chosen = self._part(place), place == self._chosen
            if chosen and self.isEnabled():
                painter.setPen(colour(tokens.control_line if not tokens.is_dark else tokens.hover))
                painter.setBrush(colour(tokens.hover if tokens.is_dark else tokens.control))
                painter.drawRoundedRect(QRectF(part).adjusted(1.5, 1.5, -1.5, -1.5), 3, 3)
            shade = tokens.text if chosen else tokens.second
            shade = shade if self.isEnabled() else tokens.disabled
            face = text_cache(BASE, 600 if chosen else 400)
            face.draw(painter, part.adjusted(6, 0, -6, 0), text, shade, CENTRE)
        painter.end()

    def _part(self, place: int) -> QRect:
        """Where an option is: all are equally wide, unless the longest text needs space that others do not."""
        face, count = text_cache(BASE, 600), len(self._options)
        needed = [face.width(text) + 24 for _, text in self._options]
        if count * max(needed) <= self.width():
            needed = [self.width() / count] * count
        rest = (self.width() - sum(needed)) / count
        left = round(sum(needed[:place]) + place * rest)
        right = round(sum(needed[: place + 1]) + (place + 1) * rest)
        return QRect(left, 0, right - left, self.height())

    def _choose(self, place: int) -> None:
        place = max(0, min(len(self._options) - 1, place))
        if place != self._chosen:
            self._chosen = place
            self._update_accessible_text()
            self.changed.emit(self.value())

    def _update_accessible_text(self) -> None:
        key, name = self._options[self._chosen]
        text = tr("{name} chosen", name=name)
        self.setAccessibleDescription(f"{text}. {self._tips[key]}" if key in self._tips else text)
        self.update()


class ViewSwitch(QWidget):
    """``options``: key, icon and tooltip of each button. ``changed(key)``: the user chose another."""

    changed = Signal(str)

    def __init__(
        self, options: Sequence[tuple[str, str, str]] = GRID_OR_LIST, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._options = options
        self._buttons: dict[str, QToolButton] = {}
        group = QButtonGroup(self)
        row = hbox(self, spacing=2)
        for key, name, tip in options:
            button = QToolButton()
            button.setIcon(icon(name, on="text"))
            button.setToolTip(tip)
            button.setAccessibleName(tip)
            button.setCheckable(True)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, key=key: self.changed.emit(key))
            set_look(button, view=True)
            group.addButton(button)
            row.addWidget(button)
            self._buttons[key] = button
        #: In place of the others where few controls are wanted; its menu offers all.
        self.menu_button = header_button("list", tr("View"))
        self.menu_button.clicked.connect(self._open_menu)
        self.menu_button.hide()
        row.addWidget(self.menu_button)
        self.set_value(options[0][0])

    def set_compact(self, compact: bool) -> None:
        """Whether one button with a menu stands for all."""
        for button in self._buttons.values():
            button.setVisible(not compact)
        self.menu_button.setVisible(compact)

    def fill_menu(self, menu: QMenu) -> None:
        """Add the options to ``menu``."""
        for key, name, tip in self._options:
            action = menu.addAction(icon(name, on="text"), tip, partial(self.changed.emit, key))
            action.setCheckable(True)
            action.setChecked(key == self.value())
            action.setEnabled(self.isEnabled())

    def _open_menu(self) -> None:
        menu = Menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill_menu(menu)
        open_below(self.menu_button, menu)

    def value(self) -> str:
        return next(key for key, button in self._buttons.items() if button.isChecked())

    def set_value(self, key: str) -> None:
        """Choose an option without a signal.

        Raises:
            KeyError: no such option.
        """
        self._buttons[key].setChecked(True)
        name, tip = next((name, tip) for one, name, tip in self._options if one == key)
        self.menu_button.setIcon(icon(name))
        self.menu_button.setToolTip(tip)
        self.menu_button.setAccessibleName(tr("View: {view}", view=tip))


class ImageButton(QAbstractButton):
    """``caption`` and ``key`` stand below the image, left and right."""

    def __init__(self, caption: str, key: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._caption, self._key = caption, key
        self._image: QImage | None = None
        self._placeholder = ""
        self.setText(caption)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def show_image(self, image: QImage | None, placeholder: str = "") -> None:
        """Show ``image``, or the text ``placeholder`` if there is none."""
        self._image, self._placeholder = image, placeholder
        self.update()

    def set_inert(self) -> None:
        """Make it a plain image that cannot be pressed."""
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def sizeHint(self) -> QSize:
        side = theme().px(88)
        return QSize(side, self.heightForWidth(side))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(48), self.heightForWidth(theme().px(48)))

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return min(width, theme().px(160)) + theme().px(_GAP + _CAPTION)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = theme()
        foot = tokens.px(_CAPTION)
        well = QRect(0, 0, self.width(), self.height() - foot - tokens.px(_GAP))
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(well, colour(tokens.image_well))
        if self._image is not None:
            size = self._image.size().scaled(well.size(), Qt.AspectRatioMode.KeepAspectRatio)
            at = QRectF(
                well.x() + (well.width() - size.width()) / 2,
                well.y() + (well.height() - size.height()) / 2,
                size.width(),
                size.height(),
            )
            painter.drawImage(at, self._image)
        elif self._placeholder:
            text_cache(SMALL).draw(painter, well, self._placeholder, tokens.image_text, CENTRE)
        if self.isEnabled() and (self.underMouse() or self.isDown()) and self._is_pressable:
            painter.setPen(QPen(colour(tokens.accent), 2))
            painter.drawRect(QRectF(well).adjusted(1, 1, -1, -1))
        line = QRect(0, self.height() - foot, self.width(), foot)
        weight, shade = (600, tokens.text) if self._is_pressable else (400, tokens.second)
        text_cache(SMALL, weight).draw(painter, line, self._caption, shade, LEFT)
        text_cache(SMALL).draw(painter, line, self._key, tokens.second, RIGHT)
        painter.end()

    @property
    def _is_pressable(self) -> bool:
        return not self.testAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
