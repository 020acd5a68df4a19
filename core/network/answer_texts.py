"""Texts in the answers of a PACS over DIMSE, whose character set may be missing or wrong (PS3.3, C.12.1.1.2)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from semblance.core.normal_text import composed

if TYPE_CHECKING:
    from pydicom import Dataset

    from semblance.core.network.studies import StudyQuery

#: Character sets that a text may be in if it is not UTF-8: those of DICOM, the most usual first.
_CHARACTER_SETS: Final = (
    "latin-1",
    "iso8859-2",
    "iso8859-5",
    "windows-1251",
    "iso8859-7",
    "iso8859-9",
    "shift_jis",
    "gb18030",
    "euc-kr",
)
#: Sets of pydicom whose characters have several bytes.
_WIDE: Final = ("shift_jis", "gb18030", "gbk", "euc_kr")


class DimseAnswer:
    """One answer to ``query``. ``is_certain``: its texts are in the character set that it states.

    A text in another is read as UTF-8, else as what fits the query, which the server has compared with it, else as
    Latin-1.
    """

    def __init__(self, dataset: Dataset, query: StudyQuery) -> None:
        from pydicom.charset import python_encoding

        self._dataset = dataset
        self._query = query
        self.is_certain = True
        stated = str(dataset.get("SpecificCharacterSet") or "")
        # Several sets change by escape sequences, which only pydicom reads.
        self._is_mixed = stated.startswith(("[", "ISO 2022"))
        codec = python_encoding.get(stated, "").lower()
        #: That of the set that is stated; ASCII alone is what is stated where nothing is.
        self._codec = "" if codec == "iso8859" else codec

    def get(self, keyword: str) -> Any:
        """The value or values of the element with this keyword."""
        from pydicom.datadict import tag_for_keyword

        tag = tag_for_keyword(keyword)
        element = self._dataset.get_item(tag) if tag is not None and tag in self._dataset else None
        data = self._bytes_of(element)
        if data is None or self._is_mixed:
            return self._dataset.get(keyword)
        return [part.strip(" \0") for part in self._decoded(keyword, data).split("\\")]

    def _bytes_of(self, element: Any) -> bytes | None:
        """The bytes of an element as they came, ``None`` where they are not known."""
        value = getattr(element, "value", None)
        # pynetdicom may have read it, as Latin-1 where no character set is stated.
        value = getattr(value, "original_string", value)
        if isinstance(value, str) and not self._codec:
            with contextlib.suppress(UnicodeEncodeError):
                return value.encode("latin-1")
        return value if isinstance(value, bytes) else None

    def _decoded(self, keyword: str, data: bytes) -> str:
        codecs = ("utf-8", self._codec)
        for codec in dict.fromkeys(codecs[::-1] if self._codec in _WIDE else codecs):
            with contextlib.suppress(UnicodeDecodeError, LookupError):
                text = data.decode(codec)
                # Bytes of a character set of one byte are hardly ever UTF-8 as well.
                self.is_certain = self.is_certain and (
                    data.isascii() or codec.replace("-", "") == self._codec
                )
                return text
        self.is_certain = False
        return self._fitting(keyword, data)

    def _fitting(self, keyword: str, data: bytes) -> str:
        for codec in _CHARACTER_SETS:
            try:
                text = composed(data.decode(codec))
            except UnicodeDecodeError:
                continue
            if self._query.fits(keyword, text):
                return text
        return data.decode("latin-1")
