"""A small library of generated mammograms in DICOM, with findings and a metric."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydicom import Dataset

from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.dicom_files import MG, ROOT, image, save

PATIENTS = 12
METRIC = "plain"


def mammogram(patient: int) -> Dataset:
    """The image of a patient; those of odd numbers are brighter."""
    rng = np.random.default_rng(patient)
    return image(
        (rng.integers(0, 200, (48, 48)) + 1000 * (patient % 2)).astype(np.uint16),
        SOPClassUID=MG,
        Modality="MG",
        PatientID=f"MRN{patient:04d}",
        PatientName=f"Quixley{patient:02d}^Ann",
        StudyInstanceUID=f"{ROOT}.5.{patient}",
        SeriesInstanceUID=f"{ROOT}.6.{patient}",
        SOPInstanceUID=f"{ROOT}.7.{patient}",
        StudyDate="20200101",
        AccessionNumber=f"ACC{patient:04d}",
        PixelSpacing=[0.1, 0.1],
        InstanceNumber=1,
        SeriesNumber=1,
        PatientOrientation=["A", "F"],
    )


def mammogram_library(folder: Path) -> Path:
    """A library of :data:`PATIENTS` patients, odd ones malignant, ranked by :data:`METRIC`."""
    for patient in range(PATIENTS):
        save(mammogram(patient), folder / "in" / f"{patient:02d}.dcm")
    findings = "".join(f"{n:02d}.dcm,{'malignant' if n % 2 else 'benign'}\n" for n in range(PATIENTS))
    (folder / "in" / "labels.csv").write_text(f"file,finding\n{findings}")
    library = folder / "mammograms.semblance"
    import_source(folder / "in", library)
    extract_features(library, "pixels", workers=1)
    train_metric(library, TrainRequest("euclidean", METRIC))
    return library
