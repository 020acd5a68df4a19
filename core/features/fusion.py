"""Features of several sets side by side, for a metric that uses all of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.clinical import Clinical
from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.imported import Imported
from semblance.core.features.single_extractors import FUSION, single_extractor
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import Stack
from semblance.core.language import as_lazy, tr_lazy
from semblance.core.parameters import Parameter, Value


@dataclass(frozen=True)
class FusedSet:
    """A feature set that was fused: its name, its extractor with version and settings, and its columns."""

    name: str
    extractor: str
    version: int
    columns: int
    settings: Mapping[str, Value] = field(default_factory=dict)


def fusion_settings(sets: Sequence[FusedSet]) -> dict[str, Value]:
    """The settings of a :class:`Fusion` of ``sets``."""
    return {"sets": json.dumps([asdict(one) for one in sets], sort_keys=True)}


def fused_sets(settings: Mapping[str, Any]) -> tuple[FusedSet, ...]:
    """The inverse of :func:`fusion_settings`.

    Raises:
        BadArguments: other settings.
    """
    try:
        sets = tuple(FusedSet(**one) for one in json.loads(settings["sets"]))
    except (KeyError, TypeError, ValueError):
        sets = ()
    if len(sets) < 2:
        raise BadArguments(
            "The extractor 'fusion' is made of feature sets that are there.",
            "Name them where a metric is trained: --features encoder,mass.",
        )
    return sets


def clinical_columns(extractor: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The clinical columns of a feature set of ``extractor`` with ``settings``, itself or fused; none of others."""
    if extractor == Clinical.name:
        return Clinical(**settings).requested
    sets = fused_sets(settings) if extractor == Fusion.name else ()
    return tuple(name for one in sets for name in clinical_columns(one.extractor, one.settings))


def imported_sets(name: str, extractor: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The imported sets among which a feature set called ``name`` is or was fused; none where all can be measured."""
    if extractor == Imported.name:
        return (name,)
    sets = fused_sets(settings) if extractor == Fusion.name else ()
    return tuple(found for one in sets for found in imported_sets(one.name, one.extractor, one.settings))


class Fusion(Extractor):
    """The numbers of several extractors, one after the other."""

    name = FUSION
    title = "Several feature sets"
    summary = "Several feature sets side by side. `--features a,b` makes it."
    version = 1
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("sets", "", "The feature sets, with their extractors and settings."),
    )

    def __init__(self, **settings: Value) -> None:
        super().__init__(**settings)
        self._sets = fused_sets(self.settings)
        self._extractors = [single_extractor(one.extractor)(**one.settings) for one in self._sets]
        for one, extractor in zip(self._sets, self._extractors, strict=True):
            if one.version != extractor.version:
                raise BadInput(
                    tr_lazy(
                        "The features '{feature_set}' were made by another version of {title}.",
                        feature_set=one.name,
                        title=extractor.title,
                    ),
                    "Extract them again, then train again.",
                )
        self.volumes = any(extractor.volumes for extractor in self._extractors)

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """Those of the extractors; a name that two of them have is followed by its set's."""
        names = [
            extractor.feature_names
            or tuple(FeatureName(f"{one.name} {n}", one.name) for n in range(1, one.columns + 1))
            for one, extractor in zip(self._sets, self._extractors, strict=True)
        ]
        counts = Counter(feature.name for own in names for feature in own)
        return tuple(
            feature
            if counts[feature.name] == 1
            else FeatureName(
                tr_lazy("{feature} ({feature_set})", feature=as_lazy(feature.name), feature_set=one.name),
                feature.group,
            )
            for one, own in zip(self._sets, names, strict=True)
            for feature in own
        )

    @classmethod
    def hides_marks(cls) -> bool:
        """Each of its extractors hides them or not, by its own settings."""
        return False

    @property
    def batch(self) -> int:
        """As many as the extractor that likes most."""
        return max(extractor.batch for extractor in self._extractors)

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """(d,) float32.

        Raises:
            BadInput: one of the extractors refuses it.
        """
        return np.concatenate([extractor.extract(image, region) for extractor in self._extractors])

    def prepare(self, image: Image, region: Region | None = None) -> Any:
        """What each extractor needs of an image.

        Raises:
            BadInput: as :meth:`extract`.
        """
        return [extractor.prepare(image, region) for extractor in self._extractors]

    def prepare_stack(self, stack: Stack, region: Region | None = None) -> Any:
        """What each extractor needs of a volume.

        Raises:
            BadInput: as :meth:`extract`, or a slice cannot be read.
        """
        return [extractor.prepare_stack(stack, region) for extractor in self._extractors]

    def measure(self, prepared: Sequence[Any]) -> npt.NDArray[np.float32]:
        """(n, d) of what :meth:`prepare` gave for n images.

        Raises:
            BadInput: one of them cannot be measured.
        """
        parts = zip(self._extractors, zip(*prepared, strict=True), strict=True)
        return np.concatenate([extractor.measure(list(part)) for extractor, part in parts], axis=1)

    def with_attributes(
        self, numbers: npt.NDArray[Any], attributes: Mapping[str, str]
    ) -> npt.NDArray[np.float64]:
        """(d,) each set's numbers, completed."""
        ends = np.cumsum([one.columns for one in self._sets])[:-1]
        return np.concatenate(
            [
                extractor.with_attributes(own, attributes)
                for extractor, own in zip(self._extractors, np.split(numbers, ends), strict=True)
            ]
        )
