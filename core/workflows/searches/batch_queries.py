"""The queries of a batch of reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data_sources import sealed_rows
from semblance.core.language import tr_lazy
from semblance.core.library.importers.encodings import decoded
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.normal_text import composed
from semblance.core.workflows.metrics.leakage import IdentityIndex, contents_elsewhere

#: A longer or larger file is not read as a list of ids.
MAX_BYTES = 64 << 20


def all_cases(library: LibraryLocation) -> list[str]:
    """All cases of ``library`` except the sealed ones.

    Raises:
        BadInput: not a library.
    """
    with open_library(library) as opened:
        sealed = set(sealed_rows(opened).tolist())
        return [row.case_id for row in opened.catalogue.all_cases() if row.id not in sealed]


def held_out_cases(library: LibraryLocation, metric: str) -> list[str]:
    """The held-out cases of ``metric``: no training case, no other case of their patients, no copy.

    Raises:
        BadInput: not a library.
        BadArguments: no such metric, or it was trained on all cases.
    """
    with open_library(library) as opened:
        record = opened.metric(metric)
        unseen = IdentityIndex(opened).unseen(record.training, contents_elsewhere(record.card))
        fresh = set(np.setdiff1d(unseen, sealed_rows(opened)).tolist())
        held_out = [row.case_id for row in opened.catalogue.all_cases() if row.id in fresh]
    if not held_out:
        raise BadArguments(
            tr_lazy("'{metric}' was trained on a case of every patient.", metric=metric),
            "Name the cases in a file, or use all.",
        )
    return held_out


def listed_cases(file: Path) -> list[str]:
    """The ids in a text file, one per line; empty lines are skipped.

    Raises:
        BadInput: the file cannot be read, is no text, or names nothing.
    """
    try:
        if file.stat().st_size > MAX_BYTES:
            raise BadInput(
                tr_lazy("{file} is too large for a list of cases.", file=file), "Write one id a line."
            )
        data = file.read_bytes()
    except OSError as error:
        raise BadInput(
            tr_lazy("The list {file} cannot be read: {reason}.", file=file, reason=error.strerror or error),
            "Name another file.",
        ) from error
    lines = composed(decoded(data, str(file))[0]).splitlines() if data else []
    ids = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not ids:
        raise BadInput(tr_lazy("The list {file} names no case.", file=file), "Write one id a line.")
    return ids
