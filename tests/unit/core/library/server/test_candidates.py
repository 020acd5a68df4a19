"""Candidates of an index on a server: the order is exact, no filter makes them fewer, and the recall is measured."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sqlalchemy as sa

from semblance.app.cli.main import run
from semblance.core.errors import SemblanceError
from semblance.core.library.location import server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.server.embeddings import building
from semblance.core.retrieval.candidate_index import CandidateIndex
from semblance.core.retrieval.index import Index
from semblance.core.workflows.library.edit_cases import remove_cases
from semblance.core.workflows.searches import index_candidates as workflow
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics, open_metric
from tests.helpers.postgres_server import as_given

N, D = 3_000, 12


@pytest.fixture(scope="module")
def template(tmp_path_factory, postgres):
    """The name of a database with a library of a table, a metric and its index."""
    made = np.random.default_rng(1)
    centres = made.normal(size=(6, D)) * 3
    findings = made.integers(0, 6, N)
    values = centres[findings] + made.normal(size=(N, D)) + 1e4
    file = tmp_path_factory.mktemp("table") / "table.csv"
    lines = [f"{','.join(f'f{n}' for n in range(D))},case_id,patient_id,label"]
    lines += [
        f"{','.join(f'{value:.6f}' for value in row)},c{n},p{n // 3},{'abcdef'[code]}"
        for n, (row, code) in enumerate(zip(values, findings, strict=True))
    ]
    file.write_text("\n".join(lines) + "\n")
    address = postgres.new_database("template")
    for arguments in (
        ("import", str(file), "--library", address, "--kind", "table"),
        ("features", address, "--extractor", "raw", "--name", "raw"),
        ("train", address, "--learner", "mahalanobis", "--name", "m", "--no-control"),
        ("library", "index", address, "--fewest", "1000"),
    ):
        assert run(list(arguments)) == 0
    close_loaded_metrics()
    return "template"


@pytest.fixture
def library(template, postgres):
    """The address of a copy of the library."""
    yield server_address(postgres.new_database("library", template))
    close_loaded_metrics()


def document(capsys, *arguments: object) -> dict:
    assert run([*map(as_given, arguments), "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def case_id(loaded, place: int) -> str:
    return loaded.cases.id_of(int(loaded.rows[place]))


def test_a_search_among_candidates_equals_the_exact_one_and_reports_its_recall(library, capsys):
    query = ("search", library, "--metric", "m", "--case", "table/c7")
    among, exact = document(capsys, *query), document(capsys, *query, "--candidates", 0)
    assert (
        among["candidates"]["recall@20"] >= 0.98 and among["candidates"]["measured_with"] == workflow.QUERIES
    )
    assert exact["candidates"] is None
    assert among["results"] == exact["results"] and among["hidden"] == exact["hidden"]
    assert among["match"]["limit"] == pytest.approx(exact["match"]["limit"], rel=0.05)
    assert document(capsys, *query, "--candidates", 77)["candidates"] == {
        "number": 77,
        "recall@20": None,
        "measured_with": 0,
    }
    (line,) = document(capsys, "info", library)["candidates"]
    assert line["up_to_date"] and line["recall@20"] == among["candidates"]["recall@20"] and line["cases"] == N


def test_a_member_of_a_project_searches_its_index_and_finds_what_an_exact_search_finds(
    library, postgres, capsys
):
    document(capsys, "library", "project", "create", library, "p", "--purpose", "x", "--until", "2999-12-31")
    some = ("--finding", "a", "--finding", "b", "--finding", "c", "--person", "mia")
    postgres.execute("CREATE ROLE mia LOGIN PASSWORD 'pw'")
    try:
        document(capsys, "library", "project", "add", library, "p", *some)
        (done,) = document(capsys, "library", "index", library.with_project("p"), "--fewest", "1000")
        assert 1_000 < done["cases"] < N and done["recall@20"] >= 0.98
        mia = server_address(postgres.address("library", "mia", "pw")).with_project("p")
        with open_library(mia) as opened:
            names = [case.case_id for case in opened.catalogue.all_cases()[:3]]
        for name in names:
            query = ("search", mia, "--metric", "m", "--case", name)
            among, exact = document(capsys, *query), document(capsys, *query, "--candidates", 0)
            assert among["candidates"] is not None and exact["candidates"] is None
            assert among["results"] == exact["results"]
            assert all(one["case_id"].startswith("case-") for one in among["results"])
    finally:
        close_loaded_metrics()
        postgres.execute("DROP OWNED BY mia", "library")
        postgres.execute("DROP ROLE mia")


def test_a_search_reads_no_other_case_and_marks_still_compare_all(library):
    loaded = open_metric(library, "m")
    index = loaded.search_index()
    assert isinstance(index, CandidateIndex)
    place = 10
    exact_query = loaded.case_query(place).embedded
    hits = index.search(exact_query, 30)
    assert "embedding" not in loaded.__dict__
    assert isinstance(loaded.index, Index) and np.array_equal(exact_query, loaded.embedding[place])
    exact = loaded.index.search(exact_query, 30)
    assert np.array_equal(hits.rows, exact.rows) and np.array_equal(hits.distances, exact.distances)


@pytest.mark.parametrize("share", [0.0, 0.004, 0.05, 0.3, 0.9])
def test_no_filter_makes_the_candidates_fewer(library, share):
    loaded = open_metric(library, "m")
    index, made = loaded.search_index(), np.random.default_rng(2)
    for place in (0, 5, 900):
        q = loaded.case_query(place).embedded
        allowed = made.random(N) < share
        # Everything near may not be ranked.
        allowed[loaded.index.search(q, 500).rows] = False
        hits, exact = index.search(q, 20, allowed), loaded.index.search(q, 20, allowed)
        assert len(hits.rows) == min(20, int(allowed.sum()))
        assert len(np.intersect1d(hits.rows, exact.rows)) >= 0.95 * len(exact.rows)
        assert np.array_equal(hits.distances, np.sort(loaded.index.distances(q, hits.rows)))


def test_an_index_that_is_out_of_date_is_not_used_until_it_is_updated(library, capsys):
    remove_cases(library, ["table/c7", "table/c8"])
    assert document(capsys, "info", library)["candidates"][0]["up_to_date"] is False
    query = ("search", library, "--metric", "m", "--case", "table/c6")
    exact = document(capsys, *query)
    assert exact["candidates"] is None
    (done,) = document(capsys, "library", "index", library)
    assert done["cases"] == N - 2 and done["recall@20"] >= 0.98
    among = document(capsys, *query)
    assert among["candidates"] is not None and among["results"] == exact["results"]


def test_measuring_cases_updates_the_index(library, capsys, tmp_path):
    remove_cases(library, ["table/c7"])
    with open_library(library) as opened:
        assert opened.outdated_indexes() == ("m",)
    more = tmp_path / "more.csv"
    more.write_text(f"{','.join(f'f{n}' for n in range(D))},case_id,label\n{','.join(['1e4'] * D)},new,a\n")
    document(capsys, "import", more, "--library", library, "--kind", "table")
    with open_library(library) as opened:
        assert opened.outdated_indexes() == ()
        assert opened.embedding_indexes()[0].cases == N - 1
    document(capsys, "features", library, "--extractor", "raw", "--name", "raw")
    assert document(capsys, "info", library)["candidates"][0]["up_to_date"] is True
    with open_library(library) as opened:
        assert opened.embedding_indexes()[0].cases == N


def test_a_recall_that_is_not_reached_is_reported_and_all_cases_are_compared(library, capsys, monkeypatch):
    monkeypatch.setattr(workflow, "NUMBERS", (1,))
    (done,) = document(capsys, "library", "index", library, "--recall", 1)
    assert done["candidates"] is None and 0.5 < done["recall@20"] < 1.0 and "not reached" in done["why_none"]
    assert document(capsys, "search", library, "--metric", "m", "--case", "table/c6")["candidates"] is None


def test_the_index_of_a_small_library_or_a_deleted_metric_is_dropped(library, capsys, postgres):
    tables = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'embedding\\_%'"
    assert postgres.execute(tables, "library") == [(1,)]
    (done,) = document(capsys, "library", "index", library, "--fewest", N + 1)
    assert done["candidates"] is None and "fewer than" in done["why_none"]
    assert postgres.execute(tables, "library") == [(0,)]


def test_a_build_that_fails_leaves_the_index_as_it_was_and_only_one_builds(library):
    with open_library(library) as opened, open_library(library) as other:
        before = opened.embedding_indexes()
        with pytest.raises(RuntimeError), building(opened.catalogue) as build:
            with (
                pytest.raises(SemblanceError, match="Another program is building"),
                building(other.catalogue),
            ):
                pass
            build.drop(before[0].number)
            raise RuntimeError
        assert len(opened.embedding_indexes()) == len(before) == 1
        assert opened.catalogue.read(sa.text(f"SELECT count(*) FROM embedding_{before[0].number}"))[0][0] == N
