"""Commands on feature sets and metrics: extract, prepare a slider, card, export and import."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QDialog, QWidget

from semblance.app.metrics import emphasis_slider, extract_dialog
from semblance.app.metrics.card_page import MetricCardPage
from semblance.app.metrics.emphasis_slider import PrepareSliderDialog
from semblance.app.metrics.extract_dialog import ExtractDialog
from semblance.app.metrics.metrics_panel import MetricsPanel
from semblance.app.shell import file_dialogs, library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file, choose_target
from semblance.core.language import tr, tr_n, translate
from semblance.core.library.records import unique_name
from semblance.core.reports.card_document import UNVERIFIED
from semblance.core.workflows.features import exchange_features
from semblance.core.workflows.metrics import metric_exchange
from semblance.core.workflows.metrics.metric_exchange import SUFFIX
from semblance.core.workflows.reports import metric_cards

_FEATURE_FILES = tr("Features ({endings})", endings="*.npy *.npz *.parquet *.csv")
_FILES = tr("Metric (*{ending})", ending=SUFFIX)


class MetricCommands(QObject):
    """Commands that open dialogs. ``parent`` is their parent. ``list_requested(name, panel)``: show a list beside the
    images · ``page_requested(name, page)``: show a page on the whole window, with the help page ``name``."""

    list_requested = Signal(str, object)
    page_requested = Signal(str, object)

    def __init__(self, context: Context, parent: QWidget) -> None:
        super().__init__(parent)
        self._context, self._parent = context, parent
        self._manage: MetricsPanel | None = None
        self.commands: dict[str, Callable[[], object]] = {
            "extract": self.extract,
            "measure_places": lambda: extract_dialog.measure_places(context),
            "prepare_slider": self.prepare_slider,
            "metric_card": self.show_card,
            "export_metric": self.export,
            "import_metric": self.import_metric,
            "manage_metrics": self.manage,
            "import_features": self.import_features,
            "export_features": self.export_features,
        }

    def manage(self) -> None:
        """Show the feature sets and metrics, to rename, duplicate and delete them."""
        if self._context.state.library is None:
            return
        if self._manage is None:
            self._manage = MetricsPanel(self._context)
        self.list_requested.emit("metrics", self._manage)

    def export_features(self) -> None:
        """Show the feature sets and metrics with the current set chosen, which can be exported there."""
        self.manage()
        if self._manage is not None:
            self._manage.tree.choose(self._context.state.features, is_metric=False)
            self._manage.export_button.setFocus()

    def show_card(self) -> None:
        """Show the card of the current metric. It can be compared with another one."""
        state = self._context.state
        if state.metric is None or state.library is None:
            return

        def save(name: str, path: Path) -> None:
            self._write(metric_cards.write_metric_card, name, path)

        self.page_requested.emit("trust", MetricCardPage(state.metric, state.library.metrics, save))

    def export(self) -> None:
        """Choose a file and export the current metric into it."""
        metric = self._context.state.metric
        if metric is None:
            return
        path, _ = choose_target(self._parent, tr("Export metric"), f"{metric.name}{SUFFIX}", _FILES)
        if path:
            path = path if path.suffix == SUFFIX else path.with_name(f"{path.name}{SUFFIX}")
            self._write(metric_exchange.export_metric, metric.name, path)

    def _write(self, workflow: Callable[..., Path], name: str, path: Path) -> None:
        """Write a card or file of the metric ``name`` into ``path``."""
        context, library = self._context, self._context.state.location
        if library is not None:
            job = context.jobs.run(tr("Saving {name}", name=path.name), workflow, library, name, path)
            file_dialogs.report_saved_file(context, job, path)

    def import_metric(self) -> None:
        """Choose the file of a metric, import it into the open library and rank by it."""
        context, state, path = self._context, self._context.state, self._context.state.location
        file = choose_file(self._parent, tr("Import metric"), f"{_FILES};;{tr('All files (*)')}")
        if not file or path is None:
            return
        job = context.jobs.run(
            tr("Importing {name}", name=file.name), metric_exchange.import_file, path, file
        )

        def show(imported: tuple[str, bool, tuple[str, ...]]) -> None:
            name, unverified, unknown = imported
            hints = [translate(UNVERIFIED)] if unverified else []
            hints += [translate(one) for one in unknown]
            context.messages.info(tr("{name} is in the library.", name=name), " ".join(hints))

            def rank_by_metric() -> None:
                state.set_metric(name)
                search_operations.rank(context)

            if state.location == path:
                library_operations.renew(context, rank_by_metric)

        context.follow(job, show)

    def import_features(self) -> None:
        """Choose a file of embeddings and add them to the cases of the open library, as a set called like the file."""
        context, state, library = self._context, self._context.state, self._context.state.library
        file = choose_file(self._parent, tr("Import features"), f"{_FEATURE_FILES};;{tr('All files (*)')}")
        if not file or library is None:
            return
        location, name = library.location, unique_name(file.stem, [one.name for one in library.feature_sets])
        job = context.jobs.run(
            tr("Importing {name}", name=file.name),
            exchange_features.import_by_ids_or_paths,
            location,
            file,
            name,
        )

        def show(added: exchange_features.AddedFeatures) -> None:
            details = (
                tr_n(
                    "{n} case has none of them and is not found with them.",
                    "{n} cases have none of them and are not found with them.",
                    added.without_features,
                )
                if added.without_features
                else ""
            )
            done = tr_n(
                "{n} case has the features '{name}' now.",
                "{n} cases have the features '{name}' now.",
                added.cases,
                name=added.features,
            )
            context.messages.info(done, details)
            if state.location == location:
                library_operations.renew(context)

        context.follow(job, show)

    def extract(self) -> None:
        """Choose an extractor and its parameters, and extract features in the background."""
        library = self._context.state.library
        if library is None:
            return
        dialog = ExtractDialog(library, self._parent)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            extract_dialog.extract(self._context, dialog.extractor(), dialog.settings(), dialog.name())
        dialog.deleteLater()

    def prepare_slider(self) -> None:
        """Train the steps of a slider between visual and diagnostic similarity."""
        state = self._context.state
        if state.library is None:
            return
        dialog = PrepareSliderDialog(state.library, state.features, self._parent)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            emphasis_slider.prepare_slider(self._context, dialog.request())
        dialog.deleteLater()
