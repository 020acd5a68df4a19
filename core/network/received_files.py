"""The folder of received DICOM objects: one file for each SOP instance, independent of the sender."""

from __future__ import annotations

import io
import threading
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from semblance.core.errors import BadInput
from semblance.core.files import TEMPORARY, make_folder, remove_abandoned, write_file
from semblance.core.imaging.dicom.compare_objects import ObjectDifferences, compare_objects
from semblance.core.language import tr_lazy
from semblance.core.network.studies import is_uid, text_of

#: Folder for what was received for a library, in its :func:`~semblance.core.library.location.lasting_folder`.
FOLDER: Final = "received"
_WAITING: Final = "waiting"
_UIDS: Final = ("StudyInstanceUID", "SeriesInstanceUID", "SOPInstanceUID")


@dataclass(frozen=True)
class ObjectIds:
    """The UIDs of a DICOM object."""

    study: str
    series: str
    instance: str


@dataclass(frozen=True)
class KeptObject:
    """An object that is on the disk: its ids, whether it is new, and how it differs from what was here, "" for not at
    all."""

    ids: ObjectIds
    is_new: bool
    change: str = ""


class OtherObject(BadInput):
    """An object is refused because another has its SOP instance UID; ``instance`` is that UID."""

    def __init__(self, instance: str, differences: ObjectDifferences) -> None:
        self.instance = instance
        super().__init__(
            tr_lazy(
                "Another object with this UID is here: {difference} ({uid}).",
                difference=differences.describe(),
                uid=instance,
            ),
            "Send it with a UID of its own. What was here is kept.",
        )


class ReceivedFiles:
    """``FOLDER/STUDY/SERIES/INSTANCE.dcm``, and the list of studies that wait to be imported.

    A file is there whole or not at all. Threads may use it at the same time.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._files: dict[str, set[Path]] | None = None
        # Parts of objects that a killed program left have the patient's name in them.
        remove_abandoned(folder.glob(f"*/*/.*{TEMPORARY}"))

    def study_folder(self, study: str) -> Path:
        """The folder of a study; it need not exist."""
        return self.folder / study

    def path(self, ids: ObjectIds) -> Path:
        """The file of an object; it need not exist."""
        return self.folder / ids.study / ids.series / f"{ids.instance}.dcm"

    def instances(self, study: str) -> dict[str, Path]:
        """SOP instance UID -> file, of what was received of a study."""
        return {file.stem: file for file in sorted(self.study_folder(study).glob("*/*.dcm"))}

    def put(self, encoded: bytes, *, study: str | None = None) -> KeptObject:
        """Keep an object in the file format of PS3.10; it is on the disk when this returns.

        The same image once more replaces the file where its header differs, as a corrected one does. ``study``: the one
        that was asked for.

        Raises:
            OtherObject: another patient's object or one with other pixels is here under its UID.
            BadInput: it is no DICOM object with UIDs, or of another study.
            SemblanceError: it cannot be written, as on a full disk.
        """
        ids = object_ids(encoded)
        if study is not None and ids.study != study:
            raise BadInput("The PACS sent an object of another study than was asked for.")
        path = self.path(ids)
        with self._lock:
            is_new, change = not path.exists(), ""
            if not is_new:
                there = path.read_bytes()
                if there.startswith(encoded):
                    return KeptObject(ids, is_new=False)
                if not encoded.startswith(there):
                    differences = _compare(ids, there, encoded)
                    if not differences.elements:
                        # All that it says is here.
                        return KeptObject(ids, False, differences.describe())
                    change = differences.describe()
                is_new = not change
            others = () if change else self._of_instance(ids.instance) - {path}
            # A person may have deleted one since.
            for other in (one for one in others if one.exists()):
                _compare(ids, other.read_bytes(), encoded)
                change = tr_lazy("it is here in another series too")
            # The note comes first, so that nothing is forgotten if the program ends here.
            note = self.folder / _WAITING / ids.study
            if not note.exists():
                make_folder(note.parent)
                write_file(note, b"")
            make_folder(path.parent)
            write_file(path, encoded)
            self._of_instance(ids.instance).add(path)
        return KeptObject(ids, is_new, change)

    def _of_instance(self, instance: str) -> set[Path]:
        """The files of a SOP instance UID, in any study."""
        if self._files is None:
            self._files = {}
            for file in self.folder.glob("*/*/*.dcm"):
                self._files.setdefault(file.stem, set()).add(file)
        return self._files.setdefault(instance, set())

    def waiting(self) -> list[str]:
        """The studies that wait to be imported."""
        folder = self.folder / _WAITING
        return sorted(one.name for one in folder.iterdir() if is_uid(one.name)) if folder.is_dir() else []

    def imported(self, study: str, instances: Collection[str]) -> None:
        """Note that ``instances`` of a study are in the library. It waits on if more came meanwhile."""
        with self._lock:
            if set(self.instances(study)) <= set(instances):
                (self.folder / _WAITING / study).unlink(missing_ok=True)


def _compare(ids: ObjectIds, there: bytes, encoded: bytes) -> ObjectDifferences:
    """
    Raises:
        OtherObject: both are not the same image of the same patient.
    """
    differences = compare_objects(io.BytesIO(there), io.BytesIO(encoded), ids.instance)
    if not differences.is_same_image:
        raise OtherObject(ids.instance, differences)
    return differences


def object_ids(encoded: bytes) -> ObjectIds:
    """The UIDs of an object in the file format of PS3.10.

    Raises:
        BadInput: it is damaged or has none.
    """
    from pydicom.uid import UID

    from semblance.core.imaging.dicom.dicom_file import UNDEFINED, open_dicom

    opened = open_dicom(io.BytesIO(encoded), tr_lazy("A received object"), (*_UIDS, "SOPClassUID"))
    if opened.pixels and opened.length != UNDEFINED and opened.offset + opened.length > opened.size:
        raise BadInput("A received object ends within its pixels.", "Send it again.")
    dataset = opened.dataset
    if not opened.pixels and "Image Storage" in UID(text_of(dataset, "SOPClassUID")).name:
        raise BadInput("A received object ends before its pixels.", "Send it again.")
    uids = [text_of(dataset, keyword) for keyword in _UIDS]
    if not all(is_uid(uid) for uid in uids):
        raise BadInput("A received object has no valid UIDs.")
    return ObjectIds(*uids)
