"""Share a library on a server: give people rights in it, and make projects of some of its cases."""

from __future__ import annotations

import datetime
import random
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from semblance.core.errors import BadArguments
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.library.database import in_batches
from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CHUNK, PART_OF, CaseRecord, FeatureSet, FileRecord
from semblance.core.library.schema import cases, concept_marks, edits, judgements, lesion_groups
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.projects import (
    Project,
    case_pseudonyms,
    close_project,
    link_cases,
    make_project,
    project_named,
    project_pseudonyms,
    projects_of,
    remove_project,
    set_members,
    unlink_cases,
)
from semblance.core.reports.case_attributes import shown_attributes
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.metric_exchange import SUFFIX, export_metric, import_metric

NONE = "none"


def list_people(library: LibraryLocation) -> list[dict[str, str]]:
    """Name and right of each person, by name.

    Raises:
        BadArguments: the library is in a folder.
    """
    with open_library(library) as opened:
        if not isinstance(opened, ServerLibrary):
            raise _in_a_folder()
        return [{"name": person.name, "right": person.right} for person in opened.people()]


def set_right(
    library: LibraryLocation, person: str, right: str, password: str | None = None
) -> list[dict[str, str]]:
    """Give ``person`` the ``right`` in place of the one they had, or :data:`NONE`; everybody's rights after it.

    ``password``: create the account with it. The first time the roles of the library are created.

    Raises:
        BadArguments: the library is in a folder, no such right or person, an empty password.
        SemblanceError: the user may not.
    """
    if password == "":
        raise BadArguments("An account needs a password.")
    with open_library(library, writable=True) as opened:
        if not isinstance(opened, ServerLibrary):
            raise _in_a_folder()
        opened.set_right(person, None if right == NONE else right, password)
    return list_people(library)


def _in_a_folder() -> BadArguments:
    return BadArguments(
        "Only a library on a server has rights of its own. Those of a folder are the system's."
    )


_PART = 2_000
_IMAGES = 200
#: Cases whose features are copied in one transaction.
_COPIED = 16 * CHUNK
#: Reason of the files of a project, whose images stay where the library has them.
_NO_IMAGES = "The project has thumbnails and no images."


@dataclass(frozen=True)
class CaseSelection:
    """Which cases of a library: by ``case_ids``, of ``patients``, with one of ``findings``, or ``everything``."""

    case_ids: tuple[str, ...] = ()
    patients: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    everything: bool = False

    def __bool__(self) -> bool:
        return bool(self.case_ids or self.patients or self.findings or self.everything)


def list_projects(library: LibraryLocation) -> list[dict[str, Any]]:
    """All projects of a library, with members and numbers of cases.

    Raises:
        BadArguments: the library is in a folder.
        SemblanceError: the user is no curator.
    """
    with _opened(library) as opened, opened.projects() as connection:
        return [_described(one) for one in projects_of(connection)]


def create_project(library: LibraryLocation, name: str, purpose: str, until: str) -> dict[str, Any]:
    """Make a project, or give the one of this name another purpose and last day (YYYY-MM-DD, UTC).

    Raises:
        BadArguments: the library is in a folder, no such date, or a closed project of this name.
        SemblanceError: the user is no curator.
    """
    with _opened(library) as opened, opened.projects() as connection:
        make_project(connection, name, purpose, until)
        made = project_named(connection, name.strip())
    # The key of pseudonyms for images from outside, which those who only judge cannot make.
    with ServerLibrary.open(opened.location.with_project(made.name), writable=True) as project:
        project.pseudonyms()
    return _described(made)


def change_members(
    library: LibraryLocation, name: str, people: Sequence[str], right: str | None
) -> dict[str, Any]:
    """Let people into a project with the ``right`` reader or annotator, or out of it (``None``).

    Raises:
        BadArguments: no such project, account or right.
        SemblanceError: the user is no curator.
    """
    with _opened(library) as opened, opened.projects() as connection:
        set_members(connection, project_named(connection, name), people, right)
        return _described(project_named(connection, name))


def close(library: LibraryLocation, name: str, *, remove: bool = False) -> dict[str, Any]:
    """Have nobody open a project any more; ``remove``: with everything in it.

    Raises:
        BadArguments: no such project.
        SemblanceError: the user is no curator.
    """
    with _opened(library) as opened, opened.projects() as connection:
        found = project_named(connection, name)
        if found.closed is None:
            close_project(connection, found, opened.catalogue.now())
        closed = _described(project_named(connection, name)) | {"removed": remove}
        if remove:
            remove_project(connection, found)
        return closed


def add_cases(
    library: LibraryLocation, name: str, chosen: CaseSelection, *, reporter: Reporter = SILENT
) -> dict[str, Any]:
    """Copy cases into a project under its pseudonyms, with thumbnails, features and metrics; those that it has already
    are brought up to date. Each step can be repeated after it was interrupted.

    Raises:
        BadArguments: no such project or case.
        SemblanceError: the user is no curator.
        Cancelled: the reporter was cancelled; what was copied stays.
    """
    with _opened(library) as opened:
        with opened.projects() as connection:
            project, pseudonyms = _with_key(connection, name)
            rows = _rows(connection, chosen)
            # Noted first, so that no case is ever in the project unknown to the library.
            link_cases(connection, project, {r.case_id: _pseudonym(pseudonyms, r.case_id) for r in rows})
            links = case_pseudonyms(connection, project)
        with ServerLibrary.open(opened.location.with_project(name), writable=True) as target:
            numbers = _copy_cases(opened, target, pseudonyms, rows, reporter)
            _copy_lesions(opened, target, numbers)
            _copy_thumbnails(opened, target, pseudonyms, rows, reporter)
            _copy_features(opened, target, _all_numbers(opened, target, pseudonyms, links), reporter)
        metrics = _copy_metrics(opened.location, opened.location.with_project(name), pseudonyms, reporter)
        with opened.projects() as connection:
            return _described(project_named(connection, name)) | {"added": len(rows), "metrics": metrics}


def remove_cases(
    library: LibraryLocation, name: str, chosen: CaseSelection, *, reporter: Reporter = SILENT
) -> dict[str, Any]:
    """Remove cases from a project, with what was judged of them there. The list of edits there is cleared, because it
    holds cases.

    Raises:
        BadArguments: no such project or case.
        SemblanceError: the user is no curator.
    """
    with _opened(library) as opened:
        with opened.projects() as connection:
            project, _ = _with_key(connection, name)
            known = case_pseudonyms(connection, project)
            wanted = set(known) if chosen.everything else {r.case_id for r in _rows(connection, chosen)}
        gone = {case: known[case] for case in wanted if case in known}
        with ServerLibrary.open(opened.location.with_project(name), writable=True) as target:
            _remove(target, sorted(gone.values()))
        with opened.projects() as connection:
            unlink_cases(connection, project, sorted(gone))
            return _described(project_named(connection, name)) | {"removed": len(gone)}


def links(library: LibraryLocation, name: str) -> dict[str, str]:
    """Id in the project -> id in the library, of all cases of a project.

    Raises:
        BadArguments: no such project.
        SemblanceError: the user is no curator.
    """
    with _opened(library) as opened, opened.projects() as connection:
        found = case_pseudonyms(connection, project_named(connection, name))
        return {pseudonym: case for case, pseudonym in sorted(found.items())}


def _opened(library: LibraryLocation) -> ServerLibrary:
    if isinstance(library, Path):
        raise BadArguments("Only a library on a server has projects.")
    opened = open_library(library, writable=True)
    assert isinstance(opened, ServerLibrary)
    return opened


def _described(project: Project) -> dict[str, Any]:
    return {
        "name": project.name,
        "purpose": project.purpose,
        "until": project.until.isoformat(),
        "state": project.state,
        "created": project.created,
        "by": project.by,
        "closed": project.closed,
        "cases": project.cases,
        "members": [{"name": person, "right": right} for person, right in sorted(project.members.items())],
    }


def _with_key(connection: sa.Connection, name: str) -> tuple[Project, Pseudonyms]:
    project = project_named(connection, name)
    return project, project_pseudonyms(connection, project)


def _pseudonym(pseudonyms: Pseudonyms, case_id: str) -> str:
    return f"case-{pseudonyms.case(case_id)}"


def _rows(connection: sa.Connection, chosen: CaseSelection) -> list[sa.Row[Any]]:
    """The chosen cases; each name must be one of the library."""
    if not chosen:
        raise BadArguments("No cases were chosen.", "Give --case, --list, --patient, --finding or --all.")
    if chosen.everything:
        return list(connection.execute(sa.select(cases)))
    found: dict[int, sa.Row[Any]] = {}
    for column, names in (
        (cases.c.case_id, chosen.case_ids),
        (cases.c.patient, chosen.patients),
        (cases.c.finding, chosen.findings),
    ):
        seen: set[str] = set()
        for part in in_batches(sorted(set(names))):
            for r in connection.execute(sa.select(cases).where(column.in_(part))):
                found[r.id] = r
                seen.add(getattr(r, column.name))
        if missing := sorted(set(names) - seen):
            raise BadArguments(
                tr_lazy("The library has no case of '{name}'.", name=missing[0]), "Nothing was changed."
            )
    return list(found.values())


def _copy_cases(
    source: ServerLibrary,
    target: ServerLibrary,
    pseudonyms: Pseudonyms,
    rows: list[sa.Row[Any]],
    reporter: Reporter,
) -> dict[int, int]:
    """Number in the library -> number in the project. In random order, so that numbers tell nothing."""
    columns = next((s.columns for s in source.catalogue.sources() if s.columns), ())
    home = target.catalogue.add_source("folder", "project", Path("/project"), columns)
    shuffled = random.SystemRandom().sample(rows, len(rows))
    for start in range(0, len(shuffled), _PART):
        reporter.check_cancelled()
        reporter.progress(start, len(shuffled), "Copying cases")
        part = shuffled[start : start + _PART]
        target.catalogue.put(home, [_file(pseudonyms, r) for r in part], [_case(pseudonyms, r) for r in part])
    names = {_pseudonym(pseudonyms, r.case_id): r.id for r in rows}
    found = target.catalogue.read(sa.select(cases.c.id, cases.c.case_id))
    return {names[r.case_id]: r.id for r in found if r.case_id in names}


def _file(pseudonyms: Pseudonyms, r: sa.Row[Any]) -> FileRecord:
    name = _pseudonym(pseudonyms, r.case_id)
    if r.numbers is not None and r.width is None:
        return FileRecord(name, 0, 0, name, "ok")
    return FileRecord(name, 0, 0, name, "missing", _NO_IMAGES)


def _case(pseudonyms: Pseudonyms, r: sa.Row[Any]) -> CaseRecord:
    name = _pseudonym(pseudonyms, r.case_id)
    return CaseRecord(
        name,
        name,
        finding=r.finding,
        patient=None if r.patient is None else pseudonyms.patient(r.patient),
        region=Region.from_json(r.region) if r.region else None,
        attributes=_attributes(pseudonyms, r.attributes, r.patient),
        width=r.width,
        height=r.height,
        content=_content(pseudonyms, r.content),
        numbers=None if r.numbers is None else tuple(np.frombuffer(r.numbers, dtype=np.float64).tolist()),
        depth=r.depth,
    )


def _content(pseudonyms: Pseudonyms, content: str) -> str:
    return content and pseudonyms.reference(content)


def _attributes(pseudonyms: Pseudonyms, attributes: Mapping[str, str], patient: str | None) -> dict[str, str]:
    """What a report that is not identified shows, and studies, series and dates under other names."""
    shown = shown_attributes(attributes, identified=False, free_text=False)
    for name in ("study", "series", "instance"):
        if attributes.get(name):
            shown[name] = pseudonyms.uid(attributes[name])
    if attributes.get("of"):
        shown["of"] = _pseudonym(pseudonyms, attributes["of"])
    if attributes.get("date") and patient is not None:
        try:
            date = datetime.date.fromisoformat(attributes["date"])
        except ValueError:
            return shown
        shown["date"] = pseudonyms.date(date, patient).isoformat()
    return shown


def _copy_lesions(source: ServerLibrary, target: ServerLibrary, numbers: Mapping[int, int]) -> None:
    """Groups of lesions, each with the number of its first case in the project."""
    rows = [r for r in source.catalogue.read(sa.select(lesion_groups)) if r.case in numbers]
    first: dict[int, int] = {}
    for r in rows:
        first[r.group] = min(first.get(r.group, numbers[r.case]), numbers[r.case])
    with target.catalogue.transaction() as connection:
        _delete(connection, lesion_groups, lesion_groups.c.case, list(numbers.values()))
        if rows:
            values = [{"case": numbers[r.case], "group": first[r.group], "source": r.source} for r in rows]
            connection.execute(lesion_groups.insert(), values)


def _copy_thumbnails(
    source: ServerLibrary,
    target: ServerLibrary,
    pseudonyms: Pseudonyms,
    rows: list[sa.Row[Any]],
    reporter: Reporter,
) -> None:
    contents = sorted({r.content for r in rows if r.content})
    outlines = source.thumbnails.outlines()
    for start in range(0, len(contents), _IMAGES):
        reporter.check_cancelled()
        reporter.progress(start, len(contents), "Copying thumbnails")
        part = contents[start : start + _IMAGES]
        images = source.thumbnails.get(part)
        target.thumbnails.put((_content(pseudonyms, one), image) for one, image in images.items())
        target.thumbnails.put_outlines(
            (_content(pseudonyms, one), outlines[one]) for one in part if one in outlines
        )


def _all_numbers(
    source: ServerLibrary, target: ServerLibrary, pseudonyms: Pseudonyms, links: Mapping[str, str]
) -> dict[int, int]:
    """Number in the library -> number in the project, of all cases of the project that show the same in both; ``links``
    of :func:`semblance.core.library.server.projects.case_pseudonyms`."""
    query = sa.select(cases.c.id, cases.c.case_id, cases.c.content)
    theirs = {r.case_id: r for r in target.catalogue.read(query)}
    found = {}
    for r in source.catalogue.read(query):
        there = theirs.get(links.get(r.case_id, ""))
        if there is not None and there.content == _content(pseudonyms, r.content):
            found[r.id] = there.id
    return found


def _copy_features(
    source: ServerLibrary, target: ServerLibrary, numbers: Mapping[int, int], reporter: Reporter
) -> None:
    """Features of cases that have none in the project, and what was described with them."""
    for feature_set in source.features.every():
        reporter.check_cancelled()
        reporter.progress(0, None, tr_lazy("Copying the features '{name}'", name=feature_set.name))
        known = np.array([one for one in source.features.cases_of(feature_set).tolist() if one in numbers])
        if not len(known):
            continue
        made = _same_set(source, target, feature_set)
        rows = np.array([numbers[number] for number in known.tolist()], dtype=np.int64)
        new = np.flatnonzero(~np.isin(rows, target.features.cases_of(made)))
        # In the order of the project, which is random.
        new = new[np.argsort(rows[new])]
        for start in range(0, len(new), _COPIED):
            reporter.check_cancelled()
            part = new[start : start + _COPIED]
            found, values = source.features.read(feature_set, known[part])
            at = np.searchsorted(found, known[part])
            target.features.write_chunk(made, rows[part], values[at])


def _same_set(source: ServerLibrary, target: ServerLibrary, one: FeatureSet) -> FeatureSet:
    dtype = source.features.read(one, np.empty(0, dtype=np.int64))[1].dtype.name
    if not one.part:
        return target.features.make(
            one.name, one.extractor, one.version, one.settings, one.columns, dtype=dtype
        )
    whole = _same_set(source, target, source.features.whole(one))
    settings = {name: value for name, value in one.settings.items() if name != PART_OF}
    made = target.features.make_part(whole, one.part, settings, one.columns, dtype=dtype)
    # Packed descriptions compare only where all have one coding.
    is_same = {name: value for name, value in made.settings.items() if name != PART_OF} == settings
    return made if is_same or not one.is_packed else target.features.recode(made, settings)


def _copy_metrics(
    source: ServerAddress, target: ServerAddress, pseudonyms: Pseudonyms, reporter: Reporter
) -> list[str]:
    """The metrics that the project has not, as they are given to others: without what identifies a library."""
    with ServerLibrary.open(source) as one, ServerLibrary.open(target) as other:
        known = {record.name for record in other.metrics()}
        sets = {feature_set.name for feature_set in other.features.all()}
        wanted = [
            record.name
            for record in one.metrics()
            if record.name not in known and one.features.of_metric(record).name in sets
        ]
        current = one.current_metric()
    copied = []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(wanted):
            file = export_metric(source, name, Path(folder, f"{number}{SUFFIX}"), reporter=reporter)
            copied.append(
                import_metric(
                    target, file, name, content_here=partial(_content, pseudonyms), reporter=reporter
                )
            )
    if current is not None and current.name in copied:
        with ServerLibrary.open(target, writable=True) as other:
            other.set_current_metric(current.name)
    return copied


def _remove(target: ServerLibrary, names: Collection[str]) -> None:
    """Remove the cases ``names`` and all that mentions them."""
    home = target.catalogue.add_source("folder", "project", Path("/project"))
    target.catalogue.remove(home, sorted(names), sorted(names))
    with target.catalogue.transaction() as connection:
        connection.execute(edits.delete())
        for column in (concept_marks.c.case, judgements.c.case, judgements.c.query, judgements.c.other):
            _delete(connection, column.table, column, sorted(names))
    left = {r.content for r in target.catalogue.read(sa.select(cases.c.content))}
    target.thumbnails.remove([one for one in target.thumbnails.contents() if one not in left])


def _delete(connection: sa.Connection, table: Any, column: sa.ColumnElement[Any], values: list[Any]) -> None:
    for part in in_batches(values):
        connection.execute(table.delete().where(column.in_(part)))
