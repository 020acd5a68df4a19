"""Collections of mammograms: regions, findings and patients, from files as each collection gives them out."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.library.importers.mammograms.inbreast import finding_of, read_property_list
from semblance.core.library.importers.mammograms.mias import circle_region
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from tests.helpers import dicom_files
from tests.helpers.bad_images import encoded, pattern, write_zip
from tests.helpers.importer_scan import Scan
from tests.helpers.mammograms import HEADER, PNG, cbis_files, cbis_line

PGM = encoded(pattern(), "PPM")


# --- mini-MIAS ----------------------------------------------------------------------------------------


INFO = """This file lists the films in the MIAS database and provides
appropriate details as follows:
mdb001 G CIRC B 535 425 197
mdb002 G NORM
mdb239 D CALC M 645 755 40
mdb239 D CALC M 567 808 25
mdb216 D CALC M *NOTE 3*
mdb030 F MISC B
mdb005 F CIRC B 477 133
mdb007 F CIRC B 2000 133 10
mdb900 F NORM
"""


def mias(tmp_path, info=INFO, **others):
    names = ("mdb001", "mdb002", "mdb005", "mdb007", "mdb030", "mdb216", "mdb239", "mdb240")
    files = {f"{name}.pgm": PGM for name in names} | {"Info.txt": info.encode(), "Licence.txt": b"a licence"}
    return Scan(write_zip(tmp_path / "mias.zip", files | others))


def test_a_line_of_info_is_a_case(tmp_path):
    scan = mias(tmp_path)
    assert scan.kind == "mammograms"
    cases = {case.key: (case.finding, case.patient, case.region is not None) for case in scan.cases}
    assert cases == {
        "mdb001.pgm": ("benign", "mdb001-mdb002", True),
        "mdb002.pgm": ("normal", "mdb001-mdb002", False),
        "mdb005.pgm": (None, "mdb005-mdb006", False),
        "mdb007.pgm": ("benign", "mdb007-mdb008", False),
        "mdb030.pgm": ("benign", "mdb029-mdb030", False),
        "mdb216.pgm": ("malignant", "mdb215-mdb216", False),
        "mdb239.pgm": ("malignant", "mdb239-mdb240", True),
        "mdb239.pgm#2": ("malignant", "mdb239-mdb240", True),
        "mdb240.pgm": (None, "mdb239-mdb240", False),
    }
    by_key = {case.key: dict(case.attributes) for case in scan.cases}
    assert by_key["mdb001.pgm"] == {
        "breast": "right",
        "tissue": "fatty-glandular",
        "abnormality": "circumscribed mass",
    }
    assert by_key["mdb002.pgm"]["breast"] == "left"
    assert by_key["mdb216.pgm"]["note"] == "calcifications widely distributed"
    failed = {name: item.reason for name, item in scan.rejected.items() if item.failed}
    assert set(failed) == {"Info.txt:9", "Info.txt:10", "Info.txt:11"}
    assert "lies outside" in failed["Info.txt:10"]
    assert "text file" in scan.rejected["Licence.txt"].reason
    scan.assert_each_file_reported_once()


def test_circles_count_from_the_bottom_row():
    region = circle_region(100, 1000, 10)
    rows, columns = np.nonzero(region.mask(1024, 1024))
    assert (rows.mean(), columns.mean()) == pytest.approx((23, 100))
    assert np.ptp(rows) == np.ptp(columns) == 20
    assert len(rows) == pytest.approx(np.pi * 100, rel=0.05)


def test_a_circle_over_the_border_is_clipped():
    region = circle_region(5, 1020, 10)
    assert (region.x, region.y) == (0, 0)
    rows, columns = np.nonzero(region.mask(1024, 1024))
    assert (rows.max(), columns.max()) == (13, 15)


@pytest.mark.parametrize("circle", [(5, 5, 0), (5, 5, float("nan")), (5, -300, 10), (1e9, 5, 10)])
def test_circles_that_are_none_are_refused(circle):
    with pytest.raises(BadInput):
        circle_region(*circle)


def test_labels_go_before_info_for_finding_and_patient(tmp_path):
    labels = b"file,label,patient\nmdb001.pgm,malignant,p7\n"
    scan = mias(tmp_path, **{"labels.csv": labels})
    first = scan.cases[0]
    assert (first.finding, first.patient, first.region.width) == ("malignant", "p7", 395)


def test_a_table_of_the_same_columns_does_instead_of_info(tmp_path):
    labels = (
        "file,tissue,abnormality,severity,x,y,radius,label\n"
        "mdb001.pgm,G,CIRC,B,535,425,197,benign\nmdb002.pgm,G,NORM,,,,,normal\n"
    )
    files = {"mdb001.pgm": PGM, "mdb002.pgm": PGM, "labels.csv": labels.encode()}
    with_table = Scan(write_zip(tmp_path / "table.zip", files))
    del files["labels.csv"]
    files["Info.txt"] = b"mdb001 G CIRC B 535 425 197\nmdb002 G NORM\n"
    assert with_table.cases == Scan(write_zip(tmp_path / "info.zip", files)).cases


def test_mini_mias(data):
    scan = Scan(data / "images" / "mias_a.zip")
    assert scan.kind == "mammograms"
    assert scan.findings == {"normal": 102, "benign": 32, "malignant": 29}
    assert len({case.patient for case in scan.cases}) == 81
    assert sum(case.region is None for case in scan.cases if case.finding != "normal") == 3
    assert not any(item.failed for item in scan.rejected.values())
    scan.assert_each_file_reported_once()


# --- INbreast -----------------------------------------------------------------------------------------


PLIST = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple Computer//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>Images</key><array><dict>
<key>ImageIndex</key><integer>0</integer><key>NumberOfROIs</key><integer>{count}</integer>
<key>ROIs</key><array>{rois}</array></dict></array></dict></plist>
"""


def outline(name, *points):
    inside = "".join(f"<string>({x:f}, {y:f})</string>" for x, y in points)
    return (
        f"<dict><key>Name</key><string>{name}</string><key>NumberOfPoints</key><integer>{len(points)}"
        f"</integer><key>Point_px</key><array>{inside}</array></dict>"
    )


def plist(*rois):
    return PLIST.format(count=len(rois), rois="".join(rois)).encode()


def test_inbreast(tmp_path):
    table = (
        "Patient ID;Patient age;Laterality;View;Acquisition date;File Name;ACR;Bi-Rads\n"
        "removed;removed;R;CC;201001;20586908;1;5\nremoved;removed;R;ML;201001;20586934;1;1\n"
        "removed;removed;L;CC;201001;20999999;2;2\n"
    )
    files = {
        "AllDICOMs/20586908_6c613a14b80a8591_MG_R_CC_ANON.png": PNG,
        "AllDICOMs/20586934_6c613a14b80a8591_MG_R_ML_ANON.png": PNG,
        "AllXML/20586908.xml": plist(
            outline("Calcification", (3, 3)),
            outline("Mass", (10, 20), (20, 20), (20, 40), (10, 40)),
            outline("Spiculated Region", (1, 1), (5, 1), (1, 5)),
        ),
        "AllXML/20000000.xml": plist(),
        "INbreast.csv": table.encode(),
        "readme.png": PNG,
    }
    scan = Scan(write_zip(tmp_path / "inbreast.zip", files))
    assert scan.kind == "mammograms"
    cases = [
        (c.key.split("/")[1][:8], c.finding, c.patient, c.attributes.get("abnormality")) for c in scan.cases
    ]
    assert cases == [
        ("20586908", "malignant", "6c613a14b80a8591", "mass"),
        ("20586908", "malignant", "6c613a14b80a8591", "spiculated region"),
        ("20586934", "normal", "6c613a14b80a8591", None),
    ]
    assert scan.cases[1].key.endswith("#2")
    mask = scan.cases[0].region.mask(60, 50)
    expected = np.zeros((60, 50), bool)
    expected[20:40, 10:20] = True
    np.testing.assert_array_equal(mask, expected)
    failed = [name for name, item in scan.rejected.items() if item.failed]
    assert failed == ["INbreast.csv: 20999999"]
    assert "outlines of an image that is missing" in scan.rejected["AllXML/20000000.xml"].reason
    scan.assert_each_file_reported_once()


@pytest.mark.parametrize(
    ("birads", "finding"),
    [
        ("1", "normal"),
        ("2", "benign"),
        ("3", "benign"),
        ("4a", "malignant"),
        ("6", "malignant"),
        ("0", None),
        ("", None),
    ],
)
def test_what_bi_rads_is_taken_for(birads, finding):
    assert finding_of(birads) == finding


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            '<!DOCTYPE plist [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><plist><string>&b;</string></plist>',
            "document type of its own",
        ),
        (
            '<!DOCTYPE plist [<!ENTITY x SYSTEM "file:///etc/hostname">]><plist><string>&x;</string></plist>',
            "document type of its own",
        ),
        ("<plist>" + "<array>" * 500 + "</array>" * 500 + "</plist>", "nested"),
        ("<plist><dict><key>a</key></plist>", "damaged XML"),
        ("<plist><dict><string>no key</string></dict></plist>", "not a readable property list"),
        ("<plist><date>not a date</date></plist>", "not a readable property list"),
        ("no XML at all", "damaged XML"),
    ],
)
def test_damaged_or_unsafe_xml_is_refused_with_the_reason(text, why):
    with pytest.raises(BadInput, match=why):
        read_property_list(text.encode(), "x.xml")


@pytest.mark.parametrize(
    "xml",
    [
        plist(outline("Mass", (0, 0), (1e9, 3), (4, 4))),
        plist(outline("Mass", (1, 1), (2, 2), (3, 1))).replace(b"(1.000000, 1.000000)", b"1;1"),
        b"<plist><array/></plist>",
    ],
)
def test_damaged_outlines_are_reported_and_the_case_stays(tmp_path, xml):
    files = {"20586908_6c613a14b80a8591_MG_R_CC_ANON.png": PNG, "20586908.xml": xml}
    scan = Scan(write_zip(tmp_path / "x.zip", files))
    assert [case.region for case in scan.cases] == [None]
    assert scan.rejected["20586908.xml"].failed


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes changed, a part cut out, or a part repeated."""
    found = bytearray(data)
    kind = rng.integers(3)
    start, stop = sorted(int(value) for value in rng.integers(0, len(found), 2))
    if kind == 0:
        for place in rng.integers(0, len(found), 8):
            found[place] = int(rng.integers(256))
    elif kind == 1:
        del found[start:stop]
    else:
        found[start:start] = found[start:stop] * int(rng.integers(1, 4))
    return bytes(found)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_reported_never_raised(tmp_path, seed):
    rng = np.random.default_rng(seed)
    table = "\n".join([HEADER, cbis_line("P_00001", 1, "MALIGNANT"), cbis_line("P_00001", 2, "BENIGN")])
    outlines = plist(outline("Mass", (1, 1), (20, 20), (2, 30)), outline("Cluster", (1, 1), (5, 2), (2, 3)))
    named = {
        "Info.txt": (INFO.encode(), {"mdb001.pgm": PGM, "mdb239.pgm": PGM}),
        "mass_case_description_test_set.csv": (table.encode(), cbis_files("P_00001", 1, (10, 20, 8, 6))),
        "20586908.xml": (outlines, {"20586908_6c613a14b80a8591_MG_R_CC_ANON.png": PNG}),
    }
    for name, (data, others) in named.items():
        for _ in range(60):
            path = write_zip(tmp_path / "x.zip", {name: mutated(data, rng), **others})
            scan = Scan(path, "mammograms")
            scan.assert_each_file_reported_once()
            for case in scan.cases:
                assert case.region is None or case.region.to_json()


def test_another_source_imported_as_mammograms_is_refused(tmp_path):
    with pytest.raises(BadInput, match="not one of mini-MIAS, CBIS-DDSM, INbreast"):
        Scan(write_zip(tmp_path / "x.zip", {"a.png": PNG}), "mammograms")


# --- as DICOM files -----------------------------------------------------------------------------------


def as_dicom(pixels):
    return dicom_files.encoded(dicom_files.image(pixels))


def test_collections_as_dicom_files(tmp_path):
    shown, mask = pattern(60, 50), np.zeros((60, 50), np.uint8)
    mask[20:26, 10:18] = 255
    name = "Mass-Training_P_00001_LEFT_CC"
    cbis = {
        "mass_case_description_train_set.csv": "\n".join(
            [HEADER, cbis_line("P_00001", 1, "BENIGN")]
        ).encode(),
        f"{name}/1.2/P_00001.3/000000.dcm": as_dicom(shown),
        f"{name}_1/1.2/P_00001.4.1/000000.dcm": as_dicom(pattern(8, 8)),
        f"{name}_1/1.2/P_00001.4.1/000001.dcm": as_dicom(mask),
    }
    inbreast = {
        "AllDICOMs/20586908_6c613a14b80a8591_MG_R_CC_ANON.dcm": as_dicom(shown),
        "AllXML/20586908.xml": plist(outline("Mass", (10, 20), (18, 20), (18, 26), (10, 26))),
        "INbreast.csv": b"File Name;Bi-Rads;ACR\n20586908;2;1\n",
    }
    for collection, files in (("cbis", cbis), ("inbreast", inbreast)):
        source = write_zip(tmp_path / f"{collection}.zip", files)
        [case] = Scan(source).cases
        assert case.finding == "benign"
        np.testing.assert_array_equal(case.region.mask(60, 50), mask > 0)
        result = import_source(source, tmp_path / collection)
        assert (result.kind, result.added, result.failed) == ("mammograms", 1, [])
        assert extract_features(tmp_path / collection, "mass", workers=1).extracted == 1
