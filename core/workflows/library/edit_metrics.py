"""Rename, duplicate and delete feature sets and metrics; each is an edit that can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import PART_OF, FeatureSet, checked_name, unique_name
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.edit_cases import EditInProgress, EditResult, EditTransaction
from semblance.core.workflows.library.edit_kinds import EditKind

if TYPE_CHECKING:
    from semblance.core.library.feature_sets import FeatureSets


def rename_metric(
    library: LibraryLocation, old: str, new: str, *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Give the metric ``old`` the name ``new``; saved searches with it find it by its new name.

    Raises:
        BadArguments: no metric ``old``, there is one called ``new``, or it cannot be called so.
    """
    from semblance.core.library.library import CURRENT_METRIC
    from semblance.core.library.schema import metrics

    new = checked_name(new, tr_lazy("A metric"))
    transaction = EditTransaction(library, EditKind.RENAME_METRIC, {"old": old, "new": new}, dry_run=dry_run)
    with transaction.edit(outdates=False) as running:
        record = running.library.metric(old)
        _refuse_known([one.name for one in running.library.metrics()], new)
        running.recorder.update(metrics, {record.id: {"name": new}})
        if running.library.selected_metric == old:
            running.recorder.set_value(CURRENT_METRIC, new)
        _rename_in_searches(running, old, new)
    return transaction.result


def duplicate_metric(
    library: LibraryLocation, old: str, new: str, *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Make a copy of the metric ``old``, with its card and scores, called ``new``.

    Raises:
        BadArguments: no metric ``old``, there is one called ``new``, or it cannot be called so.
        SemblanceError: the library cannot be written to, or the metric's file is lost.
    """
    from semblance.core.library.schema import metrics

    new = checked_name(new, tr_lazy("A metric"))
    transaction = EditTransaction(
        library, EditKind.DUPLICATE_METRIC, {"old": old, "new": new}, dry_run=dry_run
    )
    with transaction.edit(outdates=False) as running:
        record = running.library.metric(old)
        _refuse_known([one.name for one in running.library.metrics()], new)
        row = _row(running, metrics, record.id)
        file = running.library.new_metric_file()
        if not dry_run:
            with running.library.catalogue.errors():
                running.library.files.copy(
                    running.recorder.connection, f"metrics/{record.file.name}", f"metrics/{file.name}"
                )
        number = 1 + max(one.id for one in running.library.metrics())
        running.recorder.insert(
            metrics,
            [
                row
                | {"id": number, "name": new, "file": file.name, "created": running.library.catalogue.now()}
            ],
        )
    return transaction.result


def delete_metric(
    library: LibraryLocation, name: str, *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Delete a metric; its file is kept, so that this can be undone, until deleted files are forgotten.

    Raises:
        BadArguments: no such metric.
    """
    from semblance.core.library.schema import metrics

    transaction = EditTransaction(library, EditKind.DELETE_METRIC, {"name": name}, dry_run=dry_run)
    with transaction.edit(outdates=False) as running:
        record = running.library.metric(name)
        running.recorder.delete(metrics, metrics.c.id == record.id)
    return transaction.result


def rename_features(
    library: LibraryLocation, old: str, new: str, *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Give the feature set ``old`` the name ``new``; its metrics stay on it. What its pass described besides follows.

    Raises:
        BadArguments: no set ``old`` of its own, there is one called ``new``, or it cannot be called so.
    """
    from semblance.core.library.schema import feature_sets

    new = checked_name(new, tr_lazy("A feature set"))
    transaction = EditTransaction(
        library, EditKind.RENAME_FEATURES, {"old": old, "new": new}, dry_run=dry_run
    )
    with transaction.edit(outdates=False) as running:
        features = running.library.features
        feature_set = _own_set(features, old)
        _refuse_known([one.name for one in features.every()], new)
        running.recorder.update(feature_sets, {feature_set.id: {"name": new}})
        taken = [new, *(one.name for one in features.every())]
        running.recorder.update(
            feature_sets,
            {
                one.id: {"name": unique_name(f"{new} {one.part}", taken)}
                for one in features.parts(feature_set)
            },
        )
    return transaction.result


def duplicate_features(
    library: LibraryLocation, old: str, new: str, *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Make a copy of the feature set ``old`` with all its values, called ``new``, without its metrics. What its pass
    described besides is copied too.

    Raises:
        BadArguments: no set ``old`` of its own, there is one called ``new``, or it cannot be called so.
        SemblanceError: the library cannot be written to, or its disk is full.
    """
    from semblance.core.library.schema import feature_chunks, feature_failures, feature_sets

    new = checked_name(new, tr_lazy("A feature set"))
    transaction = EditTransaction(
        library, EditKind.DUPLICATE_FEATURES, {"old": old, "new": new}, dry_run=dry_run
    )
    with transaction.edit(outdates=False) as running:
        features, recorder = running.library.features, running.recorder
        feature_set = _own_set(features, old)
        taken = [one.name for one in features.every()]
        _refuse_known(taken, new)
        created = running.library.catalogue.now()
        whole = features.free_number(recorder.connection)
        for number, one in enumerate((feature_set, *features.parts(feature_set)), whole):
            row = _row(running, feature_sets, one.id) | {"id": number, "name": new, "created": created}
            if one.part:
                row["name"] = unique_name(f"{new} {one.part}", taken)
                row["settings"] = {**one.settings, PART_OF: whole}
            taken.append(row["name"])
            recorder.insert(feature_sets, [row])
            for table in (feature_chunks, feature_failures):
                found = recorder.connection.execute(table.select().where(table.c.feature_set == one.id))
                recorder.insert(table, [dict(r._mapping) | {"feature_set": number} for r in found.all()])
            if not dry_run:
                with running.library.catalogue.errors():
                    running.library.files.copy(
                        recorder.connection, features.store_name(one), f"features/{number}.zarr"
                    )
    return transaction.result


def delete_features(
    library: LibraryLocation, name: str, *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Delete a feature set, what its pass described besides, and the metrics on them; ``changed`` counts the metrics.

    The files are kept, so that this can be undone, until deleted files are forgotten.

    Raises:
        BadArguments: no such feature set of its own.
    """
    from semblance.core.library.schema import metrics

    transaction = EditTransaction(library, EditKind.DELETE_FEATURES, {"name": name}, dry_run=dry_run)
    with transaction.edit(outdates=False) as running:
        feature_set = _own_set(running.library.features, name)
        for one in (feature_set, *running.library.features.parts(feature_set)):
            running.changed += len(running.recorder.delete(metrics, metrics.c.feature_set == one.id))
            running.recorder.delete_feature_set(one.id)
    return transaction.result


def _own_set(features: FeatureSets, name: str) -> FeatureSet:
    """
    Raises:
        BadArguments: there is none of this name, or it belongs to another one.
    """
    feature_set = features.get(name)
    if feature_set.part:
        whole = features.whole(feature_set).name
        raise BadArguments(
            tr_lazy(
                "'{name}' was measured together with '{whole}' and belongs to it.", name=name, whole=whole
            ),
            tr_lazy("Choose '{whole}': what belongs to it follows.", whole=whole),
        )
    return feature_set


def _row(running: EditInProgress, table: Any, number: int) -> dict[str, Any]:
    return dict(
        running.recorder.connection.execute(table.select().where(table.c.id == number)).one()._mapping
    )


def _refuse_known(names: list[str], name: str) -> None:
    if name in names:
        raise BadArguments(tr_lazy("The name '{name}' is taken.", name=name), "Choose another name.")


def _rename_in_searches(running: EditInProgress, old: str, new: str) -> None:
    from semblance.core.library.schema import searches

    rows = running.recorder.connection.execute(searches.select()).all()
    renamed = {
        # The program writes searches at any time.
        r.id: {"state": {**r.state, "metric": new}}
        for r in rows
        if r.state.get("metric") == old and not r.name.startswith("(")
    }
    running.recorder.update(searches, renamed)
