"""The listener of sent objects."""

from __future__ import annotations

import socket
import threading
from types import SimpleNamespace

from semblance.core.network.listener import Listener


def test_one_who_connects_while_another_is_being_accepted_keeps_the_connection():
    listener = Listener("127.0.0.1", 1, "SEMBLANCE", lambda _: None)
    ends = [socket.socketpair() for _ in range(2)]
    for ours, _ in ends:
        # pynetdicom starts the thread of an association only after this.
        thread = threading.Thread()
        thread.dul = SimpleNamespace(socket=SimpleNamespace(socket=_Plain(ours)))
        listener._opened(SimpleNamespace(assoc=thread))
    for ours, theirs in ends:
        ours.sendall(b"x")
        assert theirs.recv(1) == b"x"
        ours.close()
        theirs.close()


class _Plain:
    """A socket without the options of TCP."""

    def __init__(self, of: socket.socket) -> None:
        self.close, self.settimeout, self.setsockopt = of.close, of.settimeout, lambda *_: None
