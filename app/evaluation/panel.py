"""The Evaluation panel: the scores of all metrics on held-out cases as plots and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from semblance.app.evaluation.calibration_page import TITLE as CALIBRATION_TITLE
from semblance.app.evaluation.calibration_page import CalibrationPage
from semblance.app.evaluation.evaluate_again import evaluate_again, show_hardest_queries
from semblance.app.evaluation.overview_page import SHORT_BADGE_TEXTS, Overview, PlotCell
from semblance.app.evaluation.score_table import FULL, ScoreTable
from semblance.app.shell import plot_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_target
from semblance.app.shell.jobs import Job
from semblance.app.shell.lazy_part import lazy_part
from semblance.app.shell.measured_on import measured_note, split_text
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look
from semblance.app.widgets.buttons import KeyTip
from semblance.app.widgets.empty_state import EmptyState, extraction_message
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.message_lines import WarningLine
from semblance.app.widgets.panel import Panel, TabHeader
from semblance.app.widgets.plots.figure_view import FigureView, ask_plot_file, theme_name
from semblance.app.widgets.plots.live_curve import NO_CURVE, LiveCurve
from semblance.app.widgets.tab_order import set_accessible_name
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.evaluation.evaluate_metric import chance_note
from semblance.core.language import tr, tr_name
from semblance.core.reports.curves import ACCURACY, CALIBRATION, ROC, TRAINING, Curve
from semblance.core.workflows.evaluation import scored_metrics
from semblance.core.workflows.evaluation.scored_metrics import ScoredMetric
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot

if TYPE_CHECKING:
    from semblance.app.evaluation.map_page import MapPage

OVERVIEW, ACCURACY_TAB, ROC_TAB, CALIBRATION_TAB, TRAINING_TAB, MAP_TAB, TABLE = range(7)
TABS = (
    tr("Overview"),
    tr("Search accuracy"),
    tr("ROC"),
    tr("Calibration"),
    tr("Training"),
    tr("Map"),
    tr("Table"),
)
#: What each tab shows: an attribute of the panel.
PAGES = ("overview", "accuracy", "roc", "calibration", "curve", "map", "table")
#: Largest k in the overview. The tab *Search accuracy* shows all.
OVERVIEW_K = 20


class EvaluationPanel(Panel):
    """Plots of the current metric beside the others, and what they were measured on.

    Each tab is built when it is first shown. ``map_built(MapPage)``: the map was built.
    """

    extract_requested = Signal()
    train_requested = Signal()
    map_built = Signal(object)

    def __init__(self, context: Context, thumbnails: ThumbnailSource | None = None) -> None:
        super().__init__(tr("Evaluation"))
        self._context, self._state, self._thumbnails = context, context.state, thumbnails
        self._snapshot: LibrarySnapshot | None = None
        self._metrics: tuple[ScoredMetric, ...] = ()
        self._finding = ""
        #: Findings that have an ROC curve.
        self._findings: list[str] = []
        self._scoring: Job | None = None

        self.header = TabHeader(TABS, title=tr("Evaluation"))
        self.header.changed.connect(self._show_tab)
        self.evaluate_again_button = QPushButton(tr("Evaluate again"))
        self.evaluate_again_button.setToolTip(
            tr("Test the current metric on every case not used for training")
        )
        set_look(self.evaluate_again_button, link=True)
        self.evaluate_again_button.clicked.connect(self.score)
        self.header.add_action(self.evaluate_again_button)
        self.score_button = self.header.add_button("refresh", tr("Evaluate this metric again"))
        self.score_button.clicked.connect(self.score)
        self.save_button = self.header.add_button("save", tr("Save plots…"))
        KeyTip(self.save_button, tr("Save plots…"), context.actions, "save_plot")
        self.save_button.clicked.connect(self.save_plot)

        self.overview = Overview(context)
        self.overview.table.chosen.connect(self.choose)
        self._connect_hardest_queries(self.overview.accuracy, of_finding=False)
        self._connect_hardest_queries(self.overview.roc, of_finding=True)
        self.overview.table_shown.connect(lambda _shown: self._refresh())
        self.empty = EmptyState()
        self._pages = QStackedWidget()
        self._pages.addWidget(self.overview)
        self._outer_pages = QStackedWidget()
        self._outer_pages.addWidget(self._pages)
        self._outer_pages.addWidget(self.empty)
        self._pages.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        column = vbox(self)
        column.addWidget(self.header)
        self._at_chance = WarningLine()
        self._at_chance.setContentsMargins(12, 6, 12, 2)
        column.addWidget(self._at_chance)
        column.addWidget(self._outer_pages, 1)

        self._state.changed.connect(self._follow_state)
        self._refresh()

    @lazy_part
    def accuracy(self) -> PlotCell:
        axis = self._context.actions["whole_axis"]
        cell = PlotCell(tr("Search accuracy @ k"), FigureView(self._context, ACCURACY), axis=axis)
        self._connect_hardest_queries(cell, of_finding=False)
        self._fill_accuracy(cell)
        self._pages.addWidget(cell)
        return cell

    @lazy_part
    def roc(self) -> PlotCell:
        cell = PlotCell(tr("ROC"), FigureView(self._context, ROC))
        finding_box = self._finding_box = QComboBox(cell)
        finding_box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        finding_box.activated.connect(self._set_finding)
        cell.add_beside_title(finding_box)
        set_accessible_name(finding_box, tr("Finding of the ROC curve"))
        self._pages.addWidget(cell)
        self._connect_hardest_queries(cell, of_finding=True)
        self._fill_roc(cell)
        return cell

    @property
    def finding_box(self) -> QComboBox:
        """The list of findings for the ROC curve."""
        _ = self.roc
        return self._finding_box

    @lazy_part
    def calibration(self) -> CalibrationPage:
        page = CalibrationPage(self._context)
        page.show_metric(self._metrics, self._current_metric)
        self._pages.addWidget(page)
        return page

    @lazy_part
    def curve(self) -> LiveCurve:
        curve = LiveCurve(self._context)
        curve.setContentsMargins(0, 4, 0, 4)
        self._fill_curve(curve)
        self._pages.addWidget(curve)
        return curve

    @lazy_part
    def map(self) -> MapPage:
        from semblance.app.evaluation.map_page import MapPage

        page = MapPage(self._context, self._thumbnails)
        self._pages.addWidget(page)
        self.map_built.emit(page)
        return page

    @lazy_part
    def table(self) -> ScoreTable:
        table = ScoreTable(FULL)
        table.chosen.connect(self.choose)
        self._fill_table(table)
        self._pages.addWidget(table)
        return table

    def _connect_hardest_queries(self, cell: PlotCell, *, of_finding: bool) -> None:
        view = cell.view
        view.set_click_action(
            tr("Show this finding's hardest queries") if of_finding else tr("Show the hardest queries")
        )
        view.clicked.connect(lambda: show_hardest_queries(self._context, self._finding if of_finding else ""))

    def choose(self, name: str) -> None:
        """Make ``name`` the current metric and rank by it."""
        before = self._state.metric
        self._state.set_metric(name)
        if self._state.metric is not before:
            search_operations.rank(self._context)

    def show_map(self) -> None:
        """Show the map and move the keyboard to it."""
        self.header.tabs.setCurrentIndex(MAP_TAB)
        self.map.take_focus()

    def score(self) -> None:
        """Evaluate the current metric again on its held-out cases."""
        job = evaluate_again(self._context)
        if job is not None:
            self._scoring = job
            job.ended.connect(self._end_scoring)
        self._update_header()

    def save_plot(self) -> None:
        """Choose a file and save the content of the tab: its plot, all plots, or the table."""
        tab = self.header.tabs.currentIndex()
        if tab == TABLE:
            self._save_table()
            return
        if tab == MAP_TAB:
            self.map.save()
            return
        plots = self._plots(tab)
        if not plots:
            self._context.messages.info(tr("There is no plot to save yet."), tr("Train a metric first."))
            return
        name = "evaluation" if len(plots) > 1 else self._titles()[next(iter(plots))]
        path, screen_theme = ask_plot_file(self, name)
        if path is not None:
            plot_operations.save(
                self._context,
                path,
                plots,
                theme=theme_name() if screen_theme else "print",
                titles=self._titles(),
                note=self._measured_on(),
            )

    def _plots(self, tab: int) -> Mapping[str, Sequence[Curve]]:
        """The curves that ``tab`` shows, by kind of plot."""
        kinds = {
            ACCURACY_TAB: (ACCURACY,),
            ROC_TAB: (ROC,),
            CALIBRATION_TAB: (CALIBRATION,),
            TRAINING_TAB: (TRAINING,),
        }
        chosen_kinds = kinds.get(tab, (ACCURACY, ROC, CALIBRATION, TRAINING))
        current = self._current
        curves: dict[str, Sequence[Curve]] = {
            ACCURACY: scored_metrics.accuracy_curves(self._metrics, current),
            ROC: scored_metrics.roc_curves(self._metrics, current, self._finding),
            CALIBRATION: scored_metrics.calibration_curves(self._metrics, current),
            TRAINING: scored_metrics.training_curves(self._metrics, current),
        }
        return {kind: curves[kind] for kind in chosen_kinds if curves[kind]}

    def _titles(self) -> dict[str, str]:
        roc = tr("ROC, {finding} against the rest", finding=self._finding) if self._finding else tr("ROC")
        return {
            ACCURACY: tr("Search accuracy @ k"),
            ROC: roc,
            CALIBRATION: CALIBRATION_TITLE,
            TRAINING: tr("Training {metric}", metric=self._current),
        }

    def _save_table(self) -> None:
        path, _ = choose_target(self, tr("Save table"), "metrics.csv", tr("CSV, the numbers (*.csv)"))
        if path:
            plot_operations.save_scores(self._context, path, scored_metrics.scores_csv(self._metrics))

    @property
    def _current(self) -> str:
        return self._state.metric.name if self._state.metric is not None else ""

    @property
    def _current_metric(self) -> ScoredMetric | None:
        return next((metric for metric in self._metrics if metric.name == self._current), None)

    def _follow_state(self, change: Change) -> None:
        if change & (Change.CASES | Change.METRIC):
            self._refresh()
        elif change & (Change.TRAINING | Change.EXTRACTION):
            self._update_header()

    def _refresh(self) -> None:
        if self._state.library is not self._snapshot:
            self._snapshot = self._state.library
            self._metrics = scored_metrics.scored_metrics(self._snapshot) if self._snapshot else ()
        self._findings = scored_metrics.roc_findings(self._metrics, self._state.columns.findings)
        if self._finding not in self._findings:
            self._finding = self._findings[0] if self._findings else ""
        self._fill_overview()
        kind = EvaluationPanel
        if (accuracy := kind.accuracy.built(self)) is not None:
            self._fill_accuracy(accuracy)
        if (roc := kind.roc.built(self)) is not None:
            self._fill_roc(roc)
        if (calibration := kind.calibration.built(self)) is not None:
            calibration.show_metric(self._metrics, self._current_metric)
        if (curve := kind.curve.built(self)) is not None:
            self._fill_curve(curve)
        if (table := kind.table.built(self)) is not None:
            self._fill_table(table)
        self._update_header()

    def _fill_overview(self) -> None:
        overview, metrics, current = self.overview, self._metrics, self._current
        brief = scored_metrics.accuracy_curves(metrics, current, max_k=OVERVIEW_K)
        roc = scored_metrics.roc_curves(metrics, current, self._finding)
        self._fill_plot(overview.accuracy, brief, ACCURACY, named=not overview.has_table, short=True)
        self._fill_plot(overview.roc, roc, ROC, short=True)
        up_to_date = [
            metric for metric, _ in scored_metrics.plotted_metrics(metrics, current) if not metric.stale
        ]
        overview.metrics.set_badge(scored_metrics.least_trusted(up_to_date), shown=bool(up_to_date))
        self._fill_table(overview.table)
        self._fill_curve(overview.curve)

    def _fill_accuracy(self, cell: PlotCell) -> None:
        self._fill_plot(cell, scored_metrics.accuracy_curves(self._metrics, self._current), ACCURACY)

    def _fill_roc(self, cell: PlotCell) -> None:
        finding_box, findings = self._finding_box, self._findings
        if findings != [finding_box.itemText(index) for index in range(finding_box.count())]:
            finding_box.clear()
            finding_box.addItems(findings)
        finding_box.setCurrentText(self._finding)
        finding_box.setVisible(len(findings) > 2)
        self._fill_plot(cell, scored_metrics.roc_curves(self._metrics, self._current, self._finding), ROC)
        if finding_box.isVisibleTo(cell):
            cell.set_title(tr("ROC"))

    def _fill_plot(
        self, cell: PlotCell, curves: Sequence[Curve], kind: str, *, named: bool = True, short: bool = False
    ) -> None:
        title = self._titles()[kind]
        weakest = scored_metrics.least_trusted(
            [m for m, _ in scored_metrics.plotted_metrics(self._metrics, self._current)]
        )
        cell.view.set_curves(curves, named=named, title=title, note=self._measured_on())
        cell.set_title(title)
        cell.set_badge(weakest, SHORT_BADGE_TEXTS[weakest] if short else "", shown=bool(curves))

    def _fill_table(self, table: ScoreTable) -> None:
        lines = {
            metric.name: line for metric, line in scored_metrics.plotted_metrics(self._metrics, self._current)
        }
        table.set_metrics(self._metrics, self._current, lines)

    def _fill_curve(self, live: LiveCurve) -> None:
        current = self._current
        curve = next(iter(scored_metrics.training_curves(self._metrics, current)), None)
        text = NO_CURVE
        if current:
            # An unverified metric has none, whatever its learner.
            text = tr("{metric} has no training curve.", metric=current)
        live.set_stored(curve, text)

    def _set_finding(self) -> None:
        self._finding = self._finding_box.currentText()
        self._refresh()

    def _measured_on(self) -> str:
        """What the current metric was measured on, for exported plots."""
        metric = self._current_metric
        if metric is None or metric.scores is None:
            return ""
        scores = metric.scores
        return measured_note(
            scores.n_test, scores.measured_on, stale=metric.stale, n_queries=scores.n_queries
        )

    def _show_tab(self, tab: int) -> None:
        page: QWidget = getattr(self, PAGES[tab])
        self._pages.setCurrentWidget(page)
        self._update_header()

    def _end_scoring(self) -> None:
        self._scoring = None
        self._update_header()

    def _update_header(self) -> None:
        """Update the buttons and the split, and show the next step if there is nothing to show."""
        metric, library = self._current_metric, self._state.library
        can_score = metric is not None and metric.has_held_out_cases and self._state.can_edit
        can_score = can_score and self._scoring is None
        self.score_button.setEnabled(can_score)
        self.evaluate_again_button.setVisible(can_score and metric is not None and metric.stale)
        on_map = self.header.tabs.currentIndex() == MAP_TAB
        self.save_button.setEnabled(on_map or any(m.scores is not None for m in self._metrics))
        self.header.set_subtitle(self._split_text())
        note = tr_name(chance_note(None if metric is None else metric.scores))
        self._at_chance.show_message(note, note)
        run = self._state.training
        if self._metrics or (run is not None and (run.running or run.points)):
            self._outer_pages.setCurrentWidget(self._pages)
            return
        self._outer_pages.setCurrentWidget(self.empty)
        if library is None or not len(library.columns):
            self.empty.show_message(
                tr("Nothing to evaluate yet"), tr("Open a library, or add images to this one.")
            )
        elif work := extraction_message(self._state):
            self.empty.show_message(*work)
        elif not library.feature_sets:
            self.empty.show_message(
                tr("No features yet"),
                tr("Metrics are trained on features. Extract them once, in the background."),
                tr("Extract features…"),
                self.extract_requested.emit,
            )
        else:
            self.empty.show_message(
                tr("No metric yet"),
                tr("Train a metric. Its scores on held-out cases appear here."),
                tr("Train a metric"),
                self.train_requested.emit,
            )

    def _split_text(self) -> str:
        """A text that describes the split of the current metric."""
        metric = self._current_metric
        if metric is not None and not metric.has_held_out_cases:
            return tr("not tested: trained on all cases")
        return split_text(self._state.metric.card) if self._state.metric is not None else ""
