"""The head of a section inside a panel: title, a note or link at the right, folding if wanted."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolButton, QWidget

from semblance.app.shell.icons import icon
from semblance.app.shell.theme import set_look
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.layouts import hbox
from semblance.core.language import tr


class SectionHeader(QWidget):
    """``title`` in bold, ``note`` behind it in grey, and a link ``action`` that emits ``action_requested``.

    With ``foldable`` the title is a button with an arrow; ``unfolded(bool)`` tells whether it is open.
    """

    action_requested = Signal()
    unfolded = Signal(bool)

    def __init__(
        self,
        title: str = "",
        parent: QWidget | None = None,
        *,
        note: str = "",
        action: str = "",
        foldable: bool = False,
    ) -> None:
        super().__init__(parent)
        self._fold: QToolButton | None = None
        self._title = ElidedLabel(title, role="second" if foldable else "title")
        self._note = ElidedLabel(note, role="third")
        self._note.setAlignment(Qt.AlignmentFlag.AlignRight)
        # It takes what the title leaves; a part of a hint says nothing.
        self._note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._note.set_short(" ")
        self._action = QPushButton(action)
        self._action.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._action.clicked.connect(self.action_requested)
        set_look(self._action, link=True)
        layout = hbox(self, spacing=2 if foldable else 6)
        if foldable:
            layout.addWidget(self._arrow(title))
        layout.addWidget(self._title)
        layout.addStretch(0)
        layout.addWidget(self._note, 1)
        layout.addWidget(self._action)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.set_note(note)
        self.set_action(action)

    def add(self, widget: QWidget) -> None:
        """Put a badge or button at the right end."""
        layout = self.layout()
        assert layout is not None
        layout.addWidget(widget)

    def set_title(self, title: str) -> None:
        self._title.setText(title)

    def set_note(self, note: str) -> None:
        """Grey text at the right."""
        self._note.setText(note)
        self._note.setVisible(bool(note))

    def set_action(self, action: str) -> None:
        """The text of the link at the right; empty hides it."""
        self._action.setText(action)
        self._action.setVisible(bool(action))

    def sizeHint(self) -> QSize:
        # A link is higher than words; what stands below must not jump when one comes.
        return super().sizeHint().expandedTo(QSize(0, self._action.sizeHint().height()))

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint().expandedTo(QSize(0, self._action.sizeHint().height()))

    def set_action_enabled(self, enabled: bool) -> None:
        self._action.setEnabled(enabled)

    def is_open(self) -> bool:
        return self._fold is None or self._fold.isChecked()

    def set_open(self, opened: bool) -> None:
        if self._fold is not None:
            self._fold.setChecked(opened)

    def _arrow(self, title: str) -> QToolButton:
        self._fold = QToolButton()
        self._fold.setCheckable(True)
        self._fold.setChecked(True)
        self._fold.setAccessibleName(tr("Show {title}", title=title))
        self._fold.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        set_look(self._fold, bare=True)
        self._fold.toggled.connect(self._folded)
        self._fold.setIcon(icon("chevron-down", on="second"))
        return self._fold

    def _folded(self, opened: bool) -> None:
        assert self._fold is not None
        self._fold.setIcon(icon("chevron-down" if opened else "chevron-right", on="second"))
        self.unfolded.emit(opened)
