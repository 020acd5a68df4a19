"""Values that the profile keeps, of each value representation, with and without a name or an id in them."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from PIL import Image, ImageCms
from pydicom import Dataset, Sequence, dcmread
from pydicom.dataelem import RawDataElement
from pydicom.encaps import encapsulate
from pydicom.tag import Tag

from semblance.core.errors import BadInput
from semblance.core.imaging.deidentification.deidentify_dataset import DeidentificationChanges, deidentify
from semblance.core.imaging.deidentification.kept_values import without_texts
from semblance.core.imaging.deidentification.profile import Option, Profile
from semblance.core.imaging.dicom.case_attributes import case_attributes
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.workflows.imaging.deidentify_files import deidentify_files
from tests.helpers.dicom_files import encoded, image, save

KEY = Pseudonyms(b"k" * 32)


def header(name: str = "Lung^Le", patient: str = "HOSP-778812993") -> Dataset:
    made = image(np.zeros((4, 4), np.uint8), Modality="US")
    made.PatientName, made.PatientID, made.PatientBirthDate = name, patient, "19530417"
    made.StudyInstanceUID, made.SeriesInstanceUID = "1.2.3", "1.2.4"
    return made


def cleaned(dataset: Dataset, *options: Option) -> Dataset:
    made = dcmread(io.BytesIO(encoded(dataset)))
    deidentify(made, Profile(frozenset(options)), KEY, DeidentificationChanges())
    return dcmread(io.BytesIO(encoded(made)))


@pytest.mark.parametrize(
    ("keyword", "value", "kept"),
    [
        # A defined term stays, whoever is called so. Other codes have their words compared, of two letters too.
        ("BodyPartExamined", "LUNG", "LUNG"),
        ("BodyPartExamined", "LUNG LE", "REMOVED"),
        ("BodyPartExamined", "LE", "REMOVED"),
        ("BodyPartExamined", "LEG", "LEG"),
        ("BodyPartExamined", "LEXICON", "LEXICON"),
        ("ImageType", ["ORIGINAL", "PRIMARY", "LE"], ["ORIGINAL", "PRIMARY", "REMOVED"]),
        ("ConversionType", "LUNG", "REMOVED"),
        ("PatientPosition", "HFS", "HFS"),
        ("Modality", "LUNG", "REMOVED"),
        ("Manufacturer", "ACME", "ACME"),
        ("Manufacturer", "Dr. LUNG's", "REMOVED"),
        ("Manufacturer", "id 778812993", "REMOVED"),
        ("Manufacturer", "17.04.1953", "REMOVED"),
        # Short names beside digits and in mixed case; numbers where the standard has short ones.
        ("Manufacturer", "99LUNG", "REMOVED"),
        ("Manufacturer", "ScanLung2", "REMOVED"),
        ("Manufacturer", "Plunger", "Plunger"),
        ("CodingSchemeDesignator", "99Lung", "REMOVED"),
        ("TemplateIdentifier", "778812993", "REMOVED"),
        ("TemplateIdentifier", "1500", "1500"),
        ("InstanceNumber", "778812993", None),
        ("InstanceNumber", "12", 12),
        ("SliceThickness", "778812993", None),
        ("SliceThickness", "2.5", 2.5),
    ],
)
def test_codes_texts_and_numbers(keyword, value, kept):
    dataset = header()
    setattr(dataset, keyword, value)
    assert cleaned(dataset)[keyword].value == kept


def test_ids_and_numbers_of_thousands_of_digits_are_compared():
    dataset, long = header(), b"1" * 5000
    for keyword, vr in (("PatientID", "LO"), ("RescaleIntercept", "DS"), ("ManufacturerModelName", "LO")):
        value = b"0" * 5000 if vr == "DS" else long
        dataset[Tag(keyword)] = RawDataElement(Tag(keyword), vr, len(value), value, 0, False, True)
    assert case_attributes(dataset)["modality"] == "US"
    deidentify(dataset, Profile(), KEY, DeidentificationChanges())
    assert long.decode() not in str(dataset)


def test_a_long_number_that_is_none_is_read_once():
    dataset = header()
    # A number for Python. Divided at each of its digits, as many would take hours.
    written = b"0" * 1_000_000 + b"_1"
    tag = Tag("SliceThickness")
    dataset[tag] = RawDataElement(tag, "DS", len(written), written, 0, False, True)
    deidentify(dataset, Profile(), KEY, DeidentificationChanges())
    assert dataset.SliceThickness is None


@pytest.mark.parametrize(
    "written",
    [
        "QUIXLEY", "quixley zebedee", "Zebedee_Quixley", "Müller", "MUELLER", "MULLER", "Mu\u0308ller",
        "O'Brien", "OBRIEN", "brien", "quixleyscan",
    ],
)  # fmt: skip
def test_a_name_is_found_however_it_is_written(written):
    dataset = header("Quixley-Müller^Zebedee^O'Brien")
    dataset.SpecificCharacterSet = "ISO_IR 192"
    dataset.ManufacturerModelName = f"Scan {written} 2"
    assert cleaned(dataset).ManufacturerModelName == "REMOVED"


@pytest.mark.parametrize("keyword", ["SpectroscopyData", "VectorGridData", "RedPaletteColorLookupTableData"])
@pytest.mark.parametrize("encoding", ["ascii", "utf-16-le", "utf-16-be"])
def test_bytes_with_a_name_in_them_go_and_others_stay(keyword, encoding):
    for text, is_kept in (("Lung scan", False), ("Nobody else", True)):
        dataset = header()
        content = b"\1\0\0\0" + text.encode(encoding)
        setattr(dataset, keyword, content + b"\0" * (-len(content) % 8))
        assert (keyword in cleaned(dataset)) is is_kept


def test_bytes_of_documents_signatures_and_encrypted_headers_go():
    dataset = header()
    dataset.AnatomicRegionSequence = [Dataset()]
    item = dataset.AnatomicRegionSequence[0]
    for keyword in ("EncapsulatedDocument", "EncryptedContent", "Signature", "MakerNote", "HPGLDocument"):
        setattr(item, keyword, b"of nobody")
    assert not len(cleaned(dataset).AnatomicRegionSequence[0])


def test_tables_and_waveforms_end_where_their_numbers_say():
    dataset = header()
    dataset.RedPaletteColorLookupTableDescriptor = [4, 0, 16]
    dataset.RedPaletteColorLookupTableData = b"\1\0\2\0\3\0\4\0House MD"
    wave = Dataset()
    wave.NumberOfWaveformChannels, wave.NumberOfWaveformSamples, wave.WaveformBitsAllocated = 2, 3, 16
    wave.WaveformData = b"\7\0" * 6 + b"House MD"
    wave.MultiplexGroupLabel = "of Lung"
    dataset.WaveformSequence = [wave]
    kept = cleaned(dataset)
    assert kept.RedPaletteColorLookupTableData == b"\1\0\2\0\3\0\4\0"
    assert kept.WaveformSequence[0].WaveformData == b"\7\0" * 6
    assert "MultiplexGroupLabel" not in kept.WaveformSequence[0]


def with_text(profile: bytes, name: bytes, text: bytes) -> bytes:
    """``profile`` with a tag more, as ISO 15076-1 7.3 has it."""
    (count,) = struct.unpack_from(">I", profile, 128)
    table = b"".join(
        struct.pack(">4sII", tag, offset + 12, size)
        for tag, offset, size in (
            struct.unpack_from(">4sII", profile, 132 + 12 * number) for number in range(count)
        )
    )
    body = profile[132 + 12 * count :]
    table += struct.pack(">4sII", name, 132 + 12 * (count + 1) + len(body), len(text))
    return profile[:128] + struct.pack(">I", count + 1) + table + body + text


def test_colour_profiles_lose_their_texts_and_compute_the_same_colours():
    pixels = Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3)).astype(np.uint8))
    lab = ImageCms.createProfile("LAB")

    def colours(content: bytes) -> np.ndarray:
        opened = ImageCms.ImageCmsProfile(io.BytesIO(content))
        return np.asarray(ImageCms.profileToProfile(pixels, opened, lab, outputMode="LAB"))

    plain = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for tag in (b"dmnd", b"dmdd", b"vued", b"tech", b"meta", b"ZZZZ", b"targ"):
        planted = with_text(plain, tag, b"text\0\0\0\0Lung^Le of ACME") + b"behind the end"
        kept = without_texts(planted)
        assert kept and b"Lung" not in kept and b"behind" not in kept
        assert np.array_equal(colours(kept), colours(planted))
        assert without_texts(kept) == kept
    for offset, text in (
        (4, b"LUNG"),
        (48, b"LUNG"),
        (52, b"LUNG"),
        (80, b"LUNG"),
        (84, b"LUNG LE 17041953"),
        (100, b"LUNG" * 7),
    ):
        assert b"LUNG" not in without_texts(plain[:offset] + text + plain[offset + len(text) :])
    dataset = header()
    dataset.ICCProfile = with_text(plain, b"dmnd", b"text\0\0\0\0of nobody") + b"\0"
    assert b"nobody" not in cleaned(dataset).ICCProfile
    dataset.ICCProfile = b"no profile, of nobody "
    assert "ICCProfile" not in cleaned(dataset)


@pytest.mark.parametrize(
    ("sop_class", "what"),
    [
        ("1.2.840.10008.5.1.4.1.1.104.1", "document"),
        ("1.2.840.10008.5.1.4.1.1.104.2", "document"),
        ("1.2.840.10008.5.1.4.1.1.104.3", "document"),
        ("1.2.840.10008.5.1.4.1.1.66", "raw data"),
        ("1.2.840.10008.5.1.4.1.1.9.4.1", "voice"),
        ("1.2.840.10008.5.1.4.1.1.131", "layout"),
        ("1.2.840.10008.5.1.4.38.1", "layout"),
    ],
)
def test_what_cannot_be_cleaned_is_not_written_and_named(tmp_path, sop_class, what):
    dataset = header()
    dataset.SOPClassUID = sop_class
    save(dataset, tmp_path / "in" / "a.dcm")
    result = deidentify_files(tmp_path / "in", tmp_path / "out")
    assert result.files == {}
    ((name, reason),) = result.failed
    assert name == "a.dcm" and what in str(reason)
    with pytest.raises(BadInput, match=what):
        cleaned(dataset)


@pytest.mark.parametrize("number", [100, 102, 106, 107, 108])
def test_a_video_is_not_written_with_any_options(tmp_path, number):
    dataset = header()
    dataset.PixelData = encapsulate([b"\0\0\1\xb3 Lung"])
    dataset["PixelData"].is_undefined_length = True
    save(dataset, tmp_path / "in" / "a.dcm", f"1.2.840.10008.1.2.4.{number}")
    result = deidentify_files(tmp_path / "in", tmp_path / "out")
    assert result.files == {} and "is a video" in str(result.failed[0][1])


def test_the_name_of_a_study_without_a_digit_is_no_id():
    dataset = header()
    dataset.StudyID, dataset.ManufacturerModelName = "SCANNER", "Scanner 9"
    assert cleaned(dataset).ManufacturerModelName == "Scanner 9"
    dataset.StudyID, dataset.ManufacturerModelName = "ST-4711-9", "Scanner ST-4711-9"
    assert cleaned(dataset).ManufacturerModelName == "REMOVED"


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2.1", "1.2.840.10008.1.2.5", "1.2.840.10008.1.2.4.80"])
def test_an_overlay_in_the_bits_of_the_pixels_is_removed_without_any_option(tmp_path, syntax):
    pixels = np.random.default_rng(0).integers(0, 4000, (40, 48)).astype(np.uint16)
    drawn = pixels | (np.random.default_rng(1).integers(0, 2, pixels.shape) << 15).astype(np.uint16)
    dataset = header()
    for element in image(drawn):
        if element.keyword not in ("SOPClassUID", "SOPInstanceUID"):
            dataset.add(element)
    plain = dcmread(io.BytesIO(encoded(dataset)))
    if syntax != "1.2.840.10008.1.2.1":
        plain.compress(syntax, generate_instance_uid=False)
    plain.BitsStored, plain.HighBit = 12, 11
    plain.add_new(0x60000102, "US", 15)
    plain.add_new(0x60000100, "US", 16)
    (tmp_path / "in").mkdir()
    plain.save_as(tmp_path / "in" / "a.dcm")
    for options in ((), (Option.GRAPHICS,)):
        out = tmp_path / f"out{len(options)}"
        result = deidentify_files(tmp_path / "in", out, options)
        (name,) = result.files
        with (out / name).open("rb") as file:
            assert np.array_equal(DicomImages(file, "x").stored(0)[0], pixels)
        assert np.array_equal(dcmread(out / name).pixel_array, pixels)


def test_small_images_in_sequences_go():
    dataset = header()
    icon = image(np.full((4, 4), 7, np.uint8))
    dataset.IconImageSequence = Sequence([icon])
    dataset.AnatomicRegionSequence = Sequence([image(np.full((4, 4), 7, np.uint8))])
    kept = cleaned(dataset)
    assert "IconImageSequence" not in kept
    assert "PixelData" not in kept.AnatomicRegionSequence[0]
    assert len(kept.PixelData) == 16


def test_a_kept_overlay_ends_with_its_last_bit():
    dataset = header()
    plane = np.zeros((64, 64), np.uint8)
    plane[8:56, 8:56] = 1
    bits = np.packbits(plane.reshape(-1), bitorder="little").tobytes()
    for element, vr, value in ((0x10, "US", 64), (0x11, "US", 64), (0x40, "CS", "G"), (0x50, "SS", [1, 1])):
        dataset.add_new(0x60000000 | element, vr, value)
    dataset.add_new(0x60000022, "LO", "Heart by Dr. House")
    dataset.add_new(0x60003000, "OW", bits + b"House MD")
    kept = cleaned(dataset, Option.GRAPHICS)
    assert (kept[0x60003000].value, kept[0x60000022].value) == (bits, "Heart")
    assert not any(tag.group == 0x6000 for tag in cleaned(dataset).keys())  # noqa: SIM118
    without = header()
    without.update({tag: dataset[tag] for tag in dataset.keys() if tag.group == 0x6000})  # noqa: SIM118
    without.add_new(0x60003000, "OW", None)
    assert not any(tag.group == 0x6000 for tag in cleaned(without, Option.GRAPHICS).keys())  # noqa: SIM118
    dataset[0x60000010].value = None
    assert not any(tag.group == 0x6000 for tag in cleaned(dataset, Option.GRAPHICS).keys())  # noqa: SIM118
    del dataset[0x60003000]
    assert not any(tag.group == 0x6000 for tag in cleaned(dataset, Option.GRAPHICS).keys())  # noqa: SIM118


def test_an_unknown_character_set_is_not_kept():
    made = dcmread(io.BytesIO(encoded(header())))
    made.add_new(0x00080005, "CS", "LUNG LE")
    deidentify(made, Profile(), KEY, DeidentificationChanges())
    assert made.SpecificCharacterSet == "ISO_IR 192"
