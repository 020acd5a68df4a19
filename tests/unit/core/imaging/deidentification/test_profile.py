"""The tables of PS3.15 and how options change what they say."""

from __future__ import annotations

import pytest

from semblance.core.errors import BadArguments
from semblance.core.imaging.deidentification.profile import RETAINING, Option, Profile, parse_options


@pytest.mark.parametrize(
    ("options", "tag", "action"),
    [
        ((), (0x0010, 0x0010), "Z"),
        ((), (0x0008, 0x0018), "U"),
        ((Option.UIDS,), (0x0008, 0x0018), "K"),
        ((Option.MODIFIED_DATES,), (0x0008, 0x0020), "C"),
        ((Option.DEVICE,), (0x0008, 0x0020), "Z"),
        ((Option.DESCRIPTORS, Option.PATIENT), (0x0010, 0x2110), "C"),
        ((), (0x6002, 0x3000), "X"),
        ((), (0x5004, 0x2500), "X"),
    ],
)
def test_the_rule_of_an_attribute(options, tag, action):
    assert Profile(frozenset(options)).rule(*tag).action == action


def test_what_the_table_does_not_list_has_no_rule():
    assert Profile().rule(0x0028, 0x0010) is None


def test_dates_are_retained_in_one_way():
    with pytest.raises(BadArguments, match="either"):
        Profile(frozenset((Option.FULL_DATES, Option.MODIFIED_DATES)))


def test_options_are_named():
    assert parse_options(["uids"], RETAINING) == {Option.UIDS}
    with pytest.raises(BadArguments, match="'names'"):
        parse_options(["names"], RETAINING)
