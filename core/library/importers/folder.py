"""Images in folders: the folder holding an image names its finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, Self

from semblance.core.imaging.formats import has_image_name
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.csv_text import IMAGE_COLUMNS, column_named, header_start
from semblance.core.library.importers.image_files import common_folder, ignored_files, rejection_of
from semblance.core.library.importers.image_lists import LIST_PARAMETERS, ImageLists, image_lists, layout_of
from semblance.core.library.importers.importer import (
    COMMON_PARAMETERS,
    FoundCase,
    Importer,
    Recognition,
    RejectedFile,
)
from semblance.core.library.importers.labels_csv import (
    LabelTable,
    LabelTableLine,
    is_label_table,
    read_label_tables,
)
from semblance.core.library.importers.source import Source
from semblance.core.parameters import Parameter, Value
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
    summary = (
        "PNG, JPEG, TIFF, BMP or PGM files; sub-folders, a labels.csv or a published list name the findings."
    )
    #: Kinds of their own read no other list than labels.csv.
    parameters: ClassVar[tuple[Parameter, ...]] = (*COMMON_PARAMETERS, *LIST_PARAMETERS)

    def __init__(self) -> None:
        self.settings: Mapping[str, Value] = {}

    def with_settings(self, values: Mapping[str, Value]) -> Self:
        """An importer that reads lists by these settings."""
        made = super().with_settings(values)
        made.settings = values
        return made

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
        lists = self.lists(source)
        if lists:
            layout = layout_of(source, lists)
            named = f"{lists[0]} ({layout})" if layout else lists[0]
            return Recognition(0.65, tr_lazy("{what} with the list {list}.", what=what, list=named))
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
        lists = self.lists(source)
        for number, entry in enumerate(source.entries()):
            if number % 100 == 0:
                reporter.check_cancelled()
            if entry.path and is_label_table(entry.path) and not lists:
                continue
            rejected = rejection_of(source, entry)
            if rejected is None:
                images.append(entry.path)
            else:
                others.append(rejected)
        if not lists:
            yield from others
            listing = read_label_tables(source, images)
            yield from listing.rejected
            yield from self.cases(source, images, listing)
            return
        reader = ImageLists(source, images, self.settings, exact=self.exact_findings)
        listing = reader.read(lists, reporter)
        if listing.report is not None:
            reader.note_images_without_row(images)
            source.list_report = listing.report
        reported = {one.path for one in listing.rejected}
        yield from (one for one in others if one.path not in reported)
        yield from listing.rejected
        yield from self.cases(source, images, listing)

    def lists(self, source: Source) -> list[str]:
        """The lists of findings that are read in place of a ``labels.csv``: where there is none, where the settings
        say how, or where it names no images by a usual name."""
        if not set(LIST_PARAMETERS) <= set(self.parameters):
            return []
        labels = [entry.path for entry in source.entries() if entry.path and is_label_table(entry.path)]
        chosen = any(self.settings.get(one.name, one.default) != one.default for one in LIST_PARAMETERS)
        usual = [
            path for path in labels if column_named(header_start(source, path), *IMAGE_COLUMNS) is not None
        ]
        return [] if usual and not chosen else image_lists(source)

    def cases(
        self, source: Source, images: list[str], listing: LabelTable
    ) -> Iterator[FoundCase | RejectedFile]:
        """The cases of ``images``, in their order."""
        top = common_folder(images, _wrapper_name(source))
        # The folders of an image name no finding where a list names those of the others.
        names_findings = listing.report is not None and any(
            line.has_finding_column for lines in listing.lines.values() for line in lines
        )
        no_labels = replace(_NO_LABELS, has_finding_column=names_findings)
        used_keys: set[str] = set()
        duplicates: list[RejectedFile] = []
        for path in images:
            if path in listing.companions:
                reason = tr_lazy(
                    "labels.csv names it as belonging to '{owner}'.", owner=listing.companions[path]
                )
                yield RejectedFile(path, reason, failed=False)
                continue
            lines = listing.lines.get(path, [no_labels])
            for number, line in enumerate(lines, start=1):
                key = line.case_id or _key(source.label(path), number, line.suffix)
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
                attributes = split_of(path, top) | line.attributes
                yield FoundCase(
                    key,
                    path,
                    finding=finding,
                    patient=line.patient,
                    region=line.region,
                    attributes=attributes,
                )
        yield from duplicates

    def finding(self, path: str, top: str) -> str | None:
        """The finding of an image that is not in ``labels.csv``; ``top`` is the folder around all images."""
        return _finding_folder(path, top)


_NO_LABELS = LabelTableLine("", None, False, None, "", {})


def _key(path: str, count: int, suffix: str) -> str:
    if suffix:
        return f"{path}#{suffix}"
    return path if count == 1 else f"{path}#{count}"


def _wrapper_name(source: Source) -> str:
    return source.path.stem if source.kind == "zip" else ""


def _folders_below(path: str, top: str) -> tuple[str, ...]:
    """The folders an image lies in, below ``top``."""
    return tuple(path.split("/")[top.count("/") + 1 if top else 0 : -1])


def _finding_folder(path: str, top: str) -> str | None:
    folders = _folders_below(path, top)
    return folders[-1] if folders and folders[-1].lower() not in _SPLITS else None


def split_of(path: str, top: str) -> dict[str, str]:
    """The attribute of an image in a folder called train, val or test below ``top``; empty for others."""
    named = [_SPLITS[part.lower()] for part in _folders_below(path, top) if part.lower() in _SPLITS]
    return {"split": named[0]} if named else {}
