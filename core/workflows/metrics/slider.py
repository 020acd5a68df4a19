"""The slider from visual to diagnostic likeness: BDM+V at several places, trained at once, kept together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import BadInput
from core.evaluation.data import prepare
from core.evaluation.findings_map import parse_findings_map
from core.evaluation.reading import library_data
from core.evaluation.splits import HoldOut, holdout
from core.language import known, say, say_all
from core.library import open_library
from core.library.records import checked_name
from core.metrics.papers.bdm_between import BDMBetween
from core.tasks import SILENT, Reporter
from core.workflows.metrics.training import TrainRequest, fit_and_score, keep_metric

#: Places of the slider, in per cent diagnostic: of the pairs a step learns from, so many are findings' word,
#: the others those of looks.
PLACES = (0, 30, 50, 70, 85, 100)
#: Where the slider begins: findings count most, and looks are kept.
BEGIN = 70
#: Key of a card that says which slider a metric is a step of.
CARD_KEY = "slider"
#: Cases a step learns from at most: its pairs are given one by one, which takes long for many cases.
MOST_TRAINING = 2000


@dataclass(frozen=True)
class SliderStep:
    """One step: the name of its metric, its place in per cent diagnostic, and its held-out accuracy@10."""

    metric: str
    place: int
    accuracy: float | None = None
    measured_on: str = ""

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Slider:
    """The steps of one slider, from visual to diagnostic."""

    name: str
    steps: tuple[SliderStep, ...]

    def nearest(self, place: float) -> SliderStep:
        """The step nearest to ``place``, in per cent diagnostic."""
        return min(self.steps, key=lambda step: abs(step.place - place))

    def to_json(self) -> dict[str, Any]:
        return {"slider": self.name, "steps": [step.to_json() for step in self.steps]}


def step_name(slider: str, place: int) -> str:
    """The name of the metric that is one step."""
    return f"{slider} {place} %"


def slider_of(card: Mapping[str, Any]) -> tuple[str, int] | None:
    """Slider and place of a metric with this card; ``None`` where it is no step of one."""
    told = card.get(CARD_KEY)
    if not isinstance(told, Mapping):
        return None
    name, place = told.get("name"), told.get("place")
    return (name, place) if isinstance(name, str) and isinstance(place, int) else None


def gather(cards: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Slider]:
    """The sliders among metrics, (name, card) each, by name; steps that are gone are passed over."""
    found: dict[str, list[SliderStep]] = {}
    for metric, card in cards:
        belongs = slider_of(card)
        if belongs is not None:
            scores = card.get("scores") or {}
            step = SliderStep(
                metric, belongs[1], scores.get("retrieval_accuracy@10"), str(card.get("measured_on") or "")
            )
            found.setdefault(belongs[0], []).append(step)
    return {
        name: Slider(name, tuple(sorted(steps, key=lambda step: step.place))) for name, steps in found.items()
    }


def prepare_slider(library: Path, request: TrainRequest, *, reporter: Reporter = SILENT) -> Slider:
    """Train BDM+V at every one of PLACES on the same training part of ``library``, score all, keep all.

    ``request.learner`` is not used; ``request.name`` is the slider's. Nothing is kept before all are trained;
    a slider of the same name is replaced. Asked to stop, every step keeps the best it has.

    Of more than MOST_TRAINING training cases so many are drawn; the held-out part stays whole.

    Raises:
        BadArguments: unknown setting, step or feature set.
        BadInput: too few cases or findings, or data that cannot be used.
        Cancelled: asked for by the reporter; nothing is kept.
    """
    request = replace(request, name=checked_name(request.name, say("A slider")))
    settings: dict[str, Any] = {"random_state": request.seed, **(request.settings or {})}
    with open_library(library, writable=True) as opened:
        feature_set = opened.features.get(request.features)
        reporter.progress(0, len(PLACES), "Reading features")
        everything = library_data(opened, feature_set)
        if not any(everything.y):
            raise BadInput(
                say(
                    "{everything} has no findings, and the diagnostic end learns from them.",
                    everything=everything.name,
                ),
                "Give the cases findings (a labels.csv).",
            )
        renamed = parse_findings_map(request.findings) if request.findings else None
        data = prepare(everything, findings=renamed, max_cases=request.max_cases, seed=request.seed)
        split = holdout(data.y.tolist(), data.units, request.seed, request.held_out)
        split = _bounded(split, request.seed)
        made = []
        for number, place in enumerate(PLACES):
            learner = BDMBetween(visual_share=1.0 - place / 100.0, **settings)
            one = replace(request, learner=learner.name, name=step_name(request.name, place))
            part = _Part(reporter, number)
            metric, kept = fit_and_score(opened, feature_set, one, learner, data, everything, split, part)
            made.append((place, one, metric, kept))
        train = data.rows(split.train)
        for place, one, metric, kept in made:
            told = {CARD_KEY: {"name": request.name, "place": place}}
            keep_metric(opened, feature_set, one, metric, train, kept, reporter, **told)
        return gather((record.name, record.card) for record in opened.metrics())[request.name]


def _bounded(split: HoldOut, seed: int) -> HoldOut:
    """With at most MOST_TRAINING training cases, drawn at random; the others are in neither part."""
    if len(split.train) <= MOST_TRAINING:
        return split
    drawn = np.random.default_rng(seed).choice(split.train, MOST_TRAINING, replace=False)
    return replace(split, train=np.sort(drawn))


class _Part(Reporter):
    """One step of several: its rounds move the whole on by a part."""

    def __init__(self, outer: Reporter, number: int) -> None:
        self._outer, self._number, self._share = outer, number, 0.0

    def progress(self, done: int, total: int | None, what: str) -> None:
        # Neighbours, rounds and scores each count from nothing: what was reached stays.
        self._share = max(self._share, min(1.0, done / total) if total else 0.0)
        place = say("{places} % diagnostic", places=PLACES[self._number])
        reached = round(100 * (self._number + self._share))
        self._outer.progress(reached, 100 * len(PLACES), say_all([known(what), place]))

    def check_cancelled(self) -> None:
        self._outer.check_cancelled()

    @property
    def stop_requested(self) -> bool:
        return self._outer.stop_requested
