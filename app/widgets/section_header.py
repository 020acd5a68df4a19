"""The header of a section in a panel: title, a note or link at the right, optionally collapsible."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolButton, QWidget

from semblance.app.shell.icons import icon
from semblance.app.shell.theme import set_look
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import hbox
from semblance.core.language import tr


class SectionHeader(QWidget):
    """``title`` in bold, ``note`` behind it in grey, and a link ``action`` that emits ``action_requested``.

    ``collapsible``: with an arrow button. ``expanded(bool)``: the section was expanded or collapsed.
    """

    action_requested = Signal()
    expanded = Signal(bool)

    def __init__(
        self,
        title: str = "",
        parent: QWidget | None = None,
        *,
        note: str = "",
        action: str = "",
        collapsible: bool = False,
    ) -> None:
        super().__init__(parent)
        self._toggle: QToolButton | None = None
        self.title = ElidedLabel(title, role="second" if collapsible else "title")
        self.note = ElidedLabel(note, role="third")
        self.note.setAlignment(Qt.AlignmentFlag.AlignRight)
        # It takes the space that the title leaves. A shortened hint would be useless, so it is hidden then.
        self.note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.note.set_short_text(" ")
        self._action = QPushButton(action)
        self._action.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._action.clicked.connect(self.action_requested)
        set_look(self._action, link=True)
        layout = hbox(self, spacing=2 if collapsible else 6)
        if collapsible:
            layout.addWidget(self._make_toggle(title))
        layout.addWidget(self.title)
        layout.addStretch(0)
        layout.addWidget(self.note, 1)
        layout.addWidget(self._action)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.set_note(note)
        self.set_action(action)

    def add(self, widget: QWidget) -> None:
        """Add a badge or button at the right end."""
        layout = self.layout()
        assert layout is not None
        layout.addWidget(widget)

    def set_title(self, title: str) -> None:
        self.title.setText(title)

    def set_note(self, note: str) -> None:
        """Grey text at the right."""
        self.note.setText(note)
        self.note.setVisible(bool(note))

    def set_action(self, action: str) -> None:
        """The text of the link at the right; empty hides it."""
        self._action.setText(action)
        self._action.setVisible(bool(action))

    def sizeHint(self) -> QSize:
        # A link is higher than plain text. The widgets below must not move when it appears.
        return super().sizeHint().expandedTo(QSize(0, self._action.sizeHint().height()))

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint().expandedTo(QSize(0, self._action.sizeHint().height()))

    def set_action_enabled(self, enabled: bool) -> None:
        self._action.setEnabled(enabled)

    def is_expanded(self) -> bool:
        return self._toggle is None or self._toggle.isChecked()

    def set_expanded(self, expanded: bool) -> None:
        if self._toggle is not None:
            self._toggle.setChecked(expanded)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """The whole header of a collapsible section expands it, not only the arrow."""
        if self._toggle is not None and event.button() == Qt.MouseButton.LeftButton:
            self._toggle.toggle()

    def _make_toggle(self, title: str) -> QToolButton:
        self._toggle = QToolButton()
        self._toggle.setCheckable(True)
        self._toggle.setChecked(True)
        self._toggle.setAccessibleName(tr("Show {title}", title=title))
        self._toggle.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        set_look(self._toggle, bare=True)
        self._toggle.toggled.connect(self._set_expanded)
        self._toggle.setIcon(icon("chevron-down", on="second"))
        return self._toggle

    def _set_expanded(self, expanded: bool) -> None:
        assert self._toggle is not None
        self._toggle.setIcon(icon("chevron-down" if expanded else "chevron-right", on="second"))
        self.expanded.emit(expanded)
