"""The slider from visual to diagnostic similarity: BDM+V at several places, trained and stored together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from semblance.core.errors import BadInput
from semblance.core.evaluation.data import parse_findings_map
from semblance.core.evaluation.data_sources import library_data
from semblance.core.language import as_lazy, join_texts, tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import checked_name
from semblance.core.metrics.declarations import BDMVisualShare
from semblance.core.metrics.registry import estimator_class
from semblance.core.tasks import SILENT, PartReporter, Reporter
from semblance.core.workflows.metrics.slider_steps import CARD_KEY, PLACES, Slider, sliders_by_name, step_name
from semblance.core.workflows.metrics.stored_metric import store_metric
from semblance.core.workflows.metrics.train_metric import fit_and_score
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.metrics.training_data import split_cases

#: Cases a step is trained on at most by default, because training on its explicit pairs takes long for many cases.
MOST_TRAINING = 2000


def prepare_slider(library: LibraryLocation, request: TrainRequest, *, reporter: Reporter = SILENT) -> Slider:
    """Train BDM+V at every one of PLACES on the same training part of ``library``, score all, store all.

    ``request.learner`` is not used; ``request.name`` is the slider's. Nothing is stored before all are trained;
    a slider of the same name is replaced. If it is stopped, every step is stored with its best round.

    Of more than MOST_TRAINING training cases each step is trained on the same sample, unless the settings say
    otherwise.

    Raises:
        BadArguments: unknown setting, step or feature set.
        BadInput: too few cases or findings, or data that cannot be used.
        Cancelled: the reporter was cancelled; nothing is stored.
    """
    request = replace(request, name=checked_name(request.name, tr_lazy("A slider")))
    settings: dict[str, Any] = {
        "random_state": request.seed,
        "training_cases": MOST_TRAINING,
        **(request.settings or {}),
    }
    with open_library(library, writable=True) as opened:
        feature_set = opened.features.get(request.features)
        reporter.progress(0, len(PLACES), "Reading features")
        everything = library_data(opened, feature_set)
        if not any(everything.y):
            raise BadInput(
                tr_lazy(
                    "{everything} has no findings, and the diagnostic end learns from them.",
                    everything=everything.name,
                ),
                "Give the cases findings (a labels.csv).",
            )
        findings_map = parse_findings_map(request.findings) if request.findings else None
        data = split_cases(feature_set, everything, findings_map, request)
        trained = []
        for number, place in enumerate(PLACES):
            learner = estimator_class(BDMVisualShare)(visual_share=1.0 - place / 100.0, **settings)
            one = replace(request, learner=learner.name, name=step_name(request.name, place))
            metric, scores = fit_and_score(opened, one, learner, data, _StepProgress(reporter, number))
            trained.append((place, one, metric, scores))
        for place, one, metric, scores in trained:
            entries = {CARD_KEY: {"name": request.name, "place": place}}
            store_metric(opened, one, metric, data, scores, reporter, **entries)
        return sliders_by_name((record.name, record.card) for record in opened.metrics())[request.name]


class _StepProgress(PartReporter):
    """The progress of one step, as a part of the whole progress."""

    def __init__(self, whole: Reporter, number: int) -> None:
        super().__init__(whole)
        self._number, self._share = number, 0.0

    def progress(self, done: int, total: int | None, what: str) -> None:
        # Neighbours, rounds and scores each count from 0; the progress never goes back.
        self._share = max(self._share, min(1.0, done / total) if total else 0.0)
        place = tr_lazy("{places} % diagnostic", places=PLACES[self._number])
        reached = round(100 * (self._number + self._share))
        self._whole.progress(reached, 100 * len(PLACES), join_texts([as_lazy(what), place]))
