"""Every command once: its id, text, category, shortcut and icon; menus, buttons and the palette read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from app.icons import icon
from app.models.entries import Entry


@dataclass(frozen=True)
class Command:
    """``menu`` is the menu and the palette's category; ``needs`` what must be there for it to be enabled:
    one of :attr:`app.state.State.there`, or nothing."""

    id: str
    text: str
    menu: str
    shortcut: str = ""
    icon: str = ""
    needs: str = ""
    checkable: bool = False
    separator: bool = False


COMMANDS = (
    Command("new_library_folder", "New library from a folder…", "File", "Ctrl+N", "folder-plus"),
    Command("new_library", "New library from a zip, table or file…", "File", "Ctrl+Shift+N", "folder-plus"),
    Command("open_library", "Open library…", "File", "Ctrl+O", "folder"),
    Command("demo", "Try the demo", "File", "Ctrl+D", "play"),
    Command(
        "import_more", "Add pictures to this library…", "File", "Ctrl+I", "plus", "writable", separator=True
    ),
    Command("not_read", "Files not read…", "File", "", "warning", "library"),
    Command("relink", "Find moved pictures…", "File", "", "relink", "writable"),
    Command("back_up", "Back up library…", "File", "", "save", "library", separator=True),
    Command("restore", "Restore a library…", "File", "", "undo"),
    Command("check_library", "Check this library…", "File", "", "check", "library"),
    Command("report", "Write a report…", "File", "Ctrl+R", "export", "ranking", separator=True),
    Command("open_report", "Open a report as a search…", "File", "", "folder", "writable"),
    Command("close_library", "Close library", "File", "Ctrl+W", "close", "library", separator=True),
    Command("quit", "Quit", "File", "Ctrl+Q", ""),
    Command("palette", "All commands…", "Edit", "Ctrl+K", "search"),
    Command("find_case", "Find a case", "Edit", "Ctrl+F", "search", "library"),
    Command("copy_case_id", "Copy the case's id", "Edit", "Ctrl+Shift+C", "copy", "library"),
    Command("theme", "Dark or light", "View", "Ctrl+Shift+D", "moon"),
    Command("text_larger", "Larger text", "View", "Ctrl++", "plus"),
    Command("text_smaller", "Smaller text", "View", "Ctrl+-", "minus"),
    Command("language", "Deutsch or English", "View", "", "info"),
    Command("layout", "Reset the layout", "View", "", "layers", separator=True),
    Command("glide", "Cards glide to a new order", "View", "", "", checkable=True),
    Command("full_screen", "Full screen", "View", "F11", "", checkable=True),
    Command("ask_case", "Ask with this case", "Case", "Ctrl+Return", "search", "library"),
    Command("compare", "Compare with the query", "Case", "Ctrl+M", "compare", "ranking"),
    Command("view_large", "Look at it large", "Case", "Ctrl+L", "expand", "library"),
    Command("why", "Why it is near", "Case", "Ctrl+Y", "help", "library"),
    Command("refine", "Refine by judgements", "Case", "Ctrl+J", "thumb-up", "library"),
    Command("go_ranking", "Go to the ranked cases", "Case", "F6", "grid", "ranking"),
    Command("header", "What the file says…", "Case", "Ctrl+H", "table", "library"),
    Command("next_case", "Next case", "Case", "Ctrl+Down", "chevron-down", "library"),
    Command("previous_case", "Previous case", "Case", "Ctrl+Up", "chevron-up", "library"),
    Command("ask_file", "Ask with a picture file…", "Search", "Ctrl+Shift+O", "image", "metric"),
    Command("save_search", "Save search…", "Search", "Ctrl+Alt+S", "save", "to keep", separator=True),
    Command("branch_search", "Branch this search…", "Search", "Ctrl+Shift+B", "branch", "to keep"),
    Command("searches", "Searches…", "Search", "Ctrl+Alt+O", "list", "library"),
    Command("rank_again", "Rank again", "Search", "F5", "refresh", "query"),
    Command("region", "Draw a region", "Search", "Ctrl+Shift+R", "rectangle", "query", separator=True),
    Command("whole_picture", "Search with the whole picture", "Search", "Ctrl+Shift+W", "select", "query"),
    Command("same_patient", "Same patient hidden", "Search", "", "users", checkable=True, separator=True),
    Command("alike", "Alike folded", "Search", "", "layers", checkable=True),
    Command("diverse", "Diverse results", "Search", "", "grid", checkable=True),
    Command("show_alike", "Show or fold those alike", "Search", "Ctrl+Shift+F", "layers", "ranking"),
    Command("no_good_match", "What is no good match…", "Search", "", "settings", "library"),
    Command("judge_alike", "Like the query", "Refine", "U", "thumb-up", "judging"),
    Command("judge_not_alike", "Not like the query", "Refine", "D", "thumb-down", "judging"),
    Command("judge_closer", "Closer to the query than…", "Refine", "T", "target", "judging"),
    Command("ask_next", "Ask me next", "Refine", "Ctrl+Shift+Q", "help", "ranking"),
    Command(
        "undo_judgement", "Undo the last judgement", "Refine", "Ctrl+Z", "undo", "judged", separator=True
    ),
    Command("redo_judgement", "Redo a judgement", "Refine", "Ctrl+Shift+Z", "redo", "undone"),
    Command("reset_judgements", "Undo all judgements", "Refine", "", "refresh", "judged"),
    Command(
        "save_refined", "Save as new metric…", "Refine", "Ctrl+Shift+S", "save", "judged", separator=True
    ),
    Command("example_like", "A positive example", "Refine", "E", "plus", "example", separator=True),
    Command("example_unlike", "A negative example", "Refine", "Shift+E", "minus", "example"),
    Command("example_file", "A picture file as an example…", "Refine", "", "image", "example"),
    Command("no_examples", "Ask without examples", "Refine", "", "close", "examples"),
    Command("new_concept", "New concept…", "Refine", "", "plus", "concept", separator=True),
    Command("concept_with", "Has the concept", "Refine", "Y", "check", "concepts"),
    Command("concept_without", "Has the concept not", "Refine", "N", "dash", "concepts"),
    Command("concept_unmark", "Nothing said of the concept", "Refine", "", "", "concepts"),
    Command("undo_concept", "Undo the last change of concepts", "Refine", "", "undo", "concepts changed"),
    Command("extract", "Extract features…", "Metric", "Ctrl+E", "layers", "writable"),
    Command("train", "Train the chosen learners", "Metric", "Ctrl+T", "play", "features"),
    Command("prepare_slider", "Prepare visual–diagnostic slider…", "Metric", "", "sliders", "features"),
    Command("stop_training", "Stop training and keep the best", "Metric", "Ctrl+.", "stop", "training"),
    Command("experiments", "Experiments…", "Metric", "Ctrl+Shift+E", "chart"),
    Command("score", "Score this metric again", "Metric", "", "chart", "to score", separator=True),
    Command("map", "Map of the library", "Metric", "Ctrl+Shift+P", "map", "metric"),
    Command("two_metrics", "Two metrics, one query", "Metric", "Ctrl+Shift+M", "two-metrics", "two metrics"),
    Command("metric_card", "Metric card…", "Metric", "", "info", "metric"),
    Command("export_metric", "Export the metric…", "Metric", "", "export", "metric"),
    Command("import_metric", "Bring in a metric…", "Metric", "", "plus", "writable"),
    Command("save_plot", "Save the plots…", "Metric", "Ctrl+S", "save", "scores"),
    Command("help", "Help for this panel", "Help", "F1", "help"),
    Command("words", "Words used here", "Help", "", "info"),
    Command("about", "About Semblance", "Help", "", "info"),
)


class Actions(QObject):
    """The commands as Qt actions, enabled by what is open."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._actions: dict[str, QAction] = {}
        for command in COMMANDS:
            action = QAction(command.text, window)
            if command.icon:
                action.setIcon(icon(command.icon))
            if command.shortcut:
                action.setShortcut(QKeySequence(command.shortcut))
                action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
            action.setCheckable(command.checkable)
            action.setObjectName(command.id)
            window.addAction(action)
            self._actions[command.id] = action

    def __getitem__(self, command: str) -> QAction:
        return self._actions[command]

    def connect_to(self, command: str, run: Callable[[], object]) -> None:
        """``run`` when the command is triggered."""
        self._actions[command].triggered.connect(lambda _checked=False: run())

    def keep_within(self, command: str, widget: QWidget) -> None:
        """The command's key is taken only while the keyboard is in ``widget``."""
        action = self._actions[command]
        self._window.removeAction(action)
        action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        widget.addAction(action)

    def enable(self, there: set[str]) -> None:
        """Enable the commands whose needs are among ``there``, disable the others."""
        for command in COMMANDS:
            self._actions[command.id].setEnabled(not command.needs or command.needs in there)

    def entries(self) -> list[Entry]:
        """Every command as the palette lists them."""
        native = QKeySequence.SequenceFormat.NativeText
        return [
            Entry(
                command.text,
                command.menu,
                self._actions[command.id].trigger,
                QKeySequence(command.shortcut).toString(native),
                command.icon,
                self._actions[command.id].isEnabled(),
            )
            for command in COMMANDS
            if command.id != "palette"
        ]
