"""What an importer tells of a source, and that it tells every file exactly once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from semblance.core.library.importers.importer import FoundCase, RejectedFile
from semblance.core.library.importers.registry import get_importer, recognise
from semblance.core.library.importers.source import Source
from semblance.core.tasks import SILENT


class Scan:
    """What an importer told about a source."""

    def __init__(self, path: Path, kind: str = "auto") -> None:
        with Source.open(path) as source:
            importer = recognise(source)[0][0] if kind == "auto" else get_importer(kind)
            found = list(importer.scan(source, SILENT))
            again = list(importer.scan(source, SILENT))
            self.entries = {source.label(entry.path) for entry in source.entries()}
            self.label = source.label
        assert repr(found) == repr(again)
        self.kind = importer.kind
        self.cases = [item for item in found if isinstance(item, FoundCase)]
        self.rejected = {item.path: item for item in found if isinstance(item, RejectedFile)}
        assert len({case.key for case in self.cases}) == len(self.cases)
        assert all(item.reason for item in self.rejected.values())

    @property
    def findings(self) -> dict[str | None, int]:
        return dict(Counter(case.finding for case in self.cases))

    def assert_each_file_told_once(self) -> None:
        with_cases = {self.label(path) for case in self.cases for path in case.paths}
        assert not with_cases & set(self.rejected)
        assert self.entries <= with_cases | set(self.rejected)
