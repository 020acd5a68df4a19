"""The form of an experiment: cases, learners, parameters, protocols and workers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from semblance.app.shell.file_dialogs import choose_files, choose_folder
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.buttons import Segmented
from semblance.app.widgets.fields import NoWheelComboBox
from semblance.app.widgets.layouts import STRETCH, fill, hbox, vbox
from semblance.app.widgets.parameter_form import ParameterForm
from semblance.app.widgets.section_header import SectionHeader
from semblance.core.engine import MAX_WORKERS, default_workers
from semblance.core.errors import BadArguments
from semblance.core.evaluation.data_sources import NAMES, PREFIX
from semblance.core.evaluation.protocols.registry import protocols
from semblance.core.language import tr, tr_name
from semblance.core.metrics.registry import grouped_learners, plugin_learners
from semblance.core.parameters import Parameter
from semblance.core.plugins import origin_text
from semblance.core.research.spec import EACH, NESTED, ExperimentSpec
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot
from semblance.core.workflows.research.experiment_options import ExperimentOptions, experiment_spec

#: The learners and the protocol that are ticked first.
LEARNERS, PROTOCOL = ("euclidean", "bdm_v"), "full"
#: Number of rows that are visible without scrolling.
_VISIBLE_ROWS = {"cases": 4, "learners": 7, "protocols": 4}
_TABLE, _LIBRARY = "table", "library"
#: Ticked as long as there is no library.
_EXAMPLE = f"{_TABLE}:{PREFIX}wine"
_ROLE = Qt.ItemDataRole.UserRole


class CheckList(QListWidget):
    """A list of check boxes. ``ticked_changed`` is emitted when one is ticked or unticked."""

    ticked_changed = Signal()

    def __init__(self, name: str, visible_rows: int) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self._visible_rows = visible_rows
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.itemChanged.connect(lambda _item: self.ticked_changed.emit())
        theme_signals.changed.connect(self._fit)
        self._fit()

    def add(
        self, key: str, text: str, tip: str = "", *, ticked: bool = False, row: int | None = None
    ) -> None:
        """Add a row at the end, or as number ``row``."""
        item = QListWidgetItem(text)
        item.setData(_ROLE, key)
        item.setToolTip(tip or text)
        item.setFlags(
            Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        )
        item.setCheckState(Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)
        self.insertItem(self.count() if row is None else row, item)

    def keys(self) -> list[str]:
        return [str(self.item(row).data(_ROLE)) for row in range(self.count())]

    def ticked(self) -> tuple[str, ...]:
        """Keys of the ticked rows, in their order."""
        return tuple(
            str(item.data(_ROLE))
            for item in (self.item(row) for row in range(self.count()))
            if item.checkState() == Qt.CheckState.Checked
        )

    def tick(self, keys: Sequence[str]) -> None:
        """Tick these rows and untick all others."""
        for row in range(self.count()):
            item = self.item(row)
            is_ticked = str(item.data(_ROLE)) in keys
            item.setCheckState(Qt.CheckState.Checked if is_ticked else Qt.CheckState.Unchecked)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), theme().px(24) * self._visible_rows + 4)

    def _fit(self) -> None:
        self.setFixedHeight(theme().px(24) * self._visible_rows + 4)


class ExperimentForm(QWidget):
    """``changed`` is emitted for every change. :meth:`spec` raises an error if the form is not valid."""

    changed = Signal()

    NUMBERS: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "repeats",
            10,
            tr("Random splits, the same for every learner."),
            label=tr("Repeats"),
            minimum=1,
            maximum=100,
        ),
        Parameter(
            "seed",
            0,
            tr("The same seed gives the same splits."),
            label=tr("Seed"),
            minimum=0,
            maximum=999_999,
        ),
        Parameter(
            "max_cases",
            0,
            tr("A random part of the cases, findings in proportion; 0 takes all."),
            label=tr("Most cases"),
            minimum=0,
            maximum=10_000_000,
        ),
        Parameter(
            "workers",
            default_workers(),
            tr("Processes of this machine that measure at once."),
            label=tr("Workers"),
            minimum=1,
            maximum=MAX_WORKERS,
        ),
    )

    def __init__(self, library: LibrarySnapshot | None, features: str, scheduler: str = "") -> None:
        super().__init__()
        self.cases = CheckList(tr("Cases to measure on"), _VISIBLE_ROWS["cases"])
        self.learners = CheckList(tr("Learners to measure"), _VISIBLE_ROWS["learners"])
        self.protocols = CheckList(tr("Protocols to measure by"), _VISIBLE_ROWS["protocols"])
        self._fill(library, features)
        self.add_table = QPushButton(tr("Add table…"))
        self.add_library = QPushButton(tr("Add library…"))
        self.transfer = QCheckBox(tr("Train on the first, test on the others"))
        self.transfer.setToolTip(
            tr(
                "Semblance trains on all cases of the first ticked line and tests on all cases of each "
                "other line"
            )
        )
        self.unrelated = QCheckBox(tr("Equal patient names are different patients"))
        self.unrelated.setToolTip(tr("Otherwise a patient on both sides is an error"))
        self.grid = QPlainTextEdit()
        self.grid.setAccessibleName(tr("Parameters, a line each"))
        self.grid.setPlaceholderText("bdm_v.rounds=50|100")
        self.grid.setTabChangesFocus(True)
        self.select = Segmented(((NESTED, tr("chosen in training")), (EACH, tr("each measured"))))
        self.select.setAccessibleName(tr("Several values of a parameter are"))
        self.steps = NoWheelComboBox()
        self.steps.setEditable(True)
        self.steps.addItems(["", "standardise", "standardise,pca:20", "standardise,pca:200", "none"])
        self.steps.setAccessibleName(tr("Steps fitted on the training data"))
        line = self.steps.lineEdit()
        assert line is not None
        line.setPlaceholderText(tr("default for the cases"))
        self.numbers = ParameterForm(self.NUMBERS)
        self.scheduler = QLineEdit(scheduler)
        self.scheduler.setPlaceholderText(tr("none (this machine)"))
        self.scheduler.setAccessibleName(tr("Address of a Dask scheduler"))
        self.scheduler.setToolTip(
            tr("For example tcp://host:8786. Its workers measure the cells, and the cases are sent there.")
        )
        self._make_layout()
        self._connect()
        self._fit()
        self._update_transfer()

    def add_feature_sets(self, library: LibrarySnapshot | None, features: str) -> None:
        """Add the feature sets of a library before the other cases. ``features`` is ticked, instead of the example."""
        if library is None:
            return
        known_keys = set(self.cases.keys())
        keys = {f"{_LIBRARY}:{library.location}:{one.name}": one.name for one in library.feature_sets}
        new = [(key, name) for key, name in keys.items() if key not in known_keys]
        if self.cases.ticked() == (_EXAMPLE,) and features in [name for _, name in new]:
            self.cases.tick(())
        for row, (key, name) in enumerate(new):
            self.cases.add(key, f"{library.name}: {name}", ticked=name == features, row=row)
        self.cases.scrollToTop()

    def _fill(self, library: LibrarySnapshot | None, features: str) -> None:
        self.add_feature_sets(library, features)
        for name in NAMES:
            text = tr("built-in table {name}", name=name.replace("_", " "))
            key = f"{_TABLE}:{PREFIX}{name}"
            self.cases.add(key, text, ticked=library is None and key == _EXAMPLE)
        for group in (*grouped_learners(), plugin_learners()):
            for learner in group:
                self.learners.add(
                    learner.name,
                    tr_name(learner.title),
                    "\n".join(
                        filter(
                            None,
                            (tr_name(learner.summary), learner.paper, origin_text("learner", learner.name)),
                        )
                    ),
                )
        self.learners.tick(LEARNERS)
        for protocol in sorted(protocols(), key=lambda protocol: protocol.name != PROTOCOL):
            about = (tr_name(protocol.summary), origin_text("protocol", protocol.name))
            self.protocols.add(protocol.name, tr_name(protocol.title), "\n".join(filter(None, about)))
        self.protocols.tick([PROTOCOL])

    def _make_layout(self) -> None:
        column = vbox(self, spacing=8, margins=(0, 4, 12, 8))
        column.addWidget(SectionHeader(tr("Cases")))
        column.addWidget(self.cases)
        add_buttons = fill(hbox(spacing=8), self.add_table, self.add_library, STRETCH)
        column.addLayout(add_buttons)
        column.addWidget(self.transfer)
        column.addWidget(self.unrelated)
        column.addWidget(SectionHeader(tr("Learners")))
        column.addWidget(self.learners)
        column.addWidget(SectionHeader(tr("Parameters")))
        column.addWidget(self.grid)
        label = QLabel(tr("Several values (50|100) are"))
        set_look(label, role="second")
        column.addWidget(label)
        column.addWidget(self.select)
        column.addWidget(SectionHeader(tr("Protocols")))
        column.addWidget(self.protocols)
        form = QFormLayout()
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(12)
        form.addRow(tr("Steps"), self.steps)
        form.addRow("Dask", self.scheduler)
        column.addWidget(self.numbers)
        column.addLayout(form)
        column.addStretch(1)

    def _connect(self) -> None:
        for check_list in (self.cases, self.learners, self.protocols):
            check_list.ticked_changed.connect(self.changed)
        self.cases.ticked_changed.connect(self._update_transfer)
        self.transfer.toggled.connect(lambda _on: self._update_transfer())
        for box in (self.transfer, self.unrelated):
            box.toggled.connect(lambda _on: self.changed.emit())
        self.grid.textChanged.connect(self.changed)
        self.select.changed.connect(lambda _key: self.changed.emit())
        self.steps.currentTextChanged.connect(lambda _text: self.changed.emit())
        self.numbers.valuesChanged.connect(self.changed)
        self.scheduler.textChanged.connect(lambda _text: self.changed.emit())
        self.add_table.clicked.connect(self._choose_table)
        self.add_library.clicked.connect(self._choose_library)
        theme_signals.changed.connect(self._fit)

    def _fit(self) -> None:
        self.grid.setFixedHeight(theme().px(52))

    def _update_transfer(self) -> None:
        self.transfer.setEnabled(len(self.cases.ticked()) > 1)
        self.unrelated.setVisible(self.transfer.isChecked() and self.transfer.isEnabled())

    def _choose_table(self) -> None:
        for path in choose_files(self, tr("Tables to measure on"), f"{tr('Tables')} (*.csv *.parquet)"):
            self.add_case(str(path))

    def _choose_library(self) -> None:
        if folder := choose_folder(self, tr("A library to measure on (a folder ending in .semblance)")):
            self.add_case(str(folder))

    def add_case(self, path: str) -> None:
        """Add a table, or a library with one feature set, and tick it."""
        is_folder = Path(path).is_dir()
        key = f"{_LIBRARY}:{path}" if is_folder else f"{_TABLE}:{path}"
        if key not in self.cases.keys():  # noqa: SIM118 - no mapping
            self.cases.add(key, Path(path).name, path, ticked=True)
            self.cases.scrollToBottom()
            self.changed.emit()

    @property
    def workers(self) -> int:
        value = self.numbers.values().get("workers")
        return value if isinstance(value, int) else default_workers()

    def spec(self, name: str) -> ExperimentSpec:
        """The experiment that the form describes.

        Raises:
            BadArguments: The form is not valid. The message says why.
        """
        if not self.numbers.is_valid():
            raise BadArguments(tr("A number is not allowed."), tr("Correct the field with the red border."))
        numbers = self.numbers.values()
        ticked = [key.partition(":")[::2] for key in self.cases.ticked()]
        tables = tuple(path for kind, path in ticked if kind == _TABLE)
        libraries = tuple(path for kind, path in ticked if kind == _LIBRARY)
        first: str | None = None
        others: tuple[str, ...] = ()
        if self.transfer.isEnabled() and self.transfer.isChecked():
            first, *rest = (path for _, path in ticked)
            tables, libraries, others = (), (), tuple(rest)
        repeats, seed, max_cases = (numbers[key] for key in ("repeats", "seed", "max_cases"))
        assert isinstance(repeats, int) and isinstance(seed, int) and isinstance(max_cases, int)
        return experiment_spec(
            ExperimentOptions(
                tables=tables,
                libraries=libraries,
                train_on=first,
                test_on=others,
                unrelated=self.unrelated.isChecked(),
                learners=self.learners.ticked(),
                settings=tuple(line.strip() for line in self.grid.toPlainText().splitlines() if line.strip()),
                select=self.select.value(),
                protocols=self.protocols.ticked(),
                steps=(self.steps.currentText().strip(),),
                max_cases=max_cases or None,
                repeats=repeats,
                seed=seed,
                name=name,
            )
        )
