"""Every extractor, by name."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.fusion import Fusion
from semblance.core.features.single_extractors import extractor_names as single_names
from semblance.core.features.single_extractors import known_extractor, single_extractor, single_extractors
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.parameters import Value
from semblance.core.plugins import missing_hint


def extractors() -> tuple[type[Extractor], ...]:
    """All extractors, in the order they are offered; it imports those of plug-ins."""
    return *single_extractors(), Fusion


def extractor_names() -> tuple[str, ...]:
    """The names of all extractors. Imports none of a plug-in."""
    return *single_names(), Fusion.name


def make_extractor(name: str, **settings: Value) -> Extractor:
    """The extractor called ``name`` with ``settings``; defaults fill the rest.

    Raises:
        BadArguments: no such extractor, no such setting, or a refused value.
        BadInput: a file that a setting names cannot be used.
    """
    return extractor_class(name)(**settings)


def extractor_class(name: str, package: str = "") -> type[Extractor]:
    """The extractor called ``name``, not yet made, which a feature set has from the plug-in of ``package``.

    Raises:
        BadArguments: no such extractor.
    """
    return Fusion if name == Fusion.name else single_extractor(name, package)


class AbsentExtractor(Extractor):
    """Stands for the extractor of stored features that this program does not have. Making it says what is missing."""

    title = ""
    summary = ""
    version = -1
    package = ""

    def __init__(self, **settings: Value) -> None:
        """
        Raises:
            BadInput: always.
        """
        raise BadInput(
            tr_lazy("There is no extractor '{name}', which measured these features.", name=self.name),
            missing_hint("extractor", self.name, self.package)
            or tr_lazy(
                "Install the package that it comes with. Cases that are measured can be searched without."
            ),
        )

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """None are known."""
        return ()

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """Never called, as none can be made."""
        raise NotImplementedError


def stored_extractor(name: str, package: str = "") -> type[Extractor]:
    """The extractor that made stored features, a plug-in of ``package``; :class:`AbsentExtractor` where it is
    missing, as cases that are measured can be compared without."""
    if name == Fusion.name:
        return Fusion
    return known_extractor(name) or type("Absent", (AbsentExtractor,), {"name": name, "package": package})
