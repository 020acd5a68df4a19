"""The Train panel: learners, their parameters, the split, and the curve as it grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QFormLayout,
    QFrame,
    QLineEdit,
    QPushButton,
    QWidget,
)

from semblance.app.metrics import train_metric
from semblance.app.metrics.training_data_section import TrainingDataSection
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.lazy import lazy_part
from semblance.app.shell.state import Change
from semblance.app.shell.theme import plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.no_wheel import NoWheelComboBox
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.parameter_form import ParameterForm
from semblance.app.widgets.scroll_area import PanelScrollArea
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.errors import BadArguments
from semblance.core.language import as_lazy, tr, tr_name
from semblance.core.library.records import unique_name
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.registry import grouped_learners, learners
from semblance.core.metrics.steps.extractor_steps import chosen_steps, default_steps
from semblance.core.metrics.steps.sequence import parse_steps, steps_text
from semblance.core.parameters import Parameter, Value
from semblance.core.workflows.metrics.train_request import HELD_OUT, TrainRequest

if TYPE_CHECKING:
    from semblance.app.widgets.plots.live_curve import LiveCurve

#: The learner ticked at first; and where there are too few findings to learn from.
USUAL, NEEDING_NONE = "bdm_v", "euclidean"
#: How the cases are divided.
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
#: Steps offered by name; any other list can be typed.
#: The least height of the curve of a training.
CURVE = 150
STEPS = ("standardise", "standardise,pca:50", "standardise,pca:200", "none")


class TrainPanel(Panel):
    """Choose learners, set what they need, and train them in the background.

    ``slider_requested``: prepare the steps between visual and diagnostic likeness.
    """

    slider_requested = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__(tr("Train"))
        self._context, self._state = context, context.state
        self._choices = {learner.name: _LearnerLine(learner) for learner in learners()}
        #: The parameters of learners that were ticked, by name.
        self._forms: dict[str, ParameterForm] = {}
        #: The library and the name of the metric of each training under way.
        self._running: dict[Job, tuple[Path | None, str]] = {}
        self._make_data_fields()
        self._make_foot()
        self._lay_out()
        for line in self._choices.values():
            line.box.toggled.connect(self._learners_chosen)
        self._choices[USUAL].box.setChecked(True)
        self._state.changed.connect(self._follow_state)
        self._learners_chosen()
        self._renew()

    @lazy_part
    def curve(self) -> LiveCurve:
        from semblance.app.widgets.plots.live_curve import LiveCurve

        made = LiveCurve(self._context, inset=0)
        self._foot.insertWidget(1, made)
        theme_signals.changed.connect(self._fit_curve)
        made.setMinimumHeight(theme().px(CURVE))
        return made

    def _fit_curve(self) -> None:
        self.curve.setMinimumHeight(theme().px(CURVE))

    def _make_data_fields(self) -> None:
        self._features = NoWheelComboBox()
        self._features.setAccessibleName(tr("Feature set"))
        self._features.currentTextChanged.connect(self._features_chosen)
        self._steps = NoWheelComboBox()
        self._steps.setEditable(True)
        self._steps.addItems(STEPS)
        self._steps.setAccessibleName(tr("Steps fitted on the training data"))
        self._steps.setToolTip(tr("Fitted on the training data only and stored in the metric"))
        self._steps.currentTextChanged.connect(lambda _text: self._tell_buttons())
        self._split_form = ParameterForm(SPLIT)
        self._split_form.valuesChanged.connect(self._tell_split)
        self._split_form.valuesChanged.connect(self._tell_buttons)
        self._name = QLineEdit()
        self._name.setAccessibleName(tr("Name of the new metric"))
        self._name.setPlaceholderText(tr("named after the learner"))
        self.sources = TrainingDataSection(self._state)
        self.sources.changed.connect(self._tell_buttons)
        self._split = WrappedLabel(role="small")

    def _make_foot(self) -> None:
        self._problem = WrappedLabel(role="error")
        self._problem.hide()
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

    def _lay_out(self) -> None:
        inner = QWidget()
        body = vbox(inner, spacing=8, margins=(12, 8, 12, 8))
        papers, others = grouped_learners()
        body.addWidget(SectionHeader(tr("Learners")))
        for paper, group in groupby(papers, key=lambda learner: learner.paper):
            body.addWidget(ElidedLabel(paper, role="third"))
            for learner in group:
                body.addWidget(self._choices[learner.name])
        self.others = SectionHeader(tr("To compare with"), foldable=True)
        self.others.unfolded.connect(self._unfold)
        self.others.set_open(False)
        body.addWidget(self.others)
        for learner in others:
            body.addWidget(self._choices[learner.name])
        self._unfold(False)
        self._form_places = vbox(spacing=8)
        body.addLayout(self._form_places)
        body.addWidget(self.sources)
        body.addWidget(SectionHeader(tr("Data")))
        data = QFormLayout()
        data.setContentsMargins(0, 0, 0, 0)
        data.setHorizontalSpacing(12)
        data.setVerticalSpacing(6)
        for label, field in (
            (tr("Features"), self._features),
            (tr("Steps"), self._steps),
            (tr("Name"), self._name),
        ):
            data.addRow(label, field)
        body.addLayout(data)
        body.addWidget(self._split_form)
        body.addWidget(self._split)
        body.addStretch(1)
        foot = QFrame()
        set_look(foot, role="bar")
        buttons = hbox(spacing=8)
        ending = hbox(spacing=8)
        for row, pair in (
            (ending, (self.stop_button, self.cancel_button)),
            (buttons, (self.train_button, self.slider_button)),
        ):
            for button in pair:
                row.addWidget(button)
            row.addStretch(1)
        below = vbox(foot, spacing=8, margins=(12, 8, 12, 8))
        below.addWidget(self._problem)
        below.addLayout(ending)
        below.addLayout(buttons)
        self._foot = below
        column = vbox(self)
        column.addWidget(PanelScrollArea(inner), 1)
        column.addWidget(foot)

    def _unfold(self, opened: bool) -> None:
        """Show the learners of comparison, or only those of them that are ticked."""
        for learner in grouped_learners()[1]:
            line = self._choices[learner.name]
            line.setVisible(opened or line.box.isChecked())

    def chosen(self) -> list[str]:
        """Names of the ticked learners."""
        return [name for name, line in self._choices.items() if line.box.isChecked()]

    def _chosen_learners(self) -> list[type[Learner]]:
        return [self._choices[name].learner for name in self.chosen()]

    def set_learners(self, names: Sequence[str]) -> None:
        """Tick these learners and no other."""
        for name, line in self._choices.items():
            line.box.setChecked(name in names)

    def train(self) -> None:
        """Train every chosen learner; several queue behind each other."""
        if not self._check() or self._state.library is None:
            return
        under_way = [name for path, name in self._running.values() if path == self._state.path]
        taken = [metric.name for metric in self._state.library.metrics] + under_way
        for name in self.chosen():
            learner = self._choices[name].learner
            metric = unique_name(self._name.text().strip() or tr_name(learner.title), taken)
            taken.append(metric)
            settings = self.sources.without_looks(learner, dict(self._values(name)))
            request = TrainRequest(
                name,
                metric,
                self._features.currentText() or None,
                self._steps.currentText().strip(),
                settings=settings,
                seed=self._split_value("seed"),
                held_out=self._split_value("held_out") / 100,
                judgements=self.sources.ledger,
                from_findings=self.sources.findings.isChecked(),
            )
            rounds = settings.get("rounds")
            job = train_metric.train(
                self._context, request, metric, rounds if isinstance(rounds, int) else None
            )
            if job is not None:
                self._running[job] = (self._state.path, metric)
                job.ended.connect(lambda job=job: self._ended(job))
        self._tell_buttons()

    def stop(self) -> None:
        """End the trainings and keep the best each has so far."""
        for job in list(self._running):
            job.stop()

    def cancel(self) -> None:
        """End the trainings and keep nothing of them."""
        for job in list(self._running):
            job.cancel()

    def _ended(self, job: Job) -> None:
        del self._running[job]
        self._tell_buttons()

    def _split_value(self, name: str) -> int:
        value = self._split_form.values().get(name) if self._split_form.is_valid() else None
        return value if isinstance(value, int) else int(str(_DEFAULTS[name]))

    def _values(self, name: str) -> Mapping[str, Value]:
        return self._forms[name].values() if name in self._forms else {}

    def _learners_chosen(self) -> None:
        chosen = self.chosen()
        self._unfold(self.others.is_open())
        for name in chosen:
            self._make_form(name)
        for name, form in self._forms.items():
            form.setVisible(name in chosen)
        self._tell_buttons()

    def _make_form(self, name: str) -> None:
        """The parameters of a learner, in the order of the learners."""
        learner = self._choices[name].learner
        if name in self._forms or not learner.parameters:
            return
        form = ParameterForm(learner.parameters, title=tr_name(learner.title))
        form.valuesChanged.connect(self._tell_buttons)
        order = list(self._choices)
        place = sum(order.index(other) < order.index(name) for other in self._forms)
        self._forms[name] = form
        self._form_places.insertWidget(place, form)

    def _choose_usual(self) -> None:
        """Tick the learner that fits the library now open, unless others were chosen."""
        if self._state.library is not None and self.chosen() in ([USUAL], [NEEDING_NONE]):
            counts = self._state.columns.finding_counts[:-1]
            self.set_learners([USUAL if (counts > 1).sum() > 1 else NEEDING_NONE])

    def _features_chosen(self, name: str) -> None:
        library = self._state.library
        found = next((s for s in library.feature_sets if s.name == name), None) if library else None
        if found is not None:
            labelled = bool(self._state.columns.findings)
            self._steps.setCurrentText(steps_text(default_steps(found.extractor, labelled=labelled)))
            self._tell_split()

    def _follow_state(self, change: Change) -> None:
        if change & Change.LIBRARY:
            self._choose_usual()
        if change & (Change.CASES | Change.METRIC):
            self._renew()
        elif change & (Change.TRAINING | Change.RANKING):
            self._tell_buttons()

    def _renew(self) -> None:
        library = self._state.library
        names = [s.name for s in library.feature_sets] if library else []
        if names != [self._features.itemText(place) for place in range(self._features.count())]:
            self._features.clear()
            self._features.addItems(names)
        if self._state.features in names:
            self._features.setCurrentText(self._state.features)
        self._tell_split()
        self._tell_buttons()

    def _tell_split(self) -> None:
        columns = self._state.columns
        labelled = int(columns.finding_counts[:-1].sum()) if len(columns) else 0
        held_out = round(labelled * self._split_value("held_out") / 100)
        how = tr("by patient") if columns.patients_known else tr("by case, patients unknown")
        self._split.setText(
            tr(
                "about {training:,} training, {held_out:,} held out {how}",
                training=labelled - held_out,
                held_out=held_out,
                how=how,
            )
            if labelled
            else ""
        )

    def _tell_buttons(self) -> None:
        settings = [
            {} if name in self._forms and not self._forms[name].is_valid() else dict(self._values(name))
            for name in self.chosen()
        ]
        held_out = self._split_value("held_out") / 100
        self.sources.tell(self._chosen_learners(), settings, held_out)
        chosen, running = self.chosen(), bool(self._running)
        library = self._state.library
        ready = library is not None and library.writable and bool(library.feature_sets)
        self.train_button.setEnabled(self._check() and bool(chosen) and ready)
        self.train_button.setText(tr("Train") if len(chosen) < 2 else tr("Train {n} metrics", n=len(chosen)))
        self.slider_button.setVisible(not running and USUAL in chosen)
        self.slider_button.setEnabled(ready)
        self.stop_button.setVisible(running)
        self.cancel_button.setVisible(running)
        training = self._state.training is not None
        if training or TrainPanel.curve.built(self) is not None:
            self.curve.setVisible(training)

    def _check_steps(self, text: str) -> None:
        library = self._state.library
        features = self._features.currentText()
        found = next((s for s in library.feature_sets if s.name == features), None) if library else None
        if found is None:
            parse_steps(text)
        else:
            chosen_steps(text, found.extractor)

    def _check(self) -> bool:
        """Whether everything chosen can be trained; says what cannot."""
        problem = ""
        try:
            self._check_steps(self._steps.currentText())
        except BadArguments as error:
            problem = str(error)
        set_look(self._steps, error=bool(problem))
        if not problem and not self.chosen() and self._state.library is not None:
            problem = tr("No learner is ticked. Tick one above, or one of those to compare with.")
        if not problem and self._state.library is not None:
            problem = self.sources.problem(self._chosen_learners())
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        forms = [self._split_form, *(self._forms[n] for n in self.chosen() if n in self._forms)]
        return not problem and all(form.is_valid() for form in forms)


class _LearnerLine(QWidget):
    """A learner to tick, with when to use it."""

    def __init__(self, learner: type[Learner]) -> None:
        super().__init__()
        self.learner = learner
        self.box = QCheckBox(tr_name(learner.title))
        self.box.setToolTip(plain_tip(f"{tr_name(learner.summary)}\n{learner.paper}".strip()))
        told = WrappedLabel(as_lazy(learner.summary), "small")
        told.setContentsMargins(22, 0, 0, 0)
        column = vbox(self, spacing=1)
        column.addWidget(self.box)
        column.addWidget(told)
