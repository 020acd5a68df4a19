"""What is kept of libraries between searches is bounded, and goes when a library changes or is closed."""

from __future__ import annotations

import gc
import shutil
import weakref

import pytest

from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.library.letting_go import let_go
from semblance.core.workflows.metrics.train_metric import TrainRequest, train_metric
from semblance.core.workflows.searches import desk as desk_module
from semblance.core.workflows.searches.asking import ask
from semblance.core.workflows.searches.desk import desk_for
from semblance.core.workflows.searches.differing import differing
from semblance.core.workflows.searches.explaining import why
from semblance.core.workflows.searches.refining_desk import bench_for
from tests.helpers.tables import table_library

BLIND = ("f0",)


@pytest.fixture
def table(tmp_path):
    library = table_library(tmp_path, n=60)
    for name in ("plain", "other"):
        train_metric(library, TrainRequest("euclidean", name, steps="standardise,pca:3"))
    return library


def use(library, metric="plain"):
    """Everything that keeps something."""
    request = Search(metric, Query("t/c0"), "ledger")
    ask(library, request)
    differing(library, request, ["t/c4", "t/c5"])
    ask(library, Search(metric, Query("t/c0"), "ledger", without=BLIND))
    why(library, Search(metric, Query("t/c0"), "ledger", without=BLIND), "t/c4")
    bench_for(library, metric)
    bench_for(library, metric, without=BLIND)


def test_a_library_that_changed_leaves_nothing_behind(table):
    use(table)
    whole, blind = desk_for(table, "plain"), desk_for(table, "plain", without=BLIND)
    gone = [weakref.ref(one) for one in (whole, blind, bench_for(table, "plain"))]
    del whole, blind
    train_metric(table, TrainRequest("euclidean", "third"))
    use(table)
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3


def test_a_library_that_was_closed_leaves_nothing_behind(table, tmp_path):
    kept = tmp_path / "Kept.semblance"
    shutil.copytree(table, kept)
    use(table)
    use(kept)
    gone, stays = weakref.ref(desk_for(table, "plain")), desk_for(kept, "plain")
    let_go(table)
    gc.collect()
    assert gone() is None
    assert desk_for(kept, "plain") is stays
    let_go()
    assert not desk_module._desks


def test_beyond_some_bytes_only_the_desk_in_use_keeps_what_is_made_again(table, monkeypatch):
    use(table, "other")
    use(table, "plain")
    older, newer = desk_for(table, "other"), desk_for(table, "plain")
    assert older.stepped.nbytes > 0
    assert older.kept
    before = ask(table, Search("other", Query("t/c0"), without=BLIND)).result.ranked
    assert desk_for(table, "plain") is newer
    monkeypatch.setattr(desk_module, "ROOM_BYTES", older.embedding.nbytes + newer.nbytes)
    assert desk_for(table, "plain") is newer
    assert older.stepped.nbytes == 0
    assert not older.kept
    assert newer.stepped.nbytes > 0
    assert newer.kept
    assert desk_for(table, "other") is older
    assert ask(table, Search("other", Query("t/c0"), without=BLIND)).result.ranked == before


def test_large_desks_without_groups_are_kept_one_at_a_time(table, monkeypatch):
    whole = desk_for(table, "plain")
    first, second = (desk_for(table, "plain", without=groups) for groups in (BLIND, ("f1",)))
    assert desk_for(table, "plain", without=BLIND) is first
    monkeypatch.setattr(desk_module, "SMALL_BYTES", first.nbytes)
    assert desk_for(table, "plain", without=("f1",)) is second
    assert list(whole._blind) == [frozenset({"f1"})]


def test_only_so_many_ledgers_are_kept(table, monkeypatch):
    monkeypatch.setattr(desk_module, "LEDGERS_KEPT", 2)
    desk = desk_for(table, "plain")
    ledgers = [desk.ledger(name) for name in ("a", "b", "a", "c")]
    assert ledgers[0] is ledgers[2]
    assert list(desk._ledgers) == ["a", "c"]
