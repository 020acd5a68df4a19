"""Whether cases of one finding are measured in regions and those of another in whole images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.features.registry import stored_extractor
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import FeatureSet

#: Cases of each finding that are examined.
SAMPLED_CASES = 200
#: Findings whose shares of cases with a region differ by more than this are separated by that alone.
FAR_APART = 0.5


def region_imbalance_warning(
    library: Library, feature_set: FeatureSet, rows: npt.NDArray[np.int64], findings: Sequence[str]
) -> str:
    """A warning if regions reveal the findings, otherwise an empty text.

    ``rows`` (n,) are case ids, ``findings`` (n,) their findings. A mass outlined by hand and a whole image differ in
    every feature of size and margin, whatever they show, so the scores are too high.
    """
    if not stored_extractor(feature_set.extractor).needs_image:
        return ""
    names = np.asarray(findings)
    shares = {}
    for finding in sorted(set(findings)):
        if finding:
            some = rows[names == finding]
            some = some[:: max(1, len(some) // SAMPLED_CASES)]
            details = library.catalogue.details([int(row) for row in some]).values()
            shares[finding] = sum(case.region is not None for case in details) / max(1, len(details))
    if not shares or max(shares.values()) - min(shares.values()) <= FAR_APART:
        return ""
    most, least = max(shares, key=lambda name: shares[name]), min(shares, key=lambda name: shares[name])
    return tr_lazy(
        "Most cases of '{most}' are measured in a region, most cases of '{least}' in the whole image. That "
        "alone may distinguish them, so scores may be too high. Leave one of these findings out, or draw "
        "regions in all cases.",
        most=most,
        least=least,
    )
