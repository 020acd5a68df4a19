"""The functions of the window's commands. Other packages provide those of their own commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QMessageBox, QWidget

from semblance.app.evaluation.evaluate_again import evaluate_again
from semblance.app.library.edit_commands import EditCommands
from semblance.app.library.library_commands import LibraryCommands
from semblance.app.library.maintenance_commands import MaintenanceCommands
from semblance.app.library.prepare_operations import prepare_for_searching
from semblance.app.metrics.metric_commands import MetricCommands
from semblance.app.network.pacs_commands import PacsCommands
from semblance.app.reports.report_commands import ReportCommands
from semblance.app.research.research_commands import ResearchCommands
from semblance.app.search.feedback import mark_cards
from semblance.app.search.feedback.concepts_section import ConceptCommands
from semblance.app.search.feedback.save_refined_metric import save_refined
from semblance.app.search.saved.searches_panel import SearchCommands
from semblance.app.search.similar.ranking_panel import ANIMATE_REORDERING
from semblance.app.search.similar.summary_strip import edit_prevalences
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.log_folder import open_log_folder, versions_text
from semblance.app.shell.plot_operations import WHOLE_AXIS
from semblance.app.shell.settings import TEXT_SCALES
from semblance.app.shell.theme import set_theme
from semblance.app.teaching.teaching_commands import TeachingCommands
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.window.docks import DockLayout
from semblance.app.window.full_pages import FullPages
from semblance.app.window.help_dialog import HelpDialog
from semblance.app.window.help_files import WHATS_NEW
from semblance.app.window.palette import CommandPalette
from semblance.app.window.panels import Panels
from semblance.app.window.top_bar import TopBar
from semblance.app.window.tour import Tour
from semblance.app.window.workspaces import READ, RESEARCH, WorkspaceChoice
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.language import LANGUAGES, tr, translate
from semblance.core.library.case_columns import Rows
from semblance.core.log import log_folder
from semblance.core.purpose import PURPOSE
from semblance.core.version import program_version

#: Errors whose details are copied for a bug report.
_COPIED_ERRORS = 5


class PanelFocus:
    """The commands that move the focus to a panel."""

    def __init__(
        self, context: Context, panels: Panels, layout: DockLayout, full: FullPages, top: TopBar
    ) -> None:
        self._context, self._panels, self._layout = context, panels, layout
        self._full, self._top = full, top
        self.commands: dict[str, Callable[[], object]] = {
            "go_library": self.to_library,
            "go_query": self.to_query,
            "go_ranking": self.to_ranking,
            "go_side": self.to_side,
            "go_evaluation": self.to_evaluation,
            "go_metric": self.to_metric,
            "menus": top.go_to_menus,
        }

    def to_library(self) -> None:
        """Focus the cases of the library and expand the panel. In a narrow window a second call collapses it."""
        # A collapsed list may still have the focus.
        is_open = not self._layout.docks["library"].collapsed
        if self._layout.is_narrow and is_open and self._panels.library.grid.hasFocus():
            self._layout.collapse_library()
            return
        self._full.leave()
        self._show("library")
        self._layout.open_library_panel()
        _focus(self._panels.library.grid)

    def to_query(self) -> None:
        """Focus the query's image."""
        self._full.leave()
        self._show("query")
        _focus(self._panels.query.focus_target())

    def to_ranking(self) -> None:
        """Focus the similar cases."""
        self._full.leave()
        grid = self._panels.ranking.grid
        _focus(grid)
        if grid.current() < 0 and len(grid.model()):
            grid.set_current(grid.model().case_row(0))

    def to_side(self) -> None:
        """Focus the tabs of the side panel."""
        self._full.leave()
        self._show("side")
        _focus(self._panels.side.header.tab_chooser)

    def to_evaluation(self) -> None:
        """Focus the tabs of the evaluation."""
        self._full.leave()
        self._show("evaluation")
        _focus(self._panels.evaluation.header.tab_chooser)

    def to_metric(self) -> None:
        """Focus the choice of the metric. A page on the whole window stays open."""
        _focus(self._top.metric_choice)

    def panel_of_keyboard(self) -> str:
        """The name of the help page of the focused panel."""
        if self._context.state.library is None:
            return "getting_started"
        widget = QApplication.focusWidget()
        pages = self._full.pages() | {"ranking": self._panels.ranking}
        while widget is not None:
            if widget in pages.values():
                return next(name for name, page in pages.items() if widget is page)
            if self._panels.side.is_question(widget):
                return "ask_next"
            if widget in self._layout.docks.values():
                name = widget.objectName()
                if name == "lists":
                    return self._panels.lists.help_page
                return self._panels.side.current if name == "side" else name
            widget = widget.parentWidget()
        return "ranking"

    def _show(self, dock: str) -> None:
        self._layout.show_dock(dock)


def _focus(widget: QWidget) -> None:
    widget.window().activateWindow()
    widget.setFocus(Qt.FocusReason.ShortcutFocusReason)


class Commands(QObject):
    """Every command of one window by its id: see :data:`semblance.app.shell.actions.COMMANDS`.

    ``show_map``: bring the map to the front · ``record_view``: record how the search is shown. Panels are
    built by the commands that need them, not before.
    """

    def __init__(
        self,
        context: Context,
        window: QMainWindow,
        panels: Panels,
        layout: DockLayout,
        full: FullPages,
        top: TopBar,
        workspaces: WorkspaceChoice,
        show_map: Callable[[], object],
        record_view: Callable[[], object],
    ) -> None:
        super().__init__(window)
        self._context, self._window = context, window
        self._panels, self._layout, self._full, self._workspaces = panels, layout, full, workspaces
        self.help_dialog: HelpDialog | None = None
        self.palette: CommandPalette | None = None
        self.tour = Tour(context, window, panels)
        self.focus = PanelFocus(context, panels, layout, full, top)
        self.library = LibraryCommands(context, window)
        self.library.help_requested.connect(self.show_help)
        self.maintenance = MaintenanceCommands(context, window)
        self.edits = EditCommands(context, window, self.selected_cases)
        self.metrics = MetricCommands(context, window)
        self.searches = SearchCommands(context, window, panels.thumbnails, record_view)
        self.teaching = TeachingCommands(context, window, panels.thumbnails, self.selected_cases)
        listing = (self.library, self.maintenance, self.edits, self.metrics, self.searches, self.teaching)
        for opener in listing:
            opener.list_requested.connect(layout.show_list)
        self.metrics.page_requested.connect(full.show_page)
        self.teaching.page_requested.connect(full.show_page)
        self.teaching.compare_requested.connect(full.compare)
        self.concepts = ConceptCommands(context, window, panels.concepts, self.selected_cases)
        self.concepts.name_requested.connect(self.name_concept)
        self.reports = ReportCommands(context, window, panels.cases_shown, self.exported_cases)
        self.reports.help_requested.connect(self.show_help)
        self.research = ResearchCommands(context, window, panels.thumbnails)
        self.research.page_requested.connect(full.show_page)
        self.research.case_requested.connect(full.view_case)
        self.pacs = PacsCommands(context, window, self.selected_cases)
        self.pacs.retrieved.connect(partial(prepare_for_searching, context))
        self.pacs.help_requested.connect(self.show_help)
        self._commands: dict[str, Callable[[], object]] = {
            **self._window_commands(),
            **self._case_commands(show_map),
            **self.focus.commands,
            **self.library.commands,
            **self.maintenance.commands,
            **self.edits.commands,
            **self.metrics.commands,
            **self.searches.commands,
            **self.teaching.commands,
            **self.concepts.commands,
            **self.reports.commands,
            **self.research.commands,
            **self.pacs.commands,
        }
        context.actions["whole_axis"].setChecked(context.settings.flag(WHOLE_AXIS, default=False))
        animate_reordering = context.actions["animate_reordering"]
        animate_reordering.setChecked(context.settings.flag(ANIMATE_REORDERING, default=True))
        animate_reordering.toggled.connect(partial(context.settings.set_flag, ANIMATE_REORDERING))

    def _window_commands(self) -> Mapping[str, Callable[[], object]]:
        return {
            "quit": self._window.close,
            "palette": self.show_palette,
            "settings": self.show_settings,
            "theme": self.switch_theme,
            "language": self.switch_language,
            "text_larger": partial(self.scale_text, 1),
            "text_smaller": partial(self.scale_text, -1),
            "read": partial(self._workspaces.choose, READ.name),
            "research": partial(self._workspaces.choose, RESEARCH.name),
            "layout": self._layout.reset,
            "full_screen": self.full_screen,
            "help": self.show_panel_help,
            "tour": self.tour.start,
            "tutorial": partial(self.show_help, "tutorial"),
            "keyboard": partial(self.show_help, "keyboard"),
            "words": partial(self.show_help, "glossary"),
            "whats_new": partial(self.show_help, WHATS_NEW),
            "copy_details": self.copy_details,
            "log_folder": self.open_log_folder,
            "about": self.about,
        }

    def _case_commands(self, show_map: Callable[[], object]) -> Mapping[str, Callable[[], object]]:
        return {
            # Looking at cases
            "find_case": self.find_case,
            "copy_case_id": self.copy_case_id,
            "ask_case": self.ask_case,
            "compare": self.compare,
            "view_large": self.view_full_size,
            "hang": self.hang,
            "header": self.show_header_in_use,
            "next_case": partial(self.step, 1),
            "previous_case": partial(self.step, -1),
            "region": self.draw_region,
            "whole_image": partial(search_operations.submit_region, self._context, None),
            "show_alike": self.show_near_duplicates,
            "no_good_match": self.show_options,
            "set_prevalence": partial(edit_prevalences, self._context, self._window),
            "reset_window": self.reset_window,
            "why": partial(self._layout.show_side, "why"),
            "go_notes": partial(self._layout.show_side, "notes"),
            # Refining
            "refine": self.refine,
            "judge_alike": partial(self.mark_selected, 1),
            "judge_not_alike": partial(self.mark_selected, -1),
            "judge_closer": self.mark_closer,
            "mark_image": partial(mark_cards.mark_image_file, self._context, self._window),
            "ask_next": self._full.ask_next,
            "undo_judgement": self._full.undo_judgement,
            "redo_judgement": partial(mark_cards.redo, self._context),
            "reset_judgements": partial(mark_cards.reset, self._context),
            "save_refined": partial(save_refined, self._context, self._window),
            # Training and evaluation
            "train": self.start_training,
            "stop_training": self.stop_training,
            "two_metrics": self._full.two_metrics,
            "data_check": self._full.data_check,
            "map": show_map,
            "score": partial(evaluate_again, self._context),
            "save_plot": self.save_plot,
        }

    def run(self, command: str) -> None:
        """Run the command, unless it is only an option that is switched on and off."""
        run = self._commands.get(command)
        if run is not None:
            run()

    # Cases

    def selected_cases(self) -> Rows:
        """(k,) catalogue rows of the cases selected in the focused list, or of the compared case."""
        columns = self._context.state.columns
        if self._full.comparing:
            row = self._panels.compare.current_row()
            return np.array([row] if row >= 0 else [], dtype=np.int64)
        focus, library = QApplication.focusWidget(), self._panels.library
        in_library = focus is not None and library.isAncestorOf(focus)
        grids = [self._panels.ranking.grid, library.grid]
        for grid in reversed(grids) if in_library else grids:
            rows = grid.selected()
            if grid.model().columns is not columns:
                rows = rows[columns.indices_of_rows(rows) >= 0]
            if len(rows):
                return rows
        return np.empty(0, dtype=np.int64)

    def exported_cases(self) -> dict[str, list[str]]:
        """The choices of cases whose images are exported, the likeliest first."""
        columns, query = self._context.state.columns, self._context.state.query
        selected = columns.ids_of_rows(self.selected_cases())
        choices = {tr("the selected cases"): selected}
        if self._full.comparing and query is not None and query.case is not None:
            choices = {tr("the query and the compared case"): [query.case, *selected]}
        choices[tr("the cases shown in Library")] = self._panels.cases_shown()
        return {**choices, **self.teaching.cases_of_collections()}

    def find_case(self) -> None:
        """Focus the filter of the library."""
        self._layout.show_dock("library")
        self._layout.open_library_panel("filter")

    def compare(self) -> None:
        """Compare the current case with the query, or the nearest case where none is current."""
        grid = self._panels.ranking.grid
        row = grid.current()
        self._full.compare(grid.model().case_row(0) if row < 0 and len(grid.model()) else row)

    def ask_case(self) -> None:
        """Search with the region drawn on the compared case, else with the current case."""
        if self._full.comparing and self._panels.compare.drawn is not None:
            self._panels.compare.search_with_region()
        else:
            self._panels.cases_in_use().search_current()

    def copy_case_id(self) -> None:
        """Copy the id of the current case."""
        case = self._panels.cases_in_use().current_case() or self._panels.ranking.current_case()
        if case:
            QGuiApplication.clipboard().setText(case)

    def view_full_size(self) -> None:
        """View the focused case in full size, else the query."""
        row, library = self._current_row(), self._panels.library.grid
        if row is not None:
            self._full.view_case(row)
        elif self._context.state.query is not None:
            self._full.view_query()
        elif library.current() >= 0:
            self._full.view_case(library.current())

    def hang(self) -> None:
        """Show the images of the patient of the focused case, else of the query, else of the library's current case."""
        state, row = self._context.state, self._current_row()
        if row is None and state.query_row >= 0:
            row = state.query_row
        self._full.hang(self._panels.library.grid.current() if row is None else row)

    def show_header_in_use(self) -> None:
        """Show the header of the image in full size, of the focused case, or of the query."""
        row, library = self._current_row(), self._panels.library.grid
        if self._full.is_full_size:
            self.show_header(self._panels.large.pane)
        elif self._full.comparing and self._panels.compare.current_row() >= 0:
            self.read_header(self._panels.compare.current_row())
        elif row is not None:
            self.read_header(row)
        elif self._context.state.source is not None:
            self.show_header(self._panels.query.pane)
        elif library.current() >= 0:
            self.read_header(library.current())

    def show_header(self, pane: ImagePane) -> None:
        """Show the header of the file in ``pane``; for a series that of the slice shown, and while another image is
        loading that of its file."""
        coming = None
        if pane is self._panels.query.pane and not self._panels.query.shows_query:
            coming = self._context.state.source
        elif (
            self._full.is_full_size
            and pane is self._panels.large.pane
            and not self._panels.large.shows_source
        ):
            coming = self._panels.large.source
        if coming is None:
            self.read_header(pane.source[1], pane.place)
        else:
            self._layout.show_list("header", self._panels.file_header)
            self._panels.file_header.read_source(coming)

    def read_header(self, what: int | ImageAddress, place: int | None = None) -> None:
        """Show the header of the file of a case in this row, or at this address."""
        panel = self._panels.file_header
        self._layout.show_list("header", panel)
        panel.read(self._context.state.location, what, place)

    def _current_row(self) -> int | None:
        """The row of the current case in the focused list, or ``None``."""
        focus = QApplication.focusWidget()
        library, ranking = self._panels.library, self._panels.ranking
        shown = ((library.grid, library.grid), (library.patients, library.grid), (ranking.grid, ranking.grid))
        for widget, grid in shown:
            if focus is widget and grid.current() >= 0:
                return grid.current()
        return None

    def step(self, by: int) -> None:
        """Search with the case ``by`` places further in the library."""
        self._panels.library.step(by)

    def draw_region(self) -> None:
        """Draw a rectangle on the query's image."""
        self._panels.query.set_tool("rectangle")

    def reset_window(self) -> None:
        """Show the query's image with its own window and level again."""
        self._panels.query.view.auto()

    def show_near_duplicates(self) -> None:
        """Show the near-duplicates of the current case beside it, or group them again."""
        self._panels.ranking.toggle_near_duplicates()

    def show_options(self) -> None:
        """Open the options with the match threshold."""
        self._panels.ranking.options.show_menu()

    # Metrics

    def mark_selected(self, verdict: int) -> None:
        """Mark the selected cases as more (1) or less (-1) like the query."""
        self._panels.ranking.card_feedback.mark_rows(verdict, self.selected_cases().tolist())

    def fill_marks(self, menu: QMenu, case_row: int) -> None:
        """Add the marks of the case of a menu and of the cases selected with it."""
        rows = self.selected_cases().tolist()
        if not self._full.comparing:
            self._panels.ranking.card_feedback.fill_menu(
                menu, rows if case_row in rows else [case_row], is_ranking=self._panels.is_in_ranking()
            )

    def mark_closer(self) -> None:
        """Mark the current case as closer to the query than another."""
        self._panels.ranking.card_feedback.compare_current()

    def save_plot(self) -> None:
        """Save the plots of the evaluation."""
        self._workspaces.choose_with_dock("evaluation")
        self._panels.evaluation.save_plot()

    def start_training(self) -> None:
        """Train the learners chosen in the Train panel."""
        self._layout.show_side("train")
        self._panels.side.train.train()

    def stop_training(self) -> None:
        """Stop the training and keep the best metric so far."""
        self._panels.side.train.stop()

    def refine(self) -> None:
        """Show the judgements and focus the newest."""
        self._layout.show_side("refine")
        self._panels.side.refine.focus_judgements()

    def name_concept(self) -> None:
        """Ask for the name of a new concept in the Refine panel."""
        self._layout.show_side("refine")
        self._panels.side.concepts.ask_name()

    # View and help

    def show_palette(self) -> None:
        """Open the command palette."""
        if self.palette is None:
            self.palette = CommandPalette(self._window)
        self.palette.open(self._context.actions.entries())

    def show_settings(self) -> None:
        """Show the settings of the program."""
        from semblance.app.window.settings_dialog import SettingsDialog

        dialog = SettingsDialog(self._context, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.appearance_changed.connect(self._apply_theme)
        dialog.help_requested.connect(self.show_help)
        dialog.show()

    def switch_theme(self) -> None:
        """Switch between dark and light."""
        settings = self._context.settings
        settings.theme = "light" if settings.theme == "dark" else "dark"
        self._apply_theme()

    def switch_language(self) -> None:
        """Choose the next language, from the next start on."""
        settings, codes = self._context.settings, list(LANGUAGES)
        settings.language = codes[(codes.index(settings.language) + 1) % len(codes)]
        self._context.messages.info(
            tr(
                "The language changes to {language} at the next start.",
                language=LANGUAGES[settings.language],
            )
        )

    def scale_text(self, step: int) -> None:
        """Larger (1) or smaller (-1) text."""
        settings = self._context.settings
        nearest = min(
            range(len(TEXT_SCALES)), key=lambda place: abs(TEXT_SCALES[place] - settings.text_scale)
        )
        settings.text_scale = TEXT_SCALES[min(len(TEXT_SCALES) - 1, max(0, nearest + step))]
        self._apply_theme()

    def _apply_theme(self) -> None:
        application = QApplication.instance()
        if isinstance(application, QApplication):
            set_theme(application, self._context.settings.theme, self._context.settings.text_scale)

    def full_screen(self) -> None:
        """Switch full screen on or off."""
        if self._window.isFullScreen():
            self._window.showNormal()
        else:
            self._window.showFullScreen()

    def show_panel_help(self) -> None:
        """Show the help page of the focused panel."""
        self.show_help(self.focus.panel_of_keyboard())

    def show_help(self, page: str) -> None:
        """Show a help page, by its name or the name of its panel."""
        if self.help_dialog is None:
            self.help_dialog = HelpDialog(self._context.actions, self._window)
        self.help_dialog.show_page(page)

    def show_jobs(self) -> None:
        """Show the list of jobs."""
        from semblance.app.window.status_line import JobsDialog

        JobsDialog(self._context, self._window).show()

    def open_log_folder(self) -> None:
        """Open the folder of the log in the system's file manager, or show its path."""
        if not open_log_folder():
            self._context.messages.info(tr("The log is in {folder}.", folder=log_folder()))

    def copy_details(self) -> None:
        """Copy the versions and the details of the last errors, which name no patients and no files."""
        details = [message.details for message in self._context.messages.history if message.details]
        QGuiApplication.clipboard().setText("\n\n".join([versions_text(), *details[-_COPIED_ERRORS:]]))
        self._context.messages.info(
            tr("Copied the versions and the last errors."),
            tr("They name no patients and no files. Paste them into your report."),
        )

    def about(self) -> None:
        """Show the program's version and purpose."""
        QMessageBox.about(
            self._window,
            tr("About Semblance"),
            f"<b>Semblance {program_version()}</b><br>"
            + tr("Finds the cases that look similar and have the same meaning.")
            + "<br><br>"
            + translate(PURPOSE)
            + " "
            + tr("The help page Intended purpose says more.")
            + "<br>"
            + tr("Works offline. Images stay where they are.")
            + f"<br><br>{tr('MIT License')}<br>{versions_text()}",
        )
