from __future__ import annotations

import csv
import io
import shutil
import zipfile

import numpy as np
import pytest
from pydicom import Dataset, dcmread
from pydicom.uid import RLELossless

from semblance.core.imaging import ImageReader
from semblance.core.imaging.dicom import compare_objects
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.library.case_names import date_name
from semblance.core.library.importers.dicom import DicomImporter
from semblance.core.library.importers.dicom_series import HEADER_TAGS, group_instances, read_instance
from semblance.core.library.importers.importer import FoundCase
from semblance.core.library.importers.registry import recognise
from semblance.core.library.importers.source import Source
from semblance.core.library.library import Library
from semblance.core.tasks import SILENT
from semblance.core.workflows.library.find_cases import find_cases
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.dicom_files import ROOT, ct_series, ct_slice, encoded, image, save, sequence_of

GREY = np.arange(24 * 32, dtype=np.int16).reshape(24, 32)


def scanned(path):
    with Source.open(path) as source:
        assert recognise(source)[0][0].kind == "dicom"
        return list(DicomImporter().scan(source, SILENT))


def cases(path):
    return [item for item in scanned(path) if isinstance(item, FoundCase)]


def rejected(path):
    return {item.path: item for item in scanned(path) if not isinstance(item, FoundCase)}


def details(library):
    with Library.open(library) as opened:
        rows = [r.id for r in opened.catalogue.all_cases()]
        return {d.case_id: d for d in opened.catalogue.details(rows).values()}


@pytest.mark.parametrize("tag", ["StudyDescription", "DeviceSerialNumber"], ids=["read", "skipped"])
def test_an_element_longer_than_the_file_is_damage_and_not_an_object_without_pixels(tmp_path, tag):
    assert (tag in HEADER_TAGS) == (tag == "StudyDescription")
    data = bytearray(encoded(image(GREY, **{tag: "chest"})))
    at = data.index(b"LO\x06\x00chest")
    data[at + 2 : at + 4] = b"\xf0\xff"
    (tmp_path / "long.dcm").write_bytes(data)
    item = rejected(tmp_path)["long.dcm"]
    assert item.failed
    assert "an element is longer than the rest of the file" in item.reason


def segmentation(frames: np.ndarray, places: list[int], numbers: list[int], series: str) -> Dataset:
    """A SEG object of (n, h, w) bits; frame i is segment ``numbers[i]`` on slice ``places[i]``."""
    dataset = image(frames, BitsAllocated=1, BitsStored=1, HighBit=0, Modality="SEG")
    packed = np.packbits(frames.ravel(), bitorder="little").tobytes()
    dataset.PixelData = packed + b"\0" * (len(packed) % 2)
    dataset.SOPClassUID = "1.2.840.10008.5.1.4.1.1.66.4"
    dataset.SOPInstanceUID, dataset.SeriesInstanceUID = f"{ROOT}.77.1", f"{ROOT}.77"
    dataset.PatientID, dataset.SegmentationType = "P1", "BINARY"
    dataset.SegmentSequence, dataset.PerFrameFunctionalGroupsSequence = [], []
    for number in sorted(set(numbers)):
        segment = Dataset()
        segment.SegmentNumber, segment.SegmentLabel = number, f"PART {number}"
        dataset.SegmentSequence.append(segment)
    for place, number in zip(places, numbers, strict=True):
        group, named, derived, source = Dataset(), Dataset(), Dataset(), Dataset()
        named.ReferencedSegmentNumber = number
        source.ReferencedSOPInstanceUID = f"{series}.{place + 1}"
        derived.SourceImageSequence = [source]
        group.SegmentIdentificationSequence, group.DerivationImageSequence = [named], [derived]
        dataset.PerFrameFunctionalGroupsSequence.append(group)
    return dataset


def test_slices_of_a_series_are_one_case_in_their_order(tmp_path):
    folder = tmp_path / "tree"
    paths = ct_series(folder / "x")
    for path, name in zip(paths, ("f", "b", "e", "a", "d", "c"), strict=True):
        path.rename(path.with_name(name))
    (found,) = cases(folder)
    assert [path for path, _ in found.slices] == [f"x/{name}" for name in "cdaebf"]
    assert (found.path, found.patient, found.finding) == ("x/c", "P1", None)
    assert found.key.startswith("x/ct-")
    assert found.attributes["modality"] == "CT"
    assert "geometry" not in found.attributes
    assert "Nobody" not in repr(found)


def test_every_file_is_accounted_once(tmp_path):
    folder = tmp_path / "tree"
    ct_series(folder / "ct", 4)
    save(image(np.zeros((3, 8, 8), np.uint8), Modality="US"), folder / "cine.dcm")
    save(image(GREY, Modality="DX"), folder / "film")
    plan = Dataset()
    plan.SOPClassUID, plan.Modality = "1.2.840.10008.5.1.4.1.1.481.5", "RTPLAN"
    save(plan, folder / "plan.dcm")
    (folder / "empty.dcm").touch()
    (folder / "words.dcm").write_text("no image")
    (folder / "readme.txt").write_text("no image")
    library = tmp_path / "lib"
    result = import_source(folder, library, identified=True)
    assert (result.kind, result.added) == ("dicom", 3)
    assert {f["path"] for f in result.failed} == {"empty.dcm", "words.dcm"}
    assert {f["path"] for f in result.ignored} == {"plan.dcm", "readme.txt"}
    assert "without pixels (RTPLAN)" in str(result.ignored)
    depths = {case_id.split("/")[1]: case.depth for case_id, case in details(library).items()}
    assert depths == {"cine.dcm": 3, "film": None, "ct": 4}
    again = import_source(folder, library)
    assert (again.added, again.unchanged, len(again.failed), len(again.ignored)) == (0, 3, 2, 2)


def test_a_zip_is_read_in_place_of_its_folder(tmp_path):
    ct_series(tmp_path / "ct", 3)
    with zipfile.ZipFile(tmp_path / "ct.zip", "w") as archive:
        for path in sorted((tmp_path / "ct").iterdir()):
            archive.write(path, f"ct/{path.name}")
    library = tmp_path / "lib"
    assert import_source(tmp_path / "ct.zip", library).added == 1
    (case,) = details(library).values()
    with ImageReader() as reader, reader.stack(case.address) as stack:
        assert (stack.shape, stack.spacing_mm) == ((3, 24, 32), (2.0, 0.5, 0.5))


def test_a_cut_off_slice_fails_and_the_rest_is_the_volume(tmp_path):
    paths = ct_series(tmp_path / "ct")
    paths[2].write_bytes(paths[2].read_bytes()[:-300])
    result = import_source(tmp_path / "ct", tmp_path / "lib")
    assert [f["path"] for f in result.failed] == ["002.dcm"]
    assert "is cut off" in result.failed[0]["reason"]
    (case,) = details(tmp_path / "lib").values()
    assert case.depth == 5


def test_gaps_directions_and_places_taken_twice_are_reported(tmp_path):
    paths = ct_series(tmp_path / "ct", 6)
    paths[2].unlink()
    (found,) = cases(tmp_path / "ct")
    assert found.attributes["geometry"] == "uneven or missing slices after number 3"
    scout = ct_slice(GREY, 20)
    scout.ImageOrientationPatient = [1, 0, 0, 0, 0, -1]
    save(scout, tmp_path / "ct" / "scout.dcm")
    volume, single = sorted(cases(tmp_path / "ct"), key=lambda case: -len(case.slices))
    assert "2 directions or sizes" in volume.attributes["geometry"]
    assert (single.path, single.slices) == ("scout.dcm", ())
    for number in range(2):
        copy = ct_slice(GREY, number)
        copy.SOPInstanceUID, copy.AcquisitionNumber = f"{ROOT}.55.{number}", 9
        save(copy, tmp_path / "ct" / f"copy{number}.dcm")
    first, second = (case for case in cases(tmp_path / "ct") if case.slices)
    assert "volume 1 of 2 of the series (acquisition number -)" in first.attributes["geometry"]
    assert second.key == f"{first.key}-2"
    assert [path for path, _ in second.slices] == ["copy1.dcm", "copy0.dcm"]


def test_labels_give_findings_and_patients(tmp_path):
    ct_series(tmp_path / "ct" / "a", 3)
    save(image(GREY, Modality="MG", PatientID="P5"), tmp_path / "ct" / "m.dcm")
    with (tmp_path / "ct" / "labels.csv").open("w", newline="") as out:
        csv.writer(out).writerows(
            [("file", "finding", "patient"), ("m.dcm", "benign", ""), ("a/001.dcm", "cyst", "Q")]
        )
    mammogram, volume = cases(tmp_path / "ct")
    assert (mammogram.finding, mammogram.patient) == ("benign", "P5")
    assert (volume.finding, volume.patient, len(volume.slices)) == ("cyst", "Q", 3)


def test_segments_are_regions_of_the_volume_they_were_drawn_on(tmp_path):
    series = f"{ROOT}.2"
    ct_series(tmp_path / "ct", 5)
    masks = np.zeros((3, 24, 32), np.uint8)
    masks[0, 3:9, 4:12] = masks[1, 5:9, 4:12] = 1
    masks[2, 20, 30] = 1
    save(segmentation(masks, [2, 3, 0], [1, 1, 2], series), tmp_path / "ct" / "seg.dcm")
    result = import_source(tmp_path / "ct", tmp_path / "lib", identified=True)
    assert (result.added, result.failed, result.ignored, result.patients) == (3, [], [], 1)
    found = details(tmp_path / "lib")
    large, small = found["ct/seg.dcm#1"], found["ct/seg.dcm#2"]
    assert (large.finding, large.depth, large.region.z, large.region.depth) == ("PART 1", 5, 1, 2)
    box = large.region
    assert (box.x, box.y, box.width, box.height) == (4, 3, 8, 6)
    assert box.outline.voxels().sum(axis=(1, 2)).tolist() == [32, 48]
    assert (small.region.z, small.region.x, small.region.y) == (4, 30, 20)
    with ImageReader() as reader:
        assert reader.open(large.address, large.region).pixels.mean() == pytest.approx(224, abs=4)
    assert import_source(tmp_path / "ct", tmp_path / "lib").unchanged == 3


def test_a_segmentation_alone_is_an_image_of_its_own(tmp_path):
    masks = np.ones((2, 24, 32), np.uint8)
    save(segmentation(masks, [0, 1], [1, 1], f"{ROOT}.2"), tmp_path / "t" / "seg.dcm")
    (found,) = cases(tmp_path / "t")
    assert (found.region, found.slices) == (None, ())
    assert found.attributes["regions"] == "The images it refers to are not in this source."


def test_marks_of_cad_are_regions_of_a_mammogram(tmp_path):
    mammogram = image(GREY, Modality="MG", PatientID="P5", SOPInstanceUID=f"{ROOT}.40")
    save(mammogram, tmp_path / "t" / "m.dcm")
    reference, referenced, drawn, finding, code = (Dataset() for _ in range(5))
    reference.ReferencedSOPInstanceUID = f"{ROOT}.40"
    referenced.ValueType, referenced.ReferencedSOPSequence = "IMAGE", [reference]
    drawn.ValueType, drawn.GraphicType, drawn.GraphicData = "SCOORD", "CIRCLE", [16.0, 12.0, 20.0, 12.0]
    drawn.ContentSequence = [referenced]
    code.CodeValue, code.CodeMeaning, code.CodingSchemeDesignator = "F-01796", "Breast mass", "SRT"
    finding.ValueType, finding.ConceptCodeSequence, finding.ContentSequence = "CODE", [code], [drawn]
    report = Dataset()
    report.SOPClassUID, report.Modality, report.PatientID = "1.2.840.10008.5.1.4.1.1.88.50", "SR", "P5"
    report.ContentSequence = [finding]
    save(report, tmp_path / "t" / "cad.dcm")
    result = import_source(tmp_path / "t", tmp_path / "lib", identified=True)
    assert (result.added, result.failed, result.ignored) == (2, [], [])
    mark = details(tmp_path / "lib")["t/cad.dcm#1"]
    assert (mark.finding, mark.patient, mark.depth, mark.region.z) == ("Breast mass", "P5", None, None)
    assert mark.address.slices == ()
    assert mark.address.container.name == "m.dcm"
    (tmp_path / "t" / "m.dcm").unlink()
    assert "marks nothing on the images of this source" in rejected(tmp_path / "t")["cad.dcm"].reason


def test_a_dicomdir_is_held_against_what_is_there(tmp_path):
    ct_series(tmp_path / "cd" / "IMG", 2)
    secret = tmp_path / "secret.dcm"
    shutil.copy(tmp_path / "cd" / "IMG" / "000.dcm", secret)
    directory = Dataset()
    directory.SOPClassUID = "1.2.840.10008.1.3.10"
    names = (["IMG", "000.DCM"], ["IMG", "GONE"], [b"..".decode(), "secret.dcm"])
    directory.DirectoryRecordSequence = []
    for name in names:
        record = Dataset()
        record.add_new(0x00041430, "CS", "IMAGE")
        record.add_new(0x00041500, "LO", name)
        directory.DirectoryRecordSequence.append(record)
    save(directory, tmp_path / "cd" / "DICOMDIR")
    reason = rejected(tmp_path / "cd")["DICOMDIR"].reason
    assert "2 files, of which 1 are missing ('IMG/GONE')" in reason
    assert "1 outside its folder are not read ('../secret.dcm')" in reason
    assert [case.path for case in cases(tmp_path / "cd")] == ["IMG/001.dcm"]


def test_links_are_not_followed(tmp_path):
    ct_series(tmp_path / "real", 2)
    ct_series(tmp_path / "tree", 2)
    (tmp_path / "tree" / "link.dcm").symlink_to(tmp_path / "real" / "000.dcm")
    result = import_source(tmp_path / "tree", tmp_path / "lib")
    assert [f["path"] for f in result.failed] == ["link.dcm"]


def test_keys_do_not_depend_on_the_order_of_files(tmp_path):
    ct_series(tmp_path / "a", 3)
    instances = []
    for path in sorted((tmp_path / "a").iterdir()):
        header = dcmread(path, specific_tags=list(HEADER_TAGS))
        instances.append(read_instance(path.name, header, pixels=True, pseudonyms=None))
    assert [g.key for g in group_instances(instances)] == [g.key for g in group_instances(instances[::-1])]


@pytest.mark.parametrize(("age", "kept", "as_it_is"), [("047Y", "047Y", "047Y"), ("097Y", "090Y", "097Y")])
def test_sex_age_and_manufacturer_are_kept_for_subgroups(age, kept, as_it_is):
    header = Dataset()
    header.PatientSex, header.PatientAge, header.Manufacturer = "F", age, "ACME"
    coded = read_instance("a.dcm", header, pixels=True, pseudonyms=Pseudonyms(bytes(32)))
    known = {"sex": "F", "manufacturer": "ACME"}
    assert coded.attributes.items() >= (known | {"age": kept}).items()
    identified = read_instance("a.dcm", header, pixels=True, pseudonyms=None)
    assert identified.attributes["age"] == as_it_is


def test_station_and_institution_are_codes_that_distinguish_them():
    found = []
    for name in ("CT1", "CT2", "CT1"):
        header = Dataset()
        header.StationName, header.InstitutionName = name, "St. Elsewhere"
        coded = read_instance("a.dcm", header, pixels=True, pseudonyms=Pseudonyms(bytes(32))).attributes
        assert not {name, "St. Elsewhere"} & set(coded.values())
        found.append((coded["station"], coded["institution"]))
    assert found[0] == found[2]
    assert found[0][0] != found[1][0]
    assert found[0][1] == found[1][1]
    identified = read_instance("a.dcm", header, pixels=True, pseudonyms=None).attributes
    assert identified["station"] == "CT1"
    assert "institution" not in identified


@pytest.mark.slow
def test_real_files_are_cases_or_parts_of_one(data, tmp_path):
    """Every file that the manifest says decodes, but for those only a GPL plug-in can (12-bit JPEG), and for the same
    object once more in another compression."""
    result = import_source(data / "dicom", tmp_path / "lib", identified=True)
    assert result.kind == "dicom"
    known = {}
    with Library.open(tmp_path / "lib") as opened:
        files = opened.catalogue.files(opened.catalogue.sources()[0])
        known = {path: record.state for path, record in files.items()}
    with (data / "dicom" / "manifest.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    duplicates = {f["path"] for f in result.ignored if "same pixels" in f["reason"]}
    usable = {path for path, state in known.items() if state == "ok"} | duplicates
    lost = [r["file"] for r in rows if r["decodes"] == "yes" and r["file"] not in usable]
    assert lost == ["samples/JPGExtended.dcm"]
    reasons = {f["path"]: f["reason"] for f in result.failed}
    assert "12-bit JPEG" in reasons["samples/JPGExtended.dcm"]
    broken = [r["file"] for r in rows if r["file"].startswith("broken/")]
    assert len(broken) == 4
    assert all(len(reasons[path]) > 20 for path in broken)
    assert {r["file"] for r in rows} <= set(known)
    chest = [d for d in details(tmp_path / "lib").values() if d.depth == 40]
    assert [part.container.name for part in chest[0].address.slices][:2] in (
        ["1-081.dcm", "1-082.dcm"],
        ["1-120.dcm", "1-119.dcm"],
    )
    segments = [d for d in details(tmp_path / "lib").values() if d.case_id.startswith("dicom/series_ct_3")]
    assert sorted(d.finding or "" for d in segments) == [
        "", "DARK_BLUE", "GREEN", "LIGHT_BLUE", "ORANGE", "PURPLE",
    ]  # fmt: skip
    again = import_source(data / "dicom", tmp_path / "lib")
    assert (again.added, again.unchanged, again.failed) == (0, result.added, result.failed)


def test_a_file_by_itself(tmp_path):
    path = tmp_path / "one.dcm"
    path.write_bytes(encoded(image(GREY, Modality="DX")))
    assert import_source(path, tmp_path / "lib").added == 1
    assert io.BytesIO(path.read_bytes()).read(132)[128:] == b"DICM"


def zip_of_series(path, n=4, **more):
    """A zip of a CT series; ``more`` are further entries."""
    files = {f"CT/IM{i}": encoded(ct_slice(GREY + i, i)) for i in range(n)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**files, **more}.items():
            archive.writestr(name, data)
    return path


def test_a_zipped_series_within_a_folder_is_one_case(tmp_path):
    folder = tmp_path / "medium"
    folder.mkdir()
    save(ct_slice(GREY, series=f"{ROOT}.9"), folder / "1.dcm")
    zip_of_series(folder / "ct.zip", **{"../up.dcm": b"x"})
    library = tmp_path / "lib.semblance"
    result = import_source(folder, library)
    assert result.kind == "dicom"
    assert result.added == 2
    assert [(item["path"], "'..'" in item["reason"]) for item in result.failed] == [
        ("ct.zip!/../up.dcm", True)
    ]
    assert not (tmp_path / "up.dcm").exists()
    (volume,) = [one for one in details(library).values() if one.depth]
    with ImageReader() as reader, reader.stack(volume.address) as stack:
        np.testing.assert_array_equal(stack.image(0).pixels, GREY + 3)
    assert import_source(folder, library).unchanged == 2


def test_a_folder_of_zipped_series_only_is_recognised(tmp_path):
    (tmp_path / "x").mkdir()
    zip_of_series(tmp_path / "x" / "ct.ZIP")
    assert len(cases(tmp_path / "x")) == 1


def test_zips_that_stay_closed_are_listed(tmp_path):
    inner = zip_of_series(tmp_path / "inner.zip").read_bytes()
    folder = tmp_path / "x"
    folder.mkdir()
    zip_of_series(folder / "ct.zip", **{"more.zip": inner})
    (folder / "cut.zip").write_bytes(inner[:2000])
    with zipfile.ZipFile(folder / "texts.zip", "w") as archive:
        archive.writestr("notes.txt", "none")
    listed = {path: (item.reason, item.failed) for path, item in rejected(folder).items()}
    assert set(listed) == {"ct.zip!/more.zip", "cut.zip", "texts.zip"}
    assert "within a zip archive" in listed["ct.zip!/more.zip"][0]
    assert "damaged" in listed["cut.zip"][0]
    assert listed["cut.zip"][1]
    assert listed["texts.zip"] == ("Not opened: a zip archive without DICOM files.", False)


def test_a_value_of_a_wrong_length_shows_no_name(tmp_path):
    """The modality takes in all values after it, and no pixels are found."""
    data = encoded(ct_slice(GREY)).replace(b"CS\x02\x00CT", b"CS\xff\x7fCT")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "1.dcm").write_bytes(data)
    assert "Nobody" not in str(scanned(tmp_path / "x"))


@pytest.mark.parametrize("identified", [True, False])
def test_one_patient_id_of_two_issuers_is_two_patients(tmp_path, identified):
    for number in range(6):
        one = ct_slice(GREY, number // 2)
        one.IssuerOfPatientID, one.SOPInstanceUID = "AB"[number % 2], f"{ROOT}.9.{number}"
        save(one, tmp_path / "ct" / f"{number}.dcm")
    result = import_source(tmp_path / "ct", tmp_path / "lib", identified=identified)
    assert (result.added, result.patients) == (2, 2)


def test_a_second_patient_under_one_series_uid_comes_later(tmp_path):
    """His files are cases of their own, whether they lie beside the first ones or elsewhere."""
    ct_series(tmp_path / "ct", 3)
    first = import_source(tmp_path / "ct", tmp_path / "lib", identified=True)
    (case_id,) = details(tmp_path / "lib")
    for folder in ("ct", "elsewhere"):
        for number in range(3):
            other = ct_slice(GREY, number)
            other.PatientID, other.SOPInstanceUID = f"P9 {folder}", f"{ROOT}.{len(folder)}9.{number}"
            save(other, tmp_path / folder / f"other{number}.dcm")
        result = import_source(tmp_path / folder, tmp_path / "lib", identified=True)
        assert (result.added, result.removed, result.patients) == (1, [], 2 + (folder == "elsewhere"))
        assert any("different patients have the same series UID" in note for note in result.notes) == (
            folder == "elsewhere"
        )
        assert any("2 patients have this series UID" in note for note in result.notes) == (folder == "ct")
    found = details(tmp_path / "lib")
    assert {one.patient: one.depth for one in found.values()} == {"P1": 3, "P9 ct": 3, "P9 elsewhere": 3}
    assert found[case_id].patient == "P1"
    assert first.added == 1


@pytest.mark.parametrize("identified", [False, True])
def test_a_date_that_was_moved_is_said_to_be(tmp_path, identified):
    series = ct_slice(GREY)
    series.StudyDate = "20210214"
    save(series, tmp_path / "t" / "a.dcm")
    import_source(tmp_path / "t", tmp_path / "lib", identified=identified)
    (case,) = details(tmp_path / "lib").values()
    (listed,) = find_cases(tmp_path / "lib", "").cases
    assert date_name(case.date).endswith(", date shifted") == (not identified)
    assert listed["name"].endswith(", date shifted") == (not identified)
    assert (listed["date"], listed["date_shifted"]) == (case.attributes["date"], not identified)


def test_two_files_with_one_sop_instance_uid(tmp_path):
    """The same image is named as a duplicate; another one is kept and said."""
    paths = ct_series(tmp_path / "ct", 4)
    again = dcmread(paths[1])
    again.compress(RLELossless, generate_instance_uid=False)
    again.StudyDescription = "once more"
    again.save_as(tmp_path / "ct" / "again.dcm")
    other = dcmread(paths[2])
    other.PixelData = bytes(len(other.PixelData))
    other.save_as(tmp_path / "ct" / "other.dcm")
    result = import_source(tmp_path / "ct", tmp_path / "lib", identified=True)
    (ignored,) = result.ignored
    assert ignored["path"] in ("again.dcm", "001.dcm")
    assert "duplicate" in ignored["reason"]
    assert "StudyDescription" in ignored["reason"]
    found = details(tmp_path / "lib").values()
    assert sorted(one.depth or 1 for one in found) == [1, 4]
    assert all("other images have the same SOP instance UID" in one.attributes["geometry"] for one in found)


def test_one_sop_instance_uid_in_every_file_does_not_compare_each_with_each(tmp_path, monkeypatch):
    compared = []
    monkeypatch.setattr(
        compare_objects,
        "compare_objects",
        lambda *files, compare=compare_objects.compare_objects: compared.append(files) or compare(*files),
    )
    for number in range(20):
        pixels = np.full((8, 8), number, np.uint16)
        save(image(pixels, SOPInstanceUID="1.2.3", Modality="CR"), tmp_path / f"{number:02}.dcm")
    found = cases(tmp_path)
    assert len(found) == 20
    assert all("other images have the same SOP instance UID" in one.attributes["geometry"] for one in found)
    assert 0 < len(compared) < 40


def test_phases_of_an_enhanced_object_are_volumes(tmp_path):
    """In the order in which slices are numbered, each read from its frames of the one file."""
    frames = np.stack(
        [np.full((8, 8), 100 * phase + place, np.int16) for place in range(3) for phase in (1, 2)]
    )
    enhanced = image(frames, Modality="CT", PatientID="P1", SeriesInstanceUID=f"{ROOT}.8", RescaleIntercept=0)
    enhanced.SharedFunctionalGroupsSequence = sequence_of(
        PlaneOrientationSequence=sequence_of(ImageOrientationPatient=[1, 0, 0, 0, 1, 0]),
        PixelMeasuresSequence=sequence_of(PixelSpacing=[0.5, 0.5], SliceThickness=2),
    )
    enhanced.PerFrameFunctionalGroupsSequence = [
        sequence_of(
            PlanePositionSequence=sequence_of(ImagePositionPatient=[0, 0, 2.0 * place]),
            FrameContentSequence=sequence_of(TemporalPositionIndex=phase),
        )[0]
        for place in range(3)
        for phase in (1, 2)
    ]
    save(enhanced, tmp_path / "t" / "a.dcm")
    result = import_source(tmp_path / "t", tmp_path / "lib", identified=True)
    assert (result.added, result.failed) == (2, [])
    found = details(tmp_path / "lib")
    with ImageReader() as reader:
        for key, phase in (("t/a.dcm", 1), ("t/a.dcm[2]", 2)):
            case = found[key]
            assert f"temporal position {phase}" in case.attributes["geometry"]
            with reader.stack(case.address) as stack:
                shown = [stack.image(place).pixels[0, 0] for place in range(len(stack))]
                assert (stack.spacing_mm, stack.directions) == ((2.0, 0.5, 0.5), ("I", "P", "L"))
            assert shown == [100 * phase + 2, 100 * phase + 1, 100 * phase]
            assert reader.open(case.address).pixels[0, 0] == shown[1]
    assert import_source(tmp_path / "t", tmp_path / "lib").unchanged == 2
