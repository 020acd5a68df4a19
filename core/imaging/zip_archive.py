"""Zip archives: entries with unsafe names are refused, and the size of every read is limited.

Python's ``zipfile`` reads the table of contents; the entries are unpacked here, because it lets a few bytes of bzip2
unpack to gigabytes before the declared size is checked.
"""

from __future__ import annotations

import bz2
import calendar
import io
import lzma
import os
import re
import stat
import struct
import threading
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Protocol

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.limits import MAX_FILE_BYTES, allow_memory, max_unpacked, size_text

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_METHODS = {
    zipfile.ZIP_STORED: "stored",
    zipfile.ZIP_DEFLATED: "deflate",
    zipfile.ZIP_BZIP2: "bzip2",
    zipfile.ZIP_LZMA: "LZMA",
}
_ENCRYPTED = 0x1
#: Enough packed bytes for the start of any entry: a bzip2 block gives nothing before it is complete.
_HEAD_PACKED = 1 << 20


class _Decompressor(Protocol):
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


class ZipArchive:
    """A zip open for reading. One may be used from several threads.

    ``entries`` maps the names of the entries that may be read; ``refused`` lists the others with the reason.
    Folders are in neither.
    """

    def __init__(self, file: Path | BinaryIO, name: str, *, large_stored: bool = False) -> None:
        """``file`` is a path, or an open file that then belongs to the package. ``large_stored``: entries without
        compression may be of any size, because they can be read in parts.

        Raises:
            BadInput: not a zip, or its table of contents is damaged.
        """
        self.name, self._large_stored = name, large_stored
        self.entries: dict[str, zipfile.ZipInfo] = {}
        self.refused: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        self._file = open_regular_file(file, name) if isinstance(file, Path) else file
        try:
            with zipfile.ZipFile(self._file) as archive:
                infos = archive.infolist()
            self._file.seek(0, 2)
            self._size = self._file.tell()
        except Exception as error:  # noqa: BLE001 - damaged tables raise anything, down to struct.error
            self._file.close()
            raise BadInput(
                tr_lazy("'{name}' is not a zip archive, or it is damaged.", name=name),
                "Copy or download it again, or unpack it and import the folder.",
            ) from (error if isinstance(error, OSError) else None)
        for info in infos:
            self._list(info)

    def _list(self, info: zipfile.ZipInfo) -> None:
        reason = unsafe_name(info.orig_filename) or _reasons_against(info, self._large_stored)
        if reason is None and info.is_dir():
            return
        if reason is None and info.filename in self.entries:
            reason = tr_lazy("a second entry of the same name")
        if reason is None:
            self.entries[info.filename] = info
        else:
            self.refused.append((info.orig_filename, reason))

    def read(self, entry: str) -> bytes:
        """All bytes of an entry.

        Raises:
            BadInput: no such entry, or it is damaged or not of the size it declares.
        """
        info = self._info(entry)
        data = self._decompress(info, self._compressed_bytes(info, info.compress_size), info.file_size + 1)
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise self._damaged(entry)
        return data

    def head(self, entry: str, count: int) -> bytes:
        """The first ``count`` bytes of an entry, or fewer.

        Raises:
            BadInput: as :meth:`read`.
        """
        info = self._info(entry)
        return self._decompress(
            info, self._compressed_bytes(info, min(info.compress_size, _HEAD_PACKED)), count
        )

    def read_stored(self, entry: str, offset: int, count: int) -> bytes | None:
        """``count`` bytes from ``offset`` of an entry stored without compression; ``None`` if it is packed.

        Raises:
            BadInput: as :meth:`read`; also a range outside the entry.
        """
        info = self._info(entry)
        if info.compress_type != zipfile.ZIP_STORED:
            return None
        if offset < 0 or count < 0 or offset + count > info.file_size:
            raise self._damaged(entry)
        return self._compressed_bytes(info, count, offset)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            self._file.close()

    def _info(self, entry: str) -> zipfile.ZipInfo:
        info = self.entries.get(entry)
        if info is not None:
            return info
        reasons: Mapping[str, str] = dict(self.refused)
        if entry in reasons:
            raise BadInput(
                tr_lazy(
                    "'{entry}' of '{name}' is refused: {reasons}.",
                    entry=entry,
                    name=self.name,
                    reasons=reasons[entry],
                ),
                "Repair the archive, or leave it out.",
            )
        raise BadInput(
            tr_lazy("'{name}' has no entry '{entry}'.", name=self.name, entry=entry),
            "Import the archive again.",
        )

    def _compressed_bytes(self, info: zipfile.ZipInfo, count: int, offset: int = 0) -> bytes:
        with self._lock:
            try:
                self._file.seek(info.header_offset)
                signature, name_length, extra_length = _LOCAL_HEADER.unpack(
                    self._file.read(_LOCAL_HEADER.size)
                )
                start = info.header_offset + _LOCAL_HEADER.size + name_length + extra_length
                if signature != b"PK\x03\x04" or start + info.compress_size > self._size:
                    raise self._damaged(info.filename)
                self._file.seek(start + offset)
                data = self._file.read(count)
            except (struct.error, ValueError, OverflowError):
                raise self._damaged(info.filename) from None
            except OSError as error:
                raise BadInput(
                    tr_lazy(
                        "'{name}' cannot be read: {reason}.", name=self.name, reason=error.strerror or error
                    ),
                    "Check that the disk is connected, then try again.",
                ) from error
        if len(data) != count:
            raise self._damaged(info.filename)
        return data

    def _decompress(self, info: zipfile.ZipInfo, compressed: bytes, max_bytes: int) -> bytes:
        """At most ``most`` bytes out of ``packed``."""
        try:
            if info.compress_type == zipfile.ZIP_STORED:
                return compressed[:max_bytes]
            if info.compress_type == zipfile.ZIP_DEFLATED:
                return zlib.decompressobj(-zlib.MAX_WBITS).decompress(compressed, max_bytes)
            decompressor: _Decompressor
            if info.compress_type == zipfile.ZIP_BZIP2:
                decompressor = bz2.BZ2Decompressor()
            else:
                decompressor, compressed = _lzma(compressed, info.file_size)
            return decompressor.decompress(compressed, max_bytes)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, struct.error):
            raise self._damaged(info.filename) from None

    def _damaged(self, entry: str) -> BadInput:
        return BadInput(
            tr_lazy("'{entry}' of '{name}' is damaged or cut off.", entry=entry, name=self.name),
            "Copy or download the archive again.",
        )


def open_regular_file(path: Path, name: str) -> io.BufferedReader:
    """A regular file opened for reading; pipes and devices, which could block, are refused.

    Raises:
        BadInput: missing, not readable, or not a regular file.
    """
    try:
        _check_regular_file(path.stat(), name)
        # The file may have been replaced by a pipe: opened in this way, it does not wait for a writer.
        file = open(path, "rb", opener=_open_nonblocking)  # noqa: SIM115 - the caller closes it
        try:
            _check_regular_file(os.fstat(file.fileno()), name)
        except BadInput:
            file.close()
            raise
        return file
    except FileNotFoundError:
        raise BadInput(
            tr_lazy("'{name}' does not exist.", name=name), "Check the name, or connect its disk."
        ) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name is not allowed here"
        raise BadInput(
            tr_lazy("'{name}' cannot be read: {why}.", name=name, why=why), "Check its permissions."
        ) from None


def _open_nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | int(getattr(os, "O_NONBLOCK", 0)))


def _check_regular_file(status: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise BadInput(
            tr_lazy("'{name}' is not a plain file.", name=name), "Choose a file or a folder of files."
        )


def read_file(path: Path, name: str) -> bytes:
    """All bytes of a regular file.

    Raises:
        BadInput: as :func:`open_regular_file`, or above the size limit.
    """
    with open_regular_file(path, name) as file:
        try:
            data = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise BadInput(
                tr_lazy("'{name}' cannot be read: {reason}.", name=name, reason=error.strerror or error),
                "Check that the disk is connected, then try again.",
            ) from None
    if len(data) > MAX_FILE_BYTES:
        raise BadInput(
            tr_lazy(
                "'{name}' is larger than the limit of {max_file_bytes}.",
                name=name,
                max_file_bytes=size_text(MAX_FILE_BYTES),
            ),
            "Make it smaller or leave it out.",
        )
    return data


def unsafe_name(name: str) -> str | None:
    """Why an entry of this name is not read; ``None`` when the name is safe."""
    if not name or "\0" in name:
        return tr_lazy("its name is empty or holds a NUL character")
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        return tr_lazy("its name is an absolute path")
    if ".." in re.split(r"[/\\]", name):
        return tr_lazy("its name leads out of the archive with '..'")
    if "\\" in name:
        return tr_lazy("its name holds a backslash")
    return None


def modified_ns(info: zipfile.ZipInfo) -> int:
    """Time of change in ns from the zip (without a time zone); 0 where it is not valid."""
    try:
        return calendar.timegm((*info.date_time, 0, 0, 0)) * 1_000_000_000
    except (ValueError, OverflowError):
        return 0


def _reasons_against(info: zipfile.ZipInfo, large_stored: bool) -> str | None:
    if stat.S_ISLNK(info.external_attr >> 16):
        return tr_lazy("it is a link, and links are not followed")
    if info.flag_bits & _ENCRYPTED:
        return tr_lazy("it is locked with a password; unpack the archive and import the folder")
    if info.compress_type not in _METHODS:
        return tr_lazy(
            "its compression (method {compress_type}) is not supported; unpack the archive yourself",
            compress_type=info.compress_type,
        )
    if large_stored and info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size:
        return None
    if info.file_size > MAX_FILE_BYTES:
        return tr_lazy(
            "it unpacks to {file_size}, above the limit of {max_file_bytes}",
            file_size=size_text(info.file_size),
            max_file_bytes=size_text(MAX_FILE_BYTES),
        )
    if info.file_size > max_unpacked(info.compress_size):
        return tr_lazy(
            "it unpacks {compress_size} to {file_size}, which is typical of an archive made to fill the memory; unpack "
            "it yourself, or {allow}",
            compress_size=size_text(info.compress_size),
            file_size=size_text(info.file_size),
            allow=allow_memory(5 * info.file_size),
        )
    return None


def _lzma(compressed: bytes, unpacked_size: int) -> tuple[_Decompressor, bytes]:
    """The decompressor for a zip's LZMA entry, and the compressed bytes after its properties."""
    length = struct.unpack("<H", compressed[2:4])[0]
    flags, dictionary = struct.unpack("<BI", compressed[4 : 4 + length])
    # A match never reaches back further than the length of the output, so a declared 4 GB is not needed.
    lzma_filter = {
        "id": lzma.FILTER_LZMA1,
        "dict_size": min(dictionary, max(unpacked_size, 4096)),
        "lc": flags % 9,
        "lp": flags // 9 % 5,
        "pb": flags // 45,
    }
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[lzma_filter]), compressed[4 + length :]
