"""The scans a table can refer to: how they are found, what they may be called, and what is no scan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.library.importers.referenced_scans import ReferencedScans, Scan, find_scans, unused_files
from semblance.core.library.importers.source import Source
from semblance.core.tasks import SILENT, Reporter
from tests.helpers.dicom_files import ROOT, ct_series, ct_slice, image, save

SERIES = f"{ROOT}.2"


def found_in(folder: Path, reporter: Reporter = SILENT) -> ReferencedScans:
    with Source.open(folder) as source:
        return find_scans(source, source.entries(), reporter)


def reasons(scans: ReferencedScans) -> dict[str, tuple[str, bool]]:
    return {one.path: (one.reason, one.failed) for one in scans.rejected}


def grey(depth: int = 4, height: int = 6, width: int = 5) -> np.ndarray:
    return np.zeros((depth, height, width), np.int16)


# DICOM


def test_a_series_is_one_scan_called_by_its_uid_its_folder_and_its_files(tmp_path):
    paths = ct_series(tmp_path / "P1" / "ct", 4, size=(6, 5))
    (scan,) = found_in(tmp_path).found
    inside = [path.relative_to(tmp_path).as_posix() for path in paths]
    assert scan.path == inside[0]
    assert scan.slices == tuple((path, None) for path in inside)
    assert scan.paths == tuple(inside)
    assert (scan.shape, scan.spacing, scan.patient) == ((4, 6, 5), (2.0, 0.5, 0.5), "P1")
    assert scan.plane is not None
    assert tuple(scan.plane.position) == (-10.0, -20.0, 0.0)
    assert {SERIES, "P1/ct", "ct", "P1/ct/003.dcm", "003.dcm", "003"} <= set(scan.names)


def test_the_folder_of_a_series_is_no_name_where_it_says_nothing(tmp_path):
    ct_series(tmp_path / "top", 2)
    (scan,) = found_in(tmp_path / "top").found
    assert "." not in scan.names
    assert "" not in scan.names
    for number in (0, 1):
        save(
            ct_slice(np.zeros((4, 4), np.int16), number, series=f"{ROOT}.7"),
            tmp_path / f"p{number}" / "a.dcm",
        )
    apart = next(one for one in found_in(tmp_path).found if one.path.startswith("p"))
    assert len(apart.slices) == 2
    assert not {"p0", "p1"} & set(apart.names)


def test_a_single_slice_has_no_depth_no_spacing_between_slices_and_not_its_folders_name(tmp_path):
    save(ct_slice(np.zeros((4, 3), np.int16)), tmp_path / "one" / "a.dcm")
    (scan,) = found_in(tmp_path).found
    assert (scan.shape, scan.spacing, scan.slices) == (None, None, ())
    assert scan.plane is not None
    assert "one" not in scan.names


def test_the_frames_of_one_object_are_its_slices(tmp_path):
    save(image(np.zeros((3, 4, 5), np.uint8), SOPInstanceUID=f"{ROOT}.8"), tmp_path / "a.dcm")
    (scan,) = found_in(tmp_path).found
    assert (scan.shape, scan.slices, scan.spacing, scan.plane) == ((3, 4, 5), (), None, None)


def test_with_pseudonyms_the_patient_is_replaced(tmp_path):
    ct_series(tmp_path / "ct", 2)
    with Source.open(tmp_path) as source:
        source.pseudonyms = Pseudonyms(bytes(32))
        (scan,) = find_scans(source, source.entries(), SILENT).found
    assert scan.patient not in (None, "P1")


def test_what_is_no_scan_is_rejected_with_its_reason(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    save(image(np.zeros((2, 2), np.uint8)), tmp_path / "cut.dcm")
    (tmp_path / "cut.dcm").write_bytes((tmp_path / "cut.dcm").read_bytes()[:134])
    without = image(np.zeros((2, 2), np.uint8))
    del without.PixelData
    save(without, tmp_path / "report.dcm")
    scans = found_in(tmp_path)
    found = reasons(scans)
    assert scans.found == []
    assert found["notes.txt"] == ("Neither a scan nor a table of regions.", False)
    assert found["report.dcm"] == ("A DICOM object without pixels.", False)
    assert found["cut.dcm"][1]
    assert sorted(found) == ["cut.dcm", "notes.txt", "report.dcm"]


# Images and arrays


def test_an_image_is_called_by_its_path_its_name_and_its_stem(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "film.png").write_bytes(b"not looked into")
    (scan,) = found_in(tmp_path).found
    assert (scan.path, scan.names) == ("a/film.png", ("a/film.png", "film.png", "film"))
    assert (scan.shape, scan.member, scan.frame) == (None, "", None)


def test_the_only_volume_of_an_array_file_has_the_name_of_the_file_too(tmp_path):
    np.savez(tmp_path / "P1.npz", ct=grey(), spacing=np.array([2.0, 0.5, 0.25]))
    (scan,) = found_in(tmp_path).found
    assert (scan.path, scan.member, scan.frame) == ("P1.npz", "ct", None)
    assert (scan.shape, scan.spacing, scan.plane, scan.slices) == ((4, 6, 5), (2.0, 0.5, 0.25), None, ())
    assert set(scan.names) == {"P1.npz!ct", "P1!ct", "ct", "P1.npz", "P1"}


def test_of_two_volumes_neither_has_the_name_of_the_file(tmp_path):
    np.savez(tmp_path / "P1.npz", prone=grey(), supine=grey())
    scans = found_in(tmp_path)
    assert [(scan.member, scan.spacing) for scan in scans.found] == [("prone", None), ("supine", None)]
    assert scans.find("P1.npz") is None
    found = scans.find("P1!supine")
    assert found is not None
    assert found.member == "supine"


def test_each_row_of_an_array_of_volumes_is_a_scan_with_its_own_spacing(tmp_path):
    np.savez(
        tmp_path / "a.npz", ct=np.zeros((2, 4, 6, 5), np.int16), spacing=np.array([[1, 1, 1], [3, 2, 2.0]])
    )
    first, second = found_in(tmp_path).found
    assert (first.frame, second.frame) == (0, 1)
    assert (first.shape, second.shape) == ((4, 6, 5), (4, 6, 5))
    assert (first.spacing, second.spacing) == ((1.0, 1.0, 1.0), (3.0, 2.0, 2.0))
    assert set(second.names) == {"a.npz!ct[1]", "a!ct[1]", "ct[1]", "a.npz[1]", "a[1]"}


def test_the_only_row_needs_no_number(tmp_path):
    np.savez(tmp_path / "a.npz", ct=np.zeros((1, 4, 6, 5), np.int16))
    (scan,) = found_in(tmp_path).found
    assert scan.frame == 0
    assert {"ct[0]", "ct", "a", "a[0]"} <= set(scan.names)


def test_one_channel_at_the_end_is_a_volume_and_not_rows_of_them(tmp_path):
    np.savez(tmp_path / "a.npz", ct=np.zeros((4, 6, 5, 1), np.int16))
    (scan,) = found_in(tmp_path).found
    assert (scan.frame, scan.shape) == (None, (4, 6, 5))


@pytest.mark.parametrize("name", ["mask", "Labels", "lung_segmentation", "seg_left"])
def test_masks_are_no_scans(tmp_path, name):
    np.savez(tmp_path / "a.npz", ct=grey(), **{name: grey()})
    assert [scan.member for scan in found_in(tmp_path).found] == ["ct"]


@pytest.mark.parametrize("shape", [(3, 4), (0, 4, 5), (4, 5, 3), (2, 4, 5, 3)])
def test_an_array_file_without_volumes_is_rejected(tmp_path, shape):
    np.savez(tmp_path / "a.npz", table=np.zeros(shape))
    scans = found_in(tmp_path)
    assert scans.found == []
    assert reasons(scans) == {"a.npz": ("An array file without volumes (slices x rows x columns).", True)}


def test_a_damaged_array_file_is_rejected_once(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 nothing")
    scans = found_in(tmp_path)
    assert scans.found == []
    assert [(one.path, one.failed) for one in scans.rejected] == [("a.npz", True)]


def test_the_search_for_scans_can_be_cancelled(tmp_path):
    for number in range(120):
        (tmp_path / f"{number:03d}.png").touch()

    class RecordingReporter(Reporter):
        count = 0

        def check_cancelled(self) -> None:
            self.count += 1

    reporter = RecordingReporter()
    assert len(found_in(tmp_path, reporter).found) == 120
    assert reporter.count == 3


# Names


def scans_of(*scans: Scan) -> ReferencedScans:
    out = ReferencedScans()
    for scan in scans:
        out.add(scan)
    return out


def test_a_scan_is_found_by_any_of_its_names_however_they_are_written():
    scan = Scan("a/B.npz", ("a/B.npz", "B", "b"))
    scans = scans_of(scan)
    for name in (" a/B.npz ", "A\\b.NPZ", "./a/b.npz", "b"):
        assert scans.find(name) is scan
    assert scans.find("c") is None


def test_the_first_name_that_any_scan_has_decides():
    one, two = Scan("1", ("one", "same")), Scan("2", ("two", "same"))
    scans = scans_of(one, two)
    assert scans.find("none", "two", "one") is two
    with pytest.raises(BadInput, match="2 scans of the source have the name 'same'"):
        scans.find("same")


def test_files_that_gave_no_case_are_reported_once():
    used = Scan("a", ("a",), slices=(("a", None), ("b", None)))
    unused = Scan("c", ("c",), slices=(("c", None), ("b", None), ("d", None)))
    again = Scan("c", ("c2",), member="other")
    rejected = list(unused_files(scans_of(used, unused, again), {used}, "No case."))
    assert [(one.path, one.reason, one.failed) for one in rejected] == [
        ("c", "No case.", False),
        ("d", "No case.", False),
    ]


# Positions


def test_a_position_in_an_array_counts_from_the_middle_of_its_first_voxel():
    scan = Scan("a", ("a",), spacing=(2.0, 0.5, 0.25))
    assert scan.voxel_of(1.0, 2.0, 6.0) == (3.0, 4.0, 4.0)


def test_a_position_in_a_series_is_that_of_the_patient(tmp_path):
    ct_series(tmp_path / "ct", 4)
    (scan,) = found_in(tmp_path).found
    assert scan.voxel_of(-10.0, -20.0, 0.0) == pytest.approx((0.0, 0.0, 0.0))
    assert scan.voxel_of(-10.0 + 2 * 0.5, -20.0 + 3 * 0.5, 4.0) == pytest.approx((2.0, 3.0, 2.0))


def test_without_a_spacing_there_is_no_position():
    with pytest.raises(BadInput, match="'a' has no spacing") as caught:
        Scan("a", ("a",)).voxel_of(0, 0, 0)
    assert "spacing" in caught.value.hint
