"""The Train panel: learners, their parameters, the split and the training curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QFormLayout,
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QWidget,
)

from semblance.app.metrics.train_ticked_learner import train_ticked_learner
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.lazy_part import lazy_part
from semblance.app.shell.state import Change, WindowState
from semblance.app.shell.theme import plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.fields import NoWheelComboBox
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import STRETCH, PanelScrollArea, fill, hbox, vbox
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.parameter_form import ParameterForm
from semblance.app.widgets.section_header import SectionHeader
from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.fusion import Fusion
from semblance.core.language import as_lazy, tr, tr_n, tr_name
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import unique_name
from semblance.core.metrics.declarations import LearnerDeclaration
from semblance.core.metrics.registry import declared_learner, grouped_learners, learners, plugin_learners
from semblance.core.metrics.steps.sequence import chosen_steps, default_steps, parse_steps, steps_text
from semblance.core.parameters import Parameter, Value
from semblance.core.plugins import origin_text
from semblance.core.workflows.features.fuse_features import can_be_fused
from semblance.core.workflows.metrics.train_request import HELD_OUT, TrainRequest
from semblance.core.workflows.metrics.training_data import check_accepts_judgements

if TYPE_CHECKING:
    from semblance.app.widgets.plots.live_curve import LiveCurve
    from semblance.core.workflows.library.library_snapshot import FeatureSetFacts

#: The learner that is ticked first, and the one that is ticked if there are too few findings.
DEFAULT_LEARNER, UNSUPERVISED_LEARNER = "bdm_v", "euclidean"
#: Parameters of the split.
SPLIT = (
    Parameter(
        "held_out",
        round(100 * HELD_OUT),
        tr("Share of the cases held out for the test, in percent. Whole patients are held out if known."),
        label=tr("Held out, %"),
        minimum=5,
        maximum=90,
    ),
    Parameter(
        "seed",
        0,
        tr("The same seed gives the same split and the same metric."),
        label=tr("Seed"),
        minimum=0,
        maximum=999_999,
    ),
)
_DEFAULTS = {parameter.name: parameter.default for parameter in SPLIT}
#: Smallest height of the training curve, px.
CURVE_HEIGHT = 150
#: Steps in the list. Any other can be typed.
STEPS = ("standardise", "standardise,pca:50", "standardise,pca:200", "none")


class TrainPanel(Panel):
    """Choose learners, set their parameters, and train them in the background.

    ``slider_requested``: prepare the slider between visual and diagnostic similarity.
    """

    slider_requested = Signal()

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(tr("Train"), parent)
        self._context, self._state = context, context.state
        #: Those of the papers and of plug-ins, and of the others those that were shown or ticked: there are many.
        self.learner_rows = _LearnerRows(self, self._update_learners)
        #: The parameters of learners that were ticked, by name.
        self.forms: dict[str, ParameterForm] = {}
        #: The library and the metric's name of each running training.
        self._running: dict[Job, tuple[LibraryLocation | None, str]] = {}
        #: The learner that was ticked for the open library, until others are ticked.
        self._default_learner = self._suitable_learner()
        self._make_data_fields()
        self._make_buttons()
        self._make_layout()
        self.set_learners([self._default_learner])
        self._update_features()
        self._state.changed.connect(self._follow_state)

    @lazy_part
    def curve(self) -> LiveCurve:
        from semblance.app.widgets.plots.live_curve import LiveCurve

        curve = LiveCurve(self._context, inset=0)
        self._bottom_layout.insertWidget(1, curve)
        theme_signals.changed.connect(self._resize_curve)
        curve.setMinimumHeight(theme().px(CURVE_HEIGHT))
        return curve

    def _resize_curve(self) -> None:
        self.curve.setMinimumHeight(theme().px(CURVE_HEIGHT))

    def _make_data_fields(self) -> None:
        self._features = NoWheelComboBox()
        self._features.setAccessibleName(tr("Feature set"))
        self._features.currentTextChanged.connect(lambda _text: self._follow_features())
        self.further_sets = FurtherSetsField()
        self.further_sets.changed.connect(self._choose_default_steps)
        self.steps_box = NoWheelComboBox()
        self.steps_box.setEditable(True)
        self.steps_box.addItems(STEPS)
        self.steps_box.setAccessibleName(tr("Steps fitted on the training data"))
        self.steps_box.setToolTip(tr("Fitted on the training data only and stored in the metric"))
        self.steps_box.currentTextChanged.connect(lambda _text: self._update_buttons())
        self.split_form = ParameterForm(SPLIT)
        self.split_form.valuesChanged.connect(self._update_split_label)
        self.split_form.valuesChanged.connect(self._update_buttons)
        self.name_field = QLineEdit()
        self.name_field.setAccessibleName(tr("Name of the new metric"))
        self.name_field.setPlaceholderText(tr("named after the learner"))
        self.sources = TrainingDataSection(self._state)
        self.sources.changed.connect(self._update_buttons)
        self.split_label = WrappedLabel(role="small")

    def _make_buttons(self) -> None:
        self.problem_label = WrappedLabel(role="error")
        self.problem_label.hide()
        self.train_button = QPushButton(tr("Train"))
        set_look(self.train_button, primary=True)
        self.train_button.clicked.connect(self.train)
        self.slider_button = QPushButton(tr("Prepare slider…"))
        self.slider_button.setToolTip(
            tr(
                "Train BDM+V at six positions between visual and diagnostic similarity for the slider in "
                "the top bar"
            )
        )
        self.slider_button.clicked.connect(self.slider_requested)
        self.stop_button = QPushButton(tr("Stop and keep best"))
        self.stop_button.clicked.connect(self.stop)
        self.cancel_button = QPushButton(tr("Cancel"))
        self.cancel_button.clicked.connect(self.cancel)

    def _make_layout(self) -> None:
        # From the outside in: each widget is styled again when one around it gets a parent.
        content, bottom_bar = QWidget(), QFrame()
        fill(vbox(self), (PanelScrollArea(content, tr("Train")), 1), bottom_bar)
        content_layout = vbox(content, spacing=8, margins=(12, 8, 12, 8))
        papers = grouped_learners()[0]
        content_layout.addWidget(SectionHeader(tr("Learners")))
        for paper, group in groupby(papers, key=lambda learner: learner.paper):
            content_layout.addWidget(ElidedLabel(paper, role="third"))
            for learner in group:
                content_layout.addWidget(self.learner_rows[learner.name])
        if added := plugin_learners():
            content_layout.addWidget(SectionHeader(tr("Plug-ins")))
            for learner in added:
                content_layout.addWidget(self.learner_rows[learner.name])
        self.compared_header = SectionHeader(tr("To compare with"), collapsible=True)
        self.compared_header.expanded.connect(self._show_compared_learners)
        self.compared_header.set_expanded(False)
        content_layout.addWidget(self.compared_header)
        self._compared_layout = vbox(spacing=8)
        content_layout.addLayout(self._compared_layout)
        self._forms_layout = vbox(spacing=8)
        fill(content_layout, self._forms_layout, self.sources, SectionHeader(tr("Data")))
        self._data = data = QFormLayout()
        data.setContentsMargins(0, 0, 0, 0)
        data.setHorizontalSpacing(12)
        data.setVerticalSpacing(6)
        for label, field in (
            (tr("Features"), self._features),
            (tr("Together with"), self.further_sets),
            (tr("Steps"), self.steps_box),
            (tr("Name"), self.name_field),
        ):
            data.addRow(label, field)
        fill(content_layout, data, self.split_form, self.split_label, STRETCH)
        set_look(bottom_bar, role="bar")
        buttons = hbox(spacing=8)
        stop_buttons = hbox(spacing=8)
        for row, pair in (
            (stop_buttons, (self.stop_button, self.cancel_button)),
            (buttons, (self.train_button, self.slider_button)),
        ):
            for button in pair:
                row.addWidget(button)
            row.addStretch(1)
        bottom = fill(
            vbox(bottom_bar, spacing=8, margins=(12, 8, 12, 8)), self.problem_label, stop_buttons, buttons
        )
        self._bottom_layout = bottom

    def _show_compared_learners(self, is_expanded: bool) -> None:
        """Show all learners to compare with, or only the ticked ones."""
        place = 0
        for learner in grouped_learners()[1]:
            if is_expanded or learner.name in self.learner_rows:
                row = self.learner_rows[learner.name]
                self._compared_layout.insertWidget(place, row)
                row.setVisible(is_expanded or row.box.isChecked())
                place += 1

    def features(self) -> str:
        """The chosen feature set, or several as on the command line, in the order of the library."""
        library, chosen = self._state.library, self._features.currentText()
        ticked = self.further_sets.ticked
        if library is None or not ticked:
            return chosen
        return ",".join(one.name for one in library.feature_sets if one.name in (chosen, *ticked))

    def chosen_learners(self) -> list[str]:
        """Names of the ticked learners."""
        rows = self.learner_rows
        return [one.name for one in learners() if one.name in rows and rows[one.name].box.isChecked()]

    def _learner_classes(self) -> list[type[LearnerDeclaration]]:
        return [self.learner_rows[name].learner for name in self.chosen_learners()]

    def set_learners(self, names: Sequence[str]) -> None:
        """Tick these learners and untick all others."""
        for name in (*names, *self.learner_rows):
            box = self.learner_rows[name].box
            # Each tick would check all that was entered.
            with QSignalBlocker(box):
                box.setChecked(name in names)
        self._update_learners()

    def train(self) -> None:
        """Train every ticked learner. They are trained one after another."""
        if not self._check() or self._state.library is None:
            return
        running_names = [name for path, name in self._running.values() if path == self._state.location]
        used_names = [metric.name for metric in self._state.library.metrics] + running_names
        for name in self.chosen_learners():
            learner = self.learner_rows[name].learner
            metric = unique_name(self.name_field.text().strip() or tr_name(learner.title), used_names)
            used_names.append(metric)
            settings = self.sources.settings_in_use(learner, dict(self._settings_of(name)))
            request = TrainRequest(
                name,
                metric,
                self.features() or None,
                self.steps_box.currentText().strip(),
                settings=settings,
                seed=self._split_value("seed"),
                held_out=self._split_value("held_out") / 100,
                judgements=self.sources.ledger,
                from_findings=self.sources.findings.isChecked(),
            )
            job = train_ticked_learner(self._context, request)
            if job is not None:
                self._running[job] = (self._state.location, metric)
                job.ended.connect(lambda job=job: self._remove_job(job))
        self._update_buttons()

    def stop(self) -> None:
        """Stop the running trainings and keep the best metric of each."""
        for job in list(self._running):
            job.stop()

    def cancel(self) -> None:
        """Cancel the running trainings."""
        for job in list(self._running):
            job.cancel()

    def _remove_job(self, job: Job) -> None:
        del self._running[job]
        self._update_buttons()

    def _split_value(self, name: str) -> int:
        value = self.split_form.values().get(name) if self.split_form.is_valid() else None
        return value if isinstance(value, int) else int(str(_DEFAULTS[name]))

    def _settings_of(self, name: str) -> Mapping[str, Value]:
        return self.forms[name].values() if name in self.forms else {}

    def _update_learners(self) -> None:
        chosen_learners = self.chosen_learners()
        self._show_compared_learners(self.compared_header.is_expanded())
        for name in chosen_learners:
            self._make_form(name)
        for name, form in self.forms.items():
            form.setVisible(name in chosen_learners)
        self._update_buttons()

    def _make_form(self, name: str) -> None:
        """Add the form with the parameters of a learner, in the order of the learners."""
        learner = self.learner_rows[name].learner
        if name in self.forms or not learner.parameters:
            return
        form = ParameterForm(learner.parameters, title=tr_name(learner.title))
        form.valuesChanged.connect(self._update_buttons)
        order = [one.name for one in learners()]
        index = sum(order.index(other) < order.index(name) for other in self.forms)
        self.forms[name] = form
        self._forms_layout.insertWidget(index, form)

    def _choose_default_learner(self) -> None:
        """Tick the learner that fits the findings of the open library, unless others were ticked."""
        if self._state.library is not None and self.chosen_learners() == [self._default_learner]:
            self._default_learner = self._suitable_learner()
            self.set_learners([self._default_learner])

    def _suitable_learner(self) -> str:
        """The first learner to try with the findings of the open library, if there is one."""
        few = self._state.library is not None and (self._state.columns.finding_counts[:-1] > 1).sum() < 2
        return UNSUPERVISED_LEARNER if few else DEFAULT_LEARNER

    def _follow_features(self) -> None:
        self._offer_further_sets()
        self._choose_default_steps()

    def _offer_further_sets(self) -> None:
        """Offer the sets that can be used beside the chosen one."""
        library, chosen = self._state.library, self._features.currentText()
        sets = library.feature_sets if library is not None else ()
        names = [one.name for one in sets if can_be_fused(one.extractor) and "," not in one.name]
        self.further_sets.set_names([name for name in names if name != chosen] if chosen in names else [])
        self._data.setRowVisible(self.further_sets, bool(self.further_sets.names))

    def _choose_default_steps(self) -> None:
        extractor = self._extractor()
        if extractor:
            labelled = bool(self._state.columns.findings)
            suitable = default_steps(extractor, self._settings(), labelled=labelled)
            self.steps_box.setCurrentText(steps_text(suitable))
            self._update_split_label()

    def _extractor(self) -> str:
        """The extractor of the chosen features; "" without any."""
        if self.further_sets.ticked:
            return Fusion.name
        chosen = self._feature_set()
        return chosen.extractor if chosen is not None else ""

    def _settings(self) -> Mapping[str, Any]:
        """The settings that the chosen features were extracted or imported with."""
        chosen = None if self.further_sets.ticked else self._feature_set()
        return chosen.settings if chosen is not None else {}

    def _feature_set(self) -> FeatureSetFacts | None:
        library, chosen = self._state.library, self._features.currentText()
        sets = library.feature_sets if library is not None else ()
        return next((one for one in sets if one.name == chosen), None)

    def _follow_state(self, change: Change) -> None:
        if change & (Change.LIBRARY | Change.CASES):
            # The cases of an import come with the changes after that of the library.
            self._choose_default_learner()
        if change & (Change.CASES | Change.METRIC):
            self._update_features()
        elif change & (Change.TRAINING | Change.RANKING):
            self._update_buttons()

    def _update_features(self) -> None:
        library = self._state.library
        names = [s.name for s in library.feature_sets] if library else []
        if names != [self._features.itemText(index) for index in range(self._features.count())]:
            self._features.clear()
            self._features.addItems(names)
        if self._state.features in names:
            self._features.setCurrentText(self._state.features)
        self._offer_further_sets()
        self._update_split_label()
        self._update_buttons()

    def _update_split_label(self) -> None:
        columns = self._state.columns
        labelled = int(columns.finding_counts[:-1].sum()) if len(columns) else 0
        held_out = round(labelled * self._split_value("held_out") / 100)
        unit = tr("by patient") if columns.patients_known else tr("by case, patients unknown")
        self.split_label.setText(
            tr(
                "about {training:,} training, {held_out:,} held out {how}",
                training=labelled - held_out,
                held_out=held_out,
                how=unit,
            )
            if labelled
            else ""
        )

    def _update_buttons(self) -> None:
        settings = [
            {} if name in self.forms and not self.forms[name].is_valid() else dict(self._settings_of(name))
            for name in self.chosen_learners()
        ]
        held_out = self._split_value("held_out") / 100
        self.sources.update_counts(self._learner_classes(), settings, held_out)
        chosen_learners, running = self.chosen_learners(), bool(self._running)
        missing = self._missing_condition()
        can_train = self._check() and bool(chosen_learners)
        self.train_button.setEnabled(can_train and not missing)
        self.train_button.setToolTip(plain_tip(missing or self.problem_label.text()))
        self.train_button.setText(
            tr("Train") if len(chosen_learners) < 2 else tr("Train {n} metrics", n=len(chosen_learners))
        )
        self.slider_button.setVisible(not running and DEFAULT_LEARNER in chosen_learners)
        self.slider_button.setEnabled(not missing)
        self.stop_button.setVisible(running)
        self.cancel_button.setVisible(running)
        training = self._state.training is not None
        if training or TrainPanel.curve.built(self) is not None:
            self.curve.setVisible(training)

    def _missing_condition(self) -> str:
        """Why nothing can be trained in the open library, whatever is chosen here, or an empty text."""
        library = self._state.library
        if library is None:
            return tr("Open a library first.")
        if not self._state.can_edit:
            return self._state.why_not_edited
        if not library.feature_sets:
            return tr("The cases have no features yet. Choose Research > Metric > Extract features….")
        return ""

    def _check_steps(self, text: str) -> None:
        extractor = self._extractor()
        if extractor:
            chosen_steps(text, extractor)
        else:
            parse_steps(text)

    def _check(self) -> bool:
        """Return whether the ticked learners can be trained, and show the problem if not."""
        problem = ""
        try:
            self._check_steps(self.steps_box.currentText())
        except BadArguments as error:
            problem = str(error)
        set_look(self.steps_box, error=bool(problem))
        if not problem and not self.chosen_learners() and self._state.library is not None:
            problem = tr("No learner is ticked. Tick one above, or one of those to compare with.")
        if not problem and self._state.library is not None:
            problem = self.sources.problem(self._learner_classes())
        self.problem_label.setText(problem)
        self.problem_label.setVisible(bool(problem))
        forms = [self.split_form, *(self.forms[n] for n in self.chosen_learners() if n in self.forms)]
        return not problem and all(form.is_valid() for form in forms)


class _LearnerRows(dict[str, "_LearnerRow"]):
    """The row of each learner, by name, made when it is asked for. ``toggled``: called when one is ticked or
    unticked."""

    def __init__(self, parent: QWidget, toggled: Callable[[], None]) -> None:
        super().__init__()
        self._parent, self._toggled = parent, toggled

    def __missing__(self, name: str) -> _LearnerRow:
        row = self[name] = _LearnerRow(declared_learner(name), self._parent)
        row.box.toggled.connect(self._toggled)
        return row


class _LearnerRow(QWidget):
    """A check box for a learner, with a summary below."""

    def __init__(self, learner: type[LearnerDeclaration], parent: QWidget) -> None:
        super().__init__(parent)
        self.learner = learner
        self.box = QCheckBox(tr_name(learner.title))
        about = (tr_name(learner.summary), learner.paper, origin_text("learner", learner.name))
        self.box.setToolTip(plain_tip("\n".join(filter(None, about))))
        summary = WrappedLabel(as_lazy(learner.summary), "small")
        summary.setContentsMargins(22, 0, 0, 0)
        fill(vbox(self, spacing=1), self.box, summary)


VISUAL = "visual_neighbours"


class TrainingDataSection(QWidget):
    """Check boxes of three sources. ``changed`` is emitted when one is ticked or unticked."""

    changed = Signal()

    def __init__(self, state: WindowState) -> None:
        super().__init__()
        self._state = state
        self.findings = QCheckBox(tr("findings"))
        self.visual = QCheckBox(tr("visual neighbours"))
        self.judgements = QCheckBox(tr("marks"))
        self._counts = {box: QLabel() for box in (self.findings, self.visual, self.judgements)}
        tips = (
            tr("Cases of one finding are similar, of two dissimilar"),
            tr("The nearest neighbours of each case are similar, whatever their finding"),
            tr("The marks of this search. They count more than findings of the same pair"),
        )
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(0, 1)
        for row, ((box, count), tip) in enumerate(zip(self._counts.items(), tips, strict=True)):
            box.setToolTip(tip)
            set_look(count, role="second")
            grid.addWidget(box, row, 0)
            grid.addWidget(count, row, 1)
        self.findings.setChecked(True)
        self.visual.setChecked(True)
        fill(vbox(self, spacing=6), SectionHeader(tr("Learn from")), grid)
        for box in self._counts:
            box.toggled.connect(self.changed)

    def update_counts(
        self,
        learners: Sequence[type[LearnerDeclaration]],
        settings: Sequence[dict[str, Value]],
        held_out: float,
    ) -> None:
        """Show the numbers of pairs for ``learners`` and their ``settings``."""
        counts = self._state.columns.finding_counts[:-1]
        training = np.round(counts * (1.0 - held_out)).astype(np.int64)
        cases = int(training.sum())
        self._show_count(self.findings, cases * (cases - 1) // 2, is_estimate=True)
        neighbours = [
            int(str(values.get(VISUAL, next(p.default for p in learner.parameters if p.name == VISUAL))))
            for learner, values in zip(learners, settings, strict=True)
            if any(parameter.name == VISUAL for parameter in learner.parameters)
        ]
        self.visual.setVisible(bool(neighbours))
        self._counts[self.visual].setVisible(bool(neighbours))
        self._show_count(self.visual, max(neighbours, default=0) * cases, is_estimate=True)
        judgements = self._judgement_count()
        if not judgements and self.judgements.isChecked():
            self.judgements.setChecked(False)
        self.judgements.setEnabled(bool(judgements))
        self._show_count(self.judgements, judgements)
        if not judgements:
            self._counts[self.judgements].setText(tr("none in this search"))

    @property
    def ledger(self) -> str:
        """The ledger whose judgements are learnt from, or an empty text."""
        return self._state.ledger if self.judgements.isChecked() else ""

    def settings_in_use(
        self, learner: type[LearnerDeclaration], settings: dict[str, Value]
    ) -> dict[str, Value]:
        """``settings``, without visual neighbours if those are not ticked."""
        has_visual = any(parameter.name == VISUAL for parameter in learner.parameters)
        return settings if self.visual.isChecked() or not has_visual else {**settings, VISUAL: 0}

    def problem(self, learners: Sequence[type[LearnerDeclaration]]) -> str:
        """Why the learners cannot be trained with the ticked sources, or an empty text."""
        if self.judgements.isChecked():
            for learner in learners:
                try:
                    check_accepts_judgements(learner)
                except BadInput as error:
                    return str(error)
        elif not self.findings.isChecked() and any(learner.accepts for learner in learners):
            return tr("Nothing to learn from is ticked. Tick findings, marks or both.")
        return ""

    def _judgement_count(self) -> int:
        """The number of different pairs and comparisons that were not undone."""
        ranked_search = self._state.ranked_search
        if ranked_search is None:
            return 0
        judgements_in_force = (entry.judgement for entry in ranked_search.entries if entry.undone is None)
        return len(
            {(judgement.query_key, judgement.case, judgement.other) for judgement in judgements_in_force}
        )

    def _show_count(self, box: QCheckBox, pairs: int, *, is_estimate: bool = False) -> None:
        text = tr_n("{n} pair", "{n} pairs", pairs)
        if is_estimate:
            text = tr("about {pairs}", pairs=text)
        self._counts[box].setText(text)
        box.setAccessibleName(tr("Learn from {source}, {pairs}", source=box.text(), pairs=text))


class FurtherSetsField(QWidget):
    """A check box for each feature set that can be used beside the chosen one. ``changed``: others are ticked."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("Further feature sets"))
        self._boxes: dict[str, QCheckBox] = {}
        self._column = vbox(self, spacing=2)

    @property
    def names(self) -> list[str]:
        """The sets that are offered."""
        return list(self._boxes)

    @property
    def ticked(self) -> list[str]:
        """The sets that are ticked."""
        return [name for name, box in self._boxes.items() if box.isChecked()]

    def set_names(self, names: Sequence[str]) -> None:
        """Offer these sets. Those that were ticked stay so."""
        if list(names) == self.names:
            return
        ticked = self.ticked
        for box in self._boxes.values():
            self._column.removeWidget(box)
            box.hide()
            box.deleteLater()
        self._boxes = {}
        for name in names:
            box = QCheckBox(name)
            box.setAccessibleName(tr("Use {name} too", name=name))
            box.setToolTip(
                tr("Each set has its own steps. Before the learner weighs them, all count the same")
            )
            box.setChecked(name in ticked)
            box.toggled.connect(self.changed)
            self._boxes[name] = box
            self._column.addWidget(box)
        if ticked != self.ticked:
            self.changed.emit()
