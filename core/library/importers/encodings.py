"""How the bytes of a list or table are read as text: by its mark, by its zero bytes, as UTF-8 or as windows-1252."""

from __future__ import annotations

import codecs
import io
import re
import unicodedata
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, NamedTuple

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.limits import size_text

SAVE_AS_CSV = tr_lazy("Save it as CSV in UTF-8 (comma separated, one header row).")
#: What a person may choose; those of Unicode with or without a mark at the start.
ENCODINGS = (
    "utf-8",
    "utf-16",
    "utf-32",
    "windows-1252",
    "windows-1250",
    "windows-1251",
    "mac-roman",
    "cp850",
    "koi8-r",
    "shift_jis",
    "euc-kr",
    "gb18030",
    "big5",
)
#: Those that are proposed where a file is in neither UTF-8 nor windows-1252; of equals the first.
_PROPOSED = ("mac-roman", "cp850", "windows-1250", "windows-1251", "koi8-r", "euc-kr", "shift_jis", "gb18030")
#: The longer marks first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16"),
)
_PIECE = 1 << 20
#: Bytes by which an encoding without a mark is recognised or proposed.
_SAMPLE = 1 << 16
#: Where windows-1252 would have signs in words, capitals within or letters without neighbours, as texts in other
#: encodings of one byte do, or three letters with accents in a row, as texts in other scripts do.
_NOT_WESTERN = re.compile(
    rb"[\x81\x8d\x8f\x90\x9d]|[\x80-\xff]{3}"
    rb"|[A-Za-z][\x80-\x91\x93-\x9b\x9e\x9f\xa1-\xbf][A-Za-z]"
    rb"|(?<![A-Za-z])[\x80\x83\x85\x86\x88-\x8c\x8e\x98-\x9b\x9e\x9f][A-Za-z]"
    rb"|[A-Za-z][\x80\x83\x86\x88-\x8c\x8e\x98\x9a\x9b\x9e\x9f](?![A-Za-z])"
)


class Encoding(NamedTuple):
    """``codec`` of Python; ``note``: what a person should check, "" where it is certain."""

    codec: str
    note: str = ""


def encoding_of(file: BinaryIO, name: str, chosen: str | None, max_bytes: int) -> Encoding:
    """How the open file called ``name`` is encoded; ``chosen``: one of :data:`ENCODINGS`.

    Raises:
        BadInput: more than ``max_bytes``, empty, no text, or not in this encoding. The hint says which to choose.
    """
    file.seek(0)
    head = file.read(_SAMPLE)
    marked, codec = next(((one, codec) for mark, one, codec in _MARKS if head.startswith(mark)), ("", ""))
    if marked and chosen not in (None, marked):
        raise BadInput(
            tr_lazy("'{name}' is written in {encoding}.", name=name, encoding=marked.upper()),
            option_hint("encoding", marked),
        )
    if not codec:
        by_zeros = _codec_by_zeros(head) if b"\0" in head else ""
        codec = by_zeros if chosen in (None, by_zeros[:6]) and by_zeros else chosen or "utf-8"
    line = _first_damaged_line(file, name, codec, max_bytes)
    if line is None:
        return Encoding(codec)
    if codec == "utf-8" and chosen is None and _is_western(file):
        note = tr_lazy(
            "'{name}' is not written in UTF-8 and was read as windows-1252. If letters in it are wrong, import it with "
            "--set encoding= and the encoding that it has ({encodings}).",
            name=name,
            encodings=", ".join(ENCODINGS),
        )
        return Encoding("windows-1252", note)
    raise BadInput(
        tr_lazy(
            "'{name}' is not written in {encoding}: line {line} contains other bytes.",
            name=name,
            encoding=(chosen or codec).upper(),
            line=line,
        ),
        option_hint("encoding", _proposed_encoding(_around_damage(file), chosen)),
    )


def decoded(data: bytes, name: str, chosen: str | None = None) -> tuple[str, str]:
    """The text of a whole list called ``name``, and what a person should check, or "".

    Raises:
        BadInput: as :func:`encoding_of`.
    """
    encoding = encoding_of(io.BytesIO(data), name, chosen, len(data))
    return data.decode(encoding.codec), encoding.note


def decoded_start(head: bytes) -> str:
    """The first bytes of a file as text, to recognise it by; what cannot be read is left out."""
    return head.decode(_codec_of_start(head), "ignore")


def whole_lines(data: bytes) -> bytes:
    """``data``, the start of a file, up to the end of its last line."""
    codec = _codec_of_start(data)
    end = data.rfind(b"\n") + 1
    width = 4 if codec.startswith("utf-32") else 2 if codec.startswith("utf-16") else 1
    return data[: -(-end // width) * width]


def _codec_of_start(head: bytes) -> str:
    codec = next((codec for mark, _, codec in _MARKS if head.startswith(mark)), "")
    return codec or (_codec_by_zeros(head[:_SAMPLE]) if b"\0" in head else "") or "utf-8"


def option_hint(option: str, value: str) -> str:
    """How a doubt about a table is settled."""
    return tr_lazy(
        "Save it as CSV in UTF-8 with commas, decimal points and one header row, or import it with --set "
        "{option}={value}.",
        option=option,
        value=value,
    )


def check_size(n_bytes: int, name: str, max_bytes: int) -> None:
    """
    Raises:
        BadInput: a table is too large.
    """
    if n_bytes > max_bytes:
        raise BadInput(
            tr_lazy(
                "The table '{name}' has more than {max_table_bytes}, the limit.",
                name=name,
                max_table_bytes=size_text(max_bytes),
            ),
            "Leave out columns or divide it into several files.",
        )


def _codec_by_zeros(head: bytes) -> str:
    """The codec of a text without a mark in UTF-16 or UTF-32, by where its zero bytes are; "" for other bytes."""
    zeros = [head[place::4].count(0) for place in range(4)]
    n = len(head) // 4
    # The two higher bytes of nearly all characters in UTF-32 are zero, in UTF-16 one byte of ASCII alone.
    if zeros[3] == n and zeros[2] > n / 2:
        codec = "utf-32-le"
    elif zeros[0] == n and zeros[1] > n / 2:
        codec = "utf-32-be"
    else:
        codec = "utf-16-le" if zeros[0] + zeros[2] < zeros[1] + zeros[3] else "utf-16-be"
    try:
        text = head[: len(head) // 4 * 4].decode(codec)
    except UnicodeDecodeError as error:
        # The sample may end within a character.
        if len(head) < _SAMPLE or error.start < len(head) - 4:
            return ""
        text = head[: error.start].decode(codec)
    odd = sum(unicodedata.category(one) in ("Cc", "Cn", "Co", "Cs") for one in text if one not in "\t\r\n")
    return codec if odd <= 0.01 * len(text) and "\0" not in text else ""


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(_PIECE):
        yield piece


def _first_damaged_line(file: BinaryIO, name: str, codec: str, max_bytes: int) -> int | None:
    """The line that holds bytes which are none of this encoding, if any.

    Raises:
        BadInput: too large, empty, or no text.
    """
    decoder = codecs.getincrementaldecoder(codec)()
    size, lines, blank = 0, 1, True
    for piece in chain(_pieces(file), (b"",)):
        size += len(piece)
        check_size(size, name, max_bytes)
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeError as error:
            if b"\0" in piece and codec.startswith("utf-8"):
                raise _no_text(name) from None
            start = error.start if isinstance(error, UnicodeDecodeError) else 0
            return lines + piece.count(b"\n", 0, start)
        if "\0" in text:
            raise _no_text(name)
        lines += text.count("\n")
        blank = blank and not text.strip().strip("\ufeff")
    if blank:
        raise BadInput(tr_lazy("'{name}' is empty.", name=name), "Copy it from its source again.")
    return None


def _no_text(name: str) -> BadInput:
    return BadInput(tr_lazy("'{name}' is not a text table: it contains binary data.", name=name), SAVE_AS_CSV)


def _is_western(file: BinaryIO) -> bool:
    """Whether all bytes are letters and signs that texts in windows-1252 have where they stand."""
    end = b""
    for piece in _pieces(file):
        if _NOT_WESTERN.search(end + piece):
            return False
        end = piece[-2:]
    return True


def _around_damage(file: BinaryIO) -> bytes:
    """The first part of the file that holds other bytes than ASCII."""
    return next((piece for piece in _pieces(file) if not piece.isascii()), b"")


def _proposed_encoding(data: bytes, refused: str | None) -> str:
    """The encoding that suits ``data`` best: it gives letters, most of them small, and capitals begin words."""
    if refused != "windows-1252" and not _NOT_WESTERN.search(data):
        return "windows-1252"
    best, found = -1.0, "windows-1252"
    for codec in (*_PROPOSED, "windows-1252"):
        text = _decoded_sample(data, codec)
        if text is None or codec == refused:
            continue
        others = [place for place, one in enumerate(text) if not one.isascii()]
        good = sum(_suits(text[place], text[place - 1 : place], codec) for place in others)
        score = good / max(1, len(others))
        if score > best:
            best, found = score, codec
    return found


def _decoded_sample(data: bytes, codec: str) -> str | None:
    """``data`` as text; the last character may be cut. ``None`` where it is not in this encoding."""
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        return data[: error.start].decode(codec) if error.start >= max(1, len(data) - 4) else None


def _suits(letter: str, before: str, codec: str) -> float:
    """How well a letter fits the encoding and the one before it."""
    if not letter.isalpha() or (letter.isupper() and before.islower()):
        return 0.0
    if codec == "euc-kr" and not "\uac00" <= letter <= "\ud7a3":
        return 0.0
    if codec == "shift_jis" and "\uff61" <= letter <= "\uff9f":
        return 0.0
    return 0.9 if letter.isupper() else 1.0
