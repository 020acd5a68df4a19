"""Which cases of a library a metric may be scored on: those unrelated to its training cases."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments
from semblance.core.evaluation.data_sources import case_units, sealed_rows
from semblance.core.evaluation.splits import Rows
from semblance.core.metrics.registry import declared_learner
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.metrics.metric import Metric

Ids = npt.NDArray[np.int64]

#: Key of stored scores: :func:`counted_by_patient` when they were measured.
COUNTED = "counted_by_patient"
#: Key of a card: contents of training cases that the library did not have when the metric was imported.
ELSEWHERE = "trained_elsewhere"


class IdentityIndex:
    """All cases of a library, also those without features, and which are of one patient, one lesion or one image."""

    def __init__(self, library: Library, reporter: Reporter = SILENT) -> None:
        self._library = library
        self.ids, self._codes = case_units(library, reporter)

    def unseen(self, used: npt.ArrayLike, elsewhere: Collection[str] = ()) -> Ids:
        """(f,) ids of the cases that are none of ``used`` (s,) ids, nor of their patients, lesions or images.

        ``elsewhere``: contents of cases used in another library. The library must be open.
        """
        excluded = np.isin(self.ids, np.asarray(used, dtype=np.int64))
        if elsewhere:
            excluded |= np.isin(self.ids, list(self._library.catalogue.rows_of_contents(elsewhere)))
        out: Ids = self.ids[~np.isin(self._codes, self._codes[excluded])]
        return out

    def same_unit(self, rows: npt.ArrayLike) -> Ids:
        """(s,) ids of all cases that are of one patient, one lesion or one image with any of the ids ``rows`` (n,)."""
        codes = self._codes[np.isin(self.ids, np.asarray(rows, dtype=np.int64))]
        out: Ids = self.ids[np.isin(self._codes, codes)]
        return out

    def codes(self, rows: npt.ArrayLike) -> Rows:
        """(n,) a number for each of the case ids ``rows`` (n,), equal for one patient, one lesion or one image."""
        found: Rows = self._codes[np.searchsorted(self.ids, rows)]
        return found


def is_supervised(metric: Metric) -> bool:
    """Whether ``metric`` was fitted to findings or judgements of its training cases.

    A metric whose learner and steps used features alone (the plain distance after PCA) has no information on the
    findings of its training cases.
    """
    if any(step.uses_findings for step in metric.steps):
        return True
    try:
        learner = declared_learner(metric.card.learner)
        return bool(learner.accepts or (learner.uses_given_findings and metric.card.findings))
    except BadArguments:
        # Refined by judgements, or trained by a learner that this version does not have.
        return True


def counted_by_patient(library: Library, training: npt.ArrayLike) -> int:
    """Cases with a finding, of no patient of the ids ``training`` and not sealed.

    The window, which has neither contents nor cases used elsewhere, uses this count to detect stale scores.
    """
    cases = library.catalogue.all_cases()
    trained = set(np.asarray(training).tolist())
    patients = {r.patient for r in cases if r.id in trained and r.patient}
    trained |= set(sealed_rows(library).tolist())
    return sum(bool(r.finding) and r.id not in trained and r.patient not in patients for r in cases)


def contents_elsewhere(card: Mapping[str, Any]) -> tuple[str, ...]:
    """The contents under :data:`ELSEWHERE` of a card; none where it has no such list."""
    contents = card.get(ELSEWHERE)
    return tuple(one for one in contents if isinstance(one, str)) if isinstance(contents, list) else ()
