"""Common to all importers: distinguish images from other files, and report files that are no case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from semblance.core.errors import BadInput
from semblance.core.imaging.formats import DICOM, foreign_format, has_image_name, sniff
from semblance.core.language import tr_lazy
from semblance.core.library.importers.importer import RejectedFile
from semblance.core.library.importers.source import Entry, Source

#: (ending of the name, first bytes, what such a file is); text files have no first bytes of their own.
_OTHER_KINDS = (
    (".csv", b"", tr_lazy("a table; import it separately")),
    (".parquet", b"PAR1", tr_lazy("a table; import it separately")),
    (".npz", b"PK", tr_lazy("an array file; import it separately")),
    (".zip", b"PK", tr_lazy("a zip file inside; unpack it or import it separately")),
)


def ignored_files(source: Source) -> Iterator[RejectedFile]:
    """The files of ``source.ignored``; the caller that opened the source reports ``source.refused``."""
    source.entries()
    for path, reason in source.ignored:
        yield RejectedFile(path, reason, failed=False)


def rejection_of(source: Source, entry: Entry) -> RejectedFile | None:
    """Why an entry gives no image; ``None`` when it promises one by its name or its first bytes.

    A file with another suffix is opened, because a wrong or missing suffix must not hide an image.
    """
    name = source.label(entry.path)
    if has_image_name(name):
        if entry.size == 0:
            return RejectedFile(name, tr_lazy("The file is empty (0 bytes)."), failed=True)
        return None
    try:
        head = source.head(entry.path)
    except BadInput as error:
        return RejectedFile(name, error.message, failed=True)
    found = sniff(head)
    if found == DICOM:
        return RejectedFile(
            name,
            tr_lazy(
                "Not a plain image: {other_kinds}.",
                other_kinds=tr_lazy("a DICOM file; import it as the kind dicom"),
            ),
            failed=False,
        )
    if found is not None:
        return None
    if not head:
        return RejectedFile(name, tr_lazy("The file is empty (0 bytes)."), failed=False)
    for ending, start, what in _OTHER_KINDS:
        if name.lower().endswith(ending) and head.startswith(start) and (start or b"\0" not in head):
            return RejectedFile(name, tr_lazy("Not an image: {other_kinds}.", other_kinds=what), failed=False)
    return RejectedFile(
        name, tr_lazy("Not a readable image: it seems to be {head}.", head=foreign_format(head)), failed=False
    )


def common_folder(paths: list[str], wrapper_name: str = "") -> str:
    """The folder all ``paths`` lie in, as "a/b", or "" for none.

    A single folder with the images directly in it is one only when it is called ``wrapping``: a zip
    ``lesions.zip`` of ``lesions/1.png`` wraps its images, ``benign/1.png`` in it names their finding.
    """
    folders = [PurePosixPath(path).parent.parts for path in paths]
    if not folders:
        return ""
    common: list[str] = []
    for parts in zip(*folders, strict=False):
        if any(part != parts[0] for part in parts):
            break
        common.append(parts[0])
    all_in_one = len(common) == max(len(folder) for folder in folders)
    if all_in_one and common and common[-1].casefold() != wrapper_name.casefold():
        common.pop()
    return "/".join(common)
