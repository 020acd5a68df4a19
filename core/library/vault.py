"""The sealed test vault of a library: which cases no choice may see, and when they were opened to test a metric."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import sqlalchemy as sa

from semblance.core.errors import BadInput
from semblance.core.json_document import JsonDocument
from semblance.core.library.schema import meta
from semblance.core.library.stored_values import stored_value

if TYPE_CHECKING:
    from semblance.core.library.catalogue import Catalogue

_KEY = "test vault"
#: Key of stored scores: the openings for the metric.
OPENINGS = "vault_openings"


@dataclass(frozen=True)
class VaultOpening(JsonDocument):
    """One test in the vault: the ``number`` of the opening, the metric with its content hash, and its ``result``."""

    JSON_STRICT: ClassVar[bool] = True

    number: int
    time: str
    metric: str
    content_hash: str
    result: Mapping[str, Any]


@dataclass(frozen=True)
class Vault:
    """``case_ids``: the sealed cases; cases of their patients and lesions that come later are sealed with them.

    ``sealed``: when cases were sealed last; ``how``: in words; ``metrics_before``: the metrics that existed then.
    """

    case_ids: frozenset[str]
    sealed: str
    how: str
    metrics_before: tuple[str, ...] = ()
    openings: tuple[VaultOpening, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As stored."""
        return {
            "cases": sorted(self.case_ids),
            "sealed": self.sealed,
            "how": self.how,
            "metrics_before": list(self.metrics_before),
            "openings": [one.to_json() for one in self.openings],
        }


def read_vault(catalogue: Catalogue) -> Vault | None:
    """The vault; ``None`` where nothing is sealed.

    Raises:
        BadInput: it cannot be read, so the sealed cases are unknown.
    """
    return _vault(stored_value(catalogue, _KEY))


def stored_openings(scores: Mapping[str, Any] | None) -> tuple[VaultOpening, ...]:
    """The openings in the stored ``scores`` of a metric; none where there are none that can be read."""
    try:
        return tuple(VaultOpening.from_json(one) for one in (scores or {}).get(OPENINGS) or ())
    except (KeyError, TypeError, ValueError):
        return ()


def seal_cases(catalogue: Catalogue, case_ids: Collection[str], how: str, metrics: Collection[str]) -> Vault:
    """Seal cases, in addition to those sealed before; ``metrics``: those that exist."""
    with catalogue.transaction() as connection:
        before = _stored(connection)
        vault = Vault(frozenset(case_ids), catalogue.now(), how, tuple(metrics))
        if before is not None:
            vault = replace(
                vault,
                case_ids=vault.case_ids | before.case_ids,
                how=f"{before.how}; {how}",
                openings=before.openings,
            )
        _store(connection, vault)
    return vault


def unseal(catalogue: Catalogue) -> Vault | None:
    """Remove the vault, if it was never opened; what was sealed.

    Raises:
        BadInput: it was opened.
    """
    with catalogue.transaction() as connection:
        vault = _stored(connection)
        if vault is not None and vault.openings:
            raise BadInput(
                "The test vault was opened, so it stays sealed.",
                "Its cases have been used to test a metric. Seal other patients for another test.",
            )
        connection.execute(meta.delete().where(meta.c.key == _KEY))
    return vault


def add_opening(
    connection: sa.Connection, opened: str, metric: str, content_hash: str, result: Mapping[str, Any]
) -> VaultOpening:
    """Count an opening at the time ``opened`` (ISO 8601, UTC).

    Raises:
        BadInput: nothing is sealed.
    """
    vault = _stored(connection)
    if vault is None:
        raise BadInput("The library has no sealed test vault.", "Seal some patients first.")
    opening = VaultOpening(len(vault.openings) + 1, opened, metric, content_hash, result)
    _store(connection, replace(vault, openings=(*vault.openings, opening)))
    return opening


def _stored(connection: sa.Connection) -> Vault | None:
    found = connection.execute(sa.select(meta.c.value).where(meta.c.key == _KEY)).scalar()
    return _vault(json.loads(found) if found else None)


def _store(connection: sa.Connection, vault: Vault) -> None:
    connection.execute(meta.delete().where(meta.c.key == _KEY))
    connection.execute(meta.insert().values(key=_KEY, value=json.dumps(vault.to_json())))


def _vault(value: Any) -> Vault | None:
    if value is None:
        return None
    try:
        return Vault(
            frozenset(map(str, value["cases"])),
            str(value["sealed"]),
            str(value["how"]),
            tuple(map(str, value["metrics_before"])),
            tuple(VaultOpening.from_json(one) for one in value["openings"]),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise BadInput(
            "The record of the sealed test vault is damaged.", "Restore a backup of the library."
        ) from problem
