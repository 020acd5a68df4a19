"""The same level in two volumes of a library: by content, by position, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.open_library import open_library
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.searches import align_volumes as module
from semblance.core.workflows.searches.align_volumes import align_cases, align_volumes
from tests.helpers.dicom_files import ROOT, ct_slice, save


def _body(levels, side=64, shift=0):
    """(n, side, side) Hounsfield units, stored as 16 bits: an oval body with two cavities that grow and shrink."""
    y, x = np.mgrid[:side, :side] / side - 0.5
    out = []
    for level in levels:
        share = level / 60.0
        inside = (x / 0.45) ** 2 + (y / (0.30 + 0.12 * share)) ** 2 < 1
        pixels = np.where(inside, 1064.0, 24.0)
        radius = 0.16 * np.sin(np.pi * min(max(share, 0.02), 0.98))
        for sign in (-1, 1):
            pixels[(x + sign * 0.2) ** 2 + (y / (1 + share)) ** 2 < radius**2] = 174.0
        pixels[(x - 0.1 + 0.2 * share) ** 2 + (y - 0.2) ** 2 < 0.004] = 1800.0
        out.append(np.roll(pixels, shift, axis=1))
    return np.array(out).astype(np.int16)


def _series(folder, number, voxels, patient, *, first=0.0, step=2.0, frame=""):
    for place, pixels in enumerate(voxels):
        dataset = ct_slice(
            pixels, place, series=f"{ROOT}.{number}", FrameOfReferenceUID=frame or f"{ROOT}.7{number}"
        )
        dataset.PatientID, dataset.StudyInstanceUID = patient, f"{ROOT}.8{number}"
        dataset.ImagePositionPatient = [-10, -20, first + step * place]
        save(dataset, folder / f"{number}-{place:03d}.dcm")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("volumes")
    _series(folder, 3, _body(np.arange(0, 60, 3.0)), "A", step=3.0)
    _series(folder, 4, _body(np.arange(9, 60, 3.0), shift=2), "B", first=500.0, step=3.0)
    _series(folder, 5, _body(np.arange(0, 60, 3.0)), "A", first=6.0, step=3.0, frame=f"{ROOT}.73")
    save(ct_slice(_body([30.0])[0], series=f"{ROOT}.6"), folder / "single.dcm")
    where = folder / "l.semblance"
    import_source(folder, where, kind="dicom")
    return where


@pytest.fixture(scope="module")
def ids(library):
    """The ids of the three volumes and of the single image."""
    with open_library(library) as opened:
        rows = opened.catalogue.details(range(1, 6)).values()
        volumes = [one for one in rows if one.depth]
        of_b = next(one.case_id for one in volumes if one.depth == 17)
        of_a = sorted(one.case_id for one in volumes if one.depth == 20)
        single = next(one.case_id for one in rows if not one.depth)
    return (*of_a, of_b, single)


def test_levels_of_another_patient_are_found_by_content_and_described_once(library, ids, monkeypatch):
    found = align_cases(library, ids[0], ids[2])
    assert found.by == "content"
    assert found.overlap == pytest.approx(0.85, abs=0.06)
    # Slices are in the order from head to foot, so both begin at the same level.
    errors = [abs(other - one) for one, other in found.pairs()]
    assert np.median(errors) == 0
    assert max(errors) <= 1
    assert align_cases(library, ids[2], ids[0]).pairs()[5] == (5, 5)
    # The descriptions are those of derived data.
    monkeypatch.setattr(module, "describe_slices", None)
    assert align_cases(library, ids[0], ids[2]).pairs() == found.pairs()


def test_positions_count_in_one_frame_of_reference_unless_the_content_contradicts_them(library, ids):
    # Both show the same slices, 6 mm apart by their headers: two slices are within what content can tell.
    found = align_cases(library, ids[0], ids[1])
    assert found.by == "position"
    shift = {other - one for one, other in found.pairs()}
    assert shift in ({2}, {-2})
    assert found.overlap == pytest.approx(0.9)


def test_what_cannot_be_aligned_is_said(library, ids, tmp_path):
    with pytest.raises(BadArguments, match="given twice"):
        align_cases(library, ids[0], ids[0])
    with pytest.raises(BadInput, match="no case"):
        align_cases(library, ids[0], "nobody")
    with pytest.raises(BadInput, match="not a volume"):
        align_cases(library, ids[0], ids[3])


def test_a_slice_that_cannot_be_read_is_named(tmp_path):
    _series(tmp_path, 3, _body(np.arange(0, 60, 6.0)), "A", step=3.0)
    _series(tmp_path, 4, _body(np.arange(0, 60, 6.0)), "B", step=3.0)
    where = tmp_path / "l.semblance"
    import_source(tmp_path, where, kind="dicom")
    (tmp_path / "4-004.dcm").unlink()
    with pytest.raises(BadInput, match=r"4-004\.dcm"):
        align_volumes(where, 1, 2)
