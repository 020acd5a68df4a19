"""Change the findings and patients of cases, and remove cases; each is an edit that can be undone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.findings import FindingNames
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.normal_text import normal_text
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.edit_kinds import EditKind, describe_edit
from semblance.core.workflows.library.edit_staleness import newly_outdated
from semblance.core.workflows.metrics.leakage import ELSEWHERE, contents_elsewhere

if TYPE_CHECKING:
    from semblance.core.library.edit_log import EditRecorder
    from semblance.core.library.library import Library

#: Longest name of a finding or a patient.
LONGEST_LABEL = 120


@dataclass(frozen=True)
class EditResult(JsonDocument):
    """An edit that was made, or that would be made (``dry_run``).

    ``changed`` cases, ``outdated``: names of the metrics whose scores are out of date by it.
    """

    JSON_KEYS: ClassVar[JsonKeys] = (
        ("edit", "kind"),
        ("description", "text"),
        "changed",
        ("outdated_metrics", "outdated"),
        "dry_run",
    )

    kind: EditKind
    summary: Mapping[str, Any]
    changed: int
    outdated: tuple[str, ...]
    dry_run: bool = False

    @property
    def text(self) -> str:
        """One line on what the edit does."""
        return describe_edit(self.kind.value, self.summary)


@dataclass
class EditInProgress:
    """An edit within its transaction. The caller sets ``changed`` and ``summary``."""

    library: Library
    recorder: EditRecorder
    summary: dict[str, Any]
    changed: int = 0


@dataclass(frozen=True)
class ChangedLabel:
    """A label that is not what the person saw: ``current`` instead, since ``time`` (ISO 8601, UTC) by ``author``; ""
    where no edit changed it, such as an import."""

    case_id: str
    current: str | None
    author: str = ""
    time: str = ""


class LabelConflict(SemblanceError):
    """Labels were changed by others after the person saw them. Nothing was written."""

    #: Those that were changed, in the order of the cases.
    changed: tuple[ChangedLabel, ...] = ()


class _DryRunError(Exception):
    """Ends the transaction of a dry run."""


class EditTransaction:
    """Opens ``library`` and makes one edit in it; afterwards ``result`` describes it."""

    def __init__(
        self, library: LibraryLocation, kind: EditKind, summary: Mapping[str, Any], *, dry_run: bool = False
    ) -> None:
        self._path, self._kind, self._summary, self._dry_run = library, kind, dict(summary), dry_run
        self.result = EditResult(kind, self._summary, 0, (), dry_run)

    @contextmanager
    def edit(self, *, outdates: bool = True) -> Iterator[EditInProgress]:
        """``outdates``: scores are out of date by a change."""
        from semblance.core.library.edit_log import recorded_edit

        with open_library(self._path, writable=True) as opened:
            names = newly_outdated(opened.metrics()) if outdates else ()
            try:
                with recorded_edit(opened, self._kind.value, self._summary) as recorder:
                    running = EditInProgress(opened, recorder, self._summary)
                    yield running
                    self.result = EditResult(
                        self._kind,
                        self._summary,
                        running.changed,
                        tuple(names) if running.changed else (),
                        self._dry_run,
                    )
                    if self._dry_run:
                        raise _DryRunError
            except _DryRunError:
                pass


def set_finding(
    library: LibraryLocation,
    case_ids: Sequence[str],
    finding: str | None,
    *,
    seen: Sequence[str | None] | None = None,
    dry_run: bool = False,
    reporter: Reporter = SILENT,
) -> EditResult:
    """Give the cases ``case_ids`` the ``finding``, or none (``None``).

    ``seen``: what each of the cases had when the person decided. ``dry_run`` changes nothing and returns what would
    change.

    Raises:
        LabelConflict: another label than was seen, and not the new one either; nothing was changed.
        BadArguments: no case, or a finding that cannot be called so.
        BadInput: no such case.
    """
    name = None if finding is None else checked_label(finding, tr_lazy("A finding"))
    summary = {"n": len(set(case_ids)), "cases": list(case_ids[:1]), "finding": name}
    return _set_label(library, EditKind.FINDING, case_ids, {"finding": name}, summary, seen, dry_run=dry_run)


def set_patient(
    library: LibraryLocation,
    case_ids: Sequence[str],
    patient: str | None,
    *,
    seen: Sequence[str | None] | None = None,
    dry_run: bool = False,
    reporter: Reporter = SILENT,
) -> EditResult:
    """Assign the cases ``case_ids`` to ``patient``, or to no known patient (``None``).

    ``seen``: what each of the cases had when the person decided. ``dry_run`` changes nothing and returns what would
    change.

    Raises:
        LabelConflict: another label than was seen, and not the new one either; nothing was changed.
        BadArguments: no case, or a patient that cannot be called so.
        BadInput: no such case.
    """
    name = None if patient is None else checked_label(patient, tr_lazy("A patient"))
    summary = {"n": len(set(case_ids)), "cases": list(case_ids[:1]), "patient": name}
    return _set_label(library, EditKind.PATIENT, case_ids, {"patient": name}, summary, seen, dry_run=dry_run)


def _set_label(
    library: LibraryLocation,
    kind: EditKind,
    case_ids: Sequence[str],
    label: Mapping[str, str | None],
    summary: Mapping[str, Any],
    seen: Sequence[str | None] | None,
    *,
    dry_run: bool,
) -> EditResult:
    from semblance.core.library.schema import cases

    transaction = EditTransaction(library, kind, summary, dry_run=dry_run)
    with transaction.edit() as running:
        if finding := label.get("finding"):
            # A finding that the library has keeps its spelling.
            names = FindingNames(running.library.catalogue.finding_counts())
            label = {"finding": names.name(finding) or finding}
            running.summary |= label
        find_cases(running.library, case_ids)
        if seen is not None:
            _check_unchanged(running, dict(zip(case_ids, seen, strict=True)), label)
        running.changed = running.recorder.update(cases, {case_id: dict(label) for case_id in case_ids})
        # Cases that had the label already are not counted.
        running.summary["n"] = running.changed
    return transaction.result


def _check_unchanged(
    running: EditInProgress, seen: Mapping[str, str | None], label: Mapping[str, str | None]
) -> None:
    """
    Raises:
        LabelConflict: a case has neither what was ``seen`` nor the new ``label``.
    """
    import sqlalchemy as sa

    from semblance.core.library.database import in_batches
    from semblance.core.library.edit_log import last_change
    from semblance.core.library.schema import cases

    ((column, wanted),) = label.items()
    current: dict[str, str | None] = {}
    for part in in_batches(list(seen)):
        # Within the transaction, which other writers wait for.
        query = sa.select(cases.c.case_id, cases.c[column]).where(cases.c.case_id.in_(part))
        current |= {r[0]: r[1] for r in running.recorder.connection.execute(query)}
    others = [case for case, value in seen.items() if current[case] not in (value, wanted)]
    if not others:
        return
    by = last_change(running.recorder.connection, cases.name, column, others)
    error = LabelConflict(
        tr_lazy_n(
            "{n} label was changed by others after you saw it.",
            "{n} labels were changed by others after you saw them.",
            len(others),
        ),
        tr_lazy("Nothing was changed. Look at the cases again."),
    )
    error.changed = tuple(ChangedLabel(case, current[case], *by.get(case, ("", ""))) for case in others)
    raise error


def remove_cases(
    library: LibraryLocation, case_ids: Sequence[str], *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Remove the cases ``case_ids`` from the library; the files of their images stay where they are.

    Importing their source again leaves them out. Metrics that were trained on them remember the content of their
    images, so that these never count as held out.

    Raises:
        BadArguments: no case.
        BadInput: no such case.
    """
    summary = {"n": len(set(case_ids)), "cases": list(case_ids[:1])}
    transaction = EditTransaction(library, EditKind.REMOVE_CASES, summary, dry_run=dry_run)
    with transaction.edit() as running:
        rows = find_cases(running.library, case_ids)
        removed = running.recorder.delete_cases(list(rows.values()))
        running.changed = len(removed)
        _remember_training(running, {row["id"]: row["content"] for row in removed})
    return transaction.result


def _remember_training(running: EditInProgress, contents: Mapping[int, str]) -> None:
    """Record on the cards of metrics the contents of the removed cases that they were trained on."""
    from semblance.core.library.metric_scores import sealed_card
    from semblance.core.library.schema import metrics

    for record in running.library.metrics():
        trained = [contents[row] for row in record.training.tolist() if row in contents]
        if trained:
            known = sorted({*contents_elsewhere(record.card), *trained})
            card = sealed_card({**record.card, ELSEWHERE: known}, record.scores)
            statement = metrics.update().where(metrics.c.id == record.id).values(card=card)
            running.recorder.connection.execute(statement)


def find_cases(library: Library, case_ids: Sequence[str]) -> dict[str, int]:
    """Case id -> row.

    Raises:
        BadArguments: no case.
        BadInput: no such case.
    """
    if not case_ids:
        raise BadArguments("No case is named.", "Name at least one.")
    found = library.catalogue.rows_of(case_ids)
    for case_id in case_ids:
        if case_id not in found:
            raise library.catalogue.no_such_case(case_id)
    return found


def checked_label(text: str, what: str) -> str:
    """``text`` in the form that labels have (:func:`normal_text`), as the name of ``what`` ("A finding").

    Raises:
        BadArguments: nothing is left, it is too long, or it holds a line break or a control character.
    """
    has_lines = any(one.isspace() and not one.isprintable() and one != "\xa0" for one in text.strip())
    text = normal_text(text)
    if not text:
        raise BadArguments(tr_lazy("{what} needs a name.", what=what))
    if has_lines or len(text) > LONGEST_LABEL or not text.isprintable():
        raise BadArguments(
            tr_lazy("{what} cannot be called {name}.", what=what, name=ascii(text[:40])),
            tr_lazy(
                "Use at most {longest_name} characters, without line breaks.", longest_name=LONGEST_LABEL
            ),
        )
    return text
