"""The feature sets of the open library with the metrics on them: rename, duplicate and delete them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTreeWidget,
    QTreeWidgetItem,
)

from semblance.app.shell import edit_operations
from semblance.app.shell.actions import available
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_target, report_saved_file
from semblance.app.shell.state import Change
from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import dialog_button
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import WrappingRow, vbox
from semblance.app.widgets.panel import Panel
from semblance.core.language import format_number, tr, tr_n, visible
from semblance.core.library.records import unique_name
from semblance.core.workflows.features import exchange_features
from semblance.core.workflows.library import edit_metrics

_COLUMNS = (tr("Name"), tr("Learner or extractor"), tr("Cases"))
_NAME, _HOW, _CASES = range(3)
_ROW_HEIGHT = 28
#: Role of the item's name as it is stored.
_STORED = Qt.ItemDataRole.UserRole


class MetricsPanel(Panel):
    """A tree of feature sets and their metrics, with buttons. Follows the open library."""

    def __init__(self, context: Context) -> None:
        super().__init__(tr("Feature sets and metrics"))
        self._context = context
        self.tree = _MetricTree(self._rename, self.delete)
        self.tree.itemSelectionChanged.connect(self._update_buttons)
        self.rename_button = dialog_button(tr("Rename"), self.tree.edit_current)
        self.duplicate_button = dialog_button(tr("Duplicate"), self.duplicate)
        self.delete_button = dialog_button(tr("Delete"), self.delete)
        self.export_button = dialog_button(tr("Export features…"), self.export)
        self.undo_button = dialog_button(tr("Undo"), partial(edit_operations.undo, context))
        self.note = WrappedLabel(role="second")
        buttons = WrappingRow(
            self.rename_button,
            self.duplicate_button,
            self.delete_button,
            self.export_button,
            self.undo_button,
        )
        layout = vbox(self, spacing=8, margins=(12, 8, 12, 8))
        layout.addLayout(buttons)
        layout.addWidget(self.tree, 1)
        layout.addWidget(self.note)
        what = Change.LIBRARY | Change.CASES | Change.METRIC
        context.state.on_change_while_shown(what, self, self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the feature sets and metrics of the open library."""
        state, chosen = self._context.state, self.tree.chosen()
        library = state.library
        self.tree.blockSignals(True)
        self.tree.clear()
        sets = library.feature_sets if library is not None else ()
        for feature_set in sets:
            if feature_set.part_of:
                # It belongs to another one, with its metrics.
                continue
            names = {one.name for one in sets if feature_set.name in (one.name, one.part_of)}
            item = _item(feature_set.name, feature_set.extractor, format_number(feature_set.cases, ","))
            self.tree.addTopLevelItem(item)
            for metric in library.metrics if library is not None else ():
                if metric.features in names:
                    child = _item(metric.name, metric.learner, format_number(len(metric.training), ","))
                    font = child.font(_NAME)
                    font.setBold(state.metric is not None and state.metric.name == metric.name)
                    child.setFont(_NAME, font)
                    item.addChild(child)
        self.tree.expandAll()
        self.tree.blockSignals(False)
        if chosen is not None:
            self.tree.choose(*chosen)
        self._update_buttons()

    def _update_buttons(self) -> None:
        state, chosen = self._context.state, self.tree.chosen()
        writable = state.can_edit
        for button in (self.rename_button, self.duplicate_button, self.delete_button):
            button.setEnabled(chosen is not None and writable)
        self.export_button.setEnabled(chosen is not None and not chosen[1])
        self.undo_button.setEnabled("edits" in available(state))
        self.tree.set_editable(writable)
        n = self._metrics_on(chosen[0]) if chosen is not None and not chosen[1] else 0
        note = (
            tr_n(
                "Deleting this feature set also deletes the {n} metric on it.",
                "Deleting this feature set also deletes the {n} metrics on it.",
                n,
            )
            if n
            else ""
        )
        self.note.setText(note if writable else state.why_not_edited)

    def _metrics_on(self, feature_set: str) -> int:
        library = self._context.state.library
        if library is None:
            return 0
        names = {one.name for one in library.feature_sets if feature_set in (one.name, one.part_of)}
        return sum(metric.features in names for metric in library.metrics)

    def _edit(
        self, workflow: Callable[..., Any], *arguments: str, then: Callable[[], object] | None = None
    ) -> None:
        edit_operations.edit(self._context, workflow, *arguments, then=then)

    def _rename(self, old: str, is_metric: bool, new: str) -> None:
        state, new = self._context.state, new.strip()
        if not new or new == visible(old):
            self.refresh()
            return
        in_use = state.metric is not None and state.metric.name == old

        def show() -> None:
            if is_metric and in_use:
                state.set_metric(new)
            self.tree.choose(new, is_metric)

        workflow = edit_metrics.rename_metric if is_metric else edit_metrics.rename_features
        job = edit_operations.edit(self._context, workflow, old, new, then=show)
        if job is not None:
            # The name that was refused is not there.
            job.failed.connect(self.refresh)

    def duplicate(self) -> None:
        """Copy the chosen feature set or metric under a new name."""
        library, chosen = self._context.state.library, self.tree.chosen()
        if library is None or chosen is None:
            return
        name, is_metric = chosen
        known = [one.name for one in (library.metrics if is_metric else library.feature_sets)]
        new = unique_name(tr("{name} copy", name=name), known)
        workflow = edit_metrics.duplicate_metric if is_metric else edit_metrics.duplicate_features
        self._edit(workflow, name, new, then=partial(self.tree.choose, new, is_metric))

    def export(self) -> None:
        """Choose a file and write the chosen feature set into it, for other programs."""
        context, chosen = self._context, self.tree.chosen()
        library = context.state.location
        if library is None or chosen is None or chosen[1]:
            return
        kinds = {".parquet": "Parquet (*.parquet)", ".npz": "NumPy (*.npz)", ".csv": "CSV (*.csv)"}
        path, kind = choose_target(
            self, tr("Export features"), f"{chosen[0]}.parquet", ";;".join(kinds.values())
        )
        if path:
            if path.suffix.lower() not in kinds:
                path = path.with_name(
                    path.name + next((one for one in kinds if kinds[one] == kind), ".parquet")
                )
            job = context.jobs.run(
                tr("Saving {name}", name=path.name),
                exchange_features.export_features,
                library,
                chosen[0],
                path,
            )
            report_saved_file(context, job, path)

    def delete(self) -> None:
        """Delete the chosen feature set or metric."""
        chosen = self.tree.chosen()
        if chosen is not None and self.delete_button.isEnabled():
            name, is_metric = chosen
            self._edit(edit_metrics.delete_metric if is_metric else edit_metrics.delete_features, name)


class _MetricTree(QTreeWidget):
    """F2 or a double click renames, Delete deletes."""

    def __init__(self, rename: Callable[[str, bool, str], object], delete: Callable[[], object]) -> None:
        super().__init__()
        self._rename, self._delete = rename, delete
        self.setAccessibleName(tr("Feature sets and metrics"))
        self.setHeaderLabels(list(_COLUMNS))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setExpandsOnDoubleClick(False)
        header = self.header()
        header.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(_HOW, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(_CASES, QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(False)
        self.itemChanged.connect(self._follow_edit)

    def chosen(self) -> tuple[str, bool] | None:
        """The name of what is selected, and whether it is a metric."""
        items = self.selectedItems()
        return (items[0].data(_NAME, _STORED), items[0].parent() is not None) if items else None

    def choose(self, name: str, is_metric: bool) -> None:
        """Select the feature set or metric called ``name``."""
        for place in range(self.topLevelItemCount()):
            top = self.topLevelItem(place)
            if top is None:
                continue
            items = [top.child(n) for n in range(top.childCount())] if is_metric else [top]
            for item in items:
                if item is not None and item.data(_NAME, _STORED) == name:
                    self.setCurrentItem(item)

    def set_editable(self, on: bool) -> None:
        """Whether names can be changed."""
        triggers = QAbstractItemView.EditTrigger
        self.setEditTriggers(
            triggers.DoubleClicked | triggers.EditKeyPressed if on else triggers.NoEditTriggers
        )

    def edit_current(self) -> None:
        """Let the name of what is selected be typed."""
        if items := self.selectedItems():
            self.setFocus(Qt.FocusReason.OtherFocusReason)
            self.editItem(items[0], _NAME)

    def edit(self, index: Any, *rest: Any) -> Any:
        # Only names are changed.
        if rest and index.column() != _NAME:
            return False
        return super().edit(index, *rest)

    def _follow_edit(self, item: QTreeWidgetItem, column: int) -> None:
        if column == _NAME:
            self._rename(item.data(_NAME, _STORED), item.parent() is not None, item.text(_NAME))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete and self.state() != QAbstractItemView.State.EditingState:
            self._delete()
        else:
            super().keyPressEvent(event)


def _item(name: str, how: str, cases: str) -> QTreeWidgetItem:
    item = QTreeWidgetItem([visible(name), how, cases])
    item.setData(_NAME, _STORED, name)
    item.setSizeHint(_NAME, QSize(0, theme().px(_ROW_HEIGHT)))
    item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
    item.setTextAlignment(_CASES, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    return item
