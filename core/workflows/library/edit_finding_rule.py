"""Change the rule by which cases with several findings have one, without another import."""

from __future__ import annotations

from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.library.findings import RULES_KEY, FindingNames
from semblance.core.library.importers.finding_rules import (
    SEVERAL_PARAMETER,
    UNCERTAIN_PARAMETER,
    FindingRule,
    StatedFindings,
)
from semblance.core.library.location import LibraryLocation
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.edit_cases import EditInProgress, EditResult, EditTransaction
from semblance.core.workflows.library.edit_kinds import EditKind


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
