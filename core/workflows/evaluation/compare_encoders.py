"""Compare encoders on the cases of one library: the same learners on the features of each, with the same held-out
cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.engine import run_parts
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.evaluation.data import EvaluationData, parse_findings_map, prepare
from semblance.core.evaluation.data_sources import read_case_data, sealed_rows
from semblance.core.evaluation.protocols.papers import BDMProtocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.result import EvaluationResult
from semblance.core.evaluation.significance import corrected_t_test
from semblance.core.features.encoder.model_file import RANDOM
from semblance.core.features.extractor import Extractor
from semblance.core.features.registry import make_extractor
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.metrics.registry import declared_learner, learner_title
from semblance.core.metrics.steps.sequence import chosen_steps
from semblance.core.parameters import Value
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.extract_features import measure_cases
from semblance.core.workflows.features.open_volumes import case_images

if TYPE_CHECKING:
    from semblance.core.library.library import Library

#: Cases measured at most by default.
MOST_CASES = 1000
REPEATS = 5
SCORE = "retrieval_accuracy@10"
#: Cases that a worker measures together.
_PART = 64


@dataclass(frozen=True)
class ComparedExtractor:
    """An extractor with its settings and steps ("": its default) under the ``name`` it is shown by."""

    name: str
    extractor: str
    settings: Mapping[str, Value] = field(default_factory=dict)
    steps: str = ""


#: The first is what the others are compared with.
COMPARED_EXTRACTORS = (
    ComparedExtractor("encoder", "encoder"),
    ComparedExtractor("encoder, random weights", "encoder", {"weights": RANDOM}),
    ComparedExtractor("gabor", "gabor"),
    # Principal components leave distances of pixels as they are, nearly, and learners quick.
    ComparedExtractor("pixels 28 x 28", "pixels", {"size": 28}, "pca:64"),
)


@dataclass(frozen=True)
class EncoderRequest:
    """Which encoders and ``learners`` to compare on which cases.

    ``own``: (model, settings) files of a user's own encoders. ``findings`` as on the command line.
    """

    own: tuple[tuple[Path, Path], ...] = ()
    learners: tuple[str, ...] = ("euclidean", "bdm_v")
    findings: str = ""
    max_cases: int = MOST_CASES
    repeats: int = REPEATS
    seed: int = 0

    @property
    def contenders(self) -> tuple[ComparedExtractor, ...]:
        """Those of :data:`COMPARED_EXTRACTORS` and the user's own."""
        own = [
            ComparedExtractor(model.stem, "onnx", {"model": str(model), "settings": str(settings)})
            for model, settings in self.own
        ]
        return (*COMPARED_EXTRACTORS, *own)


def compare_encoders(
    library: LibraryLocation, request: EncoderRequest, *, reporter: Reporter = SILENT
) -> dict[str, Any]:
    """Measure the same cases with each encoder and score learners on them by the protocol ``bdm``.

    ``{"source", "seed", "repeats", "measured_on", "encoders": [{"name", "extractor", "settings", "n_features",
    "results": as of "evaluate"}], "comparisons": [{"a", "b", "learner", "score", "difference", "ci95", "p_value"}],
    "failed": [{"name", "reason"}], "left_out": [{"case_id", "reason"}]}``. The features are not stored. Cases that
    one encoder cannot measure are left out for all.

    Raises:
        BadArguments: an unknown learner, or two encoders of one name.
        BadInput: an encoder's file or its settings cannot be read, there are too few cases with images and findings,
            no encoder could be run, or no learner be scored.
    """
    names = [one.name for one in request.contenders]
    if len(set(names)) < len(names):
        raise BadArguments("Two encoders have the same name.", "Rename one of the files.")
    specs = [LearnerSpec(declared_learner(name).name) for name in request.learners]
    # Files that cannot be read are reported before the first encoder is run, which takes minutes.
    extractors = [make_extractor(one.extractor, **one.settings) for one in request.contenders]
    failed: list[dict[str, str]] = []
    measured: list[tuple[ComparedExtractor, dict[int, npt.NDArray[np.float32]]]] = []
    reasons: dict[int, str] = {}
    with open_library(library) as opened:
        cases = _cases(opened, request)
        ids, case_ids = cases.case_rows, cases.case_ids
        assert ids is not None
        assert case_ids is not None
        for contender, extractor in zip(request.contenders, extractors, strict=True):
            try:
                rows, refused = _measure(opened, contender.name, extractor, ids, reporter)
            except SemblanceError as error:
                failed.append({"name": contender.name, "reason": str(error)})
                continue
            measured.append((contender, rows))
            reasons |= refused
    if not measured:
        raise BadInput("None of the encoders can be run.", failed[0]["reason"])
    shared = cases.rows(np.flatnonzero([row not in reasons for row in ids.tolist()]))
    results = [_scored(one, rows, shared, specs, request, reporter) for one, rows in measured]
    failed += [
        {
            "name": one.name,
            "reason": tr_lazy(
                "{learner}: {reason}", learner=learner_title(failure.learner), reason=failure.reason
            ),
        }
        for (one, _), result in zip(measured, results, strict=True)
        for failure in result.failed
    ]
    if not any(result.results for result in results):
        raise BadInput("No learner could be scored on these cases.", failed[0]["reason"])
    names_of = dict(zip(ids.tolist(), case_ids.tolist(), strict=True))
    return {
        "source": dict(results[0].source) | {"path": str(library), "n_features": None},
        "seed": request.seed,
        "repeats": results[0].repeats,
        "measured_on": results[0].measured_on,
        "encoders": [
            {
                "name": one.name,
                "extractor": one.extractor,
                "settings": dict(one.settings),
                "n_features": result.source["n_features"],
                "results": [learner.to_json() for learner in result.results],
            }
            for (one, _), result in zip(measured, results, strict=True)
        ],
        "comparisons": _comparisons([one.name for one, _ in measured], results),
        "failed": failed,
        "left_out": [{"case_id": names_of[row], "reason": reason} for row, reason in sorted(reasons.items())],
    }


def _cases(library: Library, request: EncoderRequest) -> EvaluationData:
    """The cases with an image and a finding, at most ``max_cases``, without numbers yet."""
    rows = np.array(
        [r.id for r in library.catalogue.all_cases() if r.has_image and r.finding], dtype=np.int64
    )
    rows = np.setdiff1d(rows, sealed_rows(library))
    if not len(rows):
        raise BadInput(
            tr_lazy("{library} has no images with findings.", library=library.location.name),
            "Give the cases findings (a labels.csv).",
        )
    findings = parse_findings_map(request.findings) if request.findings else None
    everything = read_case_data(library, rows, np.zeros((len(rows), 1)))
    return prepare(everything, findings=findings, max_cases=request.max_cases, seed=request.seed)


def _measure(
    library: Library, name: str, extractor: Extractor, rows: npt.NDArray[np.int64], reporter: Reporter
) -> tuple[dict[int, npt.NDArray[np.float32]], dict[int, str]]:
    """The features of the cases ``rows`` by id, and why others have none."""
    images = case_images(library, rows)
    parts = [images[start : start + _PART] for start in range(0, len(images), _PART)]
    found: dict[int, npt.NDArray[np.float32]] = {}
    refused: dict[int, str] = {}
    title = tr_lazy("Measuring with {name}", name=name)
    measure = partial(measure_cases, extractor.name, extractor.settings)
    for part in run_parts(measure, parts, title=title, reporter=reporter):
        found |= dict(zip(part.rows.tolist(), part.values, strict=True))
        refused |= {row: reason for row, _, reason in part.failures}
    return found, refused


def _scored(
    contender: ComparedExtractor,
    rows: Mapping[int, npt.NDArray[np.float32]],
    cases: EvaluationData,
    specs: Sequence[LearnerSpec],
    request: EncoderRequest,
    reporter: Reporter,
) -> EvaluationResult:
    assert cases.case_rows is not None
    X = np.stack([rows[row] for row in cases.case_rows.tolist()]).astype(np.float64)
    data = replace(cases, X=X, feature_names=(), feature_groups=())
    steps = chosen_steps(contender.steps, contender.extractor)
    return BDMProtocol().run(
        data, specs, steps=steps, repeats=request.repeats, seed=request.seed, reporter=reporter
    )


def _comparisons(names: Sequence[str], results: Sequence[EvaluationResult]) -> list[dict[str, Any]]:
    """The first encoder against each other, learner by learner, on the same splits."""
    first, found = results[0], []
    for name, other in zip(names[1:], results[1:], strict=True):
        own = {one.learner: one for one in other.results}
        for one in first.results:
            other_scores = own[one.learner].scores if one.learner in own else {}
            if SCORE not in one.scores or SCORE not in other_scores:
                continue
            values = one.scores[SCORE].values, other_scores[SCORE].values
            difference = corrected_t_test(*values, first.split.n_train, first.split.n_test)
            if difference is not None:
                row = {"a": names[0], "b": name, "learner": one.learner, "score": SCORE, **vars(difference)}
                found.append(row | {"ci95": list(difference.ci95)})
    return found
