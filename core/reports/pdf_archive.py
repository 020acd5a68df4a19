"""What makes a PDF one for archiving (PDF/A-2b, ISO 19005-2): XMP metadata and the colour space of its output."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from xml.sax.saxutils import escape

from reportlab.pdfbase.pdfdoc import PDFArray, PDFDictionary, PDFName, PDFObject, PDFStream, PDFString

_SRGB = "sRGB IEC61966-2.1"
_XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:pdf="http://ns.adobe.com/pdf/1.3/"
 xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/">
<dc:format>application/pdf</dc:format>
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">{title}</rdf:li></rdf:Alt></dc:title>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">{subject}</rdf:li></rdf:Alt></dc:description>
<dc:creator><rdf:Seq><rdf:li>{author}</rdf:li></rdf:Seq></dc:creator>
<pdf:Keywords>{keywords}</pdf:Keywords>
<pdf:Producer>{producer}</pdf:Producer>
<xmp:CreatorTool>{creator}</xmp:CreatorTool>
<xmp:CreateDate>{date}</xmp:CreateDate>
<xmp:ModifyDate>{date}</xmp:ModifyDate>
{conformance}</rdf:Description>
</rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""
_CONFORMANCE = "<pdfaid:part>2</pdfaid:part>\n<pdfaid:conformance>B</pdfaid:conformance>\n"


_END = b"endstream\n"
_SAVING = threading.Lock()


@contextlib.contextmanager
def archive_streams() -> Iterator[None]:
    """A context in which ReportLab writes streams with the end of line before their last word that ISO 19005-2, 6.1.7.1
    asks for. It makes the streams of pages, fonts and images itself and has no other place to change them."""
    with _SAVING:
        format_stream = PDFStream.format

        def format_with_line_end(stream: Any, document: Any) -> bytes:
            written: bytes = format_stream(stream, document)
            return written.removesuffix(_END) + b"\n" + _END

        PDFStream.format = format_with_line_end
        try:
            yield
        finally:
            PDFStream.format = format_stream


class _Metadata(PDFObject):  # type: ignore[misc]
    """A stream of metadata, which must not be compressed, so that archives find it."""

    #: ReportLab's mark of objects that others refer to.
    __RefOnly__ = 1

    def __init__(self, xmp: bytes) -> None:
        self._xmp = xmp

    def format(self, document: Any) -> bytes:
        entries = {"Type": PDFName("Metadata"), "Subtype": PDFName("XML"), "Length": len(self._xmp)}
        head: bytes = PDFDictionary(entries).format(document)
        return head + b"\nstream\n" + self._xmp + b"\n" + _END


def add_archive_parts(canvas: Any, language: str, *, conforms: bool) -> None:
    """Give the document of a ReportLab ``canvas`` its XMP metadata, output intent (sRGB) and ``language`` before it is
    saved; ``conforms``: it claims PDF/A-2b, for which all its fonts must be embedded."""
    document = canvas._doc
    info, catalog = document.info, document.Catalog
    moment = datetime.fromtimestamp(document._timeStamp.t, UTC)
    xmp = _XMP.format(
        title=escape(info.title),
        subject=escape(info.subject),
        author=escape(info.author),
        keywords=escape(info.keywords),
        producer=escape(info.producer),
        creator=escape(info.creator),
        date=f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        conformance=_CONFORMANCE if conforms else "",
    )
    catalog.Metadata = _Metadata(xmp.encode())
    profile = PDFStream(PDFDictionary({"N": 3}), _srgb_profile())
    intent = {
        "Type": PDFName("OutputIntent"),
        "S": PDFName("GTS_PDFA1"),
        "OutputConditionIdentifier": PDFString(_SRGB),
        "Info": PDFString(_SRGB),
        "DestOutputProfile": document.Reference(profile),
    }
    catalog.OutputIntents = PDFArray([PDFDictionary(intent)])
    # ReportLab writes only the entries of a catalogue that are listed here.
    catalog.__NoDefault__ = [*catalog.__NoDefault__, "OutputIntents"]
    catalog.Lang = PDFString(language)


@functools.cache
def _srgb_profile() -> bytes:
    """The ICC profile of sRGB by Little CMS, with a fixed date, so that the same report gives the same bytes.

    It says to be of ICC version 4.2, the last that PDF 1.7 knows; its tags are the same in later ones.
    """
    from PIL import ImageCms

    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    profile[8:12] = b"\x04\x20\x00\x00"
    # ICC.1:2010, 7.2: year, month, day, hour, minute and second as 16-bit numbers.
    profile[24:36] = b"".join(number.to_bytes(2, "big") for number in (2000, 1, 1, 0, 0, 0))
    return bytes(profile)
