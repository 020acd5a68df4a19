"""Cases, features, findings, judgements, marks and searches written into a library."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from semblance.core.library.records import CHUNK, CaseRecord, FileRecord, JudgementRecord
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.stored_searches import add_search
from semblance.core.workflows.library.edit_cases import set_finding

CASES = 5
LEDGER, CONCEPT, SET, COLUMNS = "l", "round", "f", [("a", "g"), ("b", "g")]


def cases_of(number: int) -> list[str]:
    return [f"s/{number}-{place}" for place in range(CASES)]


def prepare(library: ServerLibrary) -> None:
    library.concepts.add(CONCEPT)
    library.features.make(SET, "raw", 1, {}, COLUMNS, dtype="float64")


def write_one(library: ServerLibrary, number: int) -> None:
    """Write one of each kind under ``number``, each in a transaction of its own."""
    catalogue = library.catalogue
    ids = cases_of(number)
    names = [case.removeprefix("s/") for case in ids]
    source = catalogue.add_source("folder", "s", Path("/images"))
    catalogue.put(
        source,
        [FileRecord(name, 1, 1, name, "ok") for name in names],
        [CaseRecord(case, name, content=name) for case, name in zip(ids, names, strict=True)],
    )
    made = library.features.get(SET)
    rows = library.features.cases_to_extract(made, images=None)[:CHUNK]
    library.features.write_chunk(made, rows, np.stack([rows, 2 * rows], axis=1).astype(np.float64))
    set_finding(library.location, ids, str(number))
    library.judgements(LEDGER).append([JudgementRecord("alike", "q", str(number), None, None, (), "w", "t")])
    library.concepts.mark(library.concepts.all()[0].id, [(case, True) for case in ids])
    add_search(catalogue, str(number), {"number": number})
