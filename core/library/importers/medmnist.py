"""Array files of MedMNIST (Yang et al., Scientific Data 10:41, 2023).

Their arrays are ``{train,val,test}_{images,labels}``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.arrays import ArrayFile
from semblance.core.imaging.formats import has_image_name
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.image_files import ignored_files
from semblance.core.library.importers.importer import FoundCase, Importer, Recognition, RejectedFile
from semblance.core.library.importers.source import Entry, Source
from semblance.core.limits import MAX_PIXELS
from semblance.core.tasks import Reporter

SPLITS = ("train", "val", "test")
NAMES = "label_names"

_COLOURS = (1, 3)
_MAX_LISTED = 6


class MedMNISTImporter(Importer):
    """An .npz of images, (n, h, w) or (n, h, w, 3), or of volumes, (n, depth, h, w), beside their labels;
    also in a folder or zip.

    The part (train, val, test) becomes the attribute ``split``. ``labels_at_once`` is the number of labels that an
    image has at a time, where it is more than one. Findings are the labels as written ("0",
    "1"), or their names where an array ``label_names`` gives one to each. Of several labels at a time those
    set are joined ("0+3", "none"). The key of a case is "train_images[12]".
    """

    kind = "medmnist"
    title = "MedMNIST array file"
    summary = "An .npz with train_images, train_labels and so on; images or volumes."

    def recognise(self, source: Source) -> Recognition | None:
        """By the names and shapes of the arrays in the first array file."""
        entries = source.entries()
        files = [entry for entry in entries if _is_array_file(source, entry)]
        if not files or any(has_image_name(source.label(entry.path)) for entry in entries):
            return None
        with ImageReader() as reader:
            try:
                file = reader.array_file(source.address(files[0].path))
                shapes = {split: file.header(f"{split}_images").shape for split in _splits_of(file)}
            except BadInput as error:
                # The scan reports the problem, which is more useful than "of no known kind".
                return Recognition(0.1, error.message)
        count = sum(shape[0] for shape in shapes.values() if shape)
        first = next(iter(shapes.values()))
        if all(_is_volumes(shape) for shape in shapes.values()):
            what, (depth, height, width) = tr_lazy_n("{n} volume", "{n} volumes", count), first[1:4]
            size = tr_lazy("{width} x {height} x {depth} voxels", width=width, height=height, depth=depth)
        elif all(_is_images(shape) for shape in shapes.values()):
            what, (height, width) = tr_lazy_n("{n} image", "{n} images", count), first[1:3]
            size = tr_lazy("{width} x {height} pixels", width=width, height=height)
        else:
            return Recognition(0.1, tr_lazy("An array file, but not of images or volumes."))
        return Recognition(
            0.95, tr_lazy("{what} of {size} in {shapes}.", what=what, size=size, shapes=", ".join(shapes))
        )

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """One case for each row of the image arrays; the finding is its label."""
        yield from ignored_files(source)
        with ImageReader() as reader:
            for entry in source.entries():
                reporter.check_cancelled()
                name = source.label(entry.path)
                if not _is_array_file(source, entry):
                    yield RejectedFile(
                        name,
                        tr_lazy("Its name does not end in .npz, as that of an array file does."),
                        failed=False,
                    )
                    continue
                try:
                    file = reader.array_file(source.address(entry.path))
                    parts = _splits_of(file)
                except BadInput as error:
                    if source.kind == "file":
                        raise
                    yield RejectedFile(name, str(error), failed=True)
                    continue
                yield from _cases_of_file(file, parts, entry.path, name)


def _is_array_file(source: Source, entry: Entry) -> bool:
    return PurePosixPath(source.label(entry.path)).suffix.lower() == ".npz"


def _is_images(shape: tuple[int, ...]) -> bool:
    flat = len(shape) == 3 or (len(shape) == 4 and shape[3] in _COLOURS)
    return flat and 0 < math.prod(shape[1:3]) <= MAX_PIXELS


def _is_volumes(shape: tuple[int, ...]) -> bool:
    """(n, depth, h, w), also with one channel behind; a last side of 1 or 3 is taken for the channel."""
    deep = (len(shape) == 4 and shape[3] not in _COLOURS) or (len(shape) == 5 and shape[4] == 1)
    return deep and shape[1] > 0 and 0 < math.prod(shape[2:4]) <= MAX_PIXELS


def _splits_of(file: ArrayFile) -> list[str]:
    """The splits whose images the file holds.

    Raises:
        BadInput: none.
    """
    parts = [split for split in SPLITS if f"{split}_images" in file.names]
    if not parts:
        held = ", ".join(file.names[:_MAX_LISTED]) or tr_lazy("none")
        raise BadInput(
            tr_lazy(
                "'{file}' contains no array called train_images, val_images or test_images (but {held}).",
                file=file.name,
                held=held,
            ),
            "Rename its arrays, or save its images as PNG files.",
        )
    return parts


def _cases_of_file(
    file: ArrayFile, parts: list[str], path: str, name: str
) -> Iterator[FoundCase | RejectedFile]:
    """The cases of one array file, then what gave none."""
    used = {NAMES} | {f"{split}_{what}" for split in parts for what in ("images", "labels")}
    rejected = [
        RejectedFile(f"{name}!{array}", tr_lazy("Neither images nor their labels."), failed=False)
        for array in file.names
        if array not in used
    ]
    for split in parts:
        array = f"{split}_images"
        try:
            shape = file.header(array).shape
            if not (_is_images(shape) or _is_volumes(shape)):
                raise BadInput(
                    tr_lazy(
                        "'{array}' contains neither images nor volumes: its shape is {shape}.",
                        array=array,
                        shape=shape,
                    )
                )
            findings = _findings(file, split, shape[0])
            several = _several_labels(file, split)
        except BadInput as error:
            rejected.append(RejectedFile(f"{name}!{array}", str(error), failed=True))
            continue
        for row in range(shape[0]):
            key = f"{array}[{row}]"
            yield FoundCase(
                f"{path}!{key}" if path else key,
                path,
                member=array,
                frame=row,
                finding=findings[row],
                attributes={"split": split, **several},
            )
    yield from rejected


def _findings(file: ArrayFile, split: str, count: int) -> list[str | None]:
    """One finding an image; all ``None`` where the part has no labels.

    Raises:
        BadInput: labels that are not one line of whole numbers an image.
    """
    array = f"{split}_labels"
    if array not in file.names:
        return [None] * count
    labels = file.read(array)
    if labels.ndim == 1:
        labels = labels[:, None]
    if labels.ndim != 2 or len(labels) != count or labels.shape[1] == 0 or labels.dtype.kind not in "iub":
        raise BadInput(
            tr_lazy(
                "'{array}' has the shape {shape} of {dtype} for {count} images.",
                array=array,
                shape=labels.shape,
                dtype=labels.dtype,
                count=count,
            ),
            "It needs one whole number for each image.",
        )
    names = _names(file)
    if labels.shape[1] == 1:
        return [_name(int(value), names) for value in labels[:, 0]]
    return ["+".join(_name(int(i), names) for i in np.flatnonzero(row)) or "none" for row in labels]


def _several_labels(file: ArrayFile, split: str) -> dict[str, str]:
    """The attribute of cases that have several labels at a time."""
    array = f"{split}_labels"
    shape = file.header(array).shape if array in file.names else ()
    return {"labels_at_once": str(shape[1])} if len(shape) == 2 and shape[1] > 1 else {}


def _names(file: ArrayFile) -> npt.NDArray[np.str_] | None:
    if NAMES not in file.names:
        return None
    names = file.read(NAMES)
    return names if names.ndim == 1 and names.dtype.kind == "U" else None


def _name(value: int, names: npt.NDArray[np.str_] | None) -> str:
    return str(names[value]) if names is not None and 0 <= value < len(names) else str(value)
