"""List the cases of a library with what is known of each, by columns."""

from __future__ import annotations

from typing import Any

from semblance.core.evaluation.data_sources import sealed_rows
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter

#: Cases read together.
_PART = 5_000


def list_cases(library: LibraryLocation, *, reporter: Reporter = SILENT) -> dict[str, list[Any]]:
    """Name of a column -> a value for each case, in the order they were added, ``None`` where it is not known.

    case_id, finding, patient, path ("" without an image), kind (of the source), width and height (pixels), slices (of
    a volume), sealed (whether it is in the sealed test vault), and the attributes of headers and tables by their names.

    Raises:
        BadInput: not a library, or damaged.
    """
    columns: dict[str, list[Any]] = {
        name: []
        for name in ("case_id", "finding", "patient", "path", "kind", "width", "height", "slices", "sealed")
    }
    attributes = []
    with open_library(library) as opened:
        rows = opened.catalogue.case_rows()
        sealed = set(sealed_rows(opened).tolist())
        for start in range(0, len(rows), _PART):
            reporter.check_cancelled()
            reporter.progress(start, len(rows), tr_lazy("Reading cases"))
            for row, case in sorted(opened.catalogue.details(rows[start : start + _PART].tolist()).items()):
                values = (
                    case.case_id,
                    case.finding,
                    case.patient or None,
                    "" if case.address is None else str(case.address),
                    case.kind,
                    case.width,
                    case.height,
                    case.depth,
                    row in sealed,
                )
                for column, value in zip(columns.values(), values, strict=True):
                    column.append(value)
                attributes.append(case.attributes)
    names = sorted({name for one in attributes for name in one} - columns.keys())
    return columns | {name: [one.get(name) for one in attributes] for name in names}
