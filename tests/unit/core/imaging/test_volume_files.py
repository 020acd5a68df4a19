"""NIfTI, NRRD and MetaImage: one volume, however its file orders, turns, compresses and scales the voxels."""

from __future__ import annotations

import gzip
import io
import itertools
import re

import nibabel as nib
import nrrd
import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.image_reader import ImageReader, open_image
from semblance.core.limits import MAX_ARRAY_BYTES
from tests.helpers.bad_images import write_zip
from tests.helpers.volume_files import meta_image, nifti, nrrd_file

#: (slices, rows, columns) as shown: axial from the head down, the patient's right on the left.
SHOWN = np.arange(5 * 6 * 7, dtype=np.int16).reshape(5, 6, 7) * 3 - 40
SPACING = (2.5, 0.75, 0.5)
#: From (column, row, slice) to mm, left, posterior and superior.
LPS = np.array([[0.5, 0, 0, -90], [0, 0.75, 0, -120], [0, 0, -2.5, 300], [0, 0, 0, 1.0]])


def reordered(order, signs):
    """The voxels (i, j, k) with other axes and directions, and their matrix."""
    affine = nib.orientations.inv_ornt_aff([*zip(order, signs, strict=True)], SHOWN.transpose(2, 1, 0).shape)
    voxels = nib.orientations.apply_orientation(SHOWN.transpose(2, 1, 0), [*zip(order, signs, strict=True)])
    return np.ascontiguousarray(voxels), LPS @ affine


def shown(path, part=None, member=""):
    with ImageReader() as reader:
        address = ImageAddress(path, member, part)
        assert reader.is_stack(address)
        with reader.stack(address) as stack:
            numbers = np.stack([stack.image(place).physical_values() for place in range(len(stack))])
            np.testing.assert_array_equal(reader.open(address).physical_values(), numbers[len(numbers) // 2])
            return numbers, stack


def assert_as_shown(path, **where):
    numbers, stack = shown(path, **where)
    np.testing.assert_allclose(numbers, SHOWN, rtol=0, atol=1e-4)
    np.testing.assert_allclose(stack.spacing_mm, SPACING, rtol=1e-6)
    assert stack.directions == ("I", "P", "L")
    np.testing.assert_allclose(stack.location.first.cosines, (1, 0, 0, 0, 1, 0), atol=1e-6)
    assert (round(stack.location.first.height, 4), stack.location.rise < 0) == (300.0, True)


def test_every_order_and_direction_of_the_axes_is_shown_in_one_way(tmp_path):
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1, -1), repeat=3):
            voxels, lps = reordered(order, signs)
            (tmp_path / "a.nii").write_bytes(nifti(voxels, lps))
            (tmp_path / "b.nii.gz").write_bytes(gzip.compress(nifti(voxels, lps)))
            (tmp_path / "c.nrrd").write_bytes(nrrd_file(voxels, lps, tmp_path))
            (tmp_path / "d.mha").write_bytes(meta_image(voxels, lps)[0])
            for name in ("a.nii", "b.nii.gz", "c.nrrd", "d.mha"):
                assert_as_shown(tmp_path / name)


def test_numbers_may_lie_beside_their_header_or_in_a_zip(tmp_path):
    voxels, lps = reordered((0, 1, 2), (1, 1, 1))
    header = nrrd_file(voxels, lps, tmp_path, "nhdr")
    assert_as_shown(tmp_path / "written.nhdr")
    entries = {"x/written.nhdr": header, "x/written.raw.gz": (tmp_path / "written.raw.gz").read_bytes()}
    for compressed, data_name in ((False, "m.raw"), (True, "m.zraw")):
        head, data = meta_image(voxels, lps, data_name, compressed=compressed)
        (tmp_path / "m.mhd").write_bytes(head)
        (tmp_path / data_name).write_bytes(data)
        assert_as_shown(tmp_path / "m.mhd")
        entries |= {f"x/{data_name[2:]}.mhd": head, f"x/{data_name}": data}
    packed = write_zip(tmp_path / "all.zip", entries)
    for member in ("x/written.nhdr", "x/raw.mhd", "x/zraw.mhd"):
        assert_as_shown(packed, member=member)


def test_encodings_of_nrrd(tmp_path):
    voxels, lps = reordered((0, 1, 2), (1, 1, 1))
    for encoding in ("raw", "gzip", "bzip2", "text"):
        (tmp_path / "a.nrrd").write_bytes(nrrd_file(voxels, lps, tmp_path, encoding=encoding))
        assert_as_shown(tmp_path / "a.nrrd")


def test_types_byte_orders_and_scales(tmp_path):
    voxels, lps = reordered((0, 1, 2), (1, 1, 1))
    file = tmp_path / "a.nii"
    for dtype in ("i2", "i4", "f4", "f8", ">i2", ">f4", "i8"):
        image = nib.Nifti1Image(
            voxels.astype(dtype), np.diag([-1.0, -1.0, 1.0, 1.0]) @ lps, dtype=np.dtype(dtype)
        )
        if dtype.startswith(">"):
            image = nib.Nifti1Image(image.dataobj, image.affine, image.header.as_byteswapped(">"))
        file.write_bytes(image.to_bytes())
        assert_as_shown(file)
    for slope, intercept in ((0.5, 3.0), (-2.0, 1.0), (float("nan"), 0.0), (0.0, 0.0)):
        # A slope of 0 or NaN means none.
        used = (slope, intercept) if slope and np.isfinite(slope) else (1.0, 0.0)
        data = bytearray(nifti(voxels, lps))
        data[112:120] = np.array([slope, intercept], "<f4").tobytes()
        file.write_bytes(data)
        np.testing.assert_allclose(shown(file)[0], SHOWN * used[0] + used[1], atol=1e-4)


def test_several_volumes_in_a_file_are_told_apart(tmp_path):
    voxels, lps = reordered((0, 1, 2), (1, 1, 1))
    four = np.stack([voxels, voxels + 7], axis=-1)
    (tmp_path / "a.nii.gz").write_bytes(gzip.compress(nifti(four, lps)))
    (tmp_path / "b.nrrd").write_bytes(
        nrrd_file(
            np.moveaxis(four, -1, 0),
            lps,
            tmp_path,
            kinds=["list", "domain", "domain", "domain"],
            **{"space directions": np.vstack([[np.nan] * 3, lps[:3, :3].T])},
        )
    )
    for name in ("a.nii.gz", "b.nrrd"):
        for part in (0, 1):
            np.testing.assert_array_equal(shown(tmp_path / name, part)[0], SHOWN + 7 * part)
        with pytest.raises(BadInput, match="no volume 2: it has 2"):
            shown(tmp_path / name, 2)


def test_ct_is_recognised_by_its_numbers_and_shown_as_such(tmp_path):
    rng = np.random.default_rng(0)
    body = np.clip(rng.normal(40, 60, (6, 20, 20)), -200, 900)
    body[:, :4] = -1000
    for slope, intercept in ((1, 0), (1, -1024), (2, -1000)):
        stored = ((body - intercept) / slope).astype(np.int16).transpose(2, 1, 0)
        data = bytearray(nifti(stored, LPS))
        data[112:120] = np.array([slope, intercept], "<f4").tobytes()
        (tmp_path / "ct.nii").write_bytes(data)
        image = open_image(tmp_path / "ct.nii")
        assert image.values.unit == "HU"
        np.testing.assert_allclose(
            image.grey(), np.clip((image.physical_values() + 1024) / 2048, 0, 1), atol=1e-6
        )
    for voxels in (body + 1000, np.where(body < -500, 0, body), body.clip(-1000, 40)):
        (tmp_path / "no.nii").write_bytes(nifti(voxels.astype(np.int16).transpose(2, 1, 0), LPS))
        assert open_image(tmp_path / "no.nii").values.unit == ""


def test_the_window_of_a_header_is_the_first(tmp_path):
    voxels, lps = reordered((0, 1, 2), (1, 1, 1))
    (tmp_path / "a.nii").write_bytes(nifti(voxels, lps, cal_min=10, cal_max=90))
    (window,) = open_image(tmp_path / "a.nii").values.windows
    assert (window.low, window.high) == (10, 90)


def test_a_volume_without_an_orientation_says_none(tmp_path):
    (tmp_path / "a.nii").write_bytes(nifti(SHOWN.transpose(2, 1, 0)))
    numbers, stack = shown(tmp_path / "a.nii")
    # Others take the rows to run to the front and the slices to the head.
    np.testing.assert_array_equal(numbers, SHOWN[::-1, ::-1])
    assert stack.directions is None
    assert stack.location is None
    assert stack.spacing_mm == (1, 1, 1)


def test_one_slice_is_an_image(tmp_path):
    (tmp_path / "a.nii").write_bytes(nifti(SHOWN[:1].transpose(2, 1, 0), LPS))
    with ImageReader() as reader:
        assert not reader.is_stack(ImageAddress(tmp_path / "a.nii"))
        np.testing.assert_array_equal(reader.open(ImageAddress(tmp_path / "a.nii")).pixels, SHOWN[0])


def test_the_only_axis_of_one_voxel_is_that_of_the_slice(tmp_path):
    for axis in range(3):
        voxels = np.moveaxis(SHOWN[:1].transpose(2, 1, 0), 2, axis)
        (tmp_path / "a.nii").write_bytes(nifti(np.ascontiguousarray(voxels), np.eye(4)))
        with ImageReader() as reader:
            assert not reader.is_stack(ImageAddress(tmp_path / "a.nii"))
            assert sorted(reader.open(ImageAddress(tmp_path / "a.nii")).pixels.shape) == [6, 7]


def test_nrrd_states_units_of_its_spacings(tmp_path):
    fields = {"spacings": [500.0, 750.0, 2500.0], "units": ["um", "um", "um"]}
    nrrd.write(str(tmp_path / "a.nrrd"), SHOWN.transpose(2, 1, 0), fields)
    assert shown(tmp_path / "a.nrrd")[1].spacing_mm == pytest.approx(SPACING)


def test_colours_and_other_numbers(tmp_path):
    colours = np.zeros((4, 5, 3), dtype=[("R", "u1"), ("G", "u1"), ("B", "u1")])
    colours["G"] = 200
    (tmp_path / "a.nii").write_bytes(nifti(colours, LPS))
    image = open_image(tmp_path / "a.nii")
    assert image.is_colour
    assert image.pixels[0, 0].tolist() == [0, 200, 0]
    (tmp_path / "b.nii").write_bytes(nifti(np.zeros((4, 5, 3), np.complex64), LPS))
    with pytest.raises(BadInput, match="neither grey values nor colours"):
        open_image(tmp_path / "b.nii")


def _meta(**changed):
    head, _ = meta_image(SHOWN.transpose(2, 1, 0).copy(), LPS)
    for name, value in changed.items():
        head = re.sub(rb"(?m)^%s = .*$" % name.encode(), f"{name} = {value}".encode(), head)
    return head


def test_damage_is_refused_by_name_and_takes_no_memory(tmp_path):
    whole = nifti(SHOWN.transpose(2, 1, 0), LPS)
    huge = bytearray(whole)
    huge[40:56] = np.array([7, 30000, 30000, 30000, 1, 1, 1, 1], "<i2").tobytes()
    huge[40:42] = np.array([3], "<i2").tobytes()
    files = {
        "cut.nii": whole[:-9],
        "cut.nii.gz": gzip.compress(whole)[:-40],
        "bomb.nii.gz": gzip.compress(bytes(huge) + bytes(1 << 20)),
        "huge.nii": bytes(huge),
        "head.nii": whole[:200],
        "pair.nii": whole[:344] + b"ni1\0" + whole[348:],
        "a.nrrd": b"NRRD0004\ntype: short\ndimension: 3\nsizes: 4 5 6\nencoding: raw\n",
        "b.nrrd": b"NRRD0004\ntype: block\ndimension: 3\nsizes: 4 5 6\nencoding: raw\n\n",
        "c.nrrd": b"NRRD0004\ntype: short\ndimension: 3\nsizes: 4 5 -6\nencoding: raw\n\n",
        "d.nrrd": b"NRRD0004\ntype: short\ndimension: 3\nsizes: 4 5 6\nencoding: zrl\n\n" + bytes(240),
        "e.nhdr": b"NRRD0004\ntype: short\ndimension: 3\nsizes: 4 5 6\nencoding: raw\ndata file: ../secret\n",
        "f.nhdr": b"NRRD0004\ntype: short\ndimension: 3\nsizes: 4 5 6\nencoding: raw\ndata file: missing.raw\n",
        "a.mha": _meta(DimSize="7 6"),
        "b.mha": _meta(ElementType="MET_STRING"),
        "c.mha": _meta(ElementDataFile="../../etc/passwd"),
        "d.mha": _meta(ElementDataFile="/etc/passwd"),
        "e.mha": _meta(ElementDataFile="LIST"),
        "f.mha": _meta(ElementDataFile="slice%03d.raw 1 5 1"),
        "g.mha": _meta(CompressedData="True"),
        "h.mha": _meta(DimSize="70000 60000 50000"),
        "i.mha": b"ObjectType = Image\n" * 1000,
    }
    (tmp_path / "secret").write_bytes(bytes(240))
    folder = tmp_path / "x"
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
        with pytest.raises(BadInput, match=re.escape(str(folder).split("/")[-1])) as error:
            open_image(folder / name)
        assert error.value.hint, name
    assert MAX_ARRAY_BYTES < 30000**3


def test_what_a_header_says_of_people_is_never_kept(tmp_path):
    image = nib.Nifti1Image(SHOWN.transpose(2, 1, 0), LPS)
    image.header["descrip"] = b"DOE^JOHN"
    image.header["db_name"] = b"DOE^JOHN"
    image.header["aux_file"] = b"DOE^JOHN"
    image.header["intent_name"] = b"DOE^JOHN"
    image.header.extensions.append(nib.nifti1.Nifti1Extension("comment", b"DOE^JOHN"))
    (tmp_path / "a.nii").write_bytes(image.to_bytes())
    data = nrrd_file(SHOWN.transpose(2, 1, 0), LPS, tmp_path, PatientName="DOE^JOHN", content="DOE^JOHN")
    (tmp_path / "b.nrrd").write_bytes(data)
    (tmp_path / "c.mha").write_bytes(b"Comment = DOE^JOHN\n" + _meta())
    for name in ("a.nii", "b.nrrd", "c.mha"):
        assert b"DOE" in (tmp_path / name).read_bytes()
        with ImageReader() as reader, reader.stack(ImageAddress(tmp_path / name)) as stack:
            assert "DOE" not in repr((vars(stack), stack.image(0), stack.name))
    assert io.BytesIO(data)
