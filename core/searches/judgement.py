"""A judgement: how similar a case is to a query, in the opinion of a user."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.records import JudgementRecord


class JudgementKind(StrEnum):
    """The kinds of judgement."""

    ALIKE = "alike"
    NOT_ALIKE = "not alike"
    CLOSER = "closer"


def query_key(query: str, region: Mapping[str, Any] | None) -> str:
    """The query as a key; see :attr:`Judgement.query_key`."""
    if region is None:
        return query
    text = json.dumps(dict(region), sort_keys=True)
    return f"{query}#{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"


@dataclass(frozen=True)
class Judgement:
    """``case`` is (not) like ``query``, or it is closer to ``query`` than ``other`` is.

    ``query`` is a case id, or the path of an image outside the library; ``region`` (JSON) the part of it that was
    searched with. ``shown``: the cases on screen at that time, with which a single judgement is compared.
    ``time`` is ISO 8601 in UTC.

    Raises:
        BadInput: a case judged against itself, or not the cases its kind needs.
    """

    kind: JudgementKind
    query: str
    case: str
    other: str | None = None
    region: Mapping[str, Any] | None = None
    shown: tuple[str, ...] = ()
    author: str = ""
    time: str = ""

    def __post_init__(self) -> None:
        if (self.other is not None) != (self.kind == JudgementKind.CLOSER):
            raise BadInput(
                "'Closer' compares two cases with the query, a mark judges one.", "Choose the cases again."
            )
        for case in (self.case, self.other):
            if case == self.query:
                raise BadInput(
                    tr_lazy("{case} cannot be judged against itself.", case=case), "Judge another case."
                )
        if self.case == self.other:
            raise BadInput(
                tr_lazy("{case} cannot be closer than itself.", case=self.case), "Choose two different cases."
            )

    @property
    def query_key(self) -> str:
        """The query as a key: equal for the same region of the same case or image."""
        return query_key(self.query, self.region)

    @property
    def statement(self) -> tuple[str, str, str, str]:
        """Equal for judgements with the same content, whatever their author and time."""
        return self.kind.value, self.query_key, self.case, self.other or ""

    def cases(self) -> tuple[str, ...]:
        """The query and the cases it is about; a query from outside the library is its path."""
        return (self.query, self.case) if self.other is None else (self.query, self.case, self.other)

    def to_record(self) -> JudgementRecord:
        """The judgement as it is stored in the catalogue."""
        region = None if self.region is None else dict(self.region)
        return JudgementRecord(
            self.kind.value, self.query, self.case, self.other, region, self.shown, self.author, self.time
        )

    @classmethod
    def from_record(cls, record: JudgementRecord) -> Judgement:
        """The judgement of a record of the catalogue.

        Raises:
            BadInput: a kind that this version does not know.
        """
        try:
            kind = JudgementKind(record.kind)
        except ValueError:
            raise BadInput(
                tr_lazy("The library holds a judgement of the unknown kind '{kind}'.", kind=record.kind),
                "Update Semblance to use it.",
            ) from None
        return cls(
            kind,
            record.query,
            record.case,
            record.other,
            record.region,
            record.shown,
            record.author,
            record.time,
        )
