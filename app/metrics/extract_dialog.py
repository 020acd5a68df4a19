"""The dialog before an extraction: the extractor, its parameters and the name of the feature set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_layout, form
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.parameter_form import ParameterForm
from semblance.core.features.registry import extractor_class
from semblance.core.language import tr, tr_n, tr_name, translate
from semblance.core.library.location import LibraryLocation
from semblance.core.parameters import Value
from semblance.core.plugins import origin_text
from semblance.core.workflows.features import extract_features, measure_new_cases
from semblance.core.workflows.features.extract_features import ExtractResult
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot


class ExtractDialog(Dialog):
    """Shows the suitable extractors. Read :meth:`extractor`, :meth:`settings` and :meth:`name` after accepting."""

    def __init__(self, library: LibrarySnapshot, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Extract features"))
        self.setMinimumWidth(theme().px(480))
        self._extractors = [extractor_class(fit.name) for fit in library.extractors if fit.is_suitable]
        self._library = library
        self._extractor_box = QComboBox()
        for extractor in self._extractors:
            self._extractor_box.addItem(tr_name(extractor.title), extractor.name)
        self._summary = WrappedLabel(role="second")
        self._others_label = WrappedLabel(_unsuitable_extractors(library), "small")
        if not self._others_label.text():
            self._others_label.hide()
        self._name = QLineEdit()
        self._count_label = WrappedLabel(role="small")
        self._form = form()
        self._form.addRow(tr("Extractor"), self._extractor_box)
        self._form.addRow("", self._summary)
        self._form.addRow("", self._others_label)
        self._form.addRow(tr("Name"), self._name)
        self._form.addRow("", self._count_label)
        self._parameters: ParameterForm | None = None
        self._parameters_layout = QVBoxLayout()
        self.extract_button = accept_button(tr("Extract"))
        self.extract_button.clicked.connect(self.accept)
        column = dialog_layout(self)
        column.addLayout(self._form)
        column.addLayout(self._parameters_layout)
        column.addLayout(action_row(self, self.extract_button))
        self._extractor_box.currentIndexChanged.connect(self._show_extractor)
        self._name.textChanged.connect(self._update)
        self._show_extractor()
        self._select_unfinished_extraction()

    def extractor(self) -> str:
        return str(self._extractor_box.currentData())

    def settings(self) -> Mapping[str, Value]:
        return self._parameters.values() if self._parameters is not None else {}

    def name(self) -> str:
        return self._name.text().strip() or self.extractor()

    def _show_extractor(self) -> None:
        index = self._extractor_box.currentIndex()
        if index < 0:
            self._summary.setText(tr("No extractor fits the cases of this library."))
            self.extract_button.setEnabled(False)
            return
        extractor = self._extractors[index]
        about = (tr_name(extractor.summary), origin_text("extractor", extractor.name))
        self._summary.setText("\n".join(filter(None, about)))
        self._name.setText(extractor.name)
        if self._parameters is not None:
            self._parameters_layout.removeWidget(self._parameters)
            self._parameters.hide()
            self._parameters.deleteLater()
            self._parameters = None
        if extractor.parameters:
            self._parameters = ParameterForm(extractor.parameters)
            self._parameters.valuesChanged.connect(self._update)
            self._parameters_layout.addWidget(self._parameters)
        self._update()

    def _select_unfinished_extraction(self) -> None:
        total = len(self._library.columns)
        for feature_set in self._library.feature_sets:
            index = self._extractor_box.findData(feature_set.extractor)
            measured = feature_set.cases - feature_set.incomplete + feature_set.failed
            if measured < total and index >= 0 and not feature_set.part_of:
                self._extractor_box.setCurrentIndex(index)
                self._name.setText(feature_set.name)
                return

    def _update(self) -> None:
        if not self._extractors:
            return
        total = len(self._library.columns)
        self.extract_button.setEnabled(self._parameters is None or self._parameters.is_valid())
        existing = next((s for s in self._library.feature_sets if s.name == self.name()), None)
        if existing is None:
            self._count_label.setText(
                tr_n(
                    "Features of {n} case will be extracted.",
                    "Features of {n} cases will be extracted.",
                    total,
                )
            )
        elif existing.cases == total and existing.incomplete:
            self._count_label.setText(
                tr_n(
                    "{n} case has these features, but not its places. It will be measured again, once.",
                    "{n} cases have these features, but not their places. They will be measured again, once.",
                    existing.incomplete,
                )
            )
        elif existing.cases < total:
            self._count_label.setText(
                tr(
                    "{n:,} of {total:,} cases have these features. Extraction continues with the others.",
                    n=existing.cases,
                    total=total,
                )
            )
        else:
            self._count_label.setText(tr("All cases have these features already."))
            self.extract_button.setEnabled(False)


def _unsuitable_extractors(library: LibrarySnapshot) -> str:
    """Text that lists the extractors that are not offered, by reason."""
    reasons: dict[str, list[str]] = {}
    for fit in library.extractors:
        if not fit.is_suitable:
            reasons.setdefault(translate(fit.reason), []).append(tr_name(extractor_class(fit.name).title))
    others = "; ".join(f"{', '.join(titles)} ({reason})" for reason, titles in reasons.items())
    return tr("Not offered: {text}.", text=others) if others and len(library.columns) else ""


def extract(
    context: Context,
    extractor: str,
    settings: Mapping[str, Value] | None = None,
    name: str | None = None,
    then: Callable[[], None] | None = None,
) -> Job | None:
    """Extract the features of all cases of the open library in a job."""
    path = context.state.location
    if path is None:
        return None
    job = context.jobs.run(
        tr("Extracting {name}", name=extractor),
        extract_features.extract_features,
        path,
        extractor,
        settings=settings,
        name=name,
        channel=f"extract {path}",
    )

    def show(result: ExtractResult) -> None:
        if context.state.location == path:
            context.state.set_features(result.features)
        if result.failed:
            context.messages.warning(
                tr(
                    "Semblance could not extract {name} features of {failed:,} cases: {reason}",
                    failed=len(result.failed),
                    name=extractor,
                    reason=result.failed[0]["reason"],
                ),
                tr("The other {cases:,} cases have features.", cases=result.cases),
            )
        else:
            context.messages.info(
                tr_n(
                    "{n} case has {name} features.",
                    "{n} cases have {name} features.",
                    result.cases,
                    name=extractor,
                ),
                _left_out(result),
            )

        def update_search() -> None:
            metric = context.state.metric
            if metric is not None and metric.features == result.features:
                # Cases without features could not be ranked before.
                search_operations.rank(context)
            if then is not None:
                then()

        library_operations.renew(context, update_search)

    context.state.set_extracting(tr_name(extractor_class(extractor).title))
    # A second extraction cancels the first, so set the name after that.
    job.ended.connect(lambda: context.state.set_extracting(""))
    context.follow(job, show)

    def report_cancelled() -> None:
        if context.state.location != path:
            return
        library_operations.renew(context)
        if any(one.function == extraction for one in context.jobs.active):
            # Another extraction took its place.
            return
        context.messages.info(
            tr("The extraction of {name} features was cancelled.", name=name or extractor),
            tr("The cases that are measured stay measured and can be searched. The others are left out."),
            [(tr("Resume"), partial(_resume, context, path, extractor, settings, name, then))],
        )

    extraction = job.function
    # Later, because an extraction that takes the place of this one is not active yet.
    job.cancelled.connect(lambda: QTimer.singleShot(0, context.state, report_cancelled))
    return job


def measure_places(context: Context) -> Job | None:
    """Describe the places of the images of the open library, and search again if a region is the query."""
    path = context.state.location
    if path is None:
        return None
    context.messages.close(search_operations.PLACES)
    job = context.jobs.run(
        tr("Measuring places"), measure_new_cases.measure_places, path, channel=f"extract {path}"
    )

    def show(result: ExtractResult) -> None:
        hint = ""
        if result.failed:
            hint = tr_n(
                "{n} case could not be read: {reason}",
                "{n} cases could not be read, the first because: {reason}",
                len(result.failed),
                reason=result.failed[0]["reason"],
            )
        message = context.messages.warning if result.failed else context.messages.info
        message(tr("A region is now found inside the images of this library."), hint, library=path)

        def update_search() -> None:
            if context.state.query is not None and context.state.query.region is not None:
                search_operations.rank(context)

        if context.state.location == path:
            library_operations.renew(context, update_search)

    def report_cancelled() -> None:
        if context.state.location == path:
            library_operations.renew(context)
            context.messages.info(
                tr("Measuring places was cancelled."),
                tr("A region is found inside the images that are measured. The others are left out."),
                [(tr("Resume"), partial(measure_places, context))],
            )

    job.cancelled.connect(lambda: QTimer.singleShot(0, context.state, report_cancelled))
    return context.follow(job, show)


def _left_out(result: ExtractResult) -> str:
    """The clinical columns that are not used, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in result.left_out:
        reasons.setdefault(translate(one["reason"]), []).append(one["column"])
    columns = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in reasons.items())
    return tr("Columns not used: {columns}.", columns=columns) if columns else ""


def _resume(
    context: Context,
    path: LibraryLocation,
    extractor: str,
    settings: Mapping[str, Value] | None,
    name: str | None,
    then: Callable[[], None] | None,
) -> None:
    """Extract what a cancelled extraction left out, if its library is still open."""
    if context.state.location == path:
        extract(context, extractor, settings, name, then)
