"""Find cases by words in their findings, notes, reports and headers, ids and patients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.json_document import JsonDocument
from semblance.core.library.case_columns import words
from semblance.core.library.case_names import SHIFTED
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.text_query import TextHit
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.library_snapshot import read_snapshot


@dataclass(frozen=True)
class FoundCases(JsonDocument):
    """The cases of a library that contain every word of ``find``, in the order of their ids; of ``total`` cases."""

    library: str
    find: str
    total: int
    cases: list[dict[str, Any]]


def header_rows(
    library: LibraryLocation, searched: Sequence[str], *, reporter: Reporter = SILENT
) -> dict[str, npt.NDArray[np.int64]]:
    """Word -> ascending catalogue rows of the cases whose header or ``labels.csv`` has a word beginning with it.

    Raises:
        BadInput: not a library, or damaged.
    """
    with open_library(library) as opened:
        return {word: opened.catalogue.rows_with_word(word) for word in searched}


def text_hits(
    library: LibraryLocation, rows: Sequence[int], text: str, *, reporter: Reporter = SILENT
) -> dict[int, TextHit]:
    """Row -> where the case has words of ``text``, of the cases at ``rows`` of the catalogue that have any.

    Raises:
        BadInput: not a library, or damaged.
    """
    with open_library(library) as opened:
        return opened.catalogue.text_hits(rows, text)


def find_cases(library: LibraryLocation, text: str = "") -> FoundCases:
    """The cases that contain every word of ``text``, all without one; the window's filter finds the same.

    Raises:
        BadInput: not a library, or damaged.
    """
    columns = read_snapshot(library).columns
    found = columns.ordered_by_id(columns.filtered(None, text, header_rows(library, words(text))))
    headers = columns.headers
    return FoundCases(
        str(library),
        text,
        len(columns),
        [
            {
                "case_id": columns.ids[index],
                "name": columns.name(index),
                "patient": columns.patient_name(index),
                "finding": columns.finding_name(index),
                "modality": headers.text("modality", index) or None,
                "body_part": headers.text("body_part", index) or None,
                "study_description": headers.text("study_description", index) or None,
                "series_description": headers.text("series_description", index) or None,
                "date": headers.text("date", index).removesuffix(SHIFTED) or None,
                "date_shifted": headers.text("date", index).endswith(SHIFTED),
                "images": int(headers.images[index]),
            }
            for index in map(int, found)
        ],
    )
