"""How many connections a server of this program holds, and which one ends where there are too many."""

from __future__ import annotations

import ipaddress
import threading
from collections import Counter
from collections.abc import Callable
from typing import Generic, TypeVar

C = TypeVar("C")


class ConnectionLimits(Generic[C]):
    """At most ``total`` connections, and ``per_address`` of one computer.

    One who connects and does nothing must not keep others out: where a connection is one too many, the one that has
    waited longest ends for it. ``waiting_since`` gives the time since which a connection does nothing, ``None`` while
    it is at work, which none ends. Threads may use it at the same time.
    """

    def __init__(self, total: int, per_address: int, waiting_since: Callable[[C], float | None]) -> None:
        self._total, self._per_address, self._waiting_since = total, per_address, waiting_since
        self._lock = threading.Lock()
        self._addresses: dict[C, str] = {}

    def admit(self, connection: C, address: str) -> C | None:
        """Add ``connection`` from an IP ``address``; returns the one that must end for it, itself if all others are at
        work, and ``None`` where there is room. What must end is not counted any more."""
        computer = _computer(address)
        with self._lock:
            held = Counter(self._addresses.values())
            ended: C | None = None
            if held[computer] >= self._per_address:
                ended = self._longest_waiting(computer)
            elif len(self._addresses) >= self._total:
                most = max(held, key=held.__getitem__)
                ended = self._longest_waiting(most) or self._longest_waiting(None)
            else:
                self._addresses[connection] = computer
                return None
            if ended is None:
                return connection
            del self._addresses[ended]
            self._addresses[connection] = computer
            return ended

    def remove(self, connection: C) -> None:
        """Note that ``connection`` has ended; it may have been removed."""
        with self._lock:
            self._addresses.pop(connection, None)

    def connections(self) -> list[C]:
        """The connections, the oldest first."""
        with self._lock:
            return list(self._addresses)

    def _longest_waiting(self, computer: str | None) -> C | None:
        """Of those of ``computer``, ``None``: of all."""
        since = {
            one: moment
            for one, address in self._addresses.items()
            if computer in (None, address) and (moment := self._waiting_since(one)) is not None
        }
        return min(since, key=since.__getitem__, default=None)


def _computer(address: str) -> str:
    """What counts as one computer: an IPv4 address, or the 64 bits of an IPv6 address that it cannot choose itself."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def is_loopback(host: str) -> bool:
    """Whether only this computer reaches an address to listen on."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
