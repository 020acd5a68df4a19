"""Images in folders: the folder holding an image names its finding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from semblance.core.imaging.formats import has_image_name
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.image_files import common_folder, ignored_files, rejection_of
from semblance.core.library.importers.importer import FoundCase, Importer, Recognition, RejectedFile
from semblance.core.library.importers.labels_csv import (
    LabelTable,
    LabelTableLine,
    is_label_table,
    read_label_tables,
)
from semblance.core.library.importers.source import Source
from semblance.core.tasks import Reporter

_SPLITS = {"train": "train", "training": "train", "val": "val", "valid": "val"} | {
    "validation": "val",
    "test": "test",
    "testing": "test",
}
_MAX_LISTED = 6
_SAMPLED_FILES = 20


class FolderImporter(Importer):
    """Any folder or zip of images, or one image.

    The finding of an image is the folder it lies in; a top folder that wraps everything does not count, and
    images beside the sub-folders have none. Folders called train, val or test are no findings but become
    the attribute ``split``. A ``labels.csv`` takes precedence over the folders (:mod:`.labels_csv`); images it
    names only as masks of others are ignored.
    """

    kind = "folder"
    title = "Folders of images"
    summary = "PNG, JPEG, TIFF, BMP or PGM files; sub-folders or a labels.csv name the findings."

    def recognise(self, source: Source) -> Recognition | None:
        """Any images; surer with a ``labels.csv`` or with sub-folders that name findings."""
        entries = source.entries()
        images = [e.path for e in entries if has_image_name(source.label(e.path))]
        if not images:
            images = [e.path for e in entries[:_SAMPLED_FILES] if rejection_of(source, e) is None]
            if not images:
                return None
            return Recognition(0.2, tr_lazy("Images without an image file name."))
        what = tr_lazy_n("{n} image", "{n} images", len(images))
        if any(entry.path and is_label_table(entry.path) for entry in entries):
            return Recognition(0.6, tr_lazy("{what} with a labels.csv.", what=what))
        top = common_folder(images, _wrapper_name(source))
        findings = sorted({_finding_folder(path, top) for path in images} - {None}, key=str)
        if not findings:
            return Recognition(0.4, tr_lazy("{what} without sub-folders that name findings.", what=what))
        names = ", ".join(str(finding) for finding in findings[:_MAX_LISTED])
        more = ", …" if len(findings) > _MAX_LISTED else ""
        folders = tr_lazy_n("{n} sub-folder", "{n} sub-folders", len(findings))
        return Recognition(
            0.5,
            tr_lazy(
                "{what} in {folders} taken as findings: {names}{more}.",
                what=what,
                folders=folders,
                names=names,
                more=more,
            ),
        )

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """One case for each image or each line of a ``labels.csv``; other files are rejected with the reason."""
        yield from ignored_files(source)
        images: list[str] = []
        others: list[RejectedFile] = []
        for number, entry in enumerate(source.entries()):
            if number % 100 == 0:
                reporter.check_cancelled()
            if entry.path and is_label_table(entry.path):
                continue
            rejected = rejection_of(source, entry)
            if rejected is None:
                images.append(entry.path)
            else:
                others.append(rejected)
        yield from others
        listing = read_label_tables(source, images)
        yield from listing.rejected
        yield from self.cases(source, images, listing)

    def cases(
        self, source: Source, images: list[str], listing: LabelTable
    ) -> Iterator[FoundCase | RejectedFile]:
        """The cases of ``images``, in their order."""
        top = common_folder(images, _wrapper_name(source))
        used_keys: set[str] = set()
        duplicates: list[RejectedFile] = []
        for path in images:
            if path in listing.companions:
                reason = tr_lazy(
                    "labels.csv names it as belonging to '{owner}'.", owner=listing.companions[path]
                )
                yield RejectedFile(path, reason, failed=False)
                continue
            lines = listing.lines.get(path, [_NO_LABELS])
            for number, line in enumerate(lines, start=1):
                key = line.case_id or _key(source.label(path), number)
                if key in used_keys:
                    reason = tr_lazy(
                        "{where}: the case_id '{key}' occurs a second time.", where=line.where, key=key
                    )
                    duplicates.append(
                        RejectedFile(path if len(lines) == 1 else line.where, reason, failed=True)
                    )
                    continue
                used_keys.add(key)
                finding = line.finding if line.has_finding_column else self.finding(path, top)
                attributes = _split(path, top) | line.attributes
                yield FoundCase(key, path, finding=finding, patient=line.patient, attributes=attributes)
        yield from duplicates

    def finding(self, path: str, top: str) -> str | None:
        """The finding of an image that is not in ``labels.csv``; ``top`` is the folder around all images."""
        return _finding_folder(path, top)


_NO_LABELS = LabelTableLine("", None, False, None, "", {})


def _key(path: str, count: int) -> str:
    return path if count == 1 else f"{path}#{count}"


def _wrapper_name(source: Source) -> str:
    return source.path.stem if source.kind == "zip" else ""


def _folders_below(path: str, top: str) -> tuple[str, ...]:
    """The folders an image lies in, below ``top``."""
    return PurePosixPath(path).parent.relative_to(top).parts


def _finding_folder(path: str, top: str) -> str | None:
    folders = _folders_below(path, top)
    return folders[-1] if folders and folders[-1].lower() not in _SPLITS else None


def _split(path: str, top: str) -> dict[str, str]:
    named = [_SPLITS[part.lower()] for part in _folders_below(path, top) if part.lower() in _SPLITS]
    return {"split": named[0]} if named else {}
