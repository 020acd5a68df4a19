"""Scans a source with an importer, and checks that every file is reported once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from semblance.core.library.importers.importer import Found, FoundCase, FoundRows, RejectedFile
from semblance.core.library.importers.registry import get_importer, recognise
from semblance.core.library.importers.source import Source
from semblance.core.tasks import SILENT


def cases_of(item: Found) -> list[FoundCase]:
    """The cases that an importer found at once: of a table the rows, one by one."""
    if isinstance(item, FoundRows):
        return [
            FoundCase(
                key,
                item.path,
                finding=item.findings[place],
                patient=item.patients[place],
                attributes=item.attributes_of(place),
                values=tuple(item.values[place].tolist()),
                columns=item.columns,
            )
            for place, key in enumerate(item.keys)
        ]
    return [item] if isinstance(item, FoundCase) else []


class Scan:
    """The cases and rejected files that an importer reports."""

    def __init__(self, path: Path, kind: str = "auto") -> None:
        with Source.open(path) as source:
            importer = recognise(source)[0][0] if kind == "auto" else get_importer(kind)
            found = list(importer.scan(source, SILENT))
            second_time = list(importer.scan(source, SILENT))
            self.entries = {source.label(entry.path) for entry in source.entries()}
            self.label = source.label
        assert repr(found) == repr(second_time)
        self.kind = importer.kind
        self.cases = [case for item in found for case in cases_of(item)]
        self.rejected = {
            found_file.path: found_file for found_file in found if isinstance(found_file, RejectedFile)
        }
        assert len({case.key for case in self.cases}) == len(self.cases)
        assert all(found_file.reason for found_file in self.rejected.values())

    @property
    def findings(self) -> dict[str | None, int]:
        return dict(Counter(case.finding for case in self.cases))

    def assert_each_file_reported_once(self) -> None:
        with_cases = {self.label(path) for case in self.cases for path in case.paths}
        assert not with_cases & set(self.rejected)
        assert self.entries <= with_cases | set(self.rejected)
