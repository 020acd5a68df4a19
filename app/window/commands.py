"""What each command does: the wiring between actions, dialogs and operations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QMessageBox

from semblance.app.library import demo_library, library_commands, maintenance_commands
from semblance.app.metrics import extract_features, metric_commands, slider_operations, train_metric
from semblance.app.metrics.extract_dialog import ExtractDialog
from semblance.app.metrics.prepare_slider_dialog import PrepareSliderDialog
from semblance.app.reports import report_commands
from semblance.app.research import experiment_commands
from semblance.app.search.feedback import refine_metric
from semblance.app.search.feedback.example_commands import ExampleCommands
from semblance.app.search.feedback.save_refined_dialog import SaveRefinedDialog
from semblance.app.search.saved.search_commands import SearchCommands
from semblance.app.search.similar.panel import GLIDE
from semblance.app.shell import library_operations as libraries
from semblance.app.shell import search_operations
from semblance.app.shell.log_folder import open_log_folder
from semblance.app.shell.theme import set_theme
from semblance.app.viewer.header_dialog import HeaderDialog
from semblance.app.window import panel_focus
from semblance.app.window.help_dialog import HelpDialog
from semblance.app.window.palette import CommandPalette
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.language import LANGUAGES, tr
from semblance.core.log import log_folder
from semblance.core.searches.query import Query

if TYPE_CHECKING:
    from semblance.app.library.panel import LibraryPanel
    from semblance.app.search.similar.panel import RankingPanel
    from semblance.app.viewer.image_pane import ImagePane
    from semblance.app.window.main_window import MainWindow

SCALES = (0.8, 0.9, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0)


class Commands(QObject):
    """Connects every action of one window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._context, self._state = window, window.context, window.context.state
        self._help: HelpDialog | None = None
        self._palette: CommandPalette | None = None
        self._header: HeaderDialog | None = None
        self.searches = SearchCommands(window)
        self.examples = ExampleCommands(window)
        self._runs: dict[str, Callable[[], object]] = {
            "new_library": lambda: library_commands.new_from_file(window),
            "new_library_folder": lambda: library_commands.new_from_folder(window),
            "open_library": lambda: library_commands.open_library(window),
            "demo": lambda: demo_library.open_demo(self._context),
            "import_more": lambda: library_commands.import_more(window),
            "import_file": lambda: library_commands.import_file(window),
            "not_read": lambda: library_commands.show_not_read(window),
            "relink": lambda: library_commands.relink(window),
            "back_up": lambda: maintenance_commands.back_up(window),
            "restore": lambda: maintenance_commands.restore(window),
            "check_library": lambda: maintenance_commands.check(window),
            "exports": lambda: maintenance_commands.show_exports(window),
            "report": lambda: report_commands.write(window),
            "open_report": lambda: report_commands.reopen(window),
            "close_library": lambda: libraries.close_library(self._context),
            "quit": window.close,
            "palette": self.show_palette,
            "find_case": self.find_case,
            "copy_case_id": self.copy_case_id,
            "menus": self.go_to_menus,
            "close_messages": window.message_bar.clear,
            "theme": self.switch_theme,
            "language": self.switch_language,
            "text_larger": lambda: self.scale_text(1),
            "text_smaller": lambda: self.scale_text(-1),
            "layout": self.reset_layout,
            "full_screen": self.full_screen,
            "ask_case": self.ask_case,
            "compare": lambda: window.full.compare(window.ranking.grid.current()),
            "view_large": self.view_large,
            "header": self.ask_header,
            "next_case": lambda: window.library.step(1),
            "previous_case": lambda: window.library.step(-1),
            "ask_file": self.ask_file,
            "region": lambda: window.query.set_tool("rectangle"),
            "whole_image": lambda: search_operations.ask_region(self._context, None),
            "why": lambda: window.show_side("why"),
            "refine": self.refine,
            "go_library": lambda: panel_focus.to_library(window),
            "go_query": lambda: panel_focus.to_query(window),
            "go_ranking": lambda: panel_focus.to_ranking(window),
            "go_side": lambda: panel_focus.to_side(window),
            "go_evaluation": lambda: panel_focus.to_evaluation(window),
            "go_metric": lambda: panel_focus.to_metric(window),
            "judge_alike": lambda: window.ranking.judging.judge(1),
            "judge_not_alike": lambda: window.ranking.judging.judge(-1),
            "judge_closer": self.judge_closer,
            "ask_next": window.full.ask_next,
            "undo_judgement": window.full.undo_judgement,
            "redo_judgement": lambda: refine_metric.redo(self._context),
            "reset_judgements": lambda: refine_metric.reset(self._context),
            "save_refined": self.save_refined,
            "extract": self.extract,
            "train": self.start_training,
            "prepare_slider": self.prepare_slider,
            "stop_training": self.stop_training,
            "score": lambda: train_metric.score(self._context),
            "two_metrics": window.full.two_metrics,
            "experiments": lambda: experiment_commands.show(window),
            "metric_card": lambda: metric_commands.show_card(window),
            "export_metric": lambda: metric_commands.export(window),
            "import_metric": lambda: metric_commands.bring_in(window),
            "map": self.show_map,
            "save_search": self.searches.save,
            "branch_search": self.searches.branch,
            "searches": self.searches.show,
            "rank_again": lambda: search_operations.rank(self._context),
            "save_plot": self.save_plot,
            "help": lambda: self.show_help(panel_focus.panel_of_keyboard(window)),
            "words": lambda: self.show_help("glossary"),
            "log_folder": self.open_log_folder,
            "about": self.about,
            "show_alike": self.show_alike,
            "no_good_match": self.show_options,
        } | self.examples.runs
        glide = window.actions_["glide"]
        glide.setChecked(self._context.settings.flag(GLIDE, default=True))
        glide.toggled.connect(lambda on: self._context.settings.set_flag(GLIDE, on))

    def run(self, command: str) -> None:
        """What the command does, unless it is one that is only switched on and off."""
        run = self._runs.get(command)
        if run is not None:
            run()

    # Asking

    def find_case(self) -> None:
        self._window.docks["library"].bring()
        self._window.arrangement.open_rail("filter")

    def ask_case(self) -> None:
        """With the region drawn on the case that is compared, else with a whole case."""
        if self._window.full.comparing and self._window.compare.drawn is not None:
            self._window.compare.ask_region()
        else:
            self._cases_in_use().ask_current()

    def _cases_in_use(self) -> RankingPanel | LibraryPanel:
        in_ranking = self._window.ranking.isAncestorOf(QApplication.focusWidget() or self._window)
        return self._window.ranking if in_ranking else self._window.library

    def ask_file(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(
            self._window,
            tr("Ask with an image"),
            "",
            search_operations.FILES,
        )
        if chosen:
            search_operations.ask(self._context, Query(image=Path(chosen)))

    def copy_case_id(self) -> None:
        case = self._cases_in_use().current_case() or self._window.ranking.current_case()
        if case:
            QGuiApplication.clipboard().setText(case)

    # Looking

    def view_large(self) -> None:
        """The case the keyboard is at, else the query."""
        window = self._window
        row = self._case_at_hand()
        if row is not None:
            window.full.look_at_case(row)
        elif self._state.query is not None:
            window.full.look_at_query()
        elif window.library.grid.current() >= 0:
            window.full.look_at_case(window.library.grid.current())

    def ask_header(self) -> None:
        """What the file says of the large image, of the case the keyboard is at, or of the query."""
        window = self._window
        row = self._case_at_hand()
        if window.pages.currentWidget() is window.full.pages().get("large"):
            self.show_header(window.large.pane)
        elif row is not None:
            self._read_header(row)
        elif window.query.view.image is not None:
            self.show_header(window.query.pane)
        elif window.library.grid.current() >= 0:
            self._read_header(window.library.grid.current())

    def show_header(self, pane: ImagePane) -> None:
        """What the file in ``pane`` says, of a series that of the slice seen."""
        self._read_header(pane.source[1], pane.place)

    def _read_header(self, what: int | ImageAddress, place: int | None = None) -> None:
        if self._header is None:
            self._header = HeaderDialog(self._context, self._window)
        self._header.read(self._state.path, what, place)
        self._header.show()
        self._header.raise_()
        self._header.search.setFocus()

    def _case_at_hand(self) -> int | None:
        """The row of the case that is current where the keyboard is, outside the query."""
        focus = QApplication.focusWidget()
        for grid in (self._window.library.grid, self._window.ranking.grid):
            if focus is grid and grid.current() >= 0:
                return grid.current()
        return None

    # Metrics

    def extract(self) -> None:
        if self._state.library is None:
            return
        dialog = ExtractDialog(self._state.library, self._window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            extract_features.extract(self._context, dialog.extractor(), dialog.settings(), dialog.name())
        dialog.deleteLater()

    def train(self) -> None:
        """Show the Train panel, ready to go."""
        self._window.show_side("train")
        self._window.train.train_button.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def start_training(self) -> None:
        self._window.train.train()

    def stop_training(self) -> None:
        self._window.train.stop()

    def prepare_slider(self) -> None:
        """Train the steps between visual and diagnostic likeness."""
        if self._state.library is None:
            return
        dialog = PrepareSliderDialog(self._state.library, self._state.features, self._window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            slider_operations.prepare(self._context, dialog.request())
        dialog.deleteLater()

    def show_map(self) -> None:
        """The map of the library, with room for it."""
        self._window.map_links.show()

    def refine(self) -> None:
        """Show the judgements; the keyboard goes to the newest."""
        self._window.show_side("refine")
        self._window.side.refine.go_to_judgements()

    def judge_closer(self) -> None:
        self._window.ranking.judging.compare_current()

    def show_alike(self) -> None:
        self._window.ranking.show_alike()

    def show_options(self) -> None:
        """When nothing in the ranking is called near."""
        self._window.ranking.options.open()

    def save_plot(self) -> None:
        self._window.evaluation.save_plot()

    def save_refined(self) -> None:
        """Ask for a name, then keep the refined metric."""
        state = self._state
        if state.library is None or state.search is None or "judged" not in state.there:
            return
        taken = [metric.name for metric in state.library.metrics]
        dialog = SaveRefinedDialog(
            state.search.metric, state.judged, taken, refine_metric.author(self._context), self._window
        )
        if dialog.exec() == QDialog.DialogCode.Accepted:
            refine_metric.save_metric(self._context, dialog.name(), dialog.author())
        dialog.deleteLater()

    # View and help

    def show_palette(self) -> None:
        if self._palette is None:
            self._palette = CommandPalette(self._window)
        self._palette.open(self._window.actions_.entries())

    def go_to_menus(self) -> None:
        self._window.top.go_to_menus()

    def switch_theme(self) -> None:
        settings = self._context.settings
        settings.theme = "light" if settings.theme == "dark" else "dark"
        self._apply_theme()

    def switch_language(self) -> None:
        """The next language of those there are, from the next start on."""
        settings, codes = self._context.settings, list(LANGUAGES)
        settings.language = codes[(codes.index(settings.language) + 1) % len(codes)]
        self._context.messages.info(
            tr(
                "{language}: Semblance speaks it from its next start on.",
                language=LANGUAGES[settings.language],
            )
        )

    def scale_text(self, step: int) -> None:
        settings = self._context.settings
        nearest = min(range(len(SCALES)), key=lambda place: abs(SCALES[place] - settings.text_scale))
        settings.text_scale = SCALES[min(len(SCALES) - 1, max(0, nearest + step))]
        self._apply_theme()

    def _apply_theme(self) -> None:
        application = QApplication.instance()
        if isinstance(application, QApplication):
            set_theme(application, self._context.settings.theme, self._context.settings.text_scale)

    def reset_layout(self) -> None:
        self._window.arrangement.place(self._window.docks)
        for dock in self._window.docks.values():
            dock.wanted = True
            dock.setVisible(self._state.library is not None)
        self._window.arrangement.usual_sizes()

    def full_screen(self) -> None:
        if self._window.isFullScreen():
            self._window.showNormal()
        else:
            self._window.showFullScreen()

    def show_help(self, page: str) -> None:
        if self._help is None:
            self._help = HelpDialog(self._window)
        self._help.show_page(page)

    def show_jobs(self) -> None:
        from semblance.app.window.jobs_dialog import JobsDialog

        JobsDialog(self._context, self._window).show()

    def open_log_folder(self) -> None:
        if not open_log_folder():
            self._context.messages.info(tr("The log is in {folder}.", folder=log_folder()))

    def about(self) -> None:
        from importlib.metadata import version

        QMessageBox.about(
            self._window,
            tr("About Semblance"),
            f"<b>Semblance {version('semblance')}</b><br>"
            + tr("Finds the cases that look alike and mean alike.")
            + "<br><br>"
            + tr("Support, not a diagnosis. Works offline; images stay where they are."),
        )
