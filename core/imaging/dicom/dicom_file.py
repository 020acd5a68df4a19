"""Opening DICOM files: the header read without the pixels, and where the pixels lie."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.attributes import tag_of
from semblance.core.imaging.dicom.transfer_syntaxes import (
    DEFLATED,
    EXPLICIT_BIG,
    EXPLICIT_LITTLE,
    GE_PRIVATE,
    IMPLICIT_LITTLE,
    PLAIN,
)
from semblance.core.language import tr_lazy
from semblance.core.limits import (
    MAX_FILE_BYTES,
    MAX_OBJECT_BYTES,
    allow_memory,
    max_unpacked,
    memory_limit,
    size_text,
)

if TYPE_CHECKING:
    from pydicom import Dataset
    from pydicom.dataset import FileMetaDataset

COPY_AGAIN = tr_lazy("Copy it from its source again, or leave it out.")

#: Length of a pixel element that ends with a delimiter.
UNDEFINED = 0xFFFFFFFF

#: An item, and the delimiters that end a sequence (PS3.5 7.5.2).
_ITEM, _END, _END_BIG = b"\xfe\xff\x00\xe0", b"\xfe\xff\xdd\xe0\0\0\0\0", b"\xff\xfe\xe0\xdd\0\0\0\0"
#: How frames of JPEG and JPEG 2000 begin.
_CODESTREAMS = (b"\xff\xd8\xff", b"\xff\x4f\xff\x51", b"\x00\x00\x00\x0c")
_PIECE = 16 << 20
_PREAMBLE = 128
_PIXEL_TAGS = {0x7FE00008: "FloatPixelData", 0x7FE00009: "DoubleFloatPixelData", 0x7FE00010: "PixelData"}
_LONG_VRS = frozenset((b"OB", b"OW", b"OF", b"OD", b"OL", b"OV", b"UN", b"SQ", b"UT", b"UC", b"UR"))
_SHORT_VRS = frozenset(b"AE AS AT CS DA DS DT FD FL IS LO LT PN SH SL SS ST SV TM UI UL US UV".split())
#: A first element of a file without preamble is not longer than this.
_LONGEST_FIRST = 1024


@dataclass
class DicomFile:
    """A DICOM file whose header is read.

    ``file`` holds the bytes as ``syntax`` has them (a deflated file's are inflated already); ``pixels`` is
    the keyword of the pixel element, or "" where there is none; its value lies at ``offset`` and is
    ``length`` bytes long (:data:`UNDEFINED` where packed); ``size`` is that of the file. ``syntax`` is the one that the
    bytes prove, which need not be the one that the file declares; ``remarks`` say where it is not. ``little_header``:
    numbers of the header are stored with their lowest byte first.
    """

    dataset: Dataset
    file: BinaryIO
    name: str
    syntax: str
    size: int
    pixels: str = ""
    pixel_vr: str = ""
    offset: int = 0
    length: int = 0
    little_header: bool = True
    remarks: list[str] = field(default_factory=list)

    @property
    def little(self) -> bool:
        """Whether pixels are stored with their lowest byte first."""
        return self.syntax not in (EXPLICIT_BIG, GE_PRIVATE)

    @property
    def plain_syntax(self) -> str:
        """The syntax of uncompressed pixels that the header is written in."""
        implicit, little = self.dataset.original_encoding
        return IMPLICIT_LITTLE if implicit else EXPLICIT_LITTLE if little else EXPLICIT_BIG

    def use_proved_syntax(self, syntax: str) -> None:
        """Take ``syntax`` for the one that the bytes are written in, and say so."""
        if syntax == self.syntax:
            return
        from pydicom.uid import UID

        self.remarks.append(
            tr_lazy(
                "The file declares the transfer syntax {declared}, but is written in {written}, as which it is read.",
                declared=UID(self.syntax).name,
                written=UID(syntax).name,
            )
        )
        self.syntax = syntax
        self.dataset.file_meta.TransferSyntaxUID = UID(syntax)


def looks_like_dicom(head: bytes) -> bool:
    """Whether a file's first 136 bytes are those of a DICOM file, with its preamble or plausibly without."""
    if head[_PREAMBLE : _PREAMBLE + 4] == b"DICM":
        return True
    if len(head) < 12:
        return False
    if head[:2] in (b"\0\2", b"\0\10") and head[4:6] in _SHORT_VRS | _LONG_VRS:
        # Explicit and big endian.
        head = head[1::-1] + head[3:1:-1] + head[4:6] + head[7:5:-1] + head[8:]
    group, element = int.from_bytes(head[:2], "little"), int.from_bytes(head[2:4], "little")
    if (group, head[:2]) not in ((2, b"\2\0"), (8, b"\10\0")) or element > 0x0100:
        return False
    if head[4:6] in _SHORT_VRS or head[4:6] in _LONG_VRS:
        return head[4:6] in _LONG_VRS or int.from_bytes(head[6:8], "little") <= _LONGEST_FIRST
    # Implicit: a length, and behind the value another element of the same group.
    length = int.from_bytes(head[4:8], "little")
    following = head[8 + length : 12 + length]
    if length % 2 or length > _LONGEST_FIRST:
        return False
    return len(following) < 4 or (
        following[:2] == head[:2] and int.from_bytes(following[2:4], "little") > element
    )


@contextlib.contextmanager
def errors_as_bad_input(name: str) -> Iterator[None]:
    """Turn any error of pydicom about a damaged file into BadInput about ``name``."""
    _silence_reader()
    try:
        yield
    except (BadInput, ImportError):
        raise
    except MemoryError:
        raise BadInput(
            tr_lazy("'{name}' needs more memory than this computer has free.", name=name),
            "Close other programs.",
        ) from None
    except RecursionError:
        raise BadInput(
            tr_lazy("'{name}' is damaged: its sequences are nested without end.", name=name), COPY_AGAIN
        ) from None
    except OSError as error:
        if error.strerror:
            raise BadInput(
                tr_lazy("'{name}' cannot be read: {strerror}.", name=name, strerror=error.strerror),
                "Check its disk.",
            ) from None
        raise BadInput(
            tr_lazy("'{name}' is damaged: {error}.", name=name, error=_short_message(error)), COPY_AGAIN
        ) from None
    except Exception as error:  # noqa: BLE001 - pydicom parses a stranger's bytes, which may fail in any way
        raise BadInput(
            tr_lazy("'{name}' is damaged: {error}.", name=name, error=_short_message(error)), COPY_AGAIN
        ) from None


def open_dicom(file: BinaryIO, name: str, tags: Sequence[str | int] | None = None) -> DicomFile:
    """Read the header of ``file`` from its start, all of it or only ``tags`` (keywords, or numbers of
    private ones); no pixels.

    Raises:
        BadInput: not a DICOM file, or its header is damaged.
    """
    with errors_as_bad_input(name):
        file.seek(0)
        head = file.read(_PREAMBLE + 8)
        if not head:
            raise BadInput(tr_lazy("'{name}' is empty (0 bytes).", name=name), COPY_AGAIN)
        if not looks_like_dicom(head):
            raise BadInput(tr_lazy("'{name}' is not a DICOM file.", name=name), COPY_AGAIN)
        file.seek(0, io.SEEK_END)
        size = file.tell()
        if size > MAX_OBJECT_BYTES:
            raise BadInput(
                tr_lazy(
                    "'{name}' is {size} in size; the limit is {max_object_bytes}.",
                    name=name,
                    size=size_text(size),
                    max_object_bytes=size_text(MAX_OBJECT_BYTES),
                ),
                "Leave it out.",
            )
        tag_numbers: Any = (
            None if tags is None else [tag_of(tag) if isinstance(tag, str) else tag for tag in tags]
        )
        is_deflated = _is_deflated(file)
        if is_deflated:
            # pydicom would inflate it whole, however large it becomes.
            file, size = _inflate(file, name)
        opened = _read_header(file, name, size, tag_numbers, is_deflated=is_deflated)
        dataset = opened.dataset
        if file.tell() > size or _has_cut_element(dataset):
            raise BadInput(
                tr_lazy("'{name}' is damaged: an element is longer than the rest of the file.", name=name),
                COPY_AGAIN,
            )
        _find_pixels(opened)
        if not opened.pixels and len(dataset) == 0 and file.tell() <= len(head):
            raise BadInput(
                tr_lazy("'{name}' ends after its preamble: there is no data in it.", name=name), COPY_AGAIN
            )
        return opened


def whole_dataset(opened: DicomFile) -> Dataset:
    """The object with its pixels, read in the encoding that was proved.

    Raises:
        BadInput: it is damaged.
    """
    from pydicom.filereader import read_dataset

    with errors_as_bad_input(opened.name):
        _read_meta(opened.file)
        implicit, little = opened.dataset.original_encoding
        dataset = read_dataset(opened.file, bool(implicit), bool(little))
    if opened.pixels in dataset:
        dataset[opened.pixels].is_undefined_length = opened.length == UNDEFINED
    return dataset


def _read_header(file: BinaryIO, name: str, size: int, tags: Any, *, is_deflated: bool) -> DicomFile:
    """The header in the encoding that its first bytes prove; pydicom's ``dcmread`` takes the declared one for the
    pixels, and for the byte order."""
    from pydicom import FileDataset
    from pydicom.filereader import _at_pixel_data, read_dataset

    preamble, meta = _read_meta(file)
    declared = str(meta.get("TransferSyntaxUID", ""))
    start = file.read(6)
    file.seek(-len(start), io.SEEK_CUR)
    implicit, little = _encoding_of(start, declared)
    if tags is not None:
        tags = [*tags, tag_of("SpecificCharacterSet")]
    read = read_dataset(file, implicit, little, stop_when=_at_pixel_data, specific_tags=tags)
    dataset = FileDataset(file, read, preamble, meta, implicit, little)
    dataset.set_original_encoding(implicit, little, read._character_set)
    opened = DicomFile(dataset, file, name, declared, size, little_header=little)
    if is_deflated:
        opened.syntax = DEFLATED
    elif not declared:
        opened.syntax = opened.plain_syntax
    elif declared in PLAIN - {GE_PRIVATE} and start:
        opened.use_proved_syntax(opened.plain_syntax)
    return opened


def _read_meta(file: BinaryIO) -> tuple[bytes | None, FileMetaDataset]:
    """The preamble, if there is one, and the file meta information; then ``file`` is at its data set."""
    from pydicom.filereader import _read_command_set_elements, _read_file_meta_info, read_preamble

    file.seek(0)
    preamble, meta = read_preamble(file, force=True), _read_file_meta_info(file)
    _read_command_set_elements(file)
    return preamble, meta


def _encoding_of(start: bytes, declared: str) -> tuple[bool, bool]:
    """(implicit, little): whether the data set that begins with ``start`` has no VRs, and its byte order. A group is
    below 256 and even at the start of a data set, so its bytes tell the order (PS3.5 7.1)."""
    if len(start) < 6:
        return declared in ("", IMPLICIT_LITTLE, GE_PRIVATE), declared != EXPLICIT_BIG
    explicit = start[4:6] in _SHORT_VRS or start[4:6] in _LONG_VRS
    little = declared != EXPLICIT_BIG
    if bool(start[0]) != bool(start[1]):
        little = start[1] == 0
    return not explicit, little


def _has_cut_element(dataset: Dataset) -> bool:
    """Whether the value of an element is shorter than its length says, which pydicom takes as it is."""
    from pydicom.dataelem import RawDataElement

    # pydicom's annotation of get_item leaves the raw ones out.
    elements: list[Any] = [dataset.get_item(tag) for tag in list(dataset.keys())]
    return any(
        element.length != UNDEFINED and len(element.value or b"") < element.length
        for element in elements
        if isinstance(element, RawDataElement)
    )


def _find_pixels(opened: DicomFile) -> None:
    start = opened.file.read(12)
    order: Any = "little" if opened.little_header else "big"
    if len(start) < 8:
        return
    tag = int.from_bytes(start[:2], order) << 16 | int.from_bytes(start[2:4], order)
    if tag not in _PIXEL_TAGS:
        return
    opened.pixels = _PIXEL_TAGS[tag]
    begin = opened.file.tell() - len(start)
    if opened.dataset.original_encoding[0]:
        opened.offset, opened.length, opened.pixel_vr = begin + 8, int.from_bytes(start[4:8], order), "OW"
    elif start[4:6] in _LONG_VRS:
        opened.offset, opened.length = begin + 12, int.from_bytes(start[8:12], order)
        opened.pixel_vr = start[4:6].decode("ascii")
    else:
        opened.offset, opened.length = begin + 8, int.from_bytes(start[6:8], order)
        opened.pixel_vr = start[4:6].decode("latin-1")
    _prove_packing(opened)


def _prove_packing(opened: DicomFile) -> None:
    """Whether pixels are compressed is told by the item that compressed ones begin with (PS3.5 A.4)."""
    is_compressed = opened.syntax not in PLAIN
    if is_compressed == (opened.length == UNDEFINED):
        return
    opened.file.seek(opened.offset)
    start = opened.file.read(4)
    if opened.length == UNDEFINED:
        if start == _ITEM:
            return
        # Raw pixels that end with the delimiter of a sequence (PS3.5 7.5).
        rest = start + opened.file.read(MAX_FILE_BYTES)
        end = rest.rfind(_END if opened.little_header else _END_BIG)
        opened.length = len(rest) if end < 0 else end
        opened.remarks.append(
            tr_lazy("The pixels have no stated length; they are read up to the mark that ends them.")
        )
    elif start != _ITEM and not start.startswith(_CODESTREAMS):
        opened.use_proved_syntax(opened.plain_syntax)


def _is_deflated(file: BinaryIO) -> bool:
    preamble, meta = _read_meta(file)
    is_declared = preamble is not None and meta.get("TransferSyntaxUID") == DEFLATED
    # A data set that begins with a readable element is not deflated, whatever is declared.
    return is_declared and not looks_like_dicom(file.read(_PREAMBLE))


def _inflate(file: BinaryIO, name: str) -> tuple[BinaryIO, int]:
    """A deflated file as an explicit little-endian one."""
    from pydicom.filebase import DicomFileLike
    from pydicom.filewriter import write_file_meta_info
    from pydicom.uid import UID

    _, meta = _read_meta(file)
    packed = file.read(MAX_FILE_BYTES + 1)
    meta.TransferSyntaxUID = UID(EXPLICIT_LITTLE)
    out = io.BytesIO()
    out.write(b"\0" * _PREAMBLE + b"DICM")
    write_file_meta_info(DicomFileLike(out), meta, enforce_standard=False)
    limit, decompressor = max_unpacked(len(packed)), zlib.decompressobj(-zlib.MAX_WBITS)
    while piece := decompressor.decompress(packed, _PIECE):
        packed = decompressor.unconsumed_tail
        if out.tell() + len(piece) > limit:
            raise BadInput(
                tr_lazy(
                    "'{name}' is deflated and unpacks to more than {limit}, the limit for a file of its size.",
                    name=name,
                    limit=size_text(limit),
                ),
                tr_lazy("Save it without compression, or {allow}.", allow=allow_memory(2 * memory_limit())),
            )
        out.write(piece)
    size = out.tell()
    out.seek(0)
    return out, size


def _silence_reader() -> None:
    """Suppress pydicom's warnings about unusual files; errors appear on reading."""
    warning_filter = ("ignore", None, Warning, re.compile(r"pydicom(\.|$)"), 0)
    if warning_filter not in warnings.filters:
        warnings.filterwarnings("ignore", module=r"pydicom(\.|$)")


def _short_message(error: Exception) -> str:
    message = " ".join(str(error).split()) or type(error).__name__
    return message if len(message) <= 160 else f"{message[:157]}..."
