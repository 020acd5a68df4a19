"""The steps of a slider from visual to diagnostic similarity, read from the cards of their metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from semblance.core.json_document import JsonDocument, JsonKeys

#: Places of the slider, in per cent diagnostic: the share of a step's training pairs that come from findings. The
#: others come from visual neighbours.
PLACES = (0, 30, 50, 70, 85, 100)
#: The default place: findings count most, and visual similarity still counts.
DEFAULT_PLACE = 70
#: Key of a card that says which slider a metric is a step of.
CARD_KEY = "slider"


@dataclass(frozen=True)
class SliderStep(JsonDocument):
    """One step: the name of its metric, its place in per cent diagnostic, and its held-out accuracy@10."""

    metric: str
    place: int
    accuracy: float | None = None
    measured_on: str = ""


@dataclass(frozen=True)
class Slider(JsonDocument):
    """The steps of one slider, from visual to diagnostic."""

    JSON_KEYS: ClassVar[JsonKeys] = (("slider", "name"), "steps")

    name: str
    steps: tuple[SliderStep, ...]

    def nearest(self, place: float) -> SliderStep:
        """The step nearest to ``place``, in per cent diagnostic."""
        return min(self.steps, key=lambda step: abs(step.place - place))


def step_name(slider: str, place: int) -> str:
    """The name of the metric that is one step."""
    return f"{slider} {place} %"


def slider_of(card: Mapping[str, Any]) -> tuple[str, int] | None:
    """Slider and place of a metric with this card; ``None`` where it is no step of one."""
    entry = card.get(CARD_KEY)
    if not isinstance(entry, Mapping):
        return None
    name, place = entry.get("name"), entry.get("place")
    return (name, place) if isinstance(name, str) and isinstance(place, int) else None


def sliders_by_name(cards: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Slider]:
    """The sliders among metrics, (name, card) each, by name; steps that were deleted are left out."""
    found: dict[str, list[SliderStep]] = {}
    for metric, card in cards:
        belongs = slider_of(card)
        if belongs is not None:
            scores = card.get("scores") or {}
            accuracy = next((scores[name] for name in scores if name.startswith("retrieval_accuracy@")), None)
            step = SliderStep(metric, belongs[1], accuracy, str(card.get("measured_on") or ""))
            found.setdefault(belongs[0], []).append(step)
    return {
        name: Slider(name, tuple(sorted(steps, key=lambda step: step.place))) for name, steps in found.items()
    }
