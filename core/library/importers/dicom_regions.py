"""Segmentations, RT structures and CAD marks as cases: regions of the volumes and images they refer to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom import cad_marks, segmentations, structure_sets
from semblance.core.imaging.dicom.dicom_file import errors_as_bad_input, open_dicom
from semblance.core.imaging.dicom.geometry import SlicePlane, slice_plane
from semblance.core.imaging.dicom.identity import Identity
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.dicom.segmentations import NamedRegion, referenced_instances
from semblance.core.imaging.dicom.volumes import order_of
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.library.importers.dicom_series import Instance, InstanceGroup, case_key
from semblance.core.library.importers.importer import FoundCase, RejectedFile
from semblance.core.library.importers.source import Source

if TYPE_CHECKING:
    from pydicom import Dataset


def marks_regions(instance: Instance) -> bool:
    """Whether an object marks parts of others."""
    return (
        instance.sop_class in cad_marks.SOP_CLASSES
        or instance.sop_class == structure_sets.SOP_CLASS
        or (instance.sop_class == segmentations.SOP_CLASS and instance.pixels)
    )


class RegionFinder:
    """Finds what objects of regions refer to, among the groups of one source."""

    def __init__(self, source: Source, groups: Sequence[InstanceGroup]) -> None:
        self._source, self._groups = source, groups
        self._groups_of_instance: dict[str, list[InstanceGroup]] = {}
        for group in groups:
            for one in group.instances:
                self._groups_of_instance.setdefault(one.sop_instance, []).append(group)

    def cases(self, instance: Instance) -> Iterator[FoundCase | RejectedFile]:
        """The cases of one object, or why it gives none; a segmentation whose images are not there is a
        image of its own."""
        name = self._source.label(instance.path)
        try:
            found = self._cases_with_regions(instance, name)
        except BadInput as error:
            if instance.sop_class == segmentations.SOP_CLASS:
                yield self._unlinked_case(instance, _without_paths(error.message, name))
            else:
                yield RejectedFile(instance.path or name, str(error), failed=True)
            return
        if found:
            yield from found
        elif instance.sop_class == segmentations.SOP_CLASS:
            yield self._unlinked_case(instance, tr_lazy("The images it refers to are not in this source."))
        else:
            reason = tr_lazy("It marks nothing on the images of this source.")
            yield RejectedFile(instance.path or name, reason, failed=False)

    def _cases_with_regions(self, instance: Instance, name: str) -> list[FoundCase]:
        with self._source.stream(instance.path) as file, errors_as_bad_input(name):
            if instance.sop_class in cad_marks.SOP_CLASSES:
                return self._cases_of_cad_marks(instance, open_dicom(file, name).dataset)
            if instance.sop_class == structure_sets.SOP_CLASS:
                dataset = open_dicom(file, name).dataset
                group = self._referenced_group(dataset, instance)
                planes = [] if group is None else self._planes(group)
                known = [plane for plane in planes if plane is not None]
                if group is None or not known or len(known) < len(planes):
                    return []
                regions = structure_sets.structures(dataset, known, group.instances[0].size[:2])
                return self._make_cases(instance, group, regions, dataset)
            images = DicomImages(file, name)
            group = self._referenced_group(images.dataset, instance)
            if group is None:
                return []
            places = {one.sop_instance: place for place, one in enumerate(group.instances)}
            if group.instances[0].frames > 1:
                places = {}
            size = group.instances[0].size[:2]
            regions = segmentations.segments(images, places, self._planes(group), size)
            return self._make_cases(instance, group, regions, images.dataset)

    def _referenced_group(self, dataset: Dataset, instance: Instance) -> InstanceGroup | None:
        """The group most of the references lead to, else a volume in the same frame of reference."""
        counts: dict[int, int] = {}
        for uid in referenced_instances(dataset):
            for group in self._groups_of_instance.get(uid, ()):
                counts[id(group)] = counts.get(id(group), 0) + 1
        best = max(counts.values(), default=0)
        candidates = [
            group
            for group in self._groups
            if (best and counts.get(id(group)) == best)
            or (
                not best
                and group.is_volume
                and instance.frame_of_reference
                and group.instances[0].frame_of_reference == instance.frame_of_reference
                and group.instances[0].patient == instance.patient
            )
        ]
        return candidates[0] if candidates else None

    def _planes(self, group: InstanceGroup) -> list[SlicePlane | None]:
        """Where each slice or frame of a group lies."""
        if group.instances[0].frame_headers:
            return list(group.planes)
        if group.instances[0].frames == 1:
            return [one.plane for one in group.instances]
        path = group.instances[0].path
        with self._source.stream(path) as file:
            dataset = open_dicom(file, self._source.label(path)).dataset
            return [slice_plane(dataset, frame) for frame in range(group.instances[0].frames)]

    def _make_cases(
        self, instance: Instance, group: InstanceGroup, regions: Sequence[NamedRegion], dataset: Dataset
    ) -> list[FoundCase]:
        identity = Identity.of_patient(dataset)
        return [
            self._region_case(instance, group, number, one.region, *_called(one, number, identity))
            for number, one in enumerate(regions, start=1)
        ]

    def _cases_of_cad_marks(self, instance: Instance, dataset: Dataset) -> list[FoundCase]:
        found = []
        identity = Identity.of_patient(dataset)
        for number, mark in enumerate(cad_marks.cad_marks(dataset), start=1):
            groups = self._groups_of_instance.get(mark.instance, [])
            if not groups:
                continue
            frame = mark.frame or 0
            group = next((one for one in groups if frame in one.frames), groups[0])
            region, z = mark.region, None
            if group.instances[0].frame_headers:
                frames = group.frames or order_of(group.instances[0].frame_headers)
                z = frames.index(frame) if frame in frames else 0
            elif group.instances[0].frames > 1:
                z = frame
            elif group.is_volume:
                z = [one.sop_instance for one in group.instances].index(mark.instance)
            rows, columns = group.instances[0].size[:2]
            try:
                part = region.clipped(rows, columns)
            except BadInput:
                continue
            part = Region(part.x, part.y, part.width, part.height, part.outline, z)
            kind = "" if identity.is_word_of(mark.kind) else mark.kind
            found.append(self._region_case(instance, group, number, part, kind, ""))
        return found

    def _region_case(
        self, instance: Instance, group: InstanceGroup, number: int, region: Region, label: str, kind: str
    ) -> FoundCase:
        one_frame = not group.is_volume and group.instances[0].frames == 1
        if one_frame:
            region = Region(region.x, region.y, region.width, region.height, region.outline)
        parent = self._key(group.key, group.instances[0])
        attributes = {**instance.attributes, "of": parent, "segment": label, "type": kind}
        return FoundCase(
            f"{self._key(instance.path, instance)}#{number}",
            instance.path,
            finding=label or None,
            patient=instance.patient,
            region=region,
            attributes={name: value for name, value in attributes.items() if value},
            slices=group.slices,
        )

    def _unlinked_case(self, instance: Instance, reason: str) -> FoundCase:
        return FoundCase(
            self._key(instance.path, instance),
            instance.path,
            patient=instance.patient,
            attributes={**instance.attributes, "regions": reason},
        )

    def _key(self, key: str, instance: Instance) -> str:
        return case_key(key, instance.modality, self._source.pseudonyms)


def _called(region: NamedRegion, number: int, identity: Identity) -> tuple[str, str]:
    """The label and the kind of a part; people type names of patients there too, which are left out."""
    kind = "" if identity.is_word_of(region.kind) else region.kind
    label = region.label or region.kind
    if identity.is_word_of(label):
        label = kind or tr_lazy("part {number}", number=number)
    return label, kind


def _without_paths(message: str, name: str) -> str:
    """A reason that is stored with the case, without folders, whose names may be those of patients."""
    return message.replace(f"'{name}'", "The file")
