"""Transfer syntaxes: how pixels are packed, and which decoder unpacks them."""

from __future__ import annotations

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy

IMPLICIT_LITTLE = "1.2.840.10008.1.2"
EXPLICIT_LITTLE = "1.2.840.10008.1.2.1"
EXPLICIT_BIG = "1.2.840.10008.1.2.2"
DEFLATED = "1.2.840.10008.1.2.1.99"
#: GE's own: an implicit little-endian header and pixels with the highest byte first.
GE_PRIVATE = "1.2.840.113619.5.2"
#: Every frame is deflated separately.
DEFLATED_FRAMES = "1.2.840.10008.1.2.8.1"
RLE = "1.2.840.10008.1.2.5"
JPEG_BASELINE = "1.2.840.10008.1.2.4.50"
JPEG_EXTENDED = "1.2.840.10008.1.2.4.51"
JPEG_2000 = "1.2.840.10008.1.2.4.90"

JPEG_LOSSLESS = frozenset(("1.2.840.10008.1.2.4.57", "1.2.840.10008.1.2.4.70"))
JPEG_LS = frozenset(("1.2.840.10008.1.2.4.80", "1.2.840.10008.1.2.4.81"))

#: Pixels as they are in memory.
PLAIN = frozenset({IMPLICIT_LITTLE, EXPLICIT_LITTLE, EXPLICIT_BIG, DEFLATED, GE_PRIVATE})

_JPEG = "1.2.840.10008.1.2.4."
#: Compressed syntax -> decoders of pydicom, the preferred one first. gdcm only where there is no other: on some
#: damaged data it ends the whole process.
DECODERS: dict[str, tuple[str, ...]] = {
    # pylibjpeg's is faster but ends the thread on damaged data without an error.
    RLE: ("pydicom",),
    f"{_JPEG}50": ("pillow", "pylibjpeg"),
    JPEG_EXTENDED: ("pillow", "pylibjpeg"),
    f"{_JPEG}57": ("gdcm",),
    f"{_JPEG}70": ("gdcm",),
    f"{_JPEG}80": ("pyjpegls",),
    f"{_JPEG}81": ("pyjpegls",),
    f"{_JPEG}90": ("pylibjpeg", "pillow"),
    f"{_JPEG}91": ("pylibjpeg", "pillow"),
    f"{_JPEG}201": ("pylibjpeg",),
    f"{_JPEG}202": ("pylibjpeg",),
    f"{_JPEG}203": ("pylibjpeg",),
}
_FILMS = tuple(f"{_JPEG}{number}" for number in (100, 101, 102, 103, 104, 105, 106, 107, 108))


def check_syntax(syntax: str, name: str) -> None:
    """
    Raises:
        BadInput: this compression cannot be read; the message names it.
    """
    if syntax in PLAIN or syntax in DECODERS or syntax == DEFLATED_FRAMES:
        return
    from pydicom.uid import UID

    called = UID(syntax).name if syntax else tr_lazy("an unknown transfer syntax")
    if syntax.startswith(_FILMS):
        raise BadInput(
            tr_lazy("'{name}' is a video ({called}), not an image.", name=name, called=called),
            "Export single images of it.",
        )
    raise BadInput(
        tr_lazy("Semblance cannot read the compression of '{name}' ({called}).", name=name, called=called),
        "Export it uncompressed or as JPEG 2000.",
    )
