"""Which connection ends where there are too many."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from semblance.core.network.connection_limits import ConnectionLimits, is_loopback

TOTAL, PER_ADDRESS = 6, 3
ADDRESSES = [
    "10.0.0.1",
    "10.0.0.2",
    "10.0.0.3",
    "2001:db8::1",
    "2001:db8::ffff",
    "2001:db8:0:1::1",
    "::ffff:10.0.0.1",
]
#: Of the seven, two pairs are one computer each.
COMPUTERS = dict(zip(ADDRESSES, "abcddea", strict=True))


class Limits(RuleBasedStateMachine):
    """Compared with a list of (connection, computer, since when it waits)."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: dict[int, float | None] = {}
        self.held: dict[int, str] = {}
        self.limits = ConnectionLimits[int](TOTAL, PER_ADDRESS, self.waiting.__getitem__)
        self.clock = 0

    @rule(address=st.sampled_from(ADDRESSES), works=st.booleans())
    def connect(self, address: str, works: bool) -> None:
        self.clock += 1
        made, computer = self.clock, COMPUTERS[address]
        self.waiting[made] = None if works else float(made)
        of_computer = [one for one, place in self.held.items() if place == computer]
        is_too_many = len(of_computer) >= PER_ADDRESS
        is_full = len(self.held) >= TOTAL
        ended = self.limits.admit(made, address)
        if not is_too_many and not is_full:
            assert ended is None
        elif ended == made:
            able = of_computer if is_too_many else list(self.held)
            assert all(self.waiting[one] is None for one in able)
            return
        else:
            assert ended is not None and self.waiting[ended] is not None
            of_ended = [one for one, place in self.held.items() if place == self.held[ended]]
            assert not is_too_many or self.held[ended] == computer
            # Of its computer, none has waited longer.
            assert min(one for one in of_ended if self.waiting[one] is not None) == ended
            del self.held[ended]
        self.held[made] = computer

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def work_or_wait(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(sorted(self.held)))
        self.waiting[one] = None if self.waiting[one] is not None else float(one)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(sorted(self.held)))
        self.limits.remove(one)
        self.limits.remove(one)
        del self.held[one]

    @invariant()
    def counted(self) -> None:
        assert self.limits.connections() == list(self.held)
        assert len(self.held) <= TOTAL
        assert all(list(self.held.values()).count(place) <= PER_ADDRESS for place in self.held.values())


TestLimits = Limits.TestCase


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *(
            (host, True)
            for host in ("127.0.0.1", "127.8.9.10", "::1", "localhost", "LOCALHOST", "localhost.")
        ),
        *(
            (host, False)
            for host in ("0.0.0.0", "::", "10.0.0.7", "127.0.0.1.evil.example", "127.evil.example")
        ),
        *((host, False) for host in ("", "localhost.evil.example", "example.org", "::ffff:10.0.0.1", "0")),
    ],
)
def test_which_addresses_only_this_computer_reaches(host, expected):
    assert is_loopback(host) is expected
