"""The commands: id, text, menu, key and icon. Menus, buttons, the palette, the help and the settings use this list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget

from semblance.app.shell.command_entries import CommandEntry
from semblance.app.shell.command_synonyms import SYNONYMS
from semblance.app.shell.icons import icon
from semblance.app.shell.keys import CommandKeys, normal
from semblance.app.shell.settings import Settings
from semblance.core.language import tr


@dataclass(frozen=True)
class Command:
    """A command of the menus and the palette.

    ``menu``: a key of :data:`MENUS`, also the category in the palette. ``needs``: the condition under which the
    command is enabled, one of :func:`semblance.app.shell.command_conditions.available`. Empty: always enabled.
    ``shortcut`` and ``second_shortcut``: its keys as long as the user chose no other.
    """

    id: str
    text: str
    menu: str
    shortcut: str = ""
    icon: str = ""
    needs: str = ""
    checkable: bool = False
    separator: bool = False
    second_shortcut: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(normal(key) for key in (self.shortcut, self.second_shortcut) if key)


#: Menu -> its title.
MENUS = {
    "File": tr("File"),
    "Edit": tr("Edit"),
    "View": tr("View"),
    "Case": tr("Case"),
    "Search": tr("Search"),
    "Refine": tr("Refine"),
    "Metric": tr("Metric"),
    "Research": tr("Research"),
    "Help": tr("Help"),
}

COMMANDS = (
    Command("new_library_folder", tr("New library from a folder…"), "File", "Ctrl+N", "folder-plus"),
    Command(
        "new_library", tr("New library from a zip, table or file…"), "File", "Ctrl+Shift+N", "folder-plus"
    ),
    Command("open_library", tr("Open library…"), "File", "Ctrl+O", "folder"),
    Command("open_server", tr("Open library on a server…"), "File", "", "library"),
    Command("demo", tr("Try the demo"), "File", "Ctrl+D", "play"),
    Command(
        "import_more",
        tr("Add a folder to this library…"),
        "File",
        "Ctrl+I",
        "plus",
        "editable",
        separator=True,
    ),
    Command("import_file", tr("Add a zip, table or file…"), "File", "Ctrl+Shift+I", "plus", "editable"),
    Command("pacs", tr("PACS…"), "File", "", "search"),
    Command("send_to_pacs", tr("Send to PACS…"), "File", "", "export", "library"),
    Command("watch", tr("Watch for new images…"), "File", "", "plus", "editable"),
    Command("import_labels", tr("Import labels…"), "File", "", "table", "editable"),
    Command("not_read", tr("Files that could not be read…"), "File", "", "warning", "library"),
    Command("relink", tr("Find moved images…"), "File", "", "relink", "editable"),
    Command("back_up", tr("Back up library…"), "File", "", "save", "library", separator=True),
    Command("restore", tr("Restore library…"), "File", "", "undo"),
    Command("check_library", tr("Verify library…"), "File", "", "check", "library"),
    Command("update_indexes", tr("Update search indexes"), "File", "", "refresh", "editable on a server"),
    Command("exports", tr("Export log…"), "File", "", "list", "library"),
    Command("report", tr("Create report…"), "File", "Ctrl+R", "export", "ranking", separator=True),
    Command("deidentify", tr("De-identify DICOM files…"), "File", "", "export"),
    Command("open_report", tr("Open a report as a search…"), "File", "", "folder", "writable"),
    Command("close_library", tr("Close library"), "File", "Ctrl+W", "close", "library", separator=True),
    Command("quit", tr("Quit"), "File", "Ctrl+Q", ""),
    Command("palette", tr("All commands…"), "Edit", "Ctrl+K", "search"),
    Command("undo_edit", tr("Undo edit"), "Edit", "Ctrl+Alt+Z", "undo", "edits", separator=True),
    Command("redo_edit", tr("Redo edit"), "Edit", "Ctrl+Alt+Shift+Z", "redo", "undone edits"),
    Command("edit_history", tr("Edit history…"), "Edit", "", "list", "library"),
    Command("findings", tr("Findings…"), "Edit", "", "", "library", separator=True),
    Command("find_case", tr("Find case"), "Edit", "Ctrl+F", "search", "library"),
    Command("copy_case_id", tr("Copy case ID"), "Edit", "Ctrl+Shift+C", "copy", "library"),
    Command("settings", tr("Settings…"), "Edit", "Ctrl+,", "settings", separator=True),
    Command("read", tr("Switch to Read"), "View", "Ctrl+1", "image"),
    Command("research", tr("Switch to Research"), "View", "Ctrl+2", "chart"),
    Command("go_library", tr("Go to the library"), "View", "Alt+1", "library", "library", separator=True),
    Command("go_query", tr("Go to the query"), "View", "Alt+2", "image", "library"),
    Command(
        "go_ranking", tr("Go to the similar cases"), "View", "Alt+3", "grid", "ranking", second_shortcut="F6"
    ),
    Command("go_side", tr("Go to the side panel"), "View", "Alt+4", "", "library"),
    Command("go_notes", tr("Go to the notes"), "View", "", "", "library"),
    Command("go_evaluation", tr("Go to the evaluation"), "View", "Alt+5", "chart", "library"),
    Command("go_metric", tr("Go to the metric"), "View", "Alt+6", "sliders", "library"),
    Command("close_messages", tr("Close all messages"), "View", "Ctrl+Shift+X", "close"),
    Command("menus", tr("Go to the menus"), "View", "F10", ""),
    Command(
        "reset_window",
        tr("Reset the query's window / level"),
        "View",
        "",
        "contrast",
        "query",
        separator=True,
    ),
    Command("theme", tr("Switch between dark and light"), "View", "Ctrl+Shift+D", "moon", separator=True),
    Command("text_larger", tr("Larger text"), "View", "Ctrl++", "plus"),
    Command("text_smaller", tr("Smaller text"), "View", "Ctrl+-", "minus"),
    Command("language", tr("Switch language (Deutsch / English)"), "View", "", "info"),
    Command("layout", tr("Reset layout"), "View", "", "layers", separator=True),
    Command("glide", tr("Animate reordering"), "View", "", "", checkable=True),
    Command("full_screen", tr("Full screen"), "View", "F11", "", checkable=True),
    Command("ask_case", tr("Search with this case"), "Case", "Ctrl+Return", "search", "library"),
    Command("compare", tr("Compare with the query"), "Case", "Ctrl+M", "compare", "ranking"),
    Command("view_large", tr("View full size"), "Case", "Ctrl+L", "expand", "library"),
    Command("hang", tr("Images of the patient"), "Case", "Ctrl+Alt+H", "users", "library"),
    Command("why", tr("Why these cases"), "Case", "Ctrl+Y", "help", "library"),
    Command("refine", tr("Show judgements"), "Case", "Ctrl+J", "plus", "library"),
    Command("header", tr("File header…"), "Case", "Ctrl+H", "table", "library"),
    Command("set_finding", tr("Set finding…"), "Case", "Ctrl+Shift+L", "", "editable", separator=True),
    Command("set_patient", tr("Set patient…"), "Case", "", "", "editable"),
    Command("join_lesions", tr("Mark as one lesion"), "Case", "", "", "editable"),
    Command("split_lesions", tr("Mark as another lesion"), "Case", "", "", "editable"),
    Command("remove_cases", tr("Remove from the library"), "Case", "", "close", "editable"),
    Command("next_case", tr("Next case"), "Case", "Ctrl+Down", "chevron-down", "library"),
    Command("previous_case", tr("Previous case"), "Case", "Ctrl+Up", "chevron-up", "library"),
    Command("ask_file", tr("Search with an image file…"), "Search", "Ctrl+Shift+O", "image", "metric"),
    Command(
        "paste_image", tr("Search with the image on the clipboard"), "Search", "Ctrl+V", "image", "metric"
    ),
    Command(
        "save_search", tr("Save search…"), "Search", "Ctrl+Alt+S", "save", "can save search", separator=True
    ),
    Command(
        "branch_search", tr("Branch this search…"), "Search", "Ctrl+Shift+B", "branch", "can save search"
    ),
    Command("searches", tr("Searches…"), "Search", "Ctrl+Alt+O", "list", "library"),
    Command("rank_again", tr("Search again"), "Search", "F5", "refresh", "query"),
    Command("region", tr("Draw region"), "Search", "Ctrl+Shift+R", "rectangle", "query", separator=True),
    Command("whole_image", tr("Search with the whole image"), "Search", "Ctrl+Shift+W", "select", "query"),
    Command("same_patient", tr("Hide same patient"), "Search", "", "users", checkable=True, separator=True),
    Command("alike", tr("Group near-duplicates"), "Search", "", "layers", checkable=True),
    Command("diverse", tr("Show diverse results"), "Search", "", "grid", checkable=True),
    Command(
        "show_alike", tr("Expand or collapse near-duplicates"), "Search", "Ctrl+Shift+F", "layers", "ranking"
    ),
    Command("no_good_match", tr("Set match threshold…"), "Search", "", "settings", "library"),
    Command("set_prevalence", tr("Set prevalence…"), "Search", "", "", "editable"),
    Command("judge_alike", tr("More like this"), "Refine", "U", "plus", "can judge"),
    Command("judge_not_alike", tr("Less like this"), "Refine", "D", "minus", "can judge"),
    Command("judge_closer", tr("Mark as closer than…"), "Refine", "T", "target", "can judge"),
    Command("mark_image", tr("More like an image file…"), "Refine", "", "image", "can judge"),
    Command("ask_next", tr("Ask me next"), "Refine", "Ctrl+Shift+Q", "help", "ranking"),
    Command(
        "undo_judgement", tr("Undo judgement"), "Refine", "Ctrl+Z", "undo", "own judgements", separator=True
    ),
    Command("redo_judgement", tr("Redo judgement"), "Refine", "Ctrl+Shift+Z", "redo", "undone judgements"),
    Command("reset_judgements", tr("Undo all judgements"), "Refine", "", "refresh", "judgements"),
    Command(
        "save_refined",
        tr("Save as new metric…"),
        "Refine",
        "Ctrl+Shift+S",
        "save",
        "can save metric",
        separator=True,
    ),
    Command("new_concept", tr("New concept…"), "Refine", "", "plus", "can add concepts", separator=True),
    Command("concept_with", tr("Mark as having the concept"), "Refine", "Y", "check", "concepts"),
    Command("concept_without", tr("Mark as lacking the concept"), "Refine", "N", "dash", "concepts"),
    Command("concept_unmark", tr("Remove concept mark"), "Refine", "", "", "concepts"),
    Command("undo_concept", tr("Undo concept change"), "Refine", "", "undo", "concepts changed"),
    Command("prepare", tr("Prepare for searching"), "Metric", "", "play", "editable"),
    Command("extract", tr("Extract features…"), "Metric", "Ctrl+E", "layers", "editable"),
    Command("train", tr("Train selected learners"), "Metric", "Ctrl+T", "play", "features"),
    Command("prepare_slider", tr("Prepare visual–diagnostic slider…"), "Metric", "", "sliders", "features"),
    Command("stop_training", tr("Stop training and keep best"), "Metric", "Ctrl+.", "stop", "training"),
    Command("score", tr("Evaluate this metric again"), "Metric", "", "chart", "can score", separator=True),
    Command("map", tr("Map of the library"), "Metric", "Ctrl+Shift+P", "map", "metric"),
    Command("two_metrics", tr("Compare two metrics"), "Metric", "Ctrl+Shift+M", "two-metrics", "two metrics"),
    Command("metric_card", tr("Metric card…"), "Metric", "", "info", "metric"),
    Command("export_metric", tr("Export metric…"), "Metric", "", "export", "metric"),
    Command("import_metric", tr("Import metric…"), "Metric", "", "plus", "editable"),
    Command("manage_metrics", tr("Feature sets and metrics…"), "Metric", "", "list", "library"),
    Command("save_plot", tr("Save plots…"), "Metric", "Ctrl+S", "save", "scores"),
    Command("data_check", tr("Data check…"), "Research", "", "check", "library"),
    Command("detect_lesions", tr("Detect same-lesion groups"), "Research", "", "layers", "editable"),
    Command("reader_studies", tr("Reader studies…"), "Research", "", "users", "library"),
    Command("agreement", tr("Agreement between annotators…"), "Research", "", "users", "library"),
    Command("outcomes", tr("Outcomes…"), "Research", "", "target", "library"),
    Command("vault", tr("Test vault…"), "Research", "", "lock", "library"),
    Command("experiments", tr("Experiments…"), "Research", "Ctrl+Shift+E", "chart"),
    Command("compare_encoders", tr("Compare encoders…"), "Research", "", "layers", "library"),
    Command("help", tr("Help for this panel"), "Help", "F1", "help"),
    Command("tutorial", tr("Tutorial"), "Help", "", "play"),
    Command("keyboard", tr("Keyboard and mouse"), "Help", "?", "help"),
    Command("words", tr("Glossary"), "Help", "", "info"),
    Command("whats_new", tr("What's new"), "Help", "", "info"),
    Command("copy_details", tr("Copy details for a bug report"), "Help", "", "copy", separator=True),
    Command("log_folder", tr("Open log folder"), "Help", "", "folder"),
    Command("about", tr("About Semblance"), "Help", "", "info"),
)


def _without_checked(run: Callable[[], object], _checked: bool = False) -> None:
    """``triggered`` passes whether the action is checked, which commands do not use."""
    run()


class Actions(QObject):
    """The commands as Qt actions, enabled by what is open."""

    def __init__(self, window: QWidget | None = None, settings: Settings | None = None) -> None:
        """``window`` receives the keys. Without it the commands can only be triggered. ``settings``: the keys that
        the user chose."""
        super().__init__(window)
        self._window = window
        self.keys = CommandKeys({command.id: command.keys for command in COMMANDS}, settings)
        self._is_undo_of_edits = self._is_redo_of_edits = False
        self._actions: dict[str, QAction] = {}
        for command in COMMANDS:
            action = QAction(command.text, self)
            if command.icon:
                action.setIcon(icon(command.icon))
            action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
            action.setCheckable(command.checkable)
            action.setObjectName(command.id)
            if window is not None:
                window.addAction(action)
            self._actions[command.id] = action
        self.update_keys()

    def __getitem__(self, command: str) -> QAction:
        return self._actions[command]

    def connect_to(self, command: str, run: Callable[[], object]) -> None:
        """Call ``run`` when the command is triggered."""
        self._actions[command].triggered.connect(partial(_without_checked, run))

    def limit_shortcut_to(self, command: str, widget: QWidget) -> None:
        """Make the shortcut work only while the keyboard focus is in ``widget``."""
        action = self._actions[command]
        if self._window is not None:
            self._window.removeAction(action)
        action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        widget.addAction(action)

    def enable(self, available: set[str], refused: Mapping[str, str] | None = None) -> None:
        """Enable the commands whose condition is in ``available``, disable the others. ``refused``: condition -> why
        it is not met, which is shown as their tooltip."""
        for command in COMMANDS:
            enabled = not command.needs or command.needs in available
            self._actions[command.id].setEnabled(enabled)
            self._actions[command.id].setToolTip("" if enabled else (refused or {}).get(command.needs, ""))

    def set_text(self, command: str, text: str) -> None:
        """Show ``text`` for the command in the menus and the palette; empty: its own."""
        own = next(one.text for one in COMMANDS if one.id == command)
        self._actions[command].setText((text or own).replace("&", "&&"))

    def update_keys(self) -> None:
        """Give every command the keys that :attr:`keys` has for it now."""
        given = {command.id: self.keys.of(command.id) for command in COMMANDS}
        for edit, judgement, is_edit in (
            ("undo_edit", "undo_judgement", self._is_undo_of_edits),
            ("redo_edit", "redo_judgement", self._is_redo_of_edits),
        ):
            if is_edit:
                given[edit], given[judgement] = given[judgement] + given[edit], ()
        for command, keys in given.items():
            self._actions[command].setShortcuts([QKeySequence(key) for key in keys])

    def give_undo_key(self, *, undoes_edit: bool, redoes_edit: bool) -> None:
        """Give the keys of the judgements, Ctrl+Z and Ctrl+Shift+Z, to the edits of the library, or take them back."""
        if (undoes_edit, redoes_edit) != (self._is_undo_of_edits, self._is_redo_of_edits):
            self._is_undo_of_edits, self._is_redo_of_edits = undoes_edit, redoes_edit
            self.update_keys()

    def key_text(self, command: str) -> str:
        """The first key of the command as the user's system writes it; empty: none."""
        return self._actions[command].shortcut().toString(QKeySequence.SequenceFormat.NativeText)

    def text_with_key(self, text: str, command: str) -> str:
        """``text`` followed by the key of the command in brackets, if it has one."""
        key = self.key_text(command)
        return f"{text} ({key})" if key else text

    def has_key(self, command: str, event: QKeyEvent) -> bool:
        """Whether ``event`` is a key of the command."""
        pressed = QKeySequence(event.keyCombination()).toString()
        return pressed in self.keys.of(command)

    def entries(self) -> list[CommandEntry]:
        """All commands except the palette itself, for the palette."""
        return [
            CommandEntry(
                self._actions[command.id].text().replace("&&", "&"),
                MENUS[command.menu],
                self._actions[command.id].trigger,
                self.key_text(command.id),
                command.icon,
                self._actions[command.id].isEnabled(),
                SYNONYMS.get(command.id, ""),
            )
            for command in COMMANDS
            if command.id != "palette"
        ]
