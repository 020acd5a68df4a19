"""Volumes in single files (NIfTI, NRRD, MetaImage, OME-TIFF), with the masks beside them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt
from scipy.ndimage import find_objects

from semblance.core.errors import BadInput
from semblance.core.imaging.formats import has_image_name
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.imaging.tiff_volumes import TiffVolumes
from semblance.core.imaging.volume import StackLocation
from semblance.core.imaging.volume_files import VOLUME_SUFFIXES, VolumeFile, has_volume_name
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.csv_text import column_named, read_list
from semblance.core.library.importers.folder import FolderImporter
from semblance.core.library.importers.image_files import ignored_files, rejection_of
from semblance.core.library.importers.importer import FoundCase, Recognition, RejectedFile
from semblance.core.library.importers.labels_csv import is_label_table, read_label_tables
from semblance.core.library.importers.masks import NoMask, WrongSize
from semblance.core.library.importers.source import Source
from semblance.core.tasks import Reporter

_SUFFIXES = (*VOLUME_SUFFIXES, ".ome.tif", ".ome.tiff", ".tif", ".tiff")
_MASK_WORDS = "masks?|seg|segmentations?|labels?|labelmap|lesions?|roi"
_MASK = re.compile(rf"(?:(.+?)[_\-. ])?(?:{_MASK_WORDS})(?:[_\- ]?\d{{1,3}})?", re.IGNORECASE)
#: Folders of nnU-Net and of the Medical Segmentation Decathlon: labelsTr beside imagesTr.
_MASK_FOLDER = re.compile(rf"(?:{_MASK_WORDS})(?:Tr|Ts|Val)?", re.IGNORECASE)
_IMAGE_FOLDER = re.compile(r"(?:images?|volumes?|scans?)(?:Tr|Ts|Val)?", re.IGNORECASE)
#: Parts of a name of BIDS that tell masks apart, not images (bids-specification.readthedocs.io).
_MASK_ENTITY = re.compile(r"_(?:label|desc|space|res|atlas)-[A-Za-z0-9]+")
_SUBJECT = re.compile(r"(?:^|/)(sub-[A-Za-z0-9]+)(?=[/_.])")
_SESSION = re.compile(r"(?:^|[/_])(ses-[A-Za-z0-9]+)(?=[/_.])")
_MODALITY_FOLDERS = frozenset(("anat", "func", "dwi", "pet", "fmap", "perf", "ct", "beh", "derivatives"))
#: The number of the channel that nnU-Net puts after a name.
_CHANNEL = re.compile(r"_\d{4}$")
_DATA_SUFFIXES = (".raw", ".zraw", ".raw.gz", ".gz", ".bin", ".img", ".dat")
#: Columns of participants.tsv that name a finding, and those that become attributes.
_GROUPS, _FACTS = ("diagnosis", "dx", "group", "finding"), ("age", "sex")
#: Greater numbers are those of an image; of a mask of probabilities these are inside.
_MAX_LABEL, _INSIDE = 255, 0.5


class VolumesImporter(FolderImporter):
    """Files of volumes in a folder or zip, or one such file.

    One case a volume; a file of several (time points, echoes, channels) gives one for each. The mask beside a volume
    (``NAME_mask``, ``NAME_seg``, ``NAME-label``, or the same name in a folder ``labelsTr`` or ``masks``) is its region;
    a mask of several labels gives one more case for each of them. Findings come from a ``labels.csv``, else from
    the folders. In BIDS ``sub-*`` is the patient, and ``participants.tsv`` may name the group. Nothing else that a
    header or a file beside the volumes says of a person is read.
    """

    kind = "volume"
    title = "Volumes"
    summary = "NIfTI, NRRD, MetaImage or OME-TIFF files; masks beside them are regions; BIDS folders."

    def recognise(self, source: Source) -> Recognition | None:
        """Sure where most images are files of volumes."""
        names = [source.label(entry.path) for entry in source.entries()]
        volumes = [name for name in names if _is_volume_name(name)]
        others = sum(has_image_name(name) and not _is_volume_name(name) for name in names)
        if not volumes or len(volumes) < others:
            return None
        return Recognition(0.9, tr_lazy_n("{n} file of volumes.", "{n} files of volumes.", len(volumes)))

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """One case for each volume and for each label of a mask of several."""
        yield from ignored_files(source)
        names: list[str] = []
        others: list[str] = []
        for entry in source.entries():
            label = source.label(entry.path)
            if entry.path and is_label_table(entry.path):
                continue
            if has_volume_name(label) or label.lower().endswith(_SUFFIXES):
                names.append(entry.path)
            else:
                others.append(entry.path)
        yield from _rejections(source, names, others)
        owners = _owners_of_masks(names) if len(names) > 1 else {}
        volumes = [path for path in names if path not in owners]
        listing = read_label_tables(source, volumes)
        yield from listing.rejected
        masks: dict[str, list[str]] = defaultdict(list)
        for mask, images in owners.items():
            yield RejectedFile(mask, tr_lazy("The mask of '{owner}'.", owner=images[0]), failed=False)
            for image in images:
                masks[image].append(mask)
        people, label_names = _participants(source, others), _label_names(source, others)
        with ImageReader() as images_reader:
            for found in self.cases(source, volumes, listing):
                reporter.check_cancelled()
                if isinstance(found, RejectedFile):
                    yield found
                else:
                    case = _with_subject(found, people)
                    yield from _cases_of(source, case, masks.get(found.path, ()), label_names, images_reader)

    def finding(self, path: str, top: str) -> str | None:
        """The folder of a volume, unless it is one of a subject, a session, a modality or of all images."""
        found = super().finding(path, top)
        is_part = (
            found is None
            or found.startswith(("sub-", "ses-"))
            or found.lower() in _MODALITY_FOLDERS
            or _IMAGE_FOLDER.fullmatch(found) is not None
        )
        # A folder whose files bear its name holds one examination.
        return None if is_part or PurePosixPath(path).name.startswith(str(found)) else found


def _is_volume_name(name: str) -> bool:
    return has_volume_name(name) or name.lower().endswith((".ome.tif", ".ome.tiff"))


def _stem(path: str) -> str:
    """The path without its ending."""
    ending = next((suffix for suffix in _SUFFIXES if path.lower().endswith(suffix)), "")
    return path[: len(path) - len(ending)]


def _rejections(source: Source, volumes: Sequence[str], others: Sequence[str]) -> Iterator[RejectedFile]:
    """How the files were used that are no volumes."""
    headers = {_stem(path).casefold() for path in volumes if path.lower().endswith((".mhd", ".nhdr"))}
    by_path = {entry.path: entry for entry in source.entries()}
    for path in others:
        data = next((ending for ending in _DATA_SUFFIXES if path.lower().endswith(ending)), None)
        name = PurePosixPath(path).name.lower()
        if data is not None and path[: -len(data)].casefold() in headers:
            yield RejectedFile(path, tr_lazy("The voxels of the header beside it."), failed=False)
        elif name in ("participants.tsv", "dataset.json"):
            yield RejectedFile(path, tr_lazy("Read as labels."), failed=False)
        elif name.endswith((".json", ".tsv", ".bval", ".bvec", ".txt", ".md")) or name in (
            "readme",
            "changes",
        ):
            reason = tr_lazy("A description, which may name people, and is not read.")
            yield RejectedFile(path, reason, failed=False)
        else:
            rejected = rejection_of(source, by_path[path])
            yield rejected or RejectedFile(
                path, tr_lazy("An image, not a volume; import it as the kind folder."), failed=False
            )


def _owners_of_masks(paths: Sequence[str]) -> dict[str, list[str]]:
    """Mask -> the volumes it belongs to: that of the same name, else all of its folder whose names go on from it."""
    candidates: dict[str, tuple[str, str]] = {}
    for path in paths:
        parts = PurePosixPath(path)
        stem = PurePosixPath(_stem(path)).name
        found = _MASK.fullmatch(stem)
        if _MASK_FOLDER.fullmatch(parts.parent.name):
            candidates[path] = ("", stem)
        elif found:
            candidates[path] = (str(parts.parent), _MASK_ENTITY.sub("", found[1] or ""))
    owners: dict[str, list[str]] = {}
    for mask, (folder, name) in candidates.items():
        of_volumes = [path for path in paths if path not in candidates]
        if folder:
            near = [path for path in of_volumes if str(PurePosixPath(path).parent) == folder]
        else:
            above = PurePosixPath(mask).parent.parent
            near = [path for path in of_volumes if PurePosixPath(path).is_relative_to(above)]
        stems = {path: PurePosixPath(_stem(path)).name for path in near}
        equal = [path for path, stem in stems.items() if name in (stem, _CHANNEL.sub("", stem))]
        going_on = [
            path for path, stem in stems.items() if name and re.match(rf"{re.escape(name)}[_\-. ]", stem)
        ]
        alone = near if not name and folder and len(near) == 1 else []
        if equal or going_on or alone:
            owners[mask] = equal or going_on or alone
    return owners


def _participants(source: Source, paths: Sequence[str]) -> dict[str, dict[str, str]]:
    """The lines of the ``participants.tsv`` of BIDS, by ``participant_id``."""
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        if PurePosixPath(path).name.lower() == "participants.tsv":
            text = read_list(source, path)
            subject = column_named(text.header, "participant_id")
            if subject is not None:
                for row in text.rows:
                    found[row[subject]] = {
                        name.lower(): cell
                        for name, cell in zip(text.header, row, strict=True)
                        if cell not in ("", "n/a")
                    }
    return found


def _with_subject(case: FoundCase, people: Mapping[str, Mapping[str, str]]) -> FoundCase:
    """``case`` with the patient and the session that its path names in BIDS."""
    subject, session = _SUBJECT.search(case.path), _SESSION.search(case.path)
    if subject is None:
        return case
    known = people.get(subject[1], {})
    finding = case.finding or next((known[name] for name in _GROUPS if name in known), None)
    facts = {name: known[name] for name in _FACTS if name in known}
    if session is not None:
        facts["session"] = session[1]
    return replace(
        case, patient=case.patient or subject[1], finding=finding, attributes={**facts, **case.attributes}
    )


def _label_names(source: Source, paths: Sequence[str]) -> dict[int, str]:
    """What the numbers of masks mean: ``labels`` of a ``dataset.json``, as the Decathlon and nnU-Net write it."""
    names: dict[int, str] = {}
    for path in paths:
        if PurePosixPath(path).name.lower() == "dataset.json":
            try:
                labels = json.loads(source.read(path)).get("labels", {})
                for one, other in labels.items():
                    number, name = (one, other) if str(one).isdigit() else (other, one)
                    names[int(number)] = str(name)[:64]
            except (ValueError, TypeError, AttributeError, RecursionError):
                source.notes.append(tr_lazy("'{path}' does not say what the labels mean.", path=path))
    return names


def _cases_of(
    source: Source, case: FoundCase, masks: Sequence[str], label_names: Mapping[int, str], reader: ImageReader
) -> Iterator[FoundCase | RejectedFile]:
    """The cases of one file: its volumes, then the labels of its masks."""
    try:
        volumes = reader.volume_file(source.address(case.path))
        regions: dict[int, Region] = {}
        if volumes is None:
            parts = [case]
        else:
            parts = _parts(case, volumes.count, volumes if isinstance(volumes, TiffVolumes) else None)
            if masks:
                regions, failed = _regions(source, volumes, masks, reader)
                yield from failed
    except BadInput as error:
        yield RejectedFile(source.label(case.path), str(error), failed=True)
        return
    for part in parts:
        if len(regions) == 1:
            yield replace(part, region=next(iter(regions.values())))
            continue
        yield part
        for number, region in regions.items():
            name = label_names.get(number, str(number))
            yield replace(
                part,
                key=f"{part.key}#{name}",
                region=region,
                finding=part.finding or label_names.get(number),
                attributes={**part.attributes, "of": part.key, "segment": name},
            )


def _parts(case: FoundCase, count: int, pages: TiffVolumes | None) -> list[FoundCase]:
    if count == 1:
        return [case]
    return [
        replace(
            case,
            key=f"{case.key}#{part + 1}",
            frame=part if pages is None else None,
            slices=() if pages is None else tuple((case.path, page) for page in pages.pages(part)),
            attributes={**case.attributes, "part": str(part + 1)},
        )
        for part in range(count)
    ]


def _regions(
    source: Source, volumes: VolumeFile, masks: Sequence[str], reader: ImageReader
) -> tuple[dict[int, Region], list[RejectedFile]]:
    """Label -> region of all masks of a volume, those of one label as one; and the masks that cannot be used."""
    failed = []
    marked = np.zeros(volumes.shape, np.uint16)
    for path in masks:
        try:
            numbers = _mask_labels(source, path, volumes, reader)
        except BadInput as error:
            failed.append(RejectedFile(path, str(error), failed=True))
        else:
            np.copyto(marked, numbers, where=numbers > 0)
    regions = {}
    for label, box in enumerate(find_objects(marked), start=1):
        if box is not None:
            inside = region_of_mask(marked[box] == label, box[0].start)
            regions[label] = replace(inside, x=inside.x + box[2].start, y=inside.y + box[1].start)
    return regions, failed


def _mask_labels(
    source: Source, path: str, volumes: VolumeFile, reader: ImageReader
) -> npt.NDArray[np.uint16]:
    """(depth, height, width) the label of every voxel, 0 outside.

    Raises:
        BadInput: unreadable, an image of many greys (:class:`NoMask`), or on another grid (:class:`WrongSize`).
    """
    mask = reader.volume_file(source.address(path))
    if mask is None or mask.shape != volumes.shape or not _is_same_place(mask.location, volumes.location):
        raise WrongSize(
            tr_lazy("The mask '{path}' does not lie on the voxels of its volume.", path=path),
            tr_lazy("Save the mask on the grid of its volume."),
        )
    numbers = mask.stack().volume().voxels
    if numbers.dtype.kind == "f" and numbers.max(initial=0.0) <= 1.0:
        return np.asarray(numbers >= _INSIDE, np.uint16)
    whole = np.rint(numbers)
    if numbers.ndim != 3 or whole.min() < 0 or whole.max() > _MAX_LABEL or np.any(whole != numbers):
        raise NoMask(
            tr_lazy("'{path}' is a grey-scale image, not a mask.", path=path),
            tr_lazy("A mask has a number for each region."),
        )
    found: npt.NDArray[np.uint16] = whole.astype(np.uint16)
    return found


def _is_same_place(one: StackLocation | None, other: StackLocation | None) -> bool:
    """Whether two volumes of one shape lie in one place, as far as both say it."""
    if one is None or other is None:
        return True
    return bool(np.allclose(one.cosines, other.cosines, atol=0.01)) and abs(one.height - other.height) < 1.0
