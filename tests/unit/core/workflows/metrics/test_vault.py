"""The sealed test vault: sealed patients take part in nothing until they are opened, and openings count."""

from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data_sources import library_data, sealed_rows
from semblance.core.library.library import Library
from semblance.core.reports.card_document import card_markdown
from semblance.core.searches.query import Query
from semblance.core.workflows.evaluation.scored_metrics import scored_metrics, scores_csv
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics import vault as module
from semblance.core.workflows.metrics.score_metric import score_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.metrics.vault import (
    open_vault,
    seal_listed,
    seal_share,
    unseal_vault,
    vault_status,
)
from semblance.core.workflows.reports.metric_cards import metric_card
from semblance.core.workflows.searches.batch_queries import all_cases, held_out_cases
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.tables import PLAIN, table_library, write_table

BITS = TrainRequest("bdm", "bits", settings={"rounds": 10}, control=False)


@pytest.fixture
def library(tmp_path):
    yield table_library(tmp_path, n=120)
    close_loaded_metrics()


def sealed_ids(library) -> set[str]:
    with Library.open(library) as opened:
        sealed = set(sealed_rows(opened).tolist())
        return {r.case_id for r in opened.catalogue.all_cases() if r.id in sealed}


def test_whole_patients_are_sealed_with_the_findings_in_proportion(library):
    status = seal_share(library, 0.25, seed=3)
    assert status.cases == 2 * status.patients
    assert status.patients == pytest.approx(15, abs=2)
    counts = list(status.findings.values())
    assert len(counts) == 2
    assert abs(counts[0] - counts[1]) <= 4
    assert "seed 3" in status.how
    with Library.open(library) as opened:
        patients = {r.case_id: r.patient for r in opened.catalogue.all_cases()}
    sealed = sealed_ids(library)
    assert not {patients[c] for c in sealed} & {patients[c] for c in patients if c not in sealed}


def test_sealed_cases_are_not_used_to_train_test_or_answer(library):
    seal_share(library, 0.25)
    sealed = sealed_ids(library)
    train_metric(library, BITS)
    with Library.open(library) as opened:
        record = opened.metric("bits")
        ids = {r.id: r.case_id for r in opened.catalogue.all_cases()}
        data = library_data(opened, opened.features.get(None))
    assert not {ids[row] for row in record.training.tolist()} & sealed
    assert record.scores["n_train"] + record.scores["n_test"] == 120 - len(sealed)
    assert record.scores["gallery"] == 120 - len(sealed)
    assert not {ids[row] for row, _, _ in record.scores["calibration"]["cases"]} & sealed
    assert not set(data.case_ids.tolist()) & sealed
    asked = next(case for case in sorted(ids.values()) if case not in sealed)
    found = nearest_cases(library, "bits", Query(case=asked), k=200)
    assert not {line.case_id for line in found.ranked} & sealed
    assert (found.sealed, found.cases) == (len(sealed), 120 - len(sealed))
    assert not set(all_cases(library)) & sealed
    assert not set(held_out_cases(library, "bits")) & sealed
    assert not scored_metrics(read_snapshot(library))[0].stale


def test_a_sealed_case_is_no_query(library):
    train_metric(library, PLAIN)
    case = "t/c7"
    assert nearest_cases(library, "plain", Query(case=case)).ranked
    seal_listed(library, ["P3"])
    with pytest.raises(BadInput, match="sealed test vault"):
        nearest_cases(library, "plain", Query(case=case))


def test_cases_of_a_sealed_patient_that_come_later_are_sealed_too(library, tmp_path):
    seal_listed(library, ["P3"])
    assert sealed_ids(library) == {"t/c6", "t/c7"}
    (tmp_path / "more").mkdir()
    import_source(write_table(tmp_path / "more" / "u.csv", n=20, seed=9), library)
    assert sealed_ids(library) == {"t/c6", "t/c7", "u/c6", "u/c7"}


def test_an_opening_tests_on_the_sealed_patients_alone_and_is_counted(library):
    seal_share(library, 0.25)
    sealed = sealed_ids(library)
    train_metric(library, BITS)
    score_metric(library, "bits")
    opening = open_vault(library, "bits")
    assert opening.number == 1
    assert opening.result["cases"] == len(sealed)
    assert opening.result["patients"] == len(sealed) / 2
    mean, low, high = opening.result["accuracy"]
    assert low is None or low <= mean <= high
    assert mean > 0.9
    with Library.open(library) as opened:
        assert opening.content_hash == opened.metric("bits").card["content_hash"]
    assert vault_status(library).openings == (opening,)
    again = open_vault(library, "bits")
    assert again.number == 2
    score_metric(library, "bits")
    shown = card_markdown(metric_card(library, "bits"))
    assert "## Sealed test vault" in shown
    first, second = (line for line in shown.splitlines() if line.startswith("- **Opening"))
    assert f"{len(sealed)} sealed cases of {len(sealed) // 2} patients or lesions" in first
    assert "not the first opening" not in first
    assert "not the first opening" in second
    values = metric_card(library, "bits").values
    assert [one["number"] for one in values["scores"]["vault_openings"]] == [1, 2]
    header, row = scores_csv(scored_metrics(read_snapshot(library))).splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert cells["vault_openings"].startswith("1 (20")
    assert float(cells["vault_accuracy_at_10"]) == pytest.approx(mean)


def test_sealed_queries_find_what_a_person_would(library, monkeypatch):
    """The rankings of an opening are those of a search with the same numbers from outside: without sealed cases."""
    seal_share(library, 0.25)
    sealed = sealed_ids(library)
    train_metric(library, PLAIN)
    kept = []
    inner = module.held_out_searches

    def searches(*arguments, **options):
        kept.append(inner(*arguments, **options))
        return kept[-1]

    monkeypatch.setattr(module, "held_out_searches", searches)
    open_vault(library, "plain")
    (found,) = kept
    names = found.data.case_ids
    assert set(names[found.rankings.queries].tolist()) == sealed
    assert not set(names[np.unique(found.rankings.nearest)].tolist()) & sealed
    query, nearest = found.rankings.queries[0], found.rankings.nearest[0]
    with Library.open(library) as opened:
        coordinates = module.stored_metric(opened.metric("plain")).coordinates(found.data.X)
    usable = np.flatnonzero(~np.isin(names, sorted(sealed)))
    distances = np.linalg.norm(coordinates[usable] - coordinates[query], axis=1)
    assert nearest.tolist() == usable[np.argsort(distances)][: len(nearest)].tolist()


def test_a_metric_that_may_have_seen_them_is_refused(library):
    train_metric(library, BITS)
    status = seal_share(library, 0.25)
    assert status.metrics_before == ("bits",)
    with pytest.raises(BadInput, match="was trained before the vault was sealed"):
        open_vault(library, "bits")
    assert vault_status(library).openings == ()


def test_sealing_is_undone_before_an_opening_and_never_after(library):
    before = seal_share(library, 0.25)
    assert unseal_vault(library) == before
    assert vault_status(library).cases == 0
    train_metric(library, PLAIN)
    with pytest.raises(BadInput, match="no sealed test vault"):
        open_vault(library, "plain")
    seal_listed(library, ["P1", "t/c9"])
    assert vault_status(library).patients == 2
    seal_listed(library, ["P9"])
    assert vault_status(library).patients == 3
    train_metric(library, PLAIN)
    open_vault(library, "plain")
    for change in (lambda: unseal_vault(library), lambda: seal_listed(library, ["P20"])):
        with pytest.raises(BadInput, match="was opened"):
            change()
    assert vault_status(library).patients == 3


def test_what_cannot_be_sealed_is_refused(library):
    with pytest.raises(BadArguments, match="'nobody'"):
        seal_listed(library, ["P1", "nobody"])
    with pytest.raises(BadArguments, match="between 0 and 1"):
        seal_share(library, 1.0)
    with pytest.raises(BadInput, match="Every case would be sealed"):
        seal_listed(library, [f"P{n}" for n in range(60)])
    assert vault_status(library).cases == 0


def test_a_damaged_record_is_not_taken_for_no_vault(library):
    seal_share(library, 0.25)
    with Library.open(library, writable=True) as opened:
        module.read_vault(opened.catalogue)
        from semblance.core.library.stored_values import store_value

        store_value(opened.catalogue, "test vault", json.loads('{"cases": 3}'))
        with pytest.raises(BadInput, match="damaged"):
            sealed_rows(opened)
