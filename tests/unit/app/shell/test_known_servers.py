"""What the window knows of servers completes addresses that come without it."""

from __future__ import annotations

from pathlib import Path

from semblance.app.shell.known_servers import KnownServers
from semblance.core.library.location import server_address


def test_an_address_gets_the_password_and_the_answer_that_are_known():
    servers, plain = KnownServers(), server_address("postgresql://anna@h/d")
    assert servers.completed(Path("lib")) == Path("lib")
    assert not servers.completed(plain).password
    servers.remember(plain.with_password("old"))
    servers.set_unreachable(plain, unreachable=True)
    assert servers.completed(plain).password == "old" and servers.completed(plain).is_away
    assert servers.completed(plain.with_password("new")).password == "new"
    assert not servers.completed(plain.with_user("other")).is_away
    servers.remember(plain)
    servers.set_unreachable(plain, unreachable=False)
    assert not servers.completed(plain).password and not servers.completed(plain).is_away
