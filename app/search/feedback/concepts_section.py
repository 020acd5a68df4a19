"""The concepts of the library: what is read and written of them, and a slider, the strength and the marks of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QMenu, QPushButton, QSizePolicy, QWidget

from semblance.app.search.feedback.mark_cards import author
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.state import Change
from semblance.app.shell.theme import colour, set_look, theme, theme_signals
from semblance.app.widgets.dialog import NameDialog
from semblance.app.widgets.fields import NoWheelSlider
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import EDGE, PanelScrollArea, fill, hbox, vbox
from semblance.app.widgets.menus import Menu, open_below
from semblance.app.widgets.panel import Panel, header_button
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.tab_order import show_in_scroll_areas
from semblance.core.errors import SemblanceError
from semblance.core.language import format_number, tr, tr_n, translate
from semblance.core.library.case_columns import Rows
from semblance.core.library.location import LibraryLocation
from semblance.core.searches.feedback.concept_direction import MINIMUM, Separability
from semblance.core.workflows.searches.feedback import concepts
from semblance.core.workflows.searches.feedback.concepts import ConceptFacts

_CHANNEL = "concepts"
#: Number of changes that can be undone.
UNDOABLE = 100

#: Steps of a slider to either side.
STEPS = 20
#: Concepts visible before the list scrolls.
VISIBLE_ROWS = 2
#: Width of a handle, as in the style sheet.
_HANDLE = 12
_EMPTY = tr("Name a property that cases have or lack. Mark a few of each. A slider then changes the order.")


class Concepts(QObject):
    """The concepts of the library with their strength under the current metric; ``changed`` when they change.

    The last 100 changes can be undone, the newest first.
    """

    changed = Signal()

    def __init__(self, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._state = context, context.state
        self.facts: tuple[ConceptFacts, ...] = ()
        #: Id of the concept that keys and menus mark cases for.
        self.selected: int | None = None
        self._undo: list[tuple[str, Callable[[], None]]] = []
        self._read_for: tuple[LibraryLocation | None, str] = (None, "")
        self._state.on_change(Change.LIBRARY, self, self._clear)
        self._state.on_change(Change.LIBRARY | Change.CASES | Change.METRIC, self, self._refresh)
        self._refresh()

    @property
    def current(self) -> ConceptFacts | None:
        """The concept that keys and menus mark cases for: the selected one, or the first."""
        first = self.facts[0] if self.facts else None
        return next((one for one in self.facts if one.id == self.selected), first)

    @property
    def undoable(self) -> str:
        """A label of the change that :meth:`undo` would undo; empty if there is none."""
        return self._undo[-1][0] if self._undo else ""

    @property
    def available(self) -> set[str]:
        """The conditions of commands that are met; see :func:`semblance.app.shell.actions.available`."""
        return ({"concepts"} if self.facts and self._state.can_write else set()) | (
            {"concepts changed"} if self._undo else set()
        )

    def select(self, key: int) -> None:
        """Select the concept that keys and menus mark cases for."""
        if key != self.selected:
            self.selected = key
            self.changed.emit()

    def amount(self, name: str) -> float:
        """How much the current search uses a concept, -1 to 1."""
        search = self._state.search
        return dict(search.concepts).get(name, 0.0) if search else 0.0

    def set_amount(self, name: str, amount: float) -> None:
        """Set how much the search uses a concept, and rank again."""
        search = self._state.search
        if search is None:
            return
        rest = tuple((other, other_amount) for other, other_amount in search.concepts if other != name)
        self._state.change_search(concepts=(*rest, (name, amount)) if amount else rest)
        if self._state.search != search:
            search_operations.rank(self._context)

    # Changes

    def add(self, name: str, marks: Sequence[tuple[str, bool]] = ()) -> None:
        """Add a concept with marks of cases, and select it."""
        before = {one.id for one in self.facts}

        def add_marks(facts: tuple[ConceptFacts, ...]) -> None:
            new = next((one for one in facts if one.id not in before), None)
            if new is not None:
                self.selected = new.id
                self._add_undo(tr("new concept {name}", name=new.name), lambda: self._delete(new.id))
                self.changed.emit()
                if marks:
                    self._run(concepts.mark_cases, new.id, list(marks))

        self._run(concepts.add_concept, name, then=add_marks)

    def mark(self, key: int, cases: Sequence[str], has: bool | None) -> None:
        """Mark cases as with (True) or without (False) the concept, or remove their marks (None)."""
        one = self._find(key)
        if one is None:
            return
        marked = {*one.with_, *one.without, *one.undecided}
        changed = [case for case in cases if (case in marked if has is None else one.own.get(case) != has)]
        if not changed:
            return
        before = [(case, one.own.get(case)) for case in changed]
        label = tr_n("a mark of {name}", "{n} marks of {name}", len(before), name=one.name)
        self._add_undo(label, lambda: self._mark(key, before))
        self._mark(key, [(case, has) for case in changed])

    def rename(self, key: int, name: str) -> None:
        """Rename a concept, in the search too."""
        one = self._find(key)
        if one is not None and name.strip() and name != one.name:
            old_name = one.name
            self._rename(key, old_name, name, add_undo=lambda new: self._rename(key, new, old_name))

    def delete(self, key: int) -> None:
        """Delete a concept. :meth:`undo` restores it with its marks."""
        one = self._find(key)
        if one is None:
            return
        amount = self.amount(one.name)

        def restore() -> None:
            self._run(concepts.restore_concept, key, then=lambda _facts: self.set_amount(one.name, amount))

        self._add_undo(tr("deleting {name}", name=one.name), restore)
        self._delete(key)

    def undo(self) -> None:
        """Undo the last change."""
        if self._undo:
            self._undo.pop()[1]()
            self.changed.emit()

    def _find(self, key: int) -> ConceptFacts | None:
        return next((one for one in self.facts if one.id == key), None)

    def _add_undo(self, label: str, undo_change: Callable[[], None]) -> None:
        self._undo.append((label, undo_change))
        del self._undo[:-UNDOABLE]

    def _mark(self, key: int, marks: Sequence[tuple[str, bool | None]]) -> None:
        one = self._find(key)
        in_use = one is not None and bool(self.amount(one.name))
        self._run(
            concepts.mark_cases,
            key,
            list(marks),
            then=lambda _facts: search_operations.rank(self._context) if in_use else None,
        )

    def _delete(self, key: int) -> None:
        one = self._find(key)
        if one is not None:
            self.set_amount(one.name, 0.0)
        self._run(concepts.delete_concept, key)

    def _rename(
        self, key: int, old_name: str, name: str, add_undo: Callable[[str], None] | None = None
    ) -> None:
        amount = self.amount(old_name)

        def update_search(facts: tuple[ConceptFacts, ...]) -> None:
            new = next((one.name for one in facts if one.id == key), name)
            if add_undo is not None:
                self._add_undo(tr("renaming {name}", name=old_name), lambda: add_undo(new))
                self.changed.emit()
            if amount:
                search = self._state.search
                assert search is not None
                concepts_after = tuple(
                    (new if one == old_name else one, other_amount) for one, other_amount in search.concepts
                )
                self._state.change_search(concepts=concepts_after)
                search_operations.rank(self._context)

        self._run(concepts.rename_concept, key, name, then=update_search)

    # Reading

    def _clear(self) -> None:
        self._undo.clear()
        self.facts, self.selected, self._read_for = (), None, (None, "")
        self.changed.emit()

    def _refresh(self) -> None:
        """Read the concepts again for another metric or library."""
        path, metric = self._state.location, self._state.metric
        read_for = (path, metric.name if metric else "")
        if path is None or read_for == self._read_for:
            return
        self._read_for = read_for
        self._start_job(concepts.concepts, path, metric.name if metric else None, channel=_CHANNEL)

    def _run(
        self,
        function: Callable[..., tuple[ConceptFacts, ...]],
        *args: Any,
        then: Callable[[tuple[ConceptFacts, ...]], None] | None = None,
    ) -> None:
        path, metric = self._state.location, self._state.metric
        if path is None or metric is None:
            self._context.messages.info(tr("Concepts need a metric. Train one first."))
            return
        # The result of this call is newer than what is being read.
        self._context.jobs.cancel_channel(_CHANNEL)
        self._start_job(function, path, metric.name, *args, then=then)

    def _start_job(
        self,
        function: Callable[..., tuple[ConceptFacts, ...]],
        path: LibraryLocation,
        *args: Any,
        then: Callable[[tuple[ConceptFacts, ...]], None] | None = None,
        channel: str | None = None,
    ) -> None:
        job = self._context.jobs.run(
            tr("Concepts"),
            function,
            path,
            *args,
            pool=WorkerPool.SEARCH,
            quiet=True,
            channel=channel,
            author=author(self._context),
        )

        def show(facts: tuple[ConceptFacts, ...]) -> None:
            if self._state.location != path:
                return
            self.facts = facts
            self.changed.emit()
            if then is not None:
                then(facts)

        def fail(error: SemblanceError) -> None:
            self._context.messages.error(error)

        job.done.connect(show)
        job.failed.connect(fail)


class ConceptsSection(Panel):
    """Shows the concepts of the library and of the search. ``help_requested``: show the help page."""

    help_requested = Signal()

    def __init__(self, context: Context, concepts: Concepts) -> None:
        super().__init__(tr("Concepts"))
        self._context, self._state, self._concepts = context, context.state, concepts
        self._rows: dict[int, ConceptRow] = {}
        self._scroll_to_new = False
        # After the layout: before it the new row has no position.
        self._scroll_timer = one_shot(self, self._show_newest)
        self.header = SectionHeader(tr("Concepts"), action=tr("New…"))
        self.header.action_requested.connect(self.ask_name)
        self.undo = QPushButton(tr("Undo"))
        set_look(self.undo, link=True)
        self.undo.clicked.connect(concepts.undo)
        help_button = header_button("help", tr("Help for concepts"))
        help_button.clicked.connect(self.help_requested)
        self._instructions = WrappedLabel(_EMPTY, "small")
        inner = QWidget()
        self._list = vbox(inner, spacing=8)
        self._list.addStretch(1)
        self._scroll = PanelScrollArea(inner, tr("Concepts"))
        top = fill(hbox(spacing=8), (self.header, 1), self.undo, help_button)
        fill(vbox(self, spacing=6, margins=(EDGE, 8, EDGE, 8)), top, self._instructions, self._scroll)
        concepts.changed.connect(self._refresh)
        self._state.on_change(Change.SEARCH | Change.QUERY, self, self._show_amounts)
        self._state.on_change(Change.LIBRARY, self, self._refresh)
        theme_signals.changed.connect(self._update_height)
        self._refresh()

    @property
    def rows(self) -> list[ConceptRow]:
        """A row for each concept, oldest first."""
        return [self._rows[one.id] for one in self._concepts.facts]

    def ask_name(self) -> None:
        """Ask for a name and add a concept."""
        label = tr("Property that some cases have and others lack")
        if name := NameDialog(self, tr("New concept"), label, tr("Add")).ask():
            self._scroll_to_new = True
            self._concepts.add(name)

    def _refresh(self) -> None:
        facts = self._concepts.facts
        known = set(self._rows)
        for key in set(self._rows) - {one.id for one in facts}:
            row = self._rows.pop(key)
            self._list.removeWidget(row)
            row.hide()
            row.deleteLater()
        for place, one in enumerate(facts):
            if one.id not in self._rows:
                self._rows[one.id] = ConceptRow(one.id, self._concepts)
                self._list.insertWidget(place, self._rows[one.id])
            self._rows[one.id].show_facts(one)
        self._instructions.setVisible(not facts)
        self._scroll.setVisible(bool(facts))
        self.header.set_action(tr("New…") if self._state.can_write and self._state.metric is not None else "")
        change = self._concepts.undoable
        self.undo.setVisible(bool(change))
        self.undo.setToolTip(tr("Undo: {what}", what=change) if change else "")
        self.undo.setAccessibleName(tr("Undo {what}", what=change))
        self._show_amounts()
        self._update_height()
        if self._scroll_to_new and set(self._rows) - known:
            self._scroll_to_new = False
            self._scroll_timer.start()

    def _show_newest(self) -> None:
        """Scroll to the new concept, which Y and N mark from now on."""
        if self.rows:
            show_in_scroll_areas(self.rows[-1])

    def _show_amounts(self) -> None:
        for row in self._rows.values():
            row.follow(has_search=self._state.search is not None)

    def _update_height(self) -> None:
        heights = [row.sizeHint().height() for row in self.rows[:VISIBLE_ROWS]]
        self._scroll.setFixedHeight(sum(heights) + 8 * max(0, len(heights) - 1) + 2 if heights else 0)


class ConceptRow(QWidget):
    """One concept: name, slider, marks and strength. The keys Y and N mark cases for the selected one."""

    def __init__(self, key: int, concepts: Concepts) -> None:
        super().__init__()
        self._key, self._concepts = key, concepts
        self._facts: ConceptFacts | None = None
        self.name = ElidedLabel(role="title")
        self.value = QLabel()
        set_look(self.value, role="second")
        self.more = header_button("more", tr("More for this concept"))
        self.more.clicked.connect(lambda: open_below(self.more, self.make_menu()))
        self.bar = _AmountSlider()
        self.bar.moved.connect(self._set_amount)
        self.bar.focused.connect(lambda: concepts.select(key))
        self.marks = ElidedLabel(role="small")
        self.strength = ElidedLabel(role="small")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        header_row = hbox(spacing=6)
        for widget, stretch in ((self.name, 1), (self.value, 0), (self.more, 0)):
            header_row.addWidget(widget, stretch)
        fill(vbox(self, spacing=2, margins=(0, 0, 4, 0)), header_row, self.bar, self.marks, self.strength)
        # At most one search for each turn of the event loop, so that a fast drag uses the latest value.
        self._search_timer = one_shot(self, self._search)

    def show_facts(self, facts: ConceptFacts) -> None:
        self._facts = facts
        chosen = self._concepts.current is not None and self._concepts.current.id == self._key
        self.name.setText(facts.name)
        set_look(self, chosen=chosen)
        marks = [tr("{n} with", n=len(facts.with_)), tr("{n} without", n=len(facts.without))]
        marks += [tr("{n} undecided", n=len(facts.undecided))] if facts.undecided else []
        marks += [tr("{n} deleted", n=facts.gone)] if facts.gone else []
        marks += [tr("Mark with Y and N")] if chosen else []
        self.marks.setText(" · ".join(marks))
        self.strength.set_short_text(_short_reason(facts))
        self.strength.setText(
            translate(facts.why) if facts.strength is None else strength_text(facts.strength)
        )
        self.strength.set_tip(strength_tip(facts.strength) if facts.strength is not None else "")
        self.bar.setAccessibleName(tr("How much of {concept}, from less to more", concept=facts.name))
        tip = strength_tip(facts.strength) if facts.strength is not None else ""
        self.bar.setAccessibleDescription(f"{self.marks.text()}. {self.strength.text()}. {tip}".strip())
        self.more.setAccessibleName(tr("More for {concept}", concept=facts.name))

    def follow(self, *, has_search: bool) -> None:
        """Show how much the search uses the concept."""
        if self._facts is None:
            return
        amount = self._concepts.amount(self._facts.name)
        self.bar.setEnabled(has_search and self._facts.moves)
        self.bar.setToolTip("" if self._facts.moves else tr("Mark a case with it and one without it first."))
        if not self._search_timer.isActive():
            self.bar.show_amount(amount)
        self._show_amount(amount)

    def make_menu(self) -> QMenu:
        """The menu of the concept; it deletes itself when it closes."""
        menu = Menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        facts = self._facts
        if facts is None:
            return menu
        menu.addAction(tr("Mark cases for this concept"), partial(self._concepts.select, self._key))
        menu.addAction(
            tr("Search without it"), partial(self._concepts.set_amount, facts.name, 0.0)
        ).setEnabled(bool(self._concepts.amount(facts.name)))
        for title, cases in (
            (tr("With it"), facts.with_),
            (tr("Without it"), facts.without),
            (tr("Undecided, marked both ways"), facts.undecided),
        ):
            if cases is facts.undecided and not cases:
                continue
            shown = menu.addMenu(f"{title} ({len(cases)})")
            shown.setEnabled(bool(cases))
            for case in cases:
                shown.addAction(
                    tr("Unmark {case}", case=case), partial(self._concepts.mark, self._key, [case], None)
                )
        menu.addSeparator()
        menu.addAction(tr("Rename…"), self._rename)
        menu.addAction(tr("Delete"), partial(self._concepts.delete, self._key))
        return menu

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._concepts.select(self._key)

    def _rename(self) -> None:
        if self._facts is not None:
            label, before = tr("Name of the concept"), self._facts.name
            if name := NameDialog(self, tr("Rename"), label, tr("Rename"), before).ask():
                self._concepts.rename(self._key, name)

    def _set_amount(self, amount: float) -> None:
        self._show_amount(amount)
        self._search_timer.start()

    def _search(self) -> None:
        if self._facts is not None:
            self._concepts.set_amount(self._facts.name, self.bar.amount)

    def _show_amount(self, amount: float) -> None:
        self.value.setText(format_number(amount, "+.2f").replace("-", "−") if amount else "")


def _short_reason(facts: ConceptFacts) -> str:
    """A short reason why there is no strength; the tooltip has the full one."""
    few = min(len(facts.with_), len(facts.without)) < MINIMUM
    return tr("Not enough marks to measure") if facts.strength is None and few else ""


def strength_text(strength: Separability) -> str:
    """The strength of a concept in one line."""
    numbers = {"auc": strength.auc, "low": strength.low, "high": strength.high}
    if strength.is_significant:
        return tr("Strength {auc:.2f} ({low:.2f}–{high:.2f}) cross-validated", **numbers)
    return tr("Maybe chance: {auc:.2f} ({low:.2f}–{high:.2f}) cross-validated", **numbers)


def strength_tip(strength: Separability) -> str:
    """What the strength means and which marks it was measured on."""
    n = strength.with_ + strength.without
    if strength.patients is None:
        marks = tr("{n} marks, patients unknown", n=n)
    else:
        marks = tr("{n} marks of {patients} patients", n=n, patients=strength.patients)
    return tr(
        "Area under the ROC curve: how often a case with it comes before one without it, with "
        "its 95 % interval. Cross-validated on {marks}. Each pair was tested without its "
        "patients in the training.",
        marks=marks,
    )


class _AmountSlider(NoWheelSlider):
    """A slider from -1 to 1. Delete, 0 or a double click sets it to 0."""

    moved = Signal(float)
    focused = Signal()

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setRange(-STEPS, STEPS)
        self.setPageStep(STEPS // 4)
        self.setMinimumHeight(theme().px(18))
        set_look(self, centred=True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.valueChanged.connect(lambda _value: self.moved.emit(self.amount))

    @property
    def amount(self) -> float:
        return self.value() / STEPS

    def show_amount(self, amount: float) -> None:
        """Set the slider without emitting ``moved``."""
        self.blockSignals(True)
        self.setValue(round(amount * STEPS))
        self.blockSignals(False)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_0):
            self.setValue(0)
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.setValue(0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Fill the groove from the middle, which is 0."""
        super().paintEvent(event)
        tokens, painter = theme(), QPainter(self)
        middle, y = self.width() / 2, self.height() / 2
        painter.fillRect(QRectF(middle - 0.5, y - 4, 1, 8), colour(tokens.strong_line))
        handle = _HANDLE / 2 + (self.width() - _HANDLE) * (self.value() + STEPS) / (2 * STEPS)
        if self.value() and self.isEnabled():
            edge = handle - _HANDLE / 2 if handle > middle else handle + _HANDLE / 2
            painter.fillRect(QRectF(min(middle, edge), y - 1.5, abs(edge - middle), 3), colour(tokens.accent))
        painter.end()


class ConceptCommands(QObject):
    """``selected_cases`` returns the catalogue rows of the selected cases in the focused panel.

    ``name_requested``: ask for the name of a new concept.
    """

    name_requested = Signal()

    def __init__(
        self, context: Context, parent: QWidget, concepts: Concepts, selected_cases: Callable[[], Rows]
    ) -> None:
        super().__init__(parent)
        self._context, self._concepts = context, concepts
        self._selected_cases = selected_cases
        self.commands: dict[str, Callable[[], object]] = {
            "new_concept": self.name_requested.emit,
            "concept_with": partial(self.mark, has=True),
            "concept_without": partial(self.mark, has=False),
            "concept_unmark": partial(self.mark, has=None),
            "undo_concept": concepts.undo,
        }

    def mark(self, *, has: bool | None) -> None:
        """Mark the selected cases for the selected concept."""
        current = self._concepts.current
        cases = self._context.state.columns.ids_of_rows(self._selected_cases())
        if current is not None and cases:
            self._concepts.mark(current.id, cases, has)
            self._context.messages.info(_mark_message(cases, current.name, has))

    def fill_menu(self, menu: QMenu, case_row: int) -> None:
        """Add the entries for the case of the menu and the cases selected with it."""
        rows = self._selected_cases()
        rows = rows if case_row in rows else np.array([case_row], dtype=np.int64)
        if not self._context.state.can_write or self._context.state.metric is None:
            return
        current = self._concepts.current
        case = self._context.state.columns.ids_of_rows(rows[:1])[0]
        concepts = menu.addMenu(tr("Concepts"))
        for one in self._concepts.facts:
            has = one.own.get(case)
            sub = concepts.addMenu(one.name.replace("&", "&&"))
            for text, command, value in (
                (tr("With it"), "concept_with", True),
                (tr("Without it"), "concept_without", False),
                (tr("Remove mark"), "concept_unmark", None),
            ):
                if one is current:
                    text = self._context.actions.menu_text(text, command)
                action = sub.addAction(text, partial(self._mark, one.id, rows, value))
                action.setCheckable(True)
                action.setChecked(has is value)
        concepts.addSeparator()
        concepts.addAction(tr("New concept…"), self.name_requested.emit)

    def _mark(self, concept: int, rows: Rows, has: bool | None) -> None:
        self._concepts.mark(concept, self._context.state.columns.ids_of_rows(rows), has)


def _mark_message(cases: Sequence[str], concept: str, has: bool | None) -> str:
    """The message after marking ``cases``."""
    values = {"cases": cases[0] if len(cases) == 1 else tr("{n} cases", n=len(cases)), "concept": concept}
    if has is None:
        return tr("{cases}: neither with nor without {concept}.", **values)
    return tr("{cases}: with {concept}.", **values) if has else tr("{cases}: without {concept}.", **values)
