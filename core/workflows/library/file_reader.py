"""Read the files that an importer found: every image is decoded once, and its failure is recorded."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging.formats import DICOM, TIFF, check_whole, sniff
from semblance.core.imaging.image import Image
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.region import shown_slice
from semblance.core.imaging.thumbnail import inspect, thumbnail
from semblance.core.imaging.volume_files import volume_format
from semblance.core.imaging.zip_archive import ZipArchive
from semblance.core.language import tr_lazy
from semblance.core.library.content_hashes import (
    content_hash,
    content_hash_of_stream,
    content_of_file,
    content_of_numbers,
    content_of_part,
    content_of_pixels,
    content_of_slices,
    hash_of_stack,
)
from semblance.core.library.importers.importer import FoundCase
from semblance.core.library.importers.source import Source, printable
from semblance.core.library.records import CaseRecord, FileRecord, Slice
from semblance.core.normal_text import composed

#: Stamp of a file whose cases are not all written yet. It equals no real stamp, so the file is read again.
INCOMPLETE_STAMP = -1


@dataclass
class ReadResult:
    """The result of reading one file, a part of an array's rows or a volume.

    ``failed``: (path or row, reason). ``slices``: the other files of a volume. ``remarks``: sentences about how a file
    is written, and the file.
    """

    file: FileRecord
    slices: list[FileRecord] = field(default_factory=list)
    cases: list[CaseRecord] = field(default_factory=list)
    images: dict[str, bytes] = field(default_factory=dict)
    failed: list[tuple[str, str]] = field(default_factory=list)
    remarks: list[tuple[str, str]] = field(default_factory=list)


class FileReader:
    """Reads files of one source. May be used from several threads, each file in one thread at a time."""

    def __init__(
        self, source: Source, prefix: str, images: ImageReader, known_ids: Container[str] = ()
    ) -> None:
        """``prefix`` and the key of a case make its id. ``known_ids``: ids that the library has and that are kept, even
        if their letters are not composed."""
        self._source, self._prefix, self._images = source, prefix, images
        self._entries = {entry.path: entry for entry in source.entries()}
        self._known_ids, self._owners = known_ids, dict[str, str]()
        self._identities: dict[str, str] = {}
        self._checked: dict[str, str | BadInput] = {}
        self._remarks: dict[str, tuple[str, ...]] = {}
        #: The volume read last and its hash: cases of one volume follow each other.
        self._last_volume: tuple[ImageAddress | None, str] = (None, "")

    def case_id(self, key: str) -> str:
        """The id of the found case of this key: the source's name and the key."""
        written = f"{self._prefix}/{key}"
        if written.isascii() or written in self._known_ids:
            return written
        normal = composed(written)
        # Two names on a disk may differ in this only.
        return normal if self._owners.setdefault(normal, written) == written else written

    def size(self, path: str) -> int:
        """Bytes of a file of the source; 0 for anything else."""
        entry = self._entries.get(path)
        return entry.size if entry else 0

    def stamp(self, path: str) -> int:
        """Modification time in ns, or the CRC of a zip entry; 0 for anything but a file."""
        entry = self._entries.get(path)
        if entry is None:
            return 0
        return entry.mtime_ns if entry.crc is None else entry.crc

    def file_record(self, path: str, *, whole: bool) -> FileRecord:
        """What is written of a file whose cases were read, ``whole``: all of them.

        Raises:
            BadInput: it cannot be read.
        """
        stamp = self.stamp(path) if whole else INCOMPLETE_STAMP
        return FileRecord(path, self.size(path), stamp, self._identity(path), "ok")

    def is_unchanged(self, known: FileRecord) -> bool:
        """Whether the file seems unchanged since it was catalogued."""
        return known.path in self._entries and (self.size(known.path), self.stamp(known.path)) == (
            known.size,
            known.stamp,
        )

    def read(self, path: str, cases: Sequence[FoundCase], *, whole: bool) -> ReadResult:
        """The cases of one file; ``whole``: these are all, or the last, of the file."""
        stamp = self.stamp(path) if whole else INCOMPLETE_STAMP
        try:
            if cases[0].values is not None and cases[0].region is None:
                return self._rows(path, cases, stamp)
            if cases[0].slices:
                return self._volume(path, cases, stamp)
            if cases[0].frame is not None or cases[0].member:
                return self._frames(path, cases, stamp)
            return self._image(path, cases, stamp)
        except SemblanceError as error:
            return ReadResult(
                FileRecord(path, self.size(path), stamp, "", "failed", str(error)),
                failed=[(path, str(error))],
            )

    def _volume(self, path: str, cases: Sequence[FoundCase], stamp: int) -> ReadResult:
        """Volumes made of several files: each file is checked, and the shown slice is decoded.

        A damaged slice fails on its own, and the volume consists of the others.

        Raises:
            BadInput: all slices are damaged, or the file that makes the cases is.
        """
        is_slice = any(part == path for case in cases for part, _ in case.slices)
        digest = self._verified_hash(path) if is_slice else self._identity(path)
        out = ReadResult(FileRecord(path, self.size(path), stamp, digest, "ok"))
        handled = {path}
        for case in cases:
            usable: list[Slice] = []
            for part, frame in case.slices:
                try:
                    digest = self._verified_hash(part)
                except SemblanceError as error:
                    if part not in handled:
                        out.failed.append((part, str(error)))
                else:
                    usable.append((part, frame))
                    if part not in handled or part == path:
                        out.remarks += [(remark, part) for remark in self._remarks.get(part, ())]
                    if part not in handled:
                        record = FileRecord(part, self.size(part), self.stamp(part), digest, "ok")
                        out.slices.append(record)
                handled.add(part)
            if not usable:
                raise BadInput(out.failed[0][1])
            found = replace(case, slices=tuple(usable))
            image = self._images.open(self._shown_slice(found))
            content = content_of_slices((self._slice_hash(part) for part in usable), case.region)
            out.images[content] = thumbnail(image)
            record_of = self._record(found, image.width, image.height, content)
            out.cases.append(replace(record_of, depth=self._depth(usable), slices=tuple(usable)))
        return out

    def _depth(self, slices: Sequence[Slice]) -> int | None:
        """The number of slices of a volume; ``None`` for a single image with regions."""
        if len(slices) > 1:
            return len(slices)
        address = self._source.address(slices[0][0], "", slices[0][1])
        if not self._images.is_stack(address):
            return None
        with self._images.stack(address) as stack:
            return len(stack)

    def _shown_slice(self, case: FoundCase) -> ImageAddress:
        path, frame = case.slices[shown_slice(len(case.slices), case.region)]
        return self._source.address(path, "", frame)

    def _slice_hash(self, part: Slice) -> str:
        path, frame = part
        return self._verified_hash(path) if frame is None else f"{self._verified_hash(path)}!{frame}"

    def _verified_hash(self, path: str) -> str:
        """The hash of a slice's file, after checking that the file is complete.

        Raises:
            BadInput: it cannot be read, or its pixels are cut off.
        """
        if path not in self._checked:
            try:
                with self._source.stream(path) as file:
                    self._remarks[path] = check_whole(file, self._source.label(path))
                    file.seek(0)
                    self._checked[path] = content_hash_of_stream(file)
            except BadInput as error:
                self._checked[path] = error
        found = self._checked[path]
        if isinstance(found, BadInput):
            raise found
        return found

    def _image(self, path: str, cases: Sequence[FoundCase], stamp: int) -> ReadResult:
        head = self._source.head(path)
        kind = sniff(head)
        if kind == DICOM:
            return self._dicom_object(path, cases, stamp)
        name = self._source.label(path)
        if volume_format(name, head) or (kind == TIFF and self._images.is_stack(self._source.address(path))):
            return self._frames(path, cases, stamp)
        data = self._source.read(path)
        facts = inspect(data, name)
        out = ReadResult(FileRecord(path, len(data), stamp, content_hash(data), "ok"))
        for case in cases:
            content = content_of_file(data, case.region)
            out.images[content] = facts.thumbnail
            out.cases.append(self._record(case, facts.width, facts.height, content))
        return out

    def _dicom_object(self, path: str, cases: Sequence[FoundCase], stamp: int) -> ReadResult:
        """A DICOM object, which may be too large for memory; opened once for everything that is read from it."""
        from semblance.core.imaging.dicom.images import DicomImages

        address = self._source.address(path)
        with self._source.stream(path) as file:
            digest = content_hash_of_stream(file)
            out = ReadResult(FileRecord(path, self.size(path), stamp, digest, "ok"))
            file.seek(0)
            images = DicomImages(file, str(address))
            depth = len(images) if len(images) > 1 else None
            if depth is not None:
                self._verified_hash(path)
            for case in cases:
                image = images.image(images.order[shown_slice(len(images), case.region)])
                content = content_of_part(digest, case.region)
                out.images[content] = thumbnail(image)
                out.remarks += [(remark, path) for remark in image.remarks]
                record = self._record(case, image.width, image.height, content)
                out.cases.append(replace(record, depth=depth))
        return out

    def _frames(self, path: str, cases: Sequence[FoundCase], stamp: int) -> ReadResult:
        out = ReadResult(FileRecord(path, self.size(path), stamp, self._identity(path), "ok"))
        for case in cases:
            address = self._source.address(path, case.member, case.frame)
            try:
                image, content, depth = self._frame(address, case)
            except SemblanceError as error:
                part = f"!{case.member}" if case.member else ""
                row = "" if case.frame is None else f"[{case.frame}]"
                out.failed.append((f"{self._source.label(path)}{part}{row}", str(error)))
                continue
            out.images[content] = thumbnail(image)
            record = self._record(case, image.width, image.height, content)
            out.cases.append(replace(record, depth=depth))
        if not out.cases:
            # The file is at fault, not a single image.
            raise BadInput(out.failed[0][1])
        return out

    def _frame(self, address: ImageAddress, case: FoundCase) -> tuple[Image, str, int | None]:
        """The image of an array or its row, its content hash, and the depth of a volume."""
        if not self._images.is_stack(address):
            image = self._images.open(address)
            return image, content_of_pixels(image, case.region), None
        with self._images.stack(address) as stack:
            image = stack.image(stack.middle(case.region))
            # Other threads may replace it meanwhile, so address and hash are read together.
            cached = self._last_volume
            if cached[0] != address:
                cached = self._last_volume = (address, hash_of_stack(stack))
            return image, content_of_part(cached[1], case.region), len(stack)

    def _rows(self, path: str, cases: Sequence[FoundCase], stamp: int) -> ReadResult:
        out = ReadResult(FileRecord(path, self.size(path), stamp, self._identity(path), "ok"))
        for case in cases:
            assert case.values is not None
            out.cases.append(self._record(case, None, None, content_of_numbers(case.values)))
        return out

    def _identity(self, path: str) -> str:
        if path not in self._identities:
            self._identities[path] = file_identity(self._source, path)
        return self._identities[path]

    def _record(self, case: FoundCase, width: int | None, height: int | None, content: str) -> CaseRecord:
        return CaseRecord(
            self.case_id(case.key),
            case.path,
            case.member,
            case.frame,
            case.finding,
            case.patient,
            case.region,
            case.attributes,
            width,
            height,
            content,
            case.values,
        )


def check_path_is_text(path: Path) -> None:
    """
    Raises:
        BadInput: the path has bytes that are not text, which the catalogue cannot store.
    """
    shown = printable(str(path.absolute()))
    if shown != str(path.absolute()):
        raise BadInput(tr_lazy("The name of '{shown}' is not valid text.", shown=shown), "Rename it first.")


def file_identity(source: Source, path: str) -> str:
    """The hash of a file's bytes, with those of the voxels beside a header; for an array file, which may be huge,
    the hash of its own checksums.

    Raises:
        BadInput: it cannot be read.
    """
    address = source.address(path)
    if address.member or PurePosixPath(source.label(path)).suffix.lower() != ".npz":
        with source.stream(path) as file:
            digest = content_hash_of_stream(file)
        voxels = source.stream_beside(path)
        if voxels is None:
            return digest
        with voxels:
            return content_hash(f"{digest} {content_hash_of_stream(voxels)}".encode())
    archive = ZipArchive(address.container, str(address.container))
    try:
        sums = sorted((name, info.file_size, info.CRC) for name, info in archive.entries.items())
    finally:
        archive.close()
    return content_hash(repr(sums).encode())
