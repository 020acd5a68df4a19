"""The chain of hashes over the entries of an audit log, which shows when an entry was changed, removed or moved.

Each entry has the SHA-256 of the hash before it and of its own content (Schneier, Kelsey: Secure audit logs to support
computer forensics. ACM TISSEC 2 (1999)). Who may replace the whole log can make another valid chain: the hash of the
last entry, noted elsewhere, shows that too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.language import tr_lazy

SEARCH, VIEW, EXPORT = "search", "view", "export"
#: The hash before the first entry.
START = "0" * 64
#: Problems that are listed at most.
_LISTED = 100


@dataclass(frozen=True)
class AuditEntry(JsonDocument):
    """What the account ``by`` did at ``time``; ``detail``: a JSON object as text. ``hash``: of it and of all before."""

    JSON_KEYS: ClassVar[JsonKeys] = ("number", "time", "by", "action", ("detail", "detail_values"))

    number: int
    time: str
    by: str
    action: str
    detail: str
    hash: str

    @property
    def detail_values(self) -> dict[str, Any]:
        """What :attr:`detail` holds, whatever it is: ``damaged`` where it is no object of JSON."""
        try:
            detail = json.loads(self.detail)
        except (ValueError, RecursionError):
            detail = None
        return detail if isinstance(detail, dict) else {"damaged": True}


@dataclass(frozen=True)
class AuditHead:
    """The ``number`` and ``hash`` of the last entry, noted apart from the entries."""

    number: int = 0
    hash: str = START


@dataclass(frozen=True)
class AuditCheck(JsonDocument):
    """The number of ``entries`` checked, the ``hash`` of the last, and every problem in words."""

    JSON_KEYS: ClassVar[JsonKeys] = ("entries", "hash", "intact", "problems")

    entries: int
    hash: str
    problems: tuple[str, ...]

    @property
    def intact(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


def entry_hash(previous: str, number: int, time: str, by: str, action: str, detail: str) -> str:
    """The hash of an entry after the one with the hash ``previous``; the server computes the same."""
    parts = (previous, str(number), time, json.dumps(by, ensure_ascii=False), action, detail)
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def check_chain(entries: Iterable[AuditEntry], head: AuditHead, since: str = "") -> AuditCheck:
    """Check ``entries``, which must be in order, be complete and lead to ``head``. ``since``: the hash of an earlier
    last entry, which must still be among them; empty for none."""
    last = AuditHead()
    count, problems, found = 0, [], since in ("", last.hash)
    for entry in entries:
        count += 1
        found = found or entry.hash == since
        if entry.number > last.number + 1:
            problems.append(
                tr_lazy(
                    "Entries {first} to {last} are missing.", first=last.number + 1, last=entry.number - 1
                )
                if entry.number > last.number + 2
                else tr_lazy("Entry {number} is missing.", number=last.number + 1)
            )
            intact = True
        elif entry.number <= last.number:
            problems.append(tr_lazy("Entry {number} is not in its place.", number=entry.number))
            intact = True
        else:
            expected = entry_hash(last.hash, entry.number, entry.time, entry.by, entry.action, entry.detail)
            intact = expected == entry.hash
        if not intact:
            problems.append(tr_lazy("Entry {number} was changed.", number=entry.number))
        last = AuditHead(entry.number, entry.hash)
    if last.number < head.number:
        problems.append(
            tr_lazy("The last {n} entries are missing: {head} were written.", n=head.number - last.number,
                    head=head.number)
        )  # fmt: skip
    elif last.number == head.number and last.hash != head.hash:
        problems.append(tr_lazy("The last entry is not the one that was written."))
    if not found:
        problems.append(
            tr_lazy("No entry has the given hash: the log was replaced, or the hash is of another library.")
        )
    return AuditCheck(count, last.hash, tuple(problems[:_LISTED]))
