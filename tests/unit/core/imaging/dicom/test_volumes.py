from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydicom import Dataset

from semblance.core.imaging.dicom.volumes import frame_headers, slice_header, slice_order
from semblance.core.library.importers.dicom_series import group_instances, read_instance
from tests.helpers.dicom_files import sequence_of

#: What tells phases apart -> the elements of a file of phase ``n``, the ``i``-th that was acquired.
TOLD_BY = {
    "temporal position": lambda n, i: {"TemporalPositionIdentifier": n},
    "b-value": lambda n, i: {"DiffusionBValue": 500.0 * n},
    "echo": lambda n, i: {"EchoTime": 2.46 * n, "AcquisitionTime": f"1010{i % 60:02d}.5"},
    "trigger time": lambda n, i: {"TriggerTime": 40.5 * n, "AcquisitionNumber": 1},
    "flip angle": lambda n, i: {"FlipAngle": 5.0 * n, "AcquisitionTime": f"1010{i % 60:02d}.5"},
    "image type": lambda n, i: {"ImageType": ["ORIGINAL", "PRIMARY", "MPIW"[n - 1]]},
    "kernel": lambda n, i: {"ConvolutionKernel": f"B{n}0f"},
    "time": lambda n, i: {"AcquisitionTime": f"10101{n}", "ContentTime": f"1010{i % 60:02d}.5"},
    "order": lambda n, i: {"AcquisitionTime": f"{100000 + i}"},
    "number": lambda n, i: {},
}
#: The same in the functional groups of an enhanced object (PS3.3 C.7.6.16).
TOLD_BY_GROUPS = {
    "temporal position": lambda n, i: {"FrameContentSequence": sequence_of(TemporalPositionIndex=n)},
    "b-value": lambda n, i: {"MRDiffusionSequence": sequence_of(DiffusionBValue=500.0 * n)},
    "trigger time": lambda n, i: {
        "CardiacSynchronizationSequence": sequence_of(NominalCardiacTriggerDelayTime=40.5 * n)
    },
    "image type": lambda n, i: {
        "MRImageFrameTypeSequence": sequence_of(FrameType=["ORIGINAL", "PRIMARY", "MPIW"[n - 1]])
    },
}
AXES = {"axial": (1, 0, 0, 0, 1, 0), "sagittal": (0, 1, 0, 0, 0, -1), "oblique": (0.8, 0.6, 0, 0, 0, -1)}


def planned(seed, told_by, patients, phases, places, axes, tilt):
    """(patient, phase, place, elements) of each slice of a series, in order of acquisition.

    Each phase lacks a place at most, so that one place has them all; positions and cosines are rounded.
    """
    chance = random.Random(seed)
    cosines = np.array(AXES[axes], float)
    normal = np.cross(cosines[:3], cosines[3:])
    step = 2.5 * normal + np.tan(np.radians(tilt)) * 2.5 * cosines[3:]
    out = []
    for patient in range(patients):
        for phase in range(1, phases + 1):
            absent = chance.choice([None, *range(places)])
            for place in range(places):
                if place == absent:
                    continue
                noise = [chance.uniform(-2e-6, 2e-6) for _ in range(6)]
                position = 1.25 * patient * normal + place * step + chance.uniform(-1e-3, 1e-3)
                header = {
                    "ImagePositionPatient": [round(float(x), 5) for x in position],
                    "ImageOrientationPatient": [
                        round(float(c + e), 7) for c, e in zip(cosines, noise, strict=True)
                    ],
                    "PatientID": f"P{patient}",
                    **told_by(phase, len(out)),
                }
                out.append((patient, phase, place, header))
    return out


def instances_of(slices, seed, numbers):
    """The headers of the files, by their shuffled names."""
    chance = random.Random(seed)
    names = [f"{n:03d}.dcm" for n in chance.sample(range(1000), len(slices))]
    found = {}
    for n, (name, (*what, header)) in enumerate(zip(names, slices, strict=True)):
        dataset = Dataset()
        dataset.Modality, dataset.SeriesInstanceUID, dataset.StudyInstanceUID = "MR", "1.2.3", "1.2"
        dataset.Rows = dataset.Columns = 16
        dataset.PixelSpacing, dataset.InstanceNumber = (
            [0.8, 0.8],
            n + 1 if numbers else chance.randrange(1, 999),
        )
        for keyword, value in header.items():
            setattr(dataset, keyword, value)
        found[name] = (tuple(what), read_instance(name, dataset, pixels=True, pseudonyms=None))
    return found


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(TOLD_BY)),
    st.integers(1, 2),
    st.integers(1, 4),
    st.integers(5, 8),
    st.sampled_from(sorted(AXES)),
    st.sampled_from([0, 20]),
)
def test_every_file_is_in_one_volume_of_one_patient_and_phase_in_order_of_space(
    seed, told_by, patients, phases, places, axes, tilt
):
    slices = planned(seed, TOLD_BY[told_by], patients, phases, places, axes, tilt)
    found = instances_of(slices, seed, told_by == "number")
    groups = group_instances([instance for _, instance in found.values()])
    volumes = [[found[path][0] for path, _ in group.slices] for group in groups]
    wanted = {(patient, phase): [] for patient, phase, _, _ in slices}
    for patient, phase, place, _ in slices:
        wanted[patient, phase].append((patient, phase, place))
    assert sorted(volumes) == sorted(wanted.values())
    assert len({group.key for group in groups}) == len(groups)
    for group in groups:
        assert any("patients have this series UID" in one for one in group.problems) == (patients > 1)
        assert any(f"tilt of {tilt}.0°" in one for one in group.problems) == (tilt > 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(TOLD_BY_GROUPS)), st.integers(1, 4), st.integers(5, 8))
def test_frames_are_in_volumes_by_their_functional_groups(seed, told_by, phases, places):
    slices = planned(seed, TOLD_BY_GROUPS[told_by], 1, phases, places, "axial", 0)
    random.Random(seed).shuffle(slices)
    dataset = Dataset()
    dataset.NumberOfFrames, dataset.Modality = len(slices), "MR"
    frames = []
    for *_, header in slices:
        place = {"ImagePositionPatient": header.pop("ImagePositionPatient")}
        direction = {"ImageOrientationPatient": header.pop("ImageOrientationPatient")}
        header.pop("PatientID")
        item = {
            "PlanePositionSequence": sequence_of(**place),
            "PlaneOrientationSequence": sequence_of(**direction),
        }
        frames += sequence_of(**item, **header)
    dataset.PerFrameFunctionalGroupsSequence = frames
    groups = group_instances([read_instance("a.dcm", dataset, pixels=True, pseudonyms=None)])
    wanted = [
        [at for at, (_, own, _, _) in sorted(enumerate(slices), key=lambda one: one[1][2]) if own == phase]
        for phase in range(1, phases + 1)
    ]
    if phases == 1:
        assert [group.slices for group in groups] == [(("a.dcm", None),)]
        order = list(slice_order(dataset, len(slices)))
        assert order in (wanted[0], wanted[0][::-1])
    else:
        assert sorted(list(group.frames) for group in groups) == sorted(wanted)


def test_frames_that_lie_nowhere_or_all_in_one_place_stay_as_they_are():
    dataset = Dataset()
    assert frame_headers(dataset, 3) is None
    place = sequence_of(ImagePositionPatient=[0, 0, 0])
    direction = sequence_of(ImageOrientationPatient=[1, 0, 0, 0, 1, 0])
    dataset.PerFrameFunctionalGroupsSequence = [
        sequence_of(PlanePositionSequence=place, PlaneOrientationSequence=direction)[0] for _ in range(3)
    ]
    assert frame_headers(dataset, 3) is None
    assert slice_order(dataset, 3) == range(3)


@pytest.mark.parametrize(
    ("creator", "group", "place", "vr", "written"),
    [
        ("SIEMENS MR HEADER", 0x19, 0x0C, "IS", ["0", "1000"]),
        ("GEMS_PARM_01", 0x43, 0x39, "IS", [[0, 8], [10**9 + 1000, 8]]),
        ("Philips Imaging DD 001", 0x2001, 0x03, "FL", [0.0, 1000.0]),
    ],
)
@pytest.mark.parametrize("others", [0, 2])
def test_a_private_b_value_is_found_in_any_block(creator, group, place, vr, written, others):
    found = []
    for b_value in written:
        dataset = Dataset()
        dataset.ImagePositionPatient, dataset.ImageOrientationPatient = [0, 0, 0], [1, 0, 0, 0, 1, 0]
        for other in range(others):
            dataset.private_block(group, f"OTHER {other}", create=True).add_new(place, "LO", "77")
        dataset.private_block(group, creator, create=True).add_new(place, vr, b_value)
        header = slice_header(dataset)
        assert header is not None
        found.append(header.marks)
    assert [one[1] for one in found] == ["0", "1000"]


@pytest.mark.parametrize("later", ["phase", "patient"])
def test_a_volume_keeps_its_key_and_order_when_another_of_its_series_comes(later):
    slices = planned(1, TOLD_BY["temporal position"], 2, 2, 5, "axial", 0)
    found = instances_of(slices, 1, True)
    at = 1 if later == "phase" else 0
    kept = max(what[at] for what, _ in found.values())
    first = group_instances([one for what, one in found.values() if what[at] == kept])
    known = {group.key: list(group.slices) for group in first}
    both = group_instances(
        [one for _, one in found.values()], lambda key, _: known.get(key, ()), reading_order=True
    )
    after = {group.key: list(group.slices) for group in both}
    assert after.items() >= known.items()
    assert len(after) == 4
