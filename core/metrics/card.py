"""The card of a metric: what it is, what it was trained on and how it scored."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from semblance.core.errors import BadInput
from semblance.core.json_document import JsonDocument
from semblance.core.language import restored_text, stored_messages, tr_lazy
from semblance.core.parameters import Value


@dataclass(frozen=True)
class Split(JsonDocument):
    """How training cases were split off; ``by_patient``: no patient is on both sides."""

    seed: int
    fraction: float
    by_patient: bool


@dataclass(frozen=True)
class MetricCard:
    """The facts about a metric that a user needs before relying on it.

    ``plugin``: ``package`` and ``version`` of what the learner comes from, empty for a learner of this program.
    ``findings`` counts the training cases of each; ``n_patients`` and ``split`` are ``None`` where unknown.
    ``constraints`` counts the constraints it was trained on (similar, dissimilar, visual, triplets). ``scores`` hold
    by name what was measured on ``measured_on``. ``steps`` are descriptions in order; ``imputed`` counts missing
    values of the training part, ``dropped_columns`` names constant ones, ``selected_columns`` those a selection kept,
    the first chosen first; ``clinical_columns`` are among the features. ``notes`` say how training ended.
    ``authors``: the authors of its judgements; they stay in the library and are in no report. ``created`` is ISO 8601
    in UTC. ``content_hash`` covers everything that determines the distances, not this card. ``unverified``: it came
    from a file, and whether that is as it was exported cannot be told.
    """

    learner: str
    plugin: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    parameters: Mapping[str, Value] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    library: str = ""
    feature_set: str = ""
    findings: Mapping[str, int] = field(default_factory=dict)
    n_cases: int = 0
    n_patients: int | None = None
    split: Split | None = None
    constraints: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[str, Any] = field(default_factory=dict)
    measured_on: str = ""
    imputed: int = 0
    dropped_columns: tuple[str, ...] = ()
    selected_columns: tuple[str, ...] = ()
    clinical_columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rounds: int | None = None
    authors: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    created: str = ""
    content_hash: str = ""
    unverified: bool = False

    def to_json(self) -> dict[str, Any]:
        """JSON values; the inverse of :meth:`from_json`."""
        values: dict[str, Any] = {}
        for entry in dataclasses.fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, Split):
                value = value.to_json()
            elif isinstance(value, tuple):
                value = list(value)
            elif isinstance(value, Mapping):
                value = dict(value)
            values[entry.name] = value
        # The texts are English; their messages let the window translate them.
        if messages := stored_messages((*self.steps, *self.notes)):
            values["messages"] = messages
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Unknown names are ignored, missing ones have their default.

        Raises:
            BadInput: a value of the wrong kind.
        """
        given: dict[str, Any] = {}
        for entry in dataclasses.fields(cls):
            if entry.name not in values:
                continue
            value, kinds = values[entry.name], _KINDS[entry.name]
            if not isinstance(value, kinds) or isinstance(value, bool) != (kinds == (bool,)):
                raise BadInput(tr_lazy("The card of the metric has no usable '{entry}'.", entry=entry.name))
            if (
                isinstance(value, dict)
                and entry.name in _COUNTS
                and any(type(n) is not int for n in value.values())
            ):
                raise BadInput(tr_lazy("The card of the metric has no usable '{entry}'.", entry=entry.name))
            if entry.name == "plugin" and any(
                type(one) is not str for one in dict(values[entry.name]).values()
            ):
                raise BadInput(tr_lazy("The card of the metric has no usable '{entry}'.", entry=entry.name))
            if isinstance(value, list):
                value = tuple(str(item) for item in value)
            if entry.name in ("steps", "notes"):
                value = tuple(restored_text(item, values.get("messages")) for item in value)
            given[entry.name] = value
        if "learner" not in given:
            raise BadInput("The card of the metric does not name its learner.")
        if given.get("split") is not None:
            given["split"] = _split(given["split"])
        return cls(**given)


def _split(values: Mapping[str, Any]) -> Split:
    seed, fraction, by_patient = (values.get(name) for name in ("seed", "fraction", "by_patient"))
    if not isinstance(seed, int) or not isinstance(fraction, int | float) or not isinstance(by_patient, bool):
        raise BadInput("The card of the metric has no usable 'split'.")
    return Split(seed, float(fraction), by_patient)


_TEXTS = dict.fromkeys(
    ("learner", "name", "library", "feature_set", "measured_on", "created", "content_hash"), (str,)
)
_LISTS = dict.fromkeys(
    ("steps", "dropped_columns", "selected_columns", "clinical_columns", "notes", "authors"), (list,)
)
_TABLES = dict.fromkeys(("plugin", "parameters", "findings", "constraints", "scores", "versions"), (dict,))
#: Tables whose values are whole numbers.
_COUNTS = frozenset(("findings", "constraints"))
_KINDS: dict[str, tuple[type, ...]] = {
    **_TEXTS,
    **_LISTS,
    **_TABLES,
    "n_cases": (int,),
    "imputed": (int,),
    "n_patients": (int, type(None)),
    "rounds": (int, type(None)),
    "split": (dict, type(None)),
    "unverified": (bool,),
}
