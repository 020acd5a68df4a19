"""Many connections that are held open and never used as they should be."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def held(
    connect: Callable[[], socket.socket], count: int, first: bytes, again: bytes
) -> Iterator[list[socket.socket]]:
    """``count`` connections that send ``first``, and then ``again`` and again, whether the server ended them or not."""
    opened: list[socket.socket] = []
    ended = threading.Event()

    def send_again() -> None:
        for one in opened if again else ():
            with contextlib.suppress(OSError):
                one.sendall(again)

    def hold() -> None:
        for number in range(count):
            if ended.is_set():
                return
            one = connect()
            opened.append(one)
            with contextlib.suppress(OSError):
                one.sendall(first)
            if number % 10 == 0:
                send_again()
        while not ended.wait(0.1):
            send_again()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        while len(opened) < count:
            time.sleep(0.01)
        yield opened
    finally:
        ended.set()
        thread.join()
        for one in opened:
            one.close()
