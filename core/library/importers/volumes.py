"""Volumes in single files (NIfTI, NRRD, MetaImage, OME-TIFF), with the masks beside them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.formats import has_image_name
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.imaging.tiff_volumes import TiffVolumes
from semblance.core.imaging.volume_files import VOLUME_SUFFIXES, VolumeFile, has_volume_name, voxels_on_grid
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.csv_text import column_named, read_list
from semblance.core.library.importers.folder import FolderImporter
from semblance.core.library.importers.image_files import ignored_files, rejection_of
from semblance.core.library.importers.importer import COMMON_PARAMETERS, FoundCase, Recognition, RejectedFile
from semblance.core.library.importers.labels_csv import is_label_table, read_label_tables
from semblance.core.library.importers.masks import NoMask, WrongSize
from semblance.core.library.importers.source import Source
from semblance.core.tasks import Reporter

_SUFFIXES = (*VOLUME_SUFFIXES, ".ome.tif", ".ome.tiff", ".tif", ".tiff")
_MASK_WORDS = "masks?|msk|seg|dseg|probseg|segmentations?|labels?|labelmap|lesions?|roi"
_MASK = re.compile(rf"(?:(.+?)[_\-. ])?(?:{_MASK_WORDS})(?:[_\- ]?\d{{1,3}})?", re.IGNORECASE)
#: Folders of nnU-Net and of the Medical Segmentation Decathlon: labelsTr beside imagesTr.
_MASK_FOLDER = re.compile(rf"(?:{_MASK_WORDS})(?:Tr|Ts|Val)?", re.IGNORECASE)
_IMAGE_FOLDER = re.compile(r"(?:images?|volumes?|scans?)(?:Tr|Ts|Val)?", re.IGNORECASE)
#: Parts of a name of BIDS that tell masks apart, not images (bids-specification.readthedocs.io).
_MASK_ENTITY = re.compile(r"_(?:label|desc|space|res|atlas)-[A-Za-z0-9]+")
_SUBJECT = re.compile(r"(?:^|/)(sub-[A-Za-z0-9]+)(?=[/_.])")
#: The folder of a dataset and the rest of a path below its derivatives, with the name of a pipeline or without.
_DERIVATIVES = re.compile(r"(.*?)derivatives/(?:(?!sub-)[^/]+/)?(?=sub-)")
_SESSION = re.compile(r"(?:^|[/_])(ses-[A-Za-z0-9]+)(?=[/_.])")
_MODALITY_FOLDERS = frozenset(("anat", "func", "dwi", "pet", "fmap", "perf", "ct", "beh", "derivatives"))
#: The number of the channel that nnU-Net puts after a name.
_CHANNEL = re.compile(r"_\d{4}$")
_DATA_SUFFIXES = (".raw", ".zraw", ".raw.gz", ".gz", ".bin", ".img", ".dat")
#: Columns of participants.tsv that name a finding, and those that become attributes.
_GROUPS, _FACTS = ("diagnosis", "dx", "group", "finding"), ("age", "sex")
#: More different numbers are those of an image; of a mask of probabilities these are inside.
_MOST_LABELS, _INSIDE = 256, 0.5


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
    parameters = COMMON_PARAMETERS

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
        misfits: dict[str, set[str]] = defaultdict(set)
        people, label_names = _participants(source, others), _label_names(source, others)
        with ImageReader() as images_reader:
            for found in self.cases(source, volumes, listing):
                reporter.check_cancelled()
                if isinstance(found, RejectedFile):
                    yield found
                else:
                    case = _with_subject(found, people)
                    own = masks.get(found.path, ())
                    for one in _cases_of(source, case, own, label_names, images_reader):
                        if isinstance(one, RejectedFile) and one.path in owners:
                            # A mask of several volumes need not fit all of them.
                            misfits[one.path].add(found.path)
                            if len(misfits[one.path]) < len(owners[one.path]):
                                continue
                        yield one

    def finding(self, path: str, top: str) -> str | None:
        """The folder of a volume, unless it is one of a subject, a session, a modality or of all images."""
        found = super().finding(path, top)
        is_part = (
            found is None
            or found.startswith(("sub-", "ses-"))
            or found.lower() in _MODALITY_FOLDERS
            or _IMAGE_FOLDER.fullmatch(found) is not None
        )
        return None if is_part or _is_examination(str(found), PurePosixPath(path).name) else found


def _is_examination(folder: str, name: str) -> bool:
    """Whether the files of a folder bear its name, as those of one examination do: ``case7/case7_flair.nii``, but not
    ``glioma/glioma_01.nii``."""
    rest = name.removeprefix(folder)
    has_number = any(letter.isdigit() for letter in folder)
    return rest != name and (has_number or re.match(r"\.|[_\-. ][A-Za-z]", rest) is not None)


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
    folders = {PurePosixPath(path).parent for path in paths}
    of_masks = {folder for folder in folders if _MASK_FOLDER.fullmatch(folder.name)}
    # A folder "lesions" with nothing beside it holds volumes and masks.
    alone = {
        folder for folder in of_masks if not any(f.is_relative_to(folder.parent) for f in folders - of_masks)
    }
    for path in paths:
        parts = PurePosixPath(path)
        stem = PurePosixPath(_stem(path)).name
        found = _MASK.fullmatch(stem)
        if parts.parent in of_masks - alone:
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
        only = near if not name and folder and len(near) == 1 else []
        found_owners = equal or going_on or only or _subjects_volumes(mask, name, of_volumes)
        if found_owners:
            owners[mask] = found_owners
    return owners


def _subjects_volumes(mask: str, name: str, volumes: Sequence[str]) -> list[str]:
    """The anatomical volumes of the same subject and session as a ``mask`` in the derivatives of BIDS."""
    dataset = _DERIVATIVES.match(mask)
    if dataset is None or not name:
        return []
    return [
        path
        for path in volumes
        if path.startswith(f"{dataset[1]}sub-") and PurePosixPath(path).name.startswith(f"{name}_")
    ]


def _participants(source: Source, paths: Sequence[str]) -> dict[str, dict[str, str]]:
    """The lines of the ``participants.tsv`` of BIDS, by ``participant_id``."""
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        if PurePosixPath(path).name.lower() == "participants.tsv":
            text = read_list(source, path)
            subject = column_named(text.header, "participant_id")
            if subject is not None:
                for row in text.rows:
                    found[f"sub-{row[subject].removeprefix('sub-')}"] = {
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
                    # nnU-Net names unions of labels too.
                    if not isinstance(number, list):
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
    """Label -> region of all masks of a volume, those of one label as one; and the masks that cannot be used.

    A mask of several layers, whose labels may overlap, has one number for each label of each."""
    from scipy.ndimage import find_objects

    failed = []
    layers: list[npt.NDArray[np.uint16]] = []
    for path in masks:
        try:
            found = _mask_layers(source, path, volumes, reader)
        except BadInput as error:
            failed.append(RejectedFile(path, str(error), failed=True))
            continue
        for place, numbers in enumerate(found):
            if place == len(layers):
                layers.append(numbers)
            else:
                np.copyto(layers[place], numbers, where=numbers > 0)
    regions: dict[int, Region] = {}
    for marked in layers:
        for label, box in enumerate(find_objects(marked), start=1):
            if box is not None:
                inside = region_of_mask(marked[box] == label, box[0].start)
                number = label if label not in regions else max(regions) + 1
                regions[number] = replace(inside, x=inside.x + box[2].start, y=inside.y + box[1].start)
    return regions, failed


def _mask_layers(
    source: Source, path: str, volumes: VolumeFile, reader: ImageReader
) -> list[npt.NDArray[np.uint16]]:
    """Of each volume of a mask (depth, height, width) the label of every voxel, 0 outside.

    Raises:
        BadInput: unreadable, an image of many greys (:class:`NoMask`), or on another grid (:class:`WrongSize`).
    """
    mask = reader.volume_file(source.address(path))
    found = []
    for part in range(1 if mask is None else mask.count):
        numbers = None if mask is None else voxels_on_grid(mask, volumes, part)
        if numbers is None:
            raise WrongSize(
                tr_lazy("The mask '{path}' does not lie on the voxels of its volume.", path=path),
                tr_lazy("Save the mask on the grid of its volume."),
            )
        labels = _labels(numbers)
        if labels is None:
            raise NoMask(
                tr_lazy("'{path}' is a grey-scale image, not a mask.", path=path),
                tr_lazy("A mask has a number for each region."),
            )
        found.append(labels)
    return found


def _labels(numbers: npt.NDArray[Any]) -> npt.NDArray[np.uint16] | None:
    """The numbers of a mask; ``None`` where they are no labels, or more different ones than a mask has."""
    if numbers.ndim != 3 or numbers.dtype.kind not in "iuf":
        return None
    if numbers.dtype.kind == "f":
        numbers = np.nan_to_num(numbers, nan=0.0)
        if numbers.min() >= 0 and numbers.max() <= 1.0:
            return np.asarray(numbers >= _INSIDE, np.uint16)
    if not (numbers.min() >= 0 and numbers.max() <= np.iinfo(np.uint16).max):
        return None
    whole: npt.NDArray[np.uint16] = np.rint(numbers).astype(np.uint16)
    if np.any(whole != numbers) or np.count_nonzero(np.bincount(whole.ravel())) > _MOST_LABELS:
        return None
    return whole
