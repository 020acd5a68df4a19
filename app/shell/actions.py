"""The commands: text, menu, key, icon, other words for each, and when it can be run.

Menus, buttons, the palette, the help and the settings use this list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget

from semblance.app.shell.icons import icon
from semblance.app.shell.keys import CommandKeys, normal
from semblance.app.shell.settings import Settings
from semblance.app.shell.state import WindowState
from semblance.core.language import tr
from semblance.core.library.location import ServerAddress

#: Id of a command -> words that are not in its own text or menu.
SYNONYMS = {
    "new_library_folder": tr("create import dicom images"),
    "new_library": tr("create import csv medmnist"),
    "open_library": tr("load change recent"),
    "open_server": tr("PostgreSQL database address connect shared department password"),
    "demo": tr("example sample"),
    "import_more": tr("import dicom images"),
    "import_file": tr("import csv"),
    "pacs": tr("server DICOMweb DIMSE query retrieve archive study network"),
    "send_to_pacs": tr("store STOW C-STORE archive export report structured"),
    "watch": tr("listen receive DICOM listener folder SCP automatic import"),
    "import_labels": tr("csv findings patients diagnoses table annotations"),
    "not_read": tr("failed ignored errors problems"),
    "relink": tr("relink missing lost path"),
    "back_up": tr("backup copy archive"),
    "restore": tr("backup"),
    "update_indexes": tr("HNSW pgvector candidates approximate nearest neighbour server build renew"),
    "check_library": tr("doctor repair integrity damaged"),
    "exports": tr("audit privacy"),
    "report": tr("pdf html csv json print export save images de-identified anonymised anonymized"),
    "export_images": tr("save pictures png jpeg tiff dicom slides several cases with marks"),
    "deidentify": tr("anonymise anonymize pseudonymise names remove privacy export burnt-in text clean"),
    "open_report": tr("import json"),
    "quit": tr("exit leave end"),
    "settings": tr(
        "preferences options configuration memory processes cores log presets name defaults mouse wheel privacy "
        "language font"
    ),
    "undo_edit": tr("back revert change"),
    "redo_edit": tr("again repeat change"),
    "edit_history": tr("log changes undo"),
    "findings": tr("diagnoses classes rename merge colour color order add new"),
    "set_finding": tr("label diagnosis class annotate change"),
    "set_patient": tr("person identity change"),
    "join_lesions": tr("same duplicates copies group join merge"),
    "split_lesions": tr("not the same duplicates copies group split"),
    "detect_lesions": tr("duplicates copies near-duplicates find group"),
    "remove_cases": tr("delete cases"),
    "find_case": tr("filter finding text"),
    "go_messages": tr("past errors warnings notifications history list"),
    "close_messages": tr("dismiss errors warnings"),
    "reset_window": tr("WL windowing brightness contrast grey levels auto"),
    "theme": tr("night day colours mode appearance"),
    "text_larger": tr("zoom font size bigger"),
    "text_smaller": tr("zoom font size"),
    "language": tr("german translation"),
    "read": tr("clinical reading view"),
    "research": tr("train evaluation learners view"),
    "layout": tr("windows panels default"),
    "animate_reordering": tr("animate reordering animation movement"),
    "full_screen": tr("maximise"),
    "whole_axis": tr("plot curve axis zero scale zoom"),
    "ask_case": tr("query retrieve similar"),
    "compare": tr("side by side second monitor window measure difference blink"),
    "hang": tr("hanging mammogram four views prior current studies compare"),
    "view_large": tr("zoom enlarge large viewer invert rotate flip measure ruler"),
    "why": tr("explain reason contributions"),
    "refine": tr("feedback thumbs clicks"),
    "header": tr("dicom tags metadata"),
    "add_to_collection": tr("teaching file list bookmark favourite folder"),
    "collections": tr("case file list quiz slides export lecture"),
    "paste_image": tr("paste query screenshot insert clipboard image file case id"),
    "ask_file": tr("query open similar upload"),
    "save_search": tr("keep name store"),
    "branch_search": tr("copy duplicate fork"),
    "searches": tr("saved history open"),
    "previous_query": tr("back history return last"),
    "next_query": tr("forward history"),
    "rank_again": tr("refresh update renew"),
    "region": tr("rectangle ellipse polygon outline roi brush mass wand"),
    "whole_image": tr("remove region"),
    "same_patient": tr("include exclude patients"),
    "alike": tr("near-duplicates duplicates"),
    "diverse": tr("diversity variety"),
    "show_alike": tr("copies duplicates"),
    "no_good_match": tr("outlier unusual"),
    "set_prevalence": tr("prior pretest probability frequency"),
    "judge_alike": tr("thumb up similar yes"),
    "judge_not_alike": tr("thumb down dissimilar no"),
    "judge_closer": tr("triplet judge"),
    "ask_next": tr("question active learning"),
    "undo_judgement": tr("back revert click judgement"),
    "redo_judgement": tr("again click"),
    "reset_judgements": tr("reset clear start over"),
    "save_refined": tr("keep store learnt"),
    "prepare": tr("automatic measure features train recommended metric"),
    "extract": tr("compute calculate gabor descriptors"),
    "train": tr("learn fit model bdm"),
    "prepare_slider": tr("visual likeness"),
    "stop_training": tr("cancel abort end"),
    "experiments": tr("compare learners grid cross-validation significance"),
    "reader_studies": tr(
        "MRMC observer performance radiologists sensitivity specificity kappa washout blinded"
    ),
    "changes": tr("prior current follow-up trajectory progression longitudinal what changed"),
    "agreement": tr("Cohen Fleiss kappa Krippendorff alpha inter-rater inter-observer concordance"),
    "outcomes": tr("follow-up later diagnosis biopsy histology Brier calibration drift monitoring"),
    "vault": tr("sealed held-out set lock patients final evaluation open"),
    "import_features": tr("embeddings vectors npy npz Parquet CSV DINOv2 CLIP other program load"),
    "export_features": tr("embeddings vectors npz Parquet CSV other program save places"),
    "compare_encoders": tr("own ONNX network model backbone random weights Gabor pixels benchmark"),
    "score": tr("measure score held-out"),
    "measure_places": tr("region search inside images patches where localise"),
    "map": tr("t-SNE plot scatter embedding"),
    "data_check": tr("label errors conflicts outliers duplicates quality laterality text blank"),
    "two_metrics": tr("side by side rank shifts"),
    "metric_card": tr("facts details model scores"),
    "export_metric": tr("save file share"),
    "import_metric": tr("load open file"),
    "manage_metrics": tr("rename duplicate delete copy remove"),
    "save_plot": tr("export svg pdf figures charts"),
    "help": tr("manual documentation guide"),
    "tour": tr("introduction first steps learn guide minute demo"),
    "tutorial": tr("introduction first steps learn guide"),
    "words": tr("words terms"),
    "whats_new": tr("changelog changes version release news"),
    "keyboard": tr("keys shortcuts wheel help"),
    "copy_details": tr("error problem support version diagnostics"),
    "go_library": tr("grid list patients studies series"),
    "go_query": tr("image viewer invert rotate flip measure ruler brush"),
    "go_notes": tr("comment remark bookmark"),
    "go_evaluation": tr("ROC curve AUC scores calibration confusion training plots accuracy"),
    "log_folder": tr("record errors support file"),
    "about": tr("version licence license"),
}

#: Conditions of commands that change cases, features or metrics, and of those that save judgements and searches.
_OF_EDITS = (
    "editable",
    "editable on a server",
    "features",
    "can score",
    "edits",
    "undone edits",
    "can save metric",
)
_HISTORY_STEPS = {"earlier queries": -1, "later queries": 1}
_OF_MARKS = ("writable", "can judge", "can save search", "can add concepts", "concepts")


@dataclass(frozen=True)
class Command:
    """A command of the menus and the palette.

    ``menu``: a key of :data:`MENUS`, also the category in the palette. ``needs``: the condition under which the
    command is enabled, one of :func:`semblance.app.shell.actions.available`. Empty: always enabled.
    ``shortcut`` and ``second_shortcut``: its keys as long as the user chose no other. ``research``: a menu of Read
    leaves it out. The palette lists every command in both workspaces, and its keys work in both.
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
    research: bool = False

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

#: Menus that are shown only in Research. The palette has their commands in both workspaces.
RESEARCH_MENUS = frozenset(("Refine", "Metric", "Research"))

COMMANDS = (
    Command("new_library_folder", tr("New library from a folder…"), "File", "Ctrl+N", "folder-plus"),
    Command(
        "new_library", tr("New library from a zip, table or file…"), "File", "Ctrl+Shift+N", "folder-plus"
    ),
    Command("open_library", tr("Open library…"), "File", "Ctrl+O", "folder"),
    Command("open_server", tr("Open library on a server…"), "File", "", "library"),
    Command("demo", tr("Try the demo"), "File", "Ctrl+D", "play", research=True),
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
    Command("watch", tr("Watch for new images…"), "File", "", "plus", "editable", research=True),
    Command("import_labels", tr("Import labels…"), "File", "", "table", "editable", research=True),
    Command("not_read", tr("Files that could not be read…"), "File", "", "warning", "library"),
    Command("relink", tr("Find moved images…"), "File", "", "relink", "editable"),
    Command("back_up", tr("Back up library…"), "File", "", "save", "library", separator=True, research=True),
    Command("restore", tr("Restore library…"), "File", "", "undo", research=True),
    Command("check_library", tr("Verify library…"), "File", "", "check", "library"),
    Command(
        "update_indexes",
        tr("Update search indexes"),
        "File",
        "",
        "refresh",
        "editable on a server",
        research=True,
    ),
    Command("exports", tr("Export log…"), "File", "", "list", "library", research=True),
    Command("report", tr("Create report…"), "File", "Ctrl+R", "export", "ranking", separator=True),
    Command("export_images", tr("Export images…"), "File", "Ctrl+Alt+E", "export", "library"),
    Command("deidentify", tr("De-identify DICOM files…"), "File", "", "export", research=True),
    Command("open_report", tr("Open a report as a search…"), "File", "", "folder", "writable", research=True),
    Command("close_library", tr("Close library"), "File", "Ctrl+W", "close", "library", separator=True),
    Command("quit", tr("Quit"), "File", "Ctrl+Q", ""),
    Command("palette", tr("All commands…"), "Edit", "Ctrl+K", "search"),
    Command("undo_edit", tr("Undo edit"), "Edit", "Ctrl+Alt+Z", "undo", "edits", separator=True),
    Command("redo_edit", tr("Redo edit"), "Edit", "Ctrl+Alt+Shift+Z", "redo", "undone edits"),
    Command("edit_history", tr("Edit history…"), "Edit", "", "list", "library", research=True),
    Command("findings", tr("Findings…"), "Edit", "", "", "library", separator=True),
    Command("find_case", tr("Find case"), "Edit", "Ctrl+F", "search", "library"),
    Command("copy_case_id", tr("Copy case ID"), "Edit", "Ctrl+Shift+C", "copy", "library", research=True),
    Command("settings", tr("Settings…"), "Edit", "Ctrl+,", "settings", separator=True),
    Command("read", tr("Switch to Read"), "View", "Ctrl+1", "image"),
    Command("research", tr("Switch to Research"), "View", "Ctrl+2", "chart"),
    Command(
        "go_library",
        tr("Go to the library"),
        "View",
        "Alt+1",
        "library",
        "library",
        separator=True,
        research=True,
    ),
    Command("go_query", tr("Go to the query"), "View", "Alt+2", "image", "library", research=True),
    Command(
        "go_ranking",
        tr("Go to the similar cases"),
        "View",
        "Alt+3",
        "grid",
        "ranking",
        second_shortcut="F6",
        research=True,
    ),
    Command("go_side", tr("Go to the side panel"), "View", "Alt+4", "", "library", research=True),
    Command("go_notes", tr("Go to the notes"), "View", "", "", "library", research=True),
    Command("go_evaluation", tr("Go to the evaluation"), "View", "Alt+5", "chart", "library", research=True),
    Command("go_metric", tr("Go to the metric"), "View", "Alt+6", "sliders", "library", research=True),
    Command("go_messages", tr("Go to the messages"), "View", "Alt+0", "messages", research=True),
    Command("close_messages", tr("Close all messages"), "View", "Ctrl+Shift+X", "close", research=True),
    Command("menus", tr("Go to the menus"), "View", "F10", "", research=True),
    Command(
        "reset_window",
        tr("Reset the query's window / level"),
        "View",
        "",
        "contrast",
        "query",
        separator=True,
    ),
    Command(
        "theme",
        tr("Switch between dark and light"),
        "View",
        "Ctrl+Shift+D",
        "moon",
        separator=True,
        research=True,
    ),
    Command("text_larger", tr("Larger text"), "View", "Ctrl++", "plus"),
    Command("text_smaller", tr("Smaller text"), "View", "Ctrl+-", "minus"),
    Command("language", tr("Switch language (Deutsch / English)"), "View", "", "info", research=True),
    Command("layout", tr("Reset layout"), "View", "", "layers", separator=True),
    Command("animate_reordering", tr("Show cases moving"), "View", "", "", checkable=True, research=True),
    Command(
        "whole_axis", tr("Accuracy from 0 to 1"), "View", "Ctrl+Alt+0", "", checkable=True, research=True
    ),
    Command("full_screen", tr("Full screen"), "View", "F11", "", checkable=True),
    Command("ask_case", tr("Search with this case"), "Case", "Ctrl+Return", "search", "library"),
    Command("compare", tr("Compare with the query"), "Case", "Ctrl+M", "compare", "ranking"),
    Command("view_large", tr("View full size"), "Case", "Ctrl+L", "expand", "library"),
    Command("hang", tr("Images of the patient"), "Case", "Ctrl+Alt+H", "users", "library"),
    Command("why", tr("Why these cases"), "Case", "Ctrl+Y", "help", "library"),
    Command("header", tr("File header…"), "Case", "Ctrl+H", "table", "library"),
    Command("add_to_collection", tr("Add to a collection…"), "Case", "Ctrl+Alt+C", "plus", "writable"),
    Command("set_finding", tr("Set finding…"), "Case", "Ctrl+Shift+L", "", "editable", separator=True),
    Command("set_patient", tr("Set patient…"), "Case", "", "", "editable", research=True),
    Command("join_lesions", tr("Mark as one lesion"), "Case", "", "", "editable", research=True),
    Command("split_lesions", tr("Mark as another lesion"), "Case", "", "", "editable", research=True),
    Command("remove_cases", tr("Remove from the library"), "Case", "", "close", "editable"),
    Command("next_case", tr("Next case"), "Case", "Ctrl+Down", "chevron-down", "library", research=True),
    Command("previous_case", tr("Previous case"), "Case", "Ctrl+Up", "chevron-up", "library", research=True),
    Command("ask_file", tr("Search with an image file…"), "Search", "Ctrl+Shift+O", "image", "metric"),
    Command("paste_image", tr("Search with what was copied"), "Search", "Ctrl+V", "image", "library"),
    Command(
        "save_search", tr("Save search…"), "Search", "Ctrl+Alt+S", "save", "can save search", separator=True
    ),
    Command(
        "branch_search",
        tr("Branch this search…"),
        "Search",
        "Ctrl+Shift+B",
        "branch",
        "can save search",
        research=True,
    ),
    Command("searches", tr("Searches…"), "Search", "Ctrl+Alt+O", "list", "library"),
    Command("collections", tr("Teaching collections…"), "Case", "", "list", "library"),
    Command(
        "previous_query",
        tr("Previous query"),
        "Search",
        "Alt+Left",
        "chevron-left",
        "earlier queries",
        research=True,
    ),
    Command(
        "next_query", tr("Next query"), "Search", "Alt+Right", "chevron-right", "later queries", research=True
    ),
    Command("rank_again", tr("Search again"), "Search", "F5", "refresh", "query"),
    Command("region", tr("Draw region"), "Search", "Ctrl+Shift+R", "rectangle", "query", separator=True),
    Command("whole_image", tr("Search with the whole image"), "Search", "Ctrl+Shift+W", "select", "query"),
    Command("same_patient", tr("Hide same patient"), "Search", "", "users", checkable=True, separator=True),
    Command("alike", tr("Group the same lesion and copies"), "Search", "", "layers", checkable=True),
    Command("diverse", tr("Show diverse results"), "Search", "", "grid", checkable=True, research=True),
    Command(
        "show_alike",
        tr("Expand or collapse the same lesion"),
        "Search",
        "Ctrl+Shift+F",
        "layers",
        "ranking",
        research=True,
    ),
    Command("no_good_match", tr("Set match threshold…"), "Search", "", "settings", "library", research=True),
    Command("set_prevalence", tr("Set prevalence…"), "Search", "", "", "editable"),
    Command("judge_alike", tr("More like this"), "Refine", "U", "plus", "can judge"),
    Command("judge_not_alike", tr("Less like this"), "Refine", "D", "minus", "can judge"),
    Command("judge_closer", tr("Mark as closer than…"), "Refine", "T", "target", "can judge"),
    Command("mark_image", tr("More like an image file…"), "Refine", "", "image", "can judge"),
    Command("refine", tr("Show marks"), "Refine", "Ctrl+J", "plus", "library"),
    Command("ask_next", tr("Ask me next"), "Refine", "Ctrl+Shift+Q", "help", "ranking"),
    Command("undo_judgement", tr("Undo mark"), "Refine", "Ctrl+Z", "undo", "own judgements", separator=True),
    Command("redo_judgement", tr("Redo mark"), "Refine", "Ctrl+Shift+Z", "redo", "undone judgements"),
    Command("reset_judgements", tr("Undo all marks"), "Refine", "", "refresh", "judgements"),
    Command(
        "save_refined",
        tr("Save as new metric…"),
        "Refine",
        "Ctrl+Shift+S",
        "save",
        "can save metric",
        separator=True,
    ),
    Command(
        "new_concept",
        tr("New concept…"),
        "Refine",
        "",
        "plus",
        "can add concepts",
        separator=True,
    ),
    Command("concept_with", tr("Mark as having the concept"), "Refine", "Y", "check", "concepts"),
    Command("concept_without", tr("Mark as lacking the concept"), "Refine", "N", "dash", "concepts"),
    Command("concept_unmark", tr("Remove concept mark"), "Refine", "", "", "concepts"),
    Command("undo_concept", tr("Undo concept change"), "Refine", "", "undo", "concepts changed"),
    Command("prepare", tr("Prepare for searching"), "Metric", "", "play", "editable"),
    Command("measure_places", tr("Measure places"), "Metric", "", "layers", "editable"),
    Command("extract", tr("Extract features…"), "Metric", "Ctrl+E", "layers", "editable"),
    Command("train", tr("Train selected learners"), "Metric", "Ctrl+T", "play", "features"),
    Command(
        "prepare_slider",
        tr("Prepare visual–diagnostic slider…"),
        "Metric",
        "",
        "sliders",
        "features",
    ),
    Command(
        "stop_training",
        tr("Stop training and keep best"),
        "Metric",
        "Ctrl+.",
        "stop",
        "training",
    ),
    Command(
        "score",
        tr("Evaluate this metric again"),
        "Metric",
        "",
        "chart",
        "can score",
        separator=True,
    ),
    Command("map", tr("Map of the library"), "Metric", "Ctrl+Shift+P", "map", "metric"),
    Command(
        "two_metrics",
        tr("Compare two metrics"),
        "Metric",
        "Ctrl+Shift+M",
        "two-metrics",
        "two metrics",
    ),
    Command("metric_card", tr("Metric card…"), "Metric", "", "info", "metric"),
    Command("export_metric", tr("Export metric…"), "Metric", "", "export", "metric"),
    Command("import_metric", tr("Import metric…"), "Metric", "", "plus", "editable"),
    Command("manage_metrics", tr("Feature sets and metrics…"), "Metric", "", "list", "library"),
    Command("save_plot", tr("Save plots…"), "Metric", "Ctrl+S", "save", "scores"),
    Command("data_check", tr("Data check…"), "Research", "", "check", "library"),
    Command("detect_lesions", tr("Detect same-lesion groups"), "Research", "", "layers", "editable"),
    Command("reader_studies", tr("Reader studies…"), "Research", "", "users", "library"),
    Command("agreement", tr("Agreement between annotators…"), "Research", "", "users", "library"),
    Command("changes", tr("Changes over time…"), "Research", "", "two-metrics", "library"),
    Command("outcomes", tr("Outcomes…"), "Research", "", "target", "library"),
    Command("vault", tr("Test vault…"), "Research", "", "lock", "library"),
    Command("experiments", tr("Experiments…"), "Research", "Ctrl+Shift+E", "chart"),
    Command("compare_encoders", tr("Compare encoders…"), "Research", "", "layers", "library"),
    Command("import_features", tr("Import features…"), "Research", "", "plus", "editable"),
    Command("export_features", tr("Export features…"), "Research", "", "export", "library"),
    Command("help", tr("Help for this panel"), "Help", "F1", "help"),
    Command("tour", tr("Tour"), "Help", "", "play"),
    Command("tutorial", tr("Tutorial"), "Help", "", "info", research=True),
    Command("keyboard", tr("Keyboard and mouse"), "Help", "?", "help"),
    Command("words", tr("Glossary"), "Help", "", "info"),
    Command("whats_new", tr("What's new"), "Help", "", "info"),
    Command("copy_details", tr("Copy details for a bug report"), "Help", "", "copy", separator=True),
    Command("log_folder", tr("Open log folder"), "Help", "", "folder"),
    Command("about", tr("About Semblance"), "Help", "", "info"),
)


def menu_entries(menu: str, *, research: bool) -> list[list[Command]]:
    """The commands that ``menu`` shows in Research, or in Read, in groups with a separator between them."""
    groups: list[list[Command]] = [[]]
    if menu in RESEARCH_MENUS and not research:
        return []
    for command in COMMANDS:
        if command.menu == menu:
            if command.separator:
                groups.append([])
            if research or not command.research:
                groups[-1].append(command)
    return [group for group in groups if group]


def _without_checked(run: Callable[[], object], _checked: bool = False) -> None:
    """``triggered`` passes whether the action is checked, which commands do not use."""
    run()


@dataclass(frozen=True)
class CommandEntry:
    """A command in the palette.

    ``icon``: the name of an icon, or empty. A command that is not ``enabled`` is listed but cannot be run.
    ``synonyms``: other words that find it.
    """

    text: str
    category: str
    run: Callable[[], object]
    shortcut: str = ""
    icon: str = ""
    enabled: bool = True
    synonyms: str = ""


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

    def menu_text(self, text: str, command: str) -> str:
        """``text`` for a menu that :class:`QAction` of the command is not in, with its key on the right."""
        key = self.key_text(command)
        return f"{text}\t{key}" if key else text

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


def available(state: WindowState) -> set[str]:
    """The conditions of commands that are met now."""
    out: set[str] = set()
    if state.library is not None:
        out.add("library")
        if len(state.library.metrics) > 1:
            out.add("two metrics")
        if state.can_write:
            out.add("writable")
        if state.can_edit:
            out.add("editable")
            if state.library.feature_sets:
                out.add("features")
    if state.metric is not None:
        out.add("metric")
        if "editable" in out:
            out.add("can score")
        if state.metric.scores:
            out.add("scores")
    if state.query is not None:
        out.add("query")
        if "writable" in out:
            out.add("can save search")
    if state.ranking is not None:
        out.add("ranking")
    out |= {name for name, steps in _HISTORY_STEPS.items() if state.history.can_go(steps)}
    out |= _judgement_conditions(state) | _edit_conditions(state)
    if state.training is not None and state.training.running:
        out.add("training")
    return out


def refused(state: WindowState) -> dict[str, str]:
    """Condition of commands -> why it is not met, where rights are the reason."""
    of_edits, of_marks = state.why_not_edited, state.why_not_written
    found = dict.fromkeys(_OF_EDITS, of_edits) if of_edits else {}
    if state.library is not None and not isinstance(state.library.location, ServerAddress):
        found["editable on a server"] = tr(
            "In a library in a folder all cases are compared, without an index."
        )
    return found | (dict.fromkeys(_OF_MARKS, of_marks) if of_marks else {})


def _edit_conditions(state: WindowState) -> set[str]:
    out: set[str] = set()
    if state.library is None or not state.can_edit:
        return out
    if isinstance(state.library.location, ServerAddress):
        out.add("editable on a server")
    if state.last_edit is not None:
        out.add("edits")
    if state.last_undone_edit is not None:
        out.add("undone edits")
    return out


def _judgement_conditions(state: WindowState) -> set[str]:
    out = {"can judge"} if state.can_judge else set()
    if state.metric is not None and state.can_write:
        out.add("can add concepts")
    if state.judgement_count:
        out.add("judgements")
        if state.can_edit:
            out.add("can save metric")
    if state.own_judgement_count:
        out.add("own judgements")
    if state.ranked_search is not None and state.judgement_count < len(state.ranked_search.entries):
        out.add("undone judgements")
    return out
