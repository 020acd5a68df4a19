"""What an import leaves out of cases for the patients' sake, and what it says about that."""

from __future__ import annotations

from dataclasses import replace

from semblance.core.imaging.pseudonyms import is_identifying
from semblance.core.language import tr_lazy
from semblance.core.library.importers.importer import FoundCase, RejectedFile


class ImportPrivacy:
    """Looks over the cases of one import; ``asked``: whether ids were to be kept this time."""

    def __init__(self, identified: bool, *, asked: bool) -> None:
        self._identified, self._asked = identified, asked
        self._left_out: set[str] = set()
        self._headers = False
        self._burnt_in = {"yes": 0, "possible": 0}

    def kept(self, item: FoundCase | RejectedFile) -> FoundCase | RejectedFile:
        """``item``, without the columns of tables that tell who a patient is."""
        if isinstance(item, RejectedFile):
            return item
        burnt_in = item.attributes.get("burnt_in_text", "")
        if burnt_in in self._burnt_in:
            self._burnt_in[burnt_in] += 1
        self._headers = self._headers or "study" in item.attributes
        telling = [] if self._identified else [name for name in item.attributes if is_identifying(name)]
        if not telling:
            return item
        self._left_out.update(telling)
        return replace(
            item, attributes={name: said for name, said in item.attributes.items() if name not in telling}
        )

    def notes(self) -> list[str]:
        """In sentences; nothing for sources that tell nothing of patients."""
        notes = []
        if self._headers and not self._identified:
            notes.append(
                tr_lazy(
                    "De-identified: patient ids and UIDs are replaced by codes of this library, dates are "
                    "moved, case ids do not show folders."
                )
            )
        elif self._headers and not self._asked:
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
