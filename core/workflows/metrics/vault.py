"""The sealed test vault: seal patients, report its content, and open it to test a finished metric.

Everything that reads features to choose a metric leaves out the cases of
:func:`semblance.core.evaluation.data_sources.sealed_rows`. Each further test on the same patients is worth less,
because what is chosen next may follow from it (Dwork et al., "The reusable holdout", Science 349, 2015).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data import parse_findings_map, prepare
from semblance.core.evaluation.data_sources import library_data, sealed_rows
from semblance.core.evaluation.evaluate_metric import score_rankings
from semblance.core.evaluation.splits import hold_out
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.metric_scores import seal_scores
from semblance.core.library.open_library import open_library
from semblance.core.library.schema import metrics
from semblance.core.library.vault import OPENINGS, VaultOpening, add_opening, read_vault, seal_cases, unseal
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.held_out_cases import HeldOutCases
from semblance.core.workflows.metrics.leakage import IdentityIndex
from semblance.core.workflows.metrics.score_metric import held_out_searches
from semblance.core.workflows.metrics.stored_metric import stored_metric
from semblance.core.workflows.metrics.train_request import PROVISIONAL

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import MetricRecord

#: What the scores of an opening were measured on.
SEALED_PATIENTS = tr_lazy("sealed test vault")
_K = 10


@dataclass(frozen=True)
class VaultStatus:
    """The sealed ``cases`` with ``findings`` of ``patients`` (``None``: unknown), and when and how they were sealed.

    ``metrics_before``: metrics that existed when cases were sealed, and may have been trained or chosen on them.
    """

    library: str
    cases: int = 0
    patients: int | None = None
    findings: Mapping[str, int] | None = None
    sealed: str = ""
    how: str = ""
    metrics_before: tuple[str, ...] = ()
    openings: tuple[VaultOpening, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As ``semblance vault status --json`` prints it."""
        return {
            **vars(self),
            "findings": dict(self.findings or {}),
            "metrics_before": list(self.metrics_before),
            "openings": [one.to_json() for one in self.openings],
        }


def vault_status(library: LibraryLocation, *, reporter: Reporter = SILENT) -> VaultStatus:
    """The sealed cases of ``library``; zero cases if nothing is sealed.

    Raises:
        BadInput: not a library, or the record of the vault is damaged.
    """
    with open_library(library) as opened:
        return _status(opened)


def seal_share(
    library: LibraryLocation, share: float, *, seed: int = 0, reporter: Reporter = SILENT
) -> VaultStatus:
    """Seal ``share`` (above 0, below 1) of the patients that are not sealed yet, with the findings in proportion.

    Raises:
        BadArguments: another share.
        BadInput: too few cases or patients with findings.
    """
    if not 0.0 < share < 1.0:
        raise BadArguments("The share to seal is not between 0 and 1.", "Give one such as 0.2.")
    with open_library(library, writable=True) as opened:
        sealed = set(sealed_rows(opened).tolist())
        cases = [r for r in opened.catalogue.all_cases() if r.finding and r.id not in sealed]
        index = IdentityIndex(opened)
        units = [f"u{code}" for code in index.codes([r.id for r in cases]).tolist()]
        split = hold_out([r.finding for r in cases], units, seed, share)
        how = f"{share:.0%} of the patients, seed {seed}"
        return _seal(opened, [cases[place].id for place in split.test.tolist()], how)


def seal_listed(
    library: LibraryLocation, listed: Collection[str], *, reporter: Reporter = SILENT
) -> VaultStatus:
    """Seal the patients or cases named in ``listed``, by their patient or case id.

    Raises:
        BadArguments: nothing is listed, or a name is neither of a patient nor of a case.
    """
    names = set(listed)
    with open_library(library, writable=True) as opened:
        cases = opened.catalogue.all_cases()
        unknown = sorted(names - {r.case_id for r in cases} - {r.patient for r in cases})
        if unknown or not names:
            raise BadArguments(
                tr_lazy(
                    "There is no patient or case '{name}' in {library}.", name=unknown[0], library=opened.name
                )
                if unknown
                else "No patient or case is listed.",
                "Write one patient or case id a line.",
            )
        rows = [r.id for r in cases if r.case_id in names or r.patient in names]
        return _seal(opened, rows, "a list")


def unseal_vault(library: LibraryLocation, *, reporter: Reporter = SILENT) -> VaultStatus:
    """Undo the sealing; returns what was sealed.

    Raises:
        BadInput: the vault was opened: that cannot be undone.
    """
    with open_library(library, writable=True) as opened:
        before = _status(opened)
        unseal(opened.catalogue)
        return before


def open_vault(library: LibraryLocation, metric: str, *, reporter: Reporter = SILENT) -> VaultOpening:
    """Test the metric called ``metric`` on the sealed patients, and record the number and date of the test.

    Every sealed case with a finding is a query in the library without the vault. The result is stored with the scores
    of the metric, under the hash of its card.

    Raises:
        BadArguments: no such metric.
        BadInput: nothing is sealed, the metric is older than the vault or was trained on sealed cases, or no sealed
            case has the metric's features and findings.
        Cancelled: the reporter was cancelled; then nothing was opened.
    """
    with open_library(library, writable=True) as opened:
        record = opened.metric(metric)
        vault = read_vault(opened.catalogue)
        if vault is None:
            raise BadInput("The library has no sealed test vault.", "Seal some patients first.")
        _check_unseen(opened, record, vault.sealed)
        result = _measure(opened, record, reporter)
        reporter.check_cancelled()
        with opened.catalogue.transaction() as connection:
            opening = add_opening(
                connection, opened.catalogue.now(), metric, str(record.card.get("content_hash", "")), result
            )
            scores = dict(record.scores or {})
            scores[OPENINGS] = [*scores.get(OPENINGS, ()), opening.to_json()]
            seal_scores(connection, metrics.c.id == record.id, scores)
        return opening


def _status(library: Library) -> VaultStatus:
    vault = read_vault(library.catalogue)
    if vault is None:
        return VaultStatus(str(library.location))
    sealed = set(sealed_rows(library).tolist())
    cases = [r for r in library.catalogue.all_cases() if r.id in sealed]
    findings: dict[str, int] = {}
    for r in cases:
        if r.finding:
            findings[r.finding] = findings.get(r.finding, 0) + 1
    return VaultStatus(
        str(library.location),
        len(cases),
        len({r.patient for r in cases if r.patient}) or None,
        dict(sorted(findings.items())),
        vault.sealed,
        vault.how,
        vault.metrics_before,
        vault.openings,
    )


def _seal(library: Library, rows: Collection[int], how: str) -> VaultStatus:
    """Seal the cases ``rows`` with all others of their patients, lesions and images."""
    vault = read_vault(library.catalogue)
    if vault is not None and vault.openings:
        raise BadInput(
            "The test vault was opened, so no patients can be added to it.",
            "Use another library for another sealed test.",
        )
    whole = set(IdentityIndex(library).same_unit(list(rows)).tolist())
    cases = library.catalogue.all_cases()
    if len(whole) >= len(cases):
        raise BadInput("Every case would be sealed, and none would be left.", "Seal fewer patients.")
    case_ids = [r.case_id for r in cases if r.id in whole]
    seal_cases(
        library.catalogue,
        case_ids,
        how,
        [one.name for one in library.metrics() if PROVISIONAL not in one.card],
    )
    return _status(library)


def _check_unseen(library: Library, record: MetricRecord, sealed: str) -> None:
    trained = np.intersect1d(sealed_rows(library), IdentityIndex(library).same_unit(record.training))
    created = str(record.card.get("created", ""))
    if len(trained) or not created or datetime.fromisoformat(created) < datetime.fromisoformat(sealed):
        raise BadInput(
            tr_lazy(
                "'{metric}' was trained before the vault was sealed, so it may have seen the sealed patients.",
                metric=record.name,
            ),
            "Train it again. Then open the vault.",
        )


def _measure(library: Library, record: MetricRecord, reporter: Reporter) -> dict[str, Any]:
    feature_set = library.features.of_metric(record)
    everything = library_data(library, feature_set, with_sealed=True)
    assert everything.case_rows is not None
    sealed = np.isin(everything.case_rows, sealed_rows(library))
    # Sealed cases get the same patient, so that they do not answer each other: a user cannot find them either.
    known = np.full(everything.n_cases, "") if everything.groups is None else everything.groups
    ids = everything.case_rows
    everything = replace(everything, groups=np.where(sealed, "(sealed)", known))
    written = record.card.get("findings_map") or ""
    findings_map = parse_findings_map(written) if written else None
    cases = prepare(everything, findings=findings_map)
    assert cases.case_rows is not None
    in_vault = np.isin(cases.case_rows, ids[sealed])
    if not in_vault.any():
        raise BadInput(
            "No sealed case has the features of the metric and one of its findings.",
            "Measure the sealed cases.",
        )
    held_out = HeldOutCases(
        cases, np.flatnonzero(~in_vault), np.flatnonzero(in_vault), everything, ids[~sealed], findings_map
    )
    searches = held_out_searches(library, stored_metric(record), held_out, _K, reporter=reporter)
    rankings = searches.rankings
    scores = score_rankings(rankings, searches.data, searches.train, searches.test)
    index = IdentityIndex(library)
    result: dict[str, Any] = {
        "measured_on": SEALED_PATIENTS,
        "cases": len(searches.test),
        "patients": len(np.unique(index.codes(ids[searches.test]))),
        "findings": dict(scores.findings),
        "accuracy": list(scores.retrieval_accuracy.at(min(_K, len(scores.retrieval_accuracy.k)))),
        "chance": scores.chance,
        "mean_auc": scores.mean_auc,
        "auc": {
            name: {"value": curve.auc, "ci95": None if curve.ci95 is None else list(curve.ci95)}
            for name, curve in scores.roc.items()
        },
    }
    return result
