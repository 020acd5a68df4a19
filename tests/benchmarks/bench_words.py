"""Words and an image together: do the words for a lesion find more cases that turned out the same?

The lesions of mini-MIAS are benign or malignant. The words are the reader's name of the abnormality, such as
"spiculated mass", and never the outcome, which is what counts. No case is compared with its own patient.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.harness import require_data, row

NEAREST, RESAMPLES = 10, 2000


def run(data: Path | None) -> list[dict[str, Any]]:
    """The share of the ten nearest with the outcome of the query, by image, by words with it, and their difference."""
    from semblance.core.library.open_library import open_library
    from semblance.core.searches.query import Query
    from semblance.core.searches.search import Search
    from semblance.core.workflows.features.extract_features import extract_features
    from semblance.core.workflows.library.edit_cases import remove_cases
    from semblance.core.workflows.library.import_source import import_source
    from semblance.core.workflows.metrics.train_metric import train_metric
    from semblance.core.workflows.metrics.train_request import TrainRequest
    from semblance.core.workflows.searches.rank_cases import rank_cases

    source = require_data(data) / "images" / "mias_a.zip"
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "mias.semblance"
        import_source(source, library)
        with open_library(library) as opened:
            normal = [r.case_id for r in opened.catalogue.all_cases() if r.finding == "normal"]
        remove_cases(library, normal)
        extract_features(library, "encoder", workers=1)
        train_metric(library, TrainRequest("euclidean", "plain", "encoder"))
        with open_library(library) as opened:
            lesions = list(opened.catalogue.details([r.id for r in opened.catalogue.all_cases()]).values())
        patients = np.array([one.patient for one in lesions])
        outcomes = np.array([one.finding for one in lesions])
        shares = np.empty((3, len(lesions)))
        for place, lesion in enumerate(lesions):
            for kind, text in enumerate(("", lesion.attributes["abnormality"])):
                search = Search("plain", Query(case=lesion.case_id), text=text)
                ranked = rank_cases(library, search, k=NEAREST).result.ranked
                shares[kind, place] = np.mean([one.finding == lesion.finding for one in ranked])
            shares[2, place] = np.mean(outcomes[patients != lesion.patient] == lesion.finding)
    rng = np.random.default_rng(0)
    groups = [np.flatnonzero(patients == one) for one in np.unique(patients)]
    resampled = [
        np.concatenate([groups[one] for one in rng.integers(len(groups), size=len(groups))])
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile([np.mean(shares[1, at] - shares[0, at]) for at in resampled], [0.025, 0.975])
    name = f"{len(lesions)} lesions of {len(groups)} patients"
    return [
        row(f"{name}: same outcome among ten, {kind}", float(value), "share")
        for kind, value in (
            ("image alone", shares[0].mean()),
            ("image and words", shares[1].mean()),
            ("chance", shares[2].mean()),
            ("difference, lower end of the 95 % interval", low),
            ("difference, upper end of the 95 % interval", high),
        )
    ]
