"""List and detect the same-lesion groups of a library, and join and split them: edits that can be undone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from semblance.core.errors import BadArguments
from semblance.core.json_document import JsonDocument
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.edit_cases import EditResult, EditTransaction, find_cases
from semblance.core.workflows.library.edit_kinds import EditKind

if TYPE_CHECKING:
    from semblance.core.library.lesion_group_rows import GroupMember


@dataclass(frozen=True)
class LesionGroup(JsonDocument):
    """Ids and findings of the cases of one lesion; ``by_hand``: a person joined or split it."""

    JSON_PAIRS: ClassVar[Mapping[str, tuple[str, str]]] = {"cases": ("case_id", "finding")}

    cases: tuple[tuple[str, str | None], ...]
    by_hand: bool


def list_lesions(library: LibraryLocation) -> list[LesionGroup]:
    """The groups of two cases or more, by their first case.

    Raises:
        BadInput: the library cannot be read.
    """
    from semblance.core.library.lesion_group_rows import BY_HAND
    from semblance.core.library.lesion_groups import groups_of_several, read_groups

    with open_library(library) as opened:
        groups = read_groups(opened.catalogue)
        cases = {r.id: (r.case_id, r.finding) for r in opened.catalogue.all_cases()}
    return [
        LesionGroup(tuple(cases[row] for row in rows), any(groups[row].source == BY_HAND for row in rows))
        for rows in groups_of_several(groups)
    ]


@dataclass(frozen=True)
class Detection:
    """The same-lesion ``groups`` with two cases or more, the ``cases`` in them, and how many cases got another group.

    ``parts``: whether parts of images were looked for, which needs the features of the encoder.
    """

    groups: int
    cases: int
    changed: int
    parts: bool


def detect_groups(library: LibraryLocation, *, reporter: Reporter = SILENT) -> Detection:
    """Detect the same-lesion groups of all images of a library anew.

    Images without a thumbnail are left out.
    """
    from semblance.core.library.lesion_groups import read_groups
    from semblance.core.workflows.features.detect_same_lesions import (
        count_lesions,
        detect_crops,
        detect_same_lesions,
    )
    from semblance.core.workflows.features.suitable_extractors import OF_IMAGES

    with open_library(library, writable=True) as opened:
        before = read_groups(opened.catalogue)
        detect_same_lesions(opened, reporter=reporter)
        encoded = [one for one in opened.features.all() if one.extractor == OF_IMAGES and not one.part]
        for feature_set in encoded:
            detect_crops(opened, feature_set, opened.features.cases_of(feature_set).tolist(), reporter)
        groups = read_groups(opened.catalogue)
        changed = sum(row not in before or before[row].group != groups[row].group for row in groups)
        return Detection(**count_lesions(opened.catalogue), changed=changed, parts=bool(encoded))


def join_lesions(
    library: LibraryLocation, case_ids: Sequence[str], *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Make the cases ``case_ids``, with all cases of their groups, one group.

    Raises:
        BadArguments: fewer than two cases.
        BadInput: no such case.
    """
    from semblance.core.library.lesion_groups import joined

    if len(set(case_ids)) < 2:
        raise BadArguments("At least two cases are needed to join.", "Name several, separated by commas.")
    return _edit(library, EditKind.JOIN_LESIONS, case_ids, joined, dry_run=dry_run)


def split_lesions(
    library: LibraryLocation, case_ids: Sequence[str], *, dry_run: bool = False, reporter: Reporter = SILENT
) -> EditResult:
    """Take each of the cases ``case_ids`` out of its group; no detection joins them again.

    Raises:
        BadArguments: no case.
        BadInput: no such case.
    """
    from semblance.core.library.lesion_groups import split_off

    return _edit(library, EditKind.SPLIT_LESIONS, case_ids, split_off, dry_run=dry_run)


def _edit(
    library: LibraryLocation,
    kind: EditKind,
    case_ids: Sequence[str],
    change: Callable[[Mapping[int, GroupMember], Collection[int]], Mapping[int, GroupMember]],
    *,
    dry_run: bool,
) -> EditResult:
    from semblance.core.library.lesion_group_rows import groups_in
    from semblance.core.library.schema import lesion_groups

    summary = {"n": len(set(case_ids)), "cases": list(case_ids[:1])}
    transaction = EditTransaction(library, kind, summary, dry_run=dry_run)
    with transaction.edit() as running:
        recorder = running.recorder
        groups = groups_in(recorder.connection)
        values_by_row = {
            row: {"group": member.group, "source": member.source}
            for row, member in change(groups, list(find_cases(running.library, case_ids).values())).items()
        }
        new = [{"case": row, **values} for row, values in values_by_row.items() if row not in groups]
        running.changed = len(new) + recorder.update(
            lesion_groups, {row: values for row, values in values_by_row.items() if row in groups}
        )
        recorder.insert(lesion_groups, new)
    return transaction.result
