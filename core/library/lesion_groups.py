"""Same-lesion groups: near-duplicates and views of one lesion, as detected or as set by a user.

A case that is in no group is a group of its own. A detection never changes what a user set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from semblance.core.library.lesion_group_rows import BY_HAND, DETECTED, GroupMember, groups_in, write_groups
from semblance.core.library.metric_scores import CHANGED_LESIONS, note_in_scores

if TYPE_CHECKING:
    from semblance.core.library.catalogue import Catalogue


def read_groups(catalogue: Catalogue) -> dict[int, GroupMember]:
    """Row id of a case -> the group it is in, for the cases that are in one."""
    with catalogue.errors(), catalogue.engine.connect() as connection:
        return groups_in(connection)


def groups_of_several(groups: Mapping[int, GroupMember]) -> list[list[int]]:
    """The row ids of the cases of each group with two cases or more, in order."""
    members: dict[int, list[int]] = {}
    for row, member in sorted(groups.items()):
        members.setdefault(member.group, []).append(row)
    return [rows for rows in members.values() if len(rows) > 1]


def lesion_codes(groups: Mapping[int, GroupMember], cases: Sequence[sa.Row[Any]]) -> dict[int, int]:
    """Row id -> a number, equal for cases of one lesion, of ``cases`` as ``Catalogue.all_cases`` gives them.

    Cases in no group are of one lesion where their content is equal.
    """
    numbers: dict[int | str, int] = {}
    codes: dict[int, int] = {}
    for r in cases:
        member = groups.get(r.id)
        key = r.content if member is None else member.group
        codes[int(r.id)] = numbers.setdefault(key, len(numbers))
    return codes


def joined(groups: Mapping[int, GroupMember], rows: Collection[int]) -> dict[int, GroupMember]:
    """The memberships that make the cases ``rows``, with all cases of their ``groups``, one group set by a user."""
    numbers = {groups[row].group for row in rows if row in groups}
    members = {row for row, member in groups.items() if member.group in numbers}.union(rows)
    number = min(numbers, default=_next_number(groups))
    return {row: GroupMember(number, BY_HAND) for row in sorted(members)}


def split_off(groups: Mapping[int, GroupMember], rows: Collection[int]) -> dict[int, GroupMember]:
    """The memberships that take each of the cases ``rows`` out of its group.

    The rest of a group is marked as set by a user, so that no detection joins it with ``rows`` again.
    """
    numbers = {groups[row].group for row in rows if row in groups}
    changed = {
        row: GroupMember(member.group, BY_HAND) for row, member in groups.items() if member.group in numbers
    }
    first = _next_number(groups)
    return changed | {row: GroupMember(first + n, BY_HAND) for n, row in enumerate(sorted(rows))}


def add_detected(catalogue: Catalogue, pairs: Iterable[tuple[int, int]]) -> int:
    """Join the cases of each of ``pairs`` of row ids, surest first; the number of cases whose group it changed.

    Cases that a user put in different groups stay apart, with all that were joined to either before.
    """
    with catalogue.transaction() as connection:
        groups = groups_in(connection)
        members: dict[int, set[int]] = {}
        for row, member in groups.items():
            members.setdefault(member.group, set()).add(row)
        group_of = {row: member.group for row, member in groups.items()}
        pinned = {member.group for member in groups.values() if member.source == BY_HAND}
        number = _next_number(groups)
        for pair in pairs:
            for row in pair:
                if row not in group_of:
                    group_of[row], members[number] = number, {row}
                    number += 1
            kept, other = sorted((group_of[row] for row in pair), key=lambda one: (one not in pinned, one))
            if kept == other or other in pinned:
                continue
            group_of |= dict.fromkeys(members[other], kept)
            members[kept] |= members.pop(other)
        changed = {
            row: GroupMember(group, DETECTED)
            for row, group in group_of.items()
            if len(members[group]) > 1 and (row not in groups or groups[row].group != group)
        }
        if changed:
            write_groups(connection, changed)
            note_in_scores(connection, CHANGED_LESIONS, {DETECTED: None}, {DETECTED: catalogue.now()})
        return len(changed)


def _next_number(groups: Mapping[int, GroupMember]) -> int:
    return 1 + max((member.group for member in groups.values()), default=0)
