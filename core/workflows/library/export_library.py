"""Write a library's cases, features and a split for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.csv_cells import csv_text
from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data_sources import case_units, sealed_rows
from semblance.core.files import make_folder, write_file
from semblance.core.language import tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.exchange_features import FORMATS, export_features
from semblance.core.workflows.metrics.held_out_cases import held_out_cases

if TYPE_CHECKING:
    from semblance.core.library.library import Library

CASES, SPLITS = "cases.csv", "splits.csv"


def export_library(
    library: LibraryLocation,
    folder: Path,
    *,
    features: Sequence[str] = (),
    splits: bool = False,
    ending: str = "npz",
    identified: bool = False,
    reporter: Reporter = SILENT,
) -> list[Path]:
    """Write ``cases.csv``, a file of each feature set and, if ``splits``, ``splits.csv`` into ``folder``, which is
    created if needed; returns their paths. Files of these names are replaced.

    ``cases.csv``: case_id, finding, unit (equal for cases of one patient, lesion or image), if ``identified`` also
    patient and path. ``splits.csv``: case_id and part, "train" or "test", of the current metric. The cases in the
    sealed test vault are left out.

    Raises:
        BadArguments: no such feature set or format.
        BadInput: ``splits`` without a metric that was scored, or features that are damaged.
        SemblanceError: ``folder`` cannot be written.
    """
    ending = f".{ending.removeprefix('.').lower()}"
    if ending not in FORMATS:
        raise BadArguments(
            tr_lazy("Features cannot be written as '{ending}'.", ending=ending),
            tr_lazy("Choose one of {endings}.", endings=", ".join(FORMATS)),
        )
    texts = {}
    with open_library(library) as opened:
        for name in features:
            opened.features.get(name)
        header = ("case_id", "finding", "unit", *(("patient", "path") if identified else ()))
        texts[CASES] = csv_text(header, _cases(opened, identified))
        if splits:
            texts[SPLITS] = csv_text(("case_id", "part"), _parts(opened))
    make_folder(folder, private=False)
    for name, text in texts.items():
        write_file(folder / name, text.encode(), private=False)
    log_export(library, "library", "csv", identified=identified, files=len(texts))
    files = [folder / name for name in texts]
    for name in features:
        out = folder / f"{_file_name(name)}{ending}"
        export_features(library, name, out, reporter=reporter)
        files.append(out)
    return files


def _cases(library: Library, identified: bool) -> Iterator[tuple[object, ...]]:
    rows, units = case_units(library)
    chosen = ~np.isin(rows, sealed_rows(library))
    rows, units = rows[chosen], units[chosen]
    details = library.catalogue.details(rows.tolist())
    # Numbers say nothing of the order of patients elsewhere.
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(units.tolist()), start=1)}
    for row, unit in zip(rows.tolist(), units.tolist(), strict=True):
        case = details[row]
        more = (case.patient or "", "" if case.address is None else str(case.address)) if identified else ()
        yield case.case_id, case.finding or "", numbers[unit], *more


def _parts(library: Library) -> Iterator[tuple[str, str]]:
    """The part of each case of the current metric.

    Raises:
        BadInput: there is no metric, or it was not scored.
    """
    record = library.current_metric()
    if record is None or record.card.get("split") is None:
        raise BadInput(
            "The library has no current metric that was scored on held-out cases, so there is no split.",
            "Train one first, or export without splits.",
        )
    held_out = held_out_cases(library, record)
    ids = held_out.cases.case_ids
    assert ids is not None
    tested = set(held_out.test.tolist())
    trained = set(held_out.train.tolist())
    for place, case_id in enumerate(ids.tolist()):
        if place in trained or place in tested:
            yield case_id, "train" if place in trained else "test"


def _file_name(name: str) -> str:
    """A name of a file for the feature set ``name``, which may hold anything."""
    return "".join(one if one.isalnum() or one in "._- +," else "_" for one in name).strip(". ") or "features"
