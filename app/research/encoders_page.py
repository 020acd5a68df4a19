"""The page *Compare encoders*: what each encoder is worth on held-out cases of the open library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton, QStackedWidget

from semblance.app.research.result_page import (
    BADGES,
    ResultPage,
    ResultTable,
    difference_text,
    interval_text,
    p_value_text,
)
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.tab_order import enable_widgets
from semblance.core.csv_cells import csv_text
from semblance.core.errors import SemblanceError
from semblance.core.language import format_number, tr, tr_n, translate
from semblance.core.library.location import LibraryLocation, library_name
from semblance.core.research.result_titles import learner_title, score_title
from semblance.core.workflows.evaluation import compare_encoders
from semblance.core.workflows.evaluation.compare_encoders import SCORE, EncoderRequest

_AUC = "auc"
#: Titles of the encoders that are always compared, by their name in a document.
TITLES = {
    "encoder": tr("Encoder"),
    "encoder, random weights": tr("Encoder, random weights"),
    "gabor": tr("Gabor"),
    "pixels 28 x 28": tr("Pixels 28 × 28"),
}
_CSV = (
    *("encoder", "features", "learner", SCORE, f"{SCORE}_low", f"{SCORE}_high", _AUC, "auc_low", "auc_high"),
    *("difference", "difference_low", "difference_high", "p_value", "measured_on", "patients", "cases"),
)


@dataclass(frozen=True)
class _EncoderRow:
    """One learner with one encoder; only ``name`` before the comparison. ``difference``: to the first encoder."""

    name: str
    n_features: int | None = None
    learner: str = ""
    scores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    difference: Mapping[str, Any] | None = None


class EncodersPage(ResultPage):
    """A table of encoders, filled by *Compare*."""

    title = tr("Compare encoders")
    introduction = tr(
        "All encoders measure the same cases of this library. Each learner is trained on one random half "
        "and tested on the other. The features are not kept."
    )
    help_page = "own_encoder"
    channel = "compare encoders"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._own: list[tuple[Path, Path]] = []
        self._document: Mapping[str, Any] = {}
        #: The library that is shown; nothing at first.
        self._library: LibraryLocation | tuple[()] | None = ()
        self.table = ResultTable(tr("Encoders and their scores"))
        self.table.currentCellChanged.connect(lambda *_: self.update_buttons())
        self.empty = EmptyState()
        self._pages = QStackedWidget()
        self._pages.addWidget(self.table)
        self._pages.addWidget(self.empty)
        self.facts = WrappedLabel(role="second")
        self.problems = WrappedLabel(role="error", selectable=True)
        self._make_buttons()
        self._make_layout()
        self.compare_button.setFocus()

    def _make_buttons(self) -> None:
        self.compare_button = QPushButton(tr("Compare"))
        set_look(self.compare_button, primary=True)
        self.compare_button.clicked.connect(self.compare)
        self.add_button = QPushButton(tr("Add own encoder…"))
        self.add_button.setToolTip(tr("Choose an ONNX file and its settings file (JSON)"))
        self.add_button.clicked.connect(self._choose_own)
        self.remove_button = QPushButton(tr("Remove"))
        self.remove_button.setToolTip(tr("Remove the selected own encoder from the table"))
        self.remove_button.clicked.connect(self._remove_own)
        self.copy_button = QPushButton(tr("Copy as CSV"))
        self.copy_button.clicked.connect(self.copy_csv)
        for button in (self.compare_button, self.add_button, self.remove_button, self.copy_button):
            button.setAutoDefault(False)

    def _make_layout(self) -> None:
        layout = self.content
        layout.addWidget(self._pages, 1)
        layout.addWidget(self.facts)
        layout.addWidget(
            WrappedLabel(
                tr(
                    "How to read it: accuracy @10 is the share of the 10 nearest cases with the query's finding. If "
                    "the interval of a difference includes 0, the difference may be chance. The row with random "
                    "weights shows what the network is worth without its training."
                ),
                "small",
            )
        )
        layout.addWidget(self.problems)
        self.complete(self.compare_button, self.add_button, self.remove_button, self.copy_button)
        # A comparison for another library ends at once.
        self._context.state.on_change(Change.LIBRARY, self, self.load)

    # Commands

    def load(self) -> None:
        """Show the encoders without scores, for another library."""
        if self._library == self._context.state.location:
            return
        self._library = self._context.state.location
        self.cancel()
        self._own, self._document = [], {}
        self._show()

    def add_own(self, model: Path, settings: Path) -> None:
        """Compare the user's own encoder ``model`` too. Its scores are measured with all others."""
        self._own = [one for one in self._own if one[0].stem != model.stem] + [(model, settings)]
        self._document = {}
        self._show()

    def compare(self) -> None:
        """Measure and score all encoders of the table in the background."""
        path = self._context.state.location
        if path is None:
            return
        self._document = {}
        self._show()
        title = tr("Comparing encoders on {name}", name=library_name(path))
        workflow = compare_encoders.compare_encoders
        if job := self.run(title, self.show_document, workflow, self._request()):
            job.failed.connect(self._context.messages.error)

    def copy_csv(self) -> None:
        """Copy the table to the clipboard, with names and numbers as in files."""
        document, source = self._document, self._document["source"]
        rows = [
            (
                *(row.name, row.n_features, row.learner),
                *_numbers(row.scores.get(SCORE)),
                *_numbers(row.scores.get(_AUC)),
                *_difference_numbers(row.difference),
                row.difference["p_value"] if row.difference else None,
                *(document["measured_on"], source["patients"], source["n_cases"]),
            )
            for row in self._rows()
        ]
        QGuiApplication.clipboard().setText(csv_text(_CSV, rows))

    def _request(self) -> EncoderRequest:
        return EncoderRequest(own=tuple(self._own))

    def _choose_own(self) -> None:
        kinds = f"{tr('Encoder')} (*.onnx);;{tr('All files')} (*)"
        model = choose_file(self, tr("Own encoder"), kinds)
        if not model:
            return
        settings: Path | None = model.with_suffix(".json")
        if settings is None or not settings.is_file():
            title = tr("Settings file of the encoder")
            settings = choose_file(self, title, f"{tr('Settings')} (*.json)", begin=str(model.parent))
        if settings:
            self.add_own(model, settings)

    def _selected_own(self) -> tuple[Path, Path] | None:
        row, rows = self.table.currentRow(), self._rows()
        name = rows[row].name if 0 <= row < len(rows) else ""
        return next((one for one in self._own if one[0].stem == name), None)

    def _remove_own(self) -> None:
        chosen = self._selected_own()
        if chosen is not None:
            self._own.remove(chosen)
            self._document = {}
            self._show()

    # Showing

    def show_document(self, document: Mapping[str, Any]) -> None:
        """Show the scores."""
        self._document = document
        self._show()
        if not self.isVisible():
            self._context.messages.info(
                tr("The encoders were compared."), tr("Research > Compare encoders… shows the scores.")
            )

    def show_error(self, error: SemblanceError) -> None:
        """Show why the encoders could not be compared in place of their table."""
        self._show()
        self.empty.show_error(error, tr("The encoders could not be compared."))
        self._pages.setCurrentWidget(self.empty)

    def _rows(self) -> list[_EncoderRow]:
        encoders = {one["name"]: one for one in self._document.get("encoders", ())}
        differences = {(one["b"], one["learner"]): one for one in self._document.get("comparisons", ())}
        rows: list[_EncoderRow] = []
        for contender in self._request().contenders:
            encoder = encoders.get(contender.name, {})
            rows += [
                _EncoderRow(
                    contender.name,
                    encoder["n_features"],
                    result["learner"],
                    result["scores"],
                    differences.get((contender.name, result["learner"])),
                )
                for result in encoder.get("results", ())
            ] or [_EncoderRow(contender.name)]
        return rows

    def _show(self) -> None:
        """Show table, facts and problems."""
        document, rows = self._document, self._rows()
        failed = {one["name"] for one in document.get("failed", ())}
        texts = [
            [
                TITLES.get(row.name, row.name),
                learner_title(row.learner) or (tr("failed") if row.name in failed else "–"),
                "–" if row.n_features is None else format_number(row.n_features, ","),
                interval_text(row.scores.get(SCORE)),
                interval_text(row.scores.get(_AUC)),
                difference_text(*_difference_numbers(row.difference)) if row.difference else "–",
                p_value_text(row.difference["p_value"] if row.difference else None),
            ]
            for row in rows
        ]
        badge = BADGES[document["source"]["patients"]] if document else ""
        self.table.set_rows(
            [
                tr("encoder"),
                tr("learner"),
                tr("features"),
                score_title(SCORE),
                score_title(_AUC),
                tr("difference to the encoder"),
                "p (t)",
            ],
            texts,
            text_columns=2,
            badges=[badge if row.scores else "" for row in rows] if document else None,
            tips={
                2: tr("How many numbers the encoder gives for each image"),
                3: tr("Share of the 10 nearest with the query's finding, 95 % interval"),
                4: tr("Area under the ROC curve, mean over the findings"),
                5: tr("Difference in accuracy @10 to the encoder with the same learner, 95 % interval"),
                6: tr("Corrected resampled t test: splits share cases"),
            },
        )
        self._pages.setCurrentWidget(self.table)
        self.facts.setText(self._facts_text())
        self.facts.setVisible(bool(document))
        problems = self._problem_lines()
        self.problems.setText("\n".join(problems))
        self.problems.setVisible(bool(problems))
        self.update_buttons()

    def _facts_text(self) -> str:
        document = self._document
        if not document:
            return ""
        source = document["source"]
        text = tr(
            "{n:,} cases, {repeats} random halves, seed {seed}, mean and 95 % interval.",
            n=source["n_cases"],
            repeats=document["repeats"],
            seed=document["seed"],
        )
        if source["patients"] != "known":
            text += " " + tr("Patients are not known: images of one patient may be on both sides.")
        return text

    def _problem_lines(self) -> Sequence[str]:
        lines = [
            f"{TITLES.get(one['name'], one['name'])}: {translate(one['reason'])}"
            for one in self._document.get("failed", ())
        ]
        left_out = self._document.get("left_out", ())
        if left_out:
            lines.append(
                tr_n(
                    "{n} case was left out, because an encoder could not measure it: {reason}",
                    "{n} cases were left out, because an encoder could not measure them. The first: {reason}",
                    len(left_out),
                    reason=translate(left_out[0]["reason"]),
                )
            )
        return lines

    def update_buttons(self) -> None:
        enable_widgets(
            {
                self.compare_button: self._context.state.library is not None and not self.running,
                self.add_button: not self.running,
                self.remove_button: not self.running and self._selected_own() is not None,
                self.copy_button: bool(self._document),
            }
        )


def _numbers(score: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """Mean and the ends of its interval."""
    if score is None:
        return None, None, None
    low, high = score["ci95"] or (None, None)
    return score["mean"], low, high


def _difference_numbers(difference: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """The other encoder minus the first with its interval; the document has the first minus the other."""
    if difference is None:
        return None, None, None
    low, high = difference["ci95"]
    # Not a minus sign before the number, or 0 would be negative.
    return 0.0 - difference["difference"], 0.0 - high, 0.0 - low
