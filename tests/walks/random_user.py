"""A user who does anything: commands, clicks, keys, drags, sizes; every choice from one seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, QSize, Qt, QTimer, QUrl
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent, QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QFileDialog, QMainWindow, QMenu, QTextEdit, QWidget
from shiboken6 import isValid

from semblance.app.evaluation.map_page import MapPage
from semblance.app.library.panel import LibraryPanel
from semblance.app.metrics.train_panel import TrainPanel
from semblance.app.reports.export_images_dialog import ExportImagesDialog
from semblance.app.research.data_check_page import DataCheckPage
from semblance.app.research.two_metrics_page import TwoMetricsPage
from semblance.app.search.compare.compare_page import ComparePage
from semblance.app.search.feedback.concepts_section import ConceptsSection
from semblance.app.search.feedback.questions_page import QuestionsPage
from semblance.app.search.feedback.refine_panel import RefinePanel
from semblance.app.search.hanging_page import HangingPage
from semblance.app.search.query.full_size_page import FullSizePage
from semblance.app.search.query.query_panel import QueryPanel
from semblance.app.search.similar.ranking_panel import RankingPanel
from semblance.app.search.why.why_panel import WhyPanel
from semblance.app.teaching.collections_panel import CollectionsPanel
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.tools import MEASURING
from semblance.app.widgets.dialog import NameDialog
from semblance.app.widgets.panel import FullPage, Panel

Some = TypeVar("Some", bound=QWidget)
LEFT, RIGHT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton, Qt.MouseButton.MiddleButton
NONE, SHIFT, CTRL = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)
KEYS = (
    Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End,
    Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Return, Qt.Key.Key_Space, Qt.Key.Key_Tab,
    Qt.Key.Key_Backtab, Qt.Key.Key_Escape, Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_F2,
    Qt.Key.Key_Plus, Qt.Key.Key_Minus, Qt.Key.Key_Slash, Qt.Key.Key_Menu, Qt.Key.Key_1, Qt.Key.Key_0,
    *(Qt.Key(ord(letter)) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
)  # fmt: skip
#: Shortcuts that end the walk instead of the window's work.
LEFT_OUT = ("quit",)
TEXTS = ("", "benign", "P003", "ü", "a" * 300, "0.5", "-7", "%s{}", "level", "1e9")
#: A longer text is pasted.
MOST_TYPED = 20
SIZES = ((1024, 640), (1280, 800), (1440, 900), (1100, 1000), (1920, 1080), (1366, 700))
PAUSES_MS = (0, 0, 0, 5, 20, 60)
#: Steps inside a dialog or menu before it is closed.
PATIENCE = 6
#: Command that opens a panel -> the panel's class, and the commands that belong to it. Of so many steps after
#: it most are done there.
PLACES: dict[str, tuple[type[QWidget], tuple[str, ...]]] = {
    "why": (WhyPanel, ("next_case", "compare")),
    "refine": (
        RefinePanel,
        (
            "go_ranking", "judge_alike", "judge_not_alike", "judge_closer", "undo_judgement",
            "redo_judgement", "save_refined", "reset_judgements",
        ),
    ),
    "new_concept": (ConceptsSection, ("concept_with", "concept_without", "concept_unmark", "undo_concept")),
    "ask_next": (QuestionsPage, ("undo_judgement",)),
    "two_metrics": (TwoMetricsPage, ()),
    "map": (MapPage, ()),
    "compare": (
        ComparePage,
        ("judge_alike", "judge_not_alike", "undo_judgement", "redo_judgement", "previous_query", "next_case"),
    ),
    "view_large": (FullSizePage, ()),
    "hang": (HangingPage, ()),
    "data_check": (DataCheckPage, ("set_finding", "undo_edit")),
    "find_case": (LibraryPanel, ("set_finding", "remove_cases", "undo_edit", "redo_edit")),
    "train": (TrainPanel, ("stop_training",)),
    "previous_query": (QueryPanel, ("previous_query", "next_query", "next_case", "judge_alike")),
    "collections": (CollectionsPanel, ("add_to_collection", "next_case")),
    "export_images": (ExportImagesDialog, ()),
    "searches": (RankingPanel, ("save_search", "branch_search", "rank_again", "next_case")),
}  # fmt: skip
STAY, THERE = 15, 0.7
#: Words that the library is searched for, and the similar cases ordered by.
WORDS = ("ant", "level", "upright", "ant07", "nothing has this")
#: After so many steps, and after the last, the user waits until the window is at rest, and looks at it so often.
REST_AFTER, LOOK_MS = 12, 10
#: So often a command of the panel that is visited is run.
OWN = 0.3
#: What to run where a panel cannot be opened yet: another case becomes the query.
BEFORE = "next_case"


class Walker:
    """Does ``actions`` things to ``window``, one from each turn of the event loop, then calls ``over``.

    ``look()`` is called now and then, when no menu or dialog is open, and again until it returns ``True``.
    """

    def __init__(
        self,
        window: QMainWindow,
        seed: int,
        actions: int,
        files: list[Path],
        say: Callable[[str], None],
        over: Callable[[], None],
        look: Callable[[], bool] = lambda: True,
    ) -> None:
        self._window, self._rng, self._files = window, random.Random(seed), files
        self._left, self._say, self._over, self._look = actions, say, over, look
        #: Whether the user waits for the window to be at rest, and the steps since it was.
        self._rests, self._since = False, 0
        self._inside = 0
        self.done: dict[str, int] = {}
        #: How often something was done in each panel and dialog, by its class, and each command run.
        self.reached: Counter[str] = Counter()
        self.commands: Counter[str] = Counter()
        self._kinds: list[tuple[int, Callable[[], str | None]]] = [
            (5, self._command),
            (8, self._click),
            (2, self._double_click),
            (2, self._context_menu),
            (6, self._key),
            (2, self._type),
            (3, self._wheel),
            (3, self._drag),
            (1, self._resize),
            (1, self._drop),
            (2, self._hover),
            (2, self._visit),
            (2, self._rest),
            (2, self._measure),
            (1, self._mark_key_image),
            (1, self._order_by_text),
            (1, self._detach),
            (1, self._go_through_queries),
        ]
        #: The command of the panel that is visited, and for how many steps more.
        self._visiting, self._stay = "", 0

    def start(self) -> None:
        QTimer.singleShot(0, self._window, self._step)

    def _step(self) -> None:
        if not isValid(self._window):
            return
        top = self._top()
        if self._left <= 0 and self._since == 0 and top is self._window:
            self._over()
            return
        if self._rests or self._since >= REST_AFTER or self._left <= 0:
            # Before the dialog is left: that may open another, whose loop goes on with the walk.
            QTimer.singleShot(LOOK_MS, self._window, self._step)
            if top is not self._window:
                self._leave(top)
            elif self._look():
                self._rests, self._since = False, 0
            return
        # Before the action: a dialog it opens runs a loop of its own, in which the walk goes on.
        QTimer.singleShot(self._rng.choice(PAUSES_MS), self._window, self._step)
        if top is self._window:
            self._inside = 0
        else:
            self._inside += 1
            if self._inside > PATIENCE:
                self._leave(top)
                return
        self._left -= 1
        self._since += 1
        kinds = self._kinds
        kind = self._rng.choices([do for _, do in kinds], [weight for weight, _ in kinds])[0]
        if self._stay > 0 and PLACES[self._visiting][1] and self._rng.random() < OWN:
            kind = self._command
        name = kind.__name__.strip("_")
        self.done[name] = self.done.get(name, 0) + 1
        kind()

    # Where

    def _top(self) -> QWidget:
        """The menu or dialog that has the user's attention, else the window."""
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        return application.activePopupWidget() or application.activeModalWidget() or self._window

    def _leave(self, top: QWidget) -> None:
        self._say(f"leaving {_name(top)}")
        self._inside = 0
        if isinstance(top, QMenu):
            top.close()
        else:
            QTest.keyClick(top, Qt.Key.Key_Escape)
            if isValid(top) and top.isVisible():
                top.close()

    def _widget(self) -> QWidget | None:
        """Something visible at a random place, or any visible widget of the window or its other windows."""
        top = self._top()
        if top is self._window and self._rng.random() < 0.1:
            others = [w for w in QApplication.topLevelWidgets() if w.isVisible() and w is not top]
            top = self._rng.choice(others) if others else top
        panel = self._visited() if top is self._window else None
        if panel is not None and self._rng.random() < THERE:
            top = panel
        if self._rng.random() < 0.5:
            place = QPoint(
                self._rng.randrange(max(1, top.width())), self._rng.randrange(max(1, top.height()))
            )
            found = top.childAt(place) or top
        else:
            every = [
                w for w in top.findChildren(QWidget) if w.isVisible() and w.isEnabled() and w.width() > 0
            ]
            found = self._rng.choice(every) if every else top
        if not (found.isEnabled() and found.isVisible()):
            return None
        self.reached[panel_of(found)] += 1
        return found

    def _visited(self) -> QWidget | None:
        """The panel that is visited, while it is visible."""
        self._stay -= 1
        if self._stay < 0:
            return None
        every = self._window.findChildren(PLACES[self._visiting][0])
        return next((w for w in every if w.isVisible()), None)

    def _place(self, widget: QWidget) -> QPoint:
        return QPoint(
            self._rng.randrange(max(1, widget.width())), self._rng.randrange(max(1, widget.height()))
        )

    def _modifier(self) -> Qt.KeyboardModifier:
        return self._rng.choices((NONE, SHIFT, CTRL), (8, 1, 1))[0]

    # What

    def _command(self) -> None:
        actions = [
            action
            for action in self._window.findChildren(QAction)
            if action.isEnabled() and action.objectName() and action.objectName() not in LEFT_OUT
        ]
        own = PLACES[self._visiting][1] if self._visiting and self._stay > 0 else ()
        near = [action for action in actions if action.objectName() in own]
        if near and self._rng.random() < THERE:
            actions = near
        if actions and self._top() is self._window:
            self._run(self._rng.choice(actions))

    def _run(self, action: QAction) -> None:
        self._say(f"command {action.objectName()}")
        self.commands[action.objectName()] += 1
        action.trigger()

    def _visit(self) -> None:
        """Open a panel that is rarely come to by chance, and stay a while."""
        command = self._rng.choice(sorted(PLACES))
        for name in (command, BEFORE):
            action = self._window.findChild(QAction, name)
            if action is not None and action.isEnabled() and self._top() is self._window:
                self._visiting, self._stay = command, STAY
                self._run(action)
                return

    def _rest(self) -> None:
        """Wait until the window is at rest, and look at it."""
        self._rests = True

    def _visible(self, kind: type[Some]) -> Some | None:
        """Any visible widget of the window or its other windows; none while a menu or dialog is open."""
        if self._top() is not self._window:
            return None
        every = [
            one
            for window in QApplication.topLevelWidgets()
            if window.isVisible()
            for one in window.findChildren(kind)
            if one.isVisible()
        ]
        return self._rng.choice(every) if every else None

    def _measure(self) -> None:
        """Draw a figure on an image; undo it every other time."""
        view, tool = self._visible(ImageView), self._rng.choice(MEASURING)
        if view is None or view.image is None:
            return
        self._say(f"{tool.name} in {_name(view)}")
        QTest.keyClick(view, tool.key[-1], SHIFT if tool.key.startswith("Shift") else NONE)
        if isValid(view):
            self._drag_in(view, LEFT, NONE)
        if isValid(view) and self._rng.random() < 0.5:
            key, modifier = self._rng.choice(((Qt.Key.Key_Z, CTRL), (Qt.Key.Key_Delete, NONE)))
            QTest.keyClick(view, key, modifier)

    def _mark_key_image(self) -> None:
        view = self._visible(ImageView)
        if view is not None:
            self._say(f"key image in {_name(view)}")
            QTest.keyClick(view, Qt.Key.Key_J, self._rng.choice((NONE, NONE, SHIFT)))

    def _order_by_text(self) -> None:
        """Search the library for words, and order the similar cases by them."""
        panel = self._visible(LibraryPanel)
        if panel is not None:
            words = self._rng.choice(WORDS)
            self._say(f"search for {words!r}")
            panel.search.setText(words)
            if panel.order_button.isVisible():
                panel.order_button.click()

    def _detach(self) -> None:
        """Put a page into a window of its own, or back."""
        page = self._visible(FullPage)
        button = getattr(page, "detach", None)
        if page is not None and button is not None:
            self._say(f"detach {_name(page)}")
            button.click()

    def _go_through_queries(self) -> None:
        if self._top() is self._window:
            key = self._rng.choice((Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Right))
            target = QApplication.focusWidget() or self._window
            for _ in range(self._rng.randrange(1, 4)):
                self._say(f"Alt and {key.name}")
                if isValid(target):
                    QTest.keyClick(target, key, Qt.KeyboardModifier.AltModifier)

    def _click(self) -> None:
        widget = self._widget()
        if widget is not None:
            place, modifier = self._place(widget), self._modifier()
            self._say(f"click {_name(widget)} at {place.x()},{place.y()} {modifier.name}")
            _press_and_release(widget, place, modifier)

    def _double_click(self) -> None:
        widget = self._widget()
        if widget is not None:
            self._say(f"double click {_name(widget)}")
            place = self._place(widget)
            _press_and_release(widget, place, NONE)
            if isValid(widget):
                there = QPointF(widget.mapToGlobal(place))
                twice = QMouseEvent(QEvent.Type.MouseButtonDblClick, QPointF(place), there, LEFT, LEFT, NONE)
                QApplication.sendEvent(widget, twice)
            if isValid(widget):
                QTest.mouseRelease(widget, LEFT, NONE, place)

    def _context_menu(self) -> None:
        from PySide6.QtGui import QContextMenuEvent

        widget = self._widget()
        if widget is not None:
            place = self._place(widget)
            self._say(f"menu of {_name(widget)}")
            event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, widget.mapToGlobal(place))
            QApplication.sendEvent(widget, event)

    def _key(self) -> None:
        focus = QApplication.focusWidget() if self._top() is self._window else self._top()
        target = focus or self._window
        key, modifier = self._rng.choice(KEYS), self._modifier()
        if (modifier, key) in ((CTRL, Qt.Key.Key_Q), (CTRL, Qt.Key.Key_W)) and self._rng.random() < 0.9:
            key = Qt.Key.Key_Z
        if (modifier, key) == (CTRL, Qt.Key.Key_Q):
            return
        self._say(f"key {modifier.name} {key.name} to {_name(target)}")
        self.reached[panel_of(target)] += 1
        QTest.keyClick(target, key, modifier)

    def _type(self) -> None:
        focus = QApplication.focusWidget()
        if focus is not None and (focus.inherits("QLineEdit") or isinstance(focus, QTextEdit)):
            text = self._rng.choice(TEXTS)
            self._say(f"type {text[:10]!r} into {_name(focus)}")
            if len(text) > MOST_TYPED:
                QApplication.clipboard().setText(text)
                QTest.keyClick(focus, Qt.Key.Key_V, CTRL)
                return
            for letter in text:
                QTest.keyClick(focus, letter)
                if not isValid(focus):
                    return

    def _wheel(self) -> None:
        widget = self._widget()
        if widget is None:
            return
        place, turn = QPointF(self._place(widget)), self._rng.choice((-360, -120, 120, 360))
        self._say(f"wheel {turn} over {_name(widget)}")
        everywhere = QPointF(widget.mapToGlobal(place.toPoint()))
        event = QWheelEvent(
            place, everywhere, QPoint(), QPoint(0, turn), Qt.MouseButton.NoButton, self._modifier(),
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(widget, event)

    def _drag(self) -> None:
        widget = self._widget()
        # A drag of a card runs a loop of the system's own, which only a real mouse ends.
        if widget is None or not _may_be_dragged_in(widget):
            return
        button = self._rng.choices((LEFT, RIGHT, MIDDLE), (6, 2, 1))[0]
        self._say(f"drag in {_name(widget)}")
        self._drag_in(widget, button, self._modifier())

    def _drag_in(self, widget: QWidget, button: Qt.MouseButton, modifier: Qt.KeyboardModifier) -> None:
        first, last = self._place(widget), self._place(widget)
        QTest.mousePress(widget, button, modifier, first)
        for part in range(1, 5):
            if not isValid(widget):
                return
            QTest.mouseMove(widget, first + (last - first) * part / 4)
        if isValid(widget):
            QTest.mouseRelease(widget, button, NONE, last)

    def _hover(self) -> None:
        widget = self._widget()
        if widget is not None:
            self._say(f"hover over {_name(widget)}")
            QTest.mouseMove(widget, self._place(widget))

    def _resize(self) -> None:
        width, height = self._rng.choice(SIZES)
        self._say(f"resize to {width}x{height}")
        if not self._window.isFullScreen():
            self._window.resize(QSize(width, height))

    def _drop(self) -> None:
        if self._top() is not self._window or not self._files:
            return
        file = self._rng.choice(self._files)
        self._say(f"drop {file.name}")
        mime = QMimeData()
        mime.setUrls([QUrl.fromLocalFile(str(file))])
        where = self._window.rect().center()
        held = (mime, LEFT, NONE)
        enter = QDragEnterEvent(where, Qt.DropAction.CopyAction, *held)
        QApplication.sendEvent(self._window, enter)
        drop = QDropEvent(QPointF(where), Qt.DropAction.CopyAction, *held, QEvent.Type.Drop)
        QApplication.sendEvent(self._window, drop)


def _press_and_release(widget: QWidget, place: QPoint, modifier: Qt.KeyboardModifier) -> None:
    """A click. A menu that opens at the press runs a loop in which the walk goes on and may end ``widget``,
    to which ``QTest.mouseClick`` would still send the release."""
    QTest.mousePress(widget, LEFT, modifier, place)
    if isValid(widget):
        QTest.mouseRelease(widget, LEFT, modifier, place)


def stub_dialogs(rng: random.Random, files: list[Path], folders: list[Path], out: Path) -> None:
    """Let questions about files and words be answered at once, from what there is."""

    def some(_choices: list[Path]) -> Callable[..., tuple[str, str]]:
        def answer(*_args: Any, **_kwargs: Any) -> tuple[str, str]:
            return (str(rng.choice(_choices)) if rng.random() < 0.7 else "", "")

        return answer

    endings = (".pdf", ".html", ".csv", ".json", ".png", ".svg", ".zip", ".md", "", ".metric", ".dcm")

    def to_save(*args: Any, **_kwargs: Any) -> tuple[str, str]:
        ending = Path(str(args[2])).suffix if len(args) > 2 and rng.random() < 0.7 else rng.choice(endings)
        return (str(out / f"saved {rng.randrange(5)}{ending}") if rng.random() < 0.8 else "", "")

    def folder(*_args: Any, **_kwargs: Any) -> str:
        return str(rng.choice(folders)) if rng.random() < 0.7 else ""

    def several(*_args: Any, **_kwargs: Any) -> tuple[list[str], str]:
        return [str(file) for file in rng.sample(files, min(2, len(files)))], ""

    def given_name(dialog: NameDialog) -> str:
        choice = dialog.field.parentWidget()
        known = [choice.itemText(n) for n in range(choice.count())] if isinstance(choice, QComboBox) else []
        dialog.deleteLater()
        return rng.choice([*known, *TEXTS]).strip() if rng.random() < 0.8 else ""

    for name, stub in (
        ("getOpenFileName", some(files)),
        ("getOpenFileNames", several),
        ("getSaveFileName", to_save),
        ("getExistingDirectory", folder),
    ):
        setattr(QFileDialog, name, staticmethod(stub))
    NameDialog.ask = given_name


def panel_of(widget: QWidget) -> str:
    """The class of the panel or dialog ``widget`` lies in; of its window where it lies in none."""
    here, window = widget, widget.window()
    while here is not window and not isinstance(here, Panel):
        here = here.parentWidget()
    return type(here).__name__


def _may_be_dragged_in(widget: QWidget) -> bool:
    here: QWidget | None = widget
    while here is not None:
        if any(part in type(here).__name__ for part in ("Grid", "Card", "Dock", "Gallery", "Strip", "Case")):
            return False
        here = here.parentWidget()
    return True


def _name(widget: QWidget) -> str:
    if not isValid(widget):
        return "something gone"
    label = widget.objectName() or widget.accessibleName() or str(widget.property("text") or "")
    return f"{type(widget).__name__} {label[:30]!r}"
