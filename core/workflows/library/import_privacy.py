"""Remove identifying columns from imported cases, and report what was removed."""

from __future__ import annotations

from dataclasses import replace

from semblance.core.imaging.pseudonyms import is_identifying
from semblance.core.language import tr_lazy
from semblance.core.library.importers.importer import Found, FoundRows, RejectedFile


class ImportPrivacy:
    """Checks the cases of one import; ``requested``: whether this import should keep ids. ``has_headers``: whether some
    had headers with patient data."""

    def __init__(self, identified: bool, *, requested: bool) -> None:
        self._identified, self._requested = identified, requested
        self._left_out: set[str] = set()
        self.has_headers = False
        self._burnt_in = {"yes": 0, "possible": 0}

    def check(self, item: Found) -> Found:
        """``item`` without the columns of tables that may identify a patient."""
        if isinstance(item, RejectedFile):
            return item
        if isinstance(item, FoundRows):
            named = [] if self._identified else [name for name in item.attributes if is_identifying(name)]
            self._left_out.update(name for name in named if any(item.attributes[name]))
            return replace(item, attributes={k: v for k, v in item.attributes.items() if k not in named})
        burnt_in = item.attributes.get("burnt_in_text", "")
        if burnt_in in self._burnt_in:
            self._burnt_in[burnt_in] += 1
        self.has_headers = self.has_headers or "study" in item.attributes
        identifying = [] if self._identified else [name for name in item.attributes if is_identifying(name)]
        if not identifying:
            return item
        self._left_out.update(identifying)
        return replace(
            item,
            attributes={name: value for name, value in item.attributes.items() if name not in identifying},
        )

    def notes(self) -> list[str]:
        """Sentences about what was removed; none for sources without patient data."""
        notes = []
        if self.has_headers and not self._identified:
            notes.append(
                tr_lazy(
                    "De-identified: patient ids and UIDs are replaced by codes of this library, dates are "
                    "moved, case ids do not show folders."
                )
            )
        elif self.has_headers and not self._requested:
            notes.append(tr_lazy("Patient ids are kept: this source was imported with them before."))
        if self._left_out:
            columns = ", ".join(sorted(self._left_out))
            notes.append(tr_lazy("Left out because they may identify a patient: {columns}.", columns=columns))
        stated, possible = self._burnt_in["yes"], self._burnt_in["possible"]
        if stated:
            notes.append(
                tr_lazy(
                    "Burnt-in text: stated in {stated:,} files. It is not removed from the images.",
                    stated=stated,
                )
            )
        if possible:
            notes.append(
                tr_lazy(
                    "Burnt-in text is possible in {possible:,} files (ultrasound, secondary capture, "
                    "scans, screenshots). Check the images before passing them on.",
                    possible=possible,
                )
            )
        return notes
