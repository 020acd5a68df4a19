"""Add, rename, merge, recolour, order and delete the findings of a library, and change the rule by which cases with
several have one; each is an edit that can be undone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.json_document import JsonDocument
from semblance.core.language import tr_lazy
from semblance.core.library.findings import (
    FINDINGS_KEY,
    PALETTE,
    RULES_KEY,
    FindingNames,
    FindingStyle,
    all_styles,
    finding_key,
    finding_letters,
    stored_styles,
)
from semblance.core.library.importers.finding_rules import (
    SEVERAL_PARAMETER,
    UNCERTAIN_PARAMETER,
    FindingRule,
    StatedFindings,
)
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.edit_cases import (
    EditInProgress,
    EditResult,
    EditTransaction,
    checked_label,
)
from semblance.core.workflows.library.edit_kinds import EditKind


@dataclass(frozen=True)
class FindingFacts(JsonDocument):
    """A finding: its letter, the name of its colour, and the number of its cases."""

    name: str
    letter: str
    colour: str
    cases: int


def list_findings(library: LibraryLocation) -> list[FindingFacts]:
    """The findings in their order.

    Raises:
        BadInput: the library cannot be read.
    """
    with open_library(library) as opened:
        counts = _counts([r.finding for r in opened.catalogue.all_cases()])
        styles = all_styles(stored_styles(opened.catalogue), counts)
    letters, colours = finding_letters([style.name for style in styles]), list(PALETTE)
    return [
        FindingFacts(style.name, letters[style.name], colours[style.colour], counts.get(style.name, 0))
        for style in styles
    ]


def add_finding(
    library: LibraryLocation, name: str, *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Add a finding that no case has yet, so that cases can be given it.

    Raises:
        BadArguments: there is one of this name, or it cannot be called so.
    """
    name = checked_label(name, tr_lazy("A finding"))
    transaction = EditTransaction(library, EditKind.ADD_FINDING, {"name": name}, dry_run=dry_run)
    with transaction.edit(outdates=False) as running:
        styles = _styles(running)
        _refuse_known(styles, name)
        _store(running, [*styles, FindingStyle(name, len(styles) % len(PALETTE))])
    return transaction.result


def rename_finding(
    library: LibraryLocation, old: str, new: str, *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Give the finding ``old`` the name ``new``; it keeps its colour and place.

    Raises:
        BadArguments: no finding ``old``, there is one called ``new``, or it cannot be called so.
    """
    new = checked_label(new, tr_lazy("A finding"))
    transaction = EditTransaction(library, EditKind.RENAME_FINDING, {"old": old, "new": new}, dry_run=dry_run)
    with transaction.edit() as running:
        styles = _styles(running)
        place = _place(styles, old)
        _refuse_known([style for style in styles if style.name != old], new)
        styles[place] = FindingStyle(new, styles[place].colour)
        _store(running, styles)
        running.changed = _give(running, [old], new)
    return transaction.result


def merge_findings(
    library: LibraryLocation,
    names: Sequence[str],
    into: str,
    *,
    dry_run: bool = False,
    reporter: Reporter = SILENT,
) -> EditResult:
    """Give all cases of the findings ``names`` the finding ``into``, which may be one of them.

    Raises:
        BadArguments: no such finding, nothing to merge, or a finding that cannot be called so.
    """
    into = checked_label(into, tr_lazy("A finding"))
    merged = [name for name in dict.fromkeys(names) if name != into]
    if not merged:
        raise BadArguments("There is nothing to merge.", "Name a finding besides the one that it becomes.")
    summary = {"names": merged, "into": into}
    transaction = EditTransaction(library, EditKind.MERGE_FINDINGS, summary, dry_run=dry_run)
    with transaction.edit() as running:
        styles = _styles(running)
        places = [_place(styles, name) for name in merged]
        if into not in [style.name for style in styles]:
            styles[places[0]] = FindingStyle(into, styles[places[0]].colour)
        _store(running, [style for style in styles if style.name not in merged])
        running.changed = _give(running, merged, into)
    return transaction.result


def recolour_finding(
    library: LibraryLocation, name: str, colour: str, *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Show the finding in ``colour``, a name of :data:`semblance.core.library.findings.PALETTE`.

    Raises:
        BadArguments: no such finding or colour.
    """
    if colour not in PALETTE:
        raise BadArguments(
            tr_lazy("There is no colour '{colour}'.", colour=colour),
            tr_lazy("There are: {names}.", names=", ".join(PALETTE)),
        )
    transaction = EditTransaction(library, EditKind.RECOLOUR_FINDING, {"name": name}, dry_run=dry_run)
    with transaction.edit(outdates=False) as running:
        styles = _styles(running)
        styles[_place(styles, name)] = FindingStyle(name, list(PALETTE).index(colour))
        _store(running, styles)
    return transaction.result


def order_findings(
    library: LibraryLocation, names: Sequence[str], *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """List the findings ``names`` first, in this order; colours stay.

    Raises:
        BadArguments: no such finding.
    """
    transaction = EditTransaction(library, EditKind.ORDER_FINDINGS, {"names": list(names)}, dry_run=dry_run)
    with transaction.edit(outdates=False) as running:
        styles = _styles(running)
        first = [styles[_place(styles, name)] for name in dict.fromkeys(names)]
        _store(running, [*first, *(style for style in styles if style not in first)])
    return transaction.result


def delete_finding(
    library: LibraryLocation, name: str, *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Delete a finding; its cases then have none.

    Raises:
        BadArguments: no such finding.
    """
    transaction = EditTransaction(library, EditKind.DELETE_FINDING, {"name": name}, dry_run=dry_run)
    with transaction.edit() as running:
        styles = _styles(running)
        del styles[_place(styles, name)]
        _store(running, styles)
        running.changed = _give(running, [name], None)
    return transaction.result


def _styles(running: EditInProgress) -> list[FindingStyle]:
    counts = _counts([r.finding for r in running.library.catalogue.all_cases()])
    return list(all_styles(stored_styles(running.library.catalogue), counts))


def _counts(findings: Sequence[str | None]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for finding in findings:
        if finding is not None:
            counts[finding] = counts.get(finding, 0) + 1
    return counts


def _store(running: EditInProgress, styles: Sequence[FindingStyle]) -> None:
    value = [{"name": style.name, "colour": style.colour} for style in styles]
    running.recorder.set_value(FINDINGS_KEY, value)


def _place(styles: Sequence[FindingStyle], name: str) -> int:
    names = [style.name for style in styles]
    if name not in names:
        raise BadArguments(
            tr_lazy("There is no finding '{name}'.", name=name),
            tr_lazy("There are: {names}.", names=", ".join(names)),
        )
    return names.index(name)


def _refuse_known(styles: Sequence[FindingStyle], name: str) -> None:
    known = next((style.name for style in styles if finding_key(style.name) == finding_key(name)), None)
    if known is not None:
        raise BadArguments(
            tr_lazy("There is a finding '{name}' already.", name=known), "Choose another name, or merge them."
        )


def _give(running: EditInProgress, names: Collection[str], finding: str | None) -> int:
    """Give the cases that have one of the findings ``names`` another; returns their number."""
    from semblance.core.library.library import PREVALENCES
    from semblance.core.library.schema import cases

    shares = running.library.prevalences
    if not shares.keys().isdisjoint(names):
        moved = sum(shares.pop(name, 0.0) for name in names)
        if finding is not None:
            shares[finding] = shares.get(finding, 0.0) + moved
        running.recorder.set_value(PREVALENCES, shares)
    found = [r.case_id for r in running.library.catalogue.all_cases() if r.finding in names]
    return running.recorder.update(cases, {case_id: {"finding": finding} for case_id in found})


def set_finding_rule(
    library: LibraryLocation,
    several: str | None = None,
    uncertain: str | None = None,
    *,
    dry_run: bool = False,
    reporter: Reporter = SILENT,
) -> EditResult:
    """Choose the findings of cases whose lists name several by another rule; ``None`` leaves a part of it as it is.

    Cases whose finding a person changed keep it. ``dry_run`` changes nothing and returns what would change.

    Raises:
        BadArguments: no case has several findings by a list, or none has the finding that the rule names.
    """
    given = {
        parameter.name: parameter.check(value)
        for parameter, value in ((SEVERAL_PARAMETER, several), (UNCERTAIN_PARAMETER, uncertain))
        if value is not None
    }
    transaction = EditTransaction(library, EditKind.FINDING_RULE, {**given, "n": 0}, dry_run=dry_run)
    with transaction.edit() as running:
        stored = dict(running.library.finding_rules)
        by_source = _stated_by_source(running)
        if not by_source:
            raise BadArguments(
                "No case of the library came with a list of several findings.",
                "Import a list such as Data_Entry_2017.csv with its images.",
            )
        names = FindingNames(running.library.catalogue.finding_counts())
        changed: dict[str, dict[str, str | None]] = {}
        kept = 0
        for source, rows in by_source.items():
            earlier = stored.get(source, {})
            before = FindingRule.of(earlier).resolved([says for _, _, says in rows])
            after = FindingRule.of({**before.to_json(), **given}).resolved([says for _, _, says in rows])
            for case_id, finding, says in rows:
                if finding != names.name(before.finding(says)):
                    kept += 1
                elif finding != (new := names.name(after.finding(says))):
                    changed[case_id] = {"finding": new}
            stored[source] = {**earlier, **{name: str(value) for name, value in after.to_json().items()}}
        from semblance.core.library.schema import cases

        running.changed = running.recorder.update(cases, changed)
        running.recorder.set_value(RULES_KEY, stored)
        running.summary |= {"n": running.changed, "kept": kept}
    return transaction.result


def _stated_by_source(running: EditInProgress) -> dict[str, list[tuple[str, str | None, StatedFindings]]]:
    """Source -> case id, present finding, and all findings of its cases whose list names several."""
    import sqlalchemy as sa

    from semblance.core.library.schema import cases, files, sources

    query = (
        sa.select(cases.c.case_id, cases.c.finding, cases.c.attributes, sources.c.name)
        .join(files, files.c.id == cases.c.file)
        .join(sources, sources.c.id == files.c.source)
        .order_by(cases.c.id)
    )
    found: dict[str, list[tuple[str, str | None, StatedFindings]]] = {}
    row: Any
    for row in running.library.catalogue.read(query):
        says = StatedFindings.of(row.attributes or {})
        if says is not None:
            found.setdefault(row.name, []).append((row.case_id, row.finding, says))
    return found
