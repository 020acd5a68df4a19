"""Which extractors suit the cases of a library, and why others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semblance.core.features.clinical import Clinical
from semblance.core.features.extractor import Extractor
from semblance.core.features.fusion import Fusion
from semblance.core.features.registry import extractors
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.workflows.features.clinical_features import has_clinical_columns

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from semblance.core.library.library import Library
    from semblance.core.library.records import CaseDetails

#: The default for images.
OF_IMAGES = "encoder"
#: Offered second if cases have regions, otherwise last: without a region it would measure the whole image as a mass.
OF_REGIONS = "mass"
#: The kinds of source that have a default of their own.
OF_KIND = {"polyps": "polyp", "lung": "lung_texture"}
#: Made for regions of lung CT.
OF_LUNG = "lung_texture"
#: What the images of these kinds of source are, in DICOM's terms. Others may be anything.
MODALITY_OF_KIND = {"mammograms": "MG", "ultrasound": "US", "polyps": "CT", "lung": "CT"}
#: Number of cases, spread over the library, that are checked for regions.
SAMPLED_CASES = 500


@dataclass(frozen=True)
class ExtractorSuitability:
    """An extractor by ``name``; ``reason``: why it does not suit the cases, empty if it does."""

    name: str
    reason: str = ""

    @property
    def is_suitable(self) -> bool:
        """Whether the extractor suits the cases."""
        return not self.reason


def extractor_suitabilities(
    library: Library, rows: npt.NDArray[np.int64]
) -> tuple[ExtractorSuitability, ...]:
    """All extractors: those that suit the cases of ``library``, the default first, then the others. ``rows`` (n,): the
    ids of its cases.

    The default is the one made for the kind of source, else ``encoder``, of tables ``raw``.
    """
    sampled = rows[:: max(1, len(rows) // SAMPLED_CASES)]
    details = library.catalogue.details(sampled.tolist())
    with_tables = any(source.columns for source in library.catalogue.sources())
    kinds = library.catalogue.kinds_of_cases() | ({False} if with_tables else set())
    volumes = any(found.depth is not None for found in details.values())
    regions = any(found.region is not None for found in details.values())
    made_for = {OF_KIND[found.kind] for found in details.values() if found.kind in OF_KIND}
    attributes = [one.attributes for one in details.values()]
    modalities = {_modality(found) for found in details.values() if found.address is not None}

    def reason(extractor: type[Extractor]) -> str:
        general = _reason(extractor, kinds, volumes, attributes)
        return general or _reason_of_modality(extractor.name, modalities, regions)

    found = [ExtractorSuitability(one.name, reason(one)) for one in extractors()]

    def precedence(fit: ExtractorSuitability) -> tuple[bool, ...]:
        masses = fit.name == OF_REGIONS
        made = fit.name in made_for
        return not fit.is_suitable, not made, fit.name != OF_IMAGES, not (masses and regions), masses

    return tuple(sorted(found, key=precedence))


def suitable_extractors(library: LibraryLocation) -> list[str]:
    """Names of the extractors that suit the cases of a library, the default first."""
    with open_library(library) as opened:
        return [
            fit.name
            for fit in extractor_suitabilities(opened, opened.catalogue.case_rows())
            if fit.is_suitable
        ]


def _reason(
    extractor: type[Extractor], kinds: set[bool], volumes: bool, attributes: Sequence[Mapping[str, str]]
) -> str:
    if not kinds:
        return tr_lazy("the library has no cases")
    if extractor.needs_image and True not in kinds:
        return tr_lazy("the cases are rows of a table")
    if extractor.needs_table and False not in kinds:
        return tr_lazy("no case comes from a table")
    if extractor is Clinical:
        return "" if has_clinical_columns(attributes) else tr_lazy("no case has columns such as age or sex")
    if extractor is Fusion:
        return tr_lazy("it is made by naming several feature sets where a metric is trained")
    return "" if volumes or not extractor.needs_volume else tr_lazy("no case is a volume")


def _modality(case: CaseDetails) -> str:
    """The modality of a case's image, such as ``CT``; empty if nothing says it."""
    return case.attributes.get("modality") or MODALITY_OF_KIND.get(case.kind, "")


def _reason_of_modality(name: str, modalities: Set[str], regions: bool) -> str:
    """Why an extractor that was made for some images does not suit those of ``modalities``; empty if it may."""
    if name == OF_REGIONS and modalities == {"CT"} and not regions:
        return tr_lazy("the images are CT, and no region is marked in them")
    if name == OF_LUNG and modalities and not modalities & {"CT", ""}:
        return tr_lazy("no image is CT")
    return ""
