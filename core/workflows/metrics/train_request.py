"""The settings of a training, and their record on the card of the metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.parameters import Value

if TYPE_CHECKING:
    from semblance.core.library.records import MetricRecord

#: Share of the cases held out from training by default.
HELD_OUT = 0.3
#: Key of a card in a library: the request beside learner, settings and seed, by the names of the command's
#: options; and the mark of a request that the command has no options for.
REQUESTED, ONLY_IN_WINDOW = "asked", "only in the window"
#: Key of the card of a metric that a preparation made: the learners it was compared with; and of one that is used only
#: until all cases are measured.
PREPARED, PROVISIONAL = "prepared", "provisional"
#: The entry with the weight of places beside the metric, where they join it.
PLACE_WEIGHT = "place_weight"
_SEED, _JUDGEMENTS_ALONE = "seed", "judgements alone"


@dataclass(frozen=True)
class TrainRequest:
    """A training to run. ``steps`` as on the command line, "" for the extractor's default.

    ``judgements``: the ledger to learn from beside the findings, "" for none; without ``from_findings`` the
    metric learns from the ledger alone, and findings only score. ``held_out``: share of the cases, 0 to 1.
    ``control``: also train the control with shuffled findings, on at most 1,000 of the cases.
    """

    learner: str
    name: str
    features: str | None = None
    steps: str = ""
    findings: str = ""
    max_cases: int | None = None
    settings: Mapping[str, Value] | None = None
    seed: int = 0
    held_out: float = HELD_OUT
    judgements: str = ""
    from_findings: bool = True
    control: bool = True

    def card_entries(self) -> dict[str, Any]:
        """The entries of the request on the card of the stored metric."""
        options = {
            "steps": self.steps,
            "max-cases": self.max_cases,
            "judgements": self.judgements,
            ONLY_IN_WINDOW: self.held_out != HELD_OUT or not self.from_findings,
            _SEED: self.seed,
            _JUDGEMENTS_ALONE: not self.from_findings,
        }
        set_options = {option: value for option, value in options.items() if value}
        return {"findings_map": self.findings, REQUESTED: set_options}


def has_same_settings(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two cards are of metrics trained with the same settings on the same findings of the same features."""
    entries = (
        "learner",
        "feature_set",
        "parameters",
        "steps",
        "findings",
        "findings_map",
        "split",
        REQUESTED,
    )
    return all(one.get(entry) == other.get(entry) for entry in entries)


def stored_request(record: MetricRecord) -> TrainRequest:
    """The request a stored metric was trained by, without the number of cases and the held-out share, which follow
    from its training cases.

    Raises:
        BadInput: its card has no request, because it was not trained in this library.
    """
    requested = record.card.get(REQUESTED)
    if not isinstance(requested, Mapping):
        raise BadInput(
            tr_lazy("The metric '{name}' was not trained in this library.", name=record.name),
            "It can be trained again only where it was trained. Train a metric of this library.",
        )
    split = record.card.get("split")
    seed = requested.get(_SEED) or (split.get("seed") if isinstance(split, Mapping) else None)
    return TrainRequest(
        record.learner,
        record.name,
        steps=str(requested.get("steps") or ""),
        findings=str(record.card.get("findings_map") or ""),
        seed=seed if isinstance(seed, int) else 0,
        judgements=str(requested.get("judgements") or ""),
        from_findings=not requested.get(_JUDGEMENTS_ALONE),
    )
