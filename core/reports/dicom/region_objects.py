"""Regions as Segmentation objects on the images they were drawn on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.purpose import NOT_FOR_PATIENTS
from semblance.core.reports.dicom.common import complete_header, encoded, equipment, needs_highdicom

if TYPE_CHECKING:
    from pydicom import Dataset

    from semblance.core.imaging.region import Region


def segmentation(header: Dataset, region: Region, label: str, versions: Mapping[str, str]) -> bytes:
    """``region`` as one binary segment ``label`` of the image with ``header``.

    Raises:
        BadInput: an image with several frames, or of a kind that cannot carry segments.
        SemblanceError: highdicom is not installed.
    """
    with needs_highdicom():
        from highdicom.seg import (
            SegmentAlgorithmTypeValues,
            Segmentation,
            SegmentationTypeValues,
            SegmentDescription,
        )
    from pydicom.sr.coding import Code
    from pydicom.uid import generate_uid

    mask = region.mask(int(header.Rows), int(header.Columns))
    segment = SegmentDescription(
        segment_number=1,
        segment_label=label[:64],
        segmented_property_category=Code("49755003", "SCT", "Morphologically Abnormal Structure"),
        segmented_property_type=Code("52988006", "SCT", "Lesion"),
        algorithm_type=SegmentAlgorithmTypeValues.MANUAL,
    )
    try:
        made = Segmentation(
            source_images=[complete_header(header)],
            pixel_array=mask[None],
            segmentation_type=SegmentationTypeValues.BINARY,
            segment_descriptions=[segment],
            series_instance_uid=generate_uid(prefix=None),
            series_number=1,
            sop_instance_uid=generate_uid(prefix=None),
            instance_number=1,
            device_serial_number="1",
            series_description="Semblance",
            content_label="REGION",
            content_description=NOT_FOR_PATIENTS,
            **equipment(versions),
        )
    except (ValueError, AttributeError, KeyError, TypeError, NotImplementedError) as error:
        raise BadInput(
            tr_lazy(
                "A region of this kind of image cannot be written as a segmentation: {reason}", reason=error
            ),
            "Save the region as a mask instead.",
        ) from error
    if "FrameOfReferenceUID" not in header:
        made.PatientOrientation = header.get("PatientOrientation", "")
    return encoded(made)
