"""Same-lesion groups: joined and split by hand, and never changed back by a detection."""

from __future__ import annotations

import pytest

from semblance.core.library.lesion_group_rows import BY_HAND, DETECTED
from semblance.core.library.lesion_groups import add_detected, lesion_codes, read_groups
from semblance.core.library.library import Library
from tests.helpers.libraries import fill, join, make_library, split


@pytest.fixture
def library(tmp_path):
    with Library.open(make_library(tmp_path / "lib", cases=8)) as library:
        yield library


@pytest.fixture
def catalogue(library):
    return library.catalogue


def groups(catalogue):
    """The groups of more than one case, as sets of row ids."""
    found: dict[int, set[int]] = {}
    for row, member in read_groups(catalogue).items():
        found.setdefault(member.group, set()).add(row)
    return sorted((members for members in found.values() if len(members) > 1), key=min)


def test_a_join_takes_whole_groups_along(library, catalogue):
    add_detected(catalogue, [(1, 2), (3, 4)])
    join(library, [2, 3, 5])
    assert groups(catalogue) == [{1, 2, 3, 4, 5}]
    assert {member.source for member in read_groups(catalogue).values()} == {BY_HAND}


def test_what_was_detected_together_is_one_group_however_it_was_found(catalogue):
    add_detected(catalogue, [(1, 2), (3, 4), (5, 6)])
    add_detected(catalogue, [(4, 1)])
    assert groups(catalogue) == [{1, 2, 3, 4}, {5, 6}]
    assert {member.source for member in read_groups(catalogue).values()} == {DETECTED}
    assert add_detected(catalogue, [(2, 3)]) == 0


@pytest.mark.parametrize("pairs", [[(1, 2)], [(2, 1)], [(8, 1), (8, 2)], [(8, 2), (8, 3), (8, 1)]])
def test_no_detection_joins_what_was_split_by_hand(library, catalogue, pairs):
    add_detected(catalogue, [(1, 2), (2, 3)])
    split(library, [2])
    add_detected(catalogue, pairs)
    found = read_groups(catalogue)
    assert found[1].group == found[3].group != found[2].group


def test_a_new_near_duplicate_joins_a_group_made_by_hand(library, catalogue):
    join(library, [1, 2])
    add_detected(catalogue, [(5, 6), (6, 2)])
    assert groups(catalogue) == [{1, 2, 5, 6}]
    assert {row: member.source for row, member in read_groups(catalogue).items()} == {
        1: BY_HAND,
        2: BY_HAND,
        5: DETECTED,
        6: DETECTED,
    }


def test_equal_content_and_groups_give_equal_codes(library, catalogue):
    split(library, [3])
    join(library, [4, 5])
    cases = catalogue.all_cases()
    codes = lesion_codes(read_groups(catalogue), cases)
    assert codes[4] == codes[5]
    assert len(set(codes.values())) == len(cases) - 1


def test_a_changed_image_leaves_a_detected_group_but_not_one_set_by_a_user(tmp_path):
    with Library.open(make_library(tmp_path / "lib", cases=6)) as library:
        add_detected(library.catalogue, [(1, 2)])
        join(library, [3, 4])
        fill(library, range(4), content="changed")
        assert set(read_groups(library.catalogue)) == {3, 4}
        source = library.catalogue.sources()[0]
        library.catalogue.remove(source, [], ["s/2.png"])
        assert set(read_groups(library.catalogue)) == {4}
