from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.library.case_columns import CaseColumns, case_columns
from semblance.core.library.case_headers import DATE, GROUPS, READ, HeaderColumns, case_headers
from semblance.core.library.patient_tree import PatientTree, patient_tree

#: (id, patient, header) of each case; study and series by their UIDs.
CASES = [
    ("d/ct-1", "P1", {"modality": "CT", "body_part": "CHEST", "series_description": "2.0 lung", "study": "1",
                      "series": "a", "series_number": "10", "date": "2019-03-14"}),
    ("d/ct-2", "P1", {"modality": "CT", "body_part": "CHEST", "series_description": "scout", "study": "1",
                      "series": "b", "series_number": "2", "date": "2019-03-14"}),
    ("d/mg-1", "P1", {"modality": "MG", "view": "CC", "laterality": "L", "study": "0", "series": "c",
                      "date": "2018-01-02"}),
    ("d/mg-2", "P1", {"modality": "MG", "view": "CC", "laterality": "R", "study": "0", "series": "c",
                      "date": "2018-01-02"}),
    ("s/q.png", "P2", {}),
    ("s/x/2.png", None, {}),
    ("s/x/10.png", None, {}),
]  # fmt: skip


@pytest.fixture
def columns() -> CaseColumns:
    indices = [index for index, (_, _, header) in enumerate(CASES) if header]
    given = [CASES[index][2] for index in indices]
    said = HeaderColumns(
        np.array(indices),
        [40, None, None, None],
        [json.dumps([header.get(name) for name in READ]) for header in given],
        {name: [header.get(name) for header in given] for name in (*GROUPS, DATE)},
    )
    headers = case_headers(said, np.arange(len(CASES)))
    ids, patients = [case for case, _, _ in CASES], [patient for _, patient, _ in CASES]
    return case_columns(range(7), ids, [None] * 7, patients, [0] * 7, headers=headers)


@pytest.fixture
def tree(columns) -> PatientTree:
    return patient_tree(columns)


def lines(tree: PatientTree, chosen=range(7), expanded=None) -> list[str]:
    matches = tree.matches(np.array(chosen, dtype=np.intp))
    nodes = tree.visible(matches, np.ones(len(tree), dtype=bool) if expanded is None else expanded)
    parts = [(int(tree.depth[n]), tree.title(n), tree.detail(n, int(matches[n]))) for n in map(int, nodes)]
    return [" | ".join(filter(None, ("-" * depth + title, detail))) for depth, title, detail in parts]


def test_patients_have_their_studies_in_time_and_series_by_number(tree):
    assert lines(tree) == [
        "P1 | 2 studies",
        "-Mammogram L CC | 2 Jan 2018 · 2 images",
        "--Mammogram L CC | mammogram · 2 images",
        "---Mammogram L CC | 1 of 2",
        "---Mammogram R CC | 2 of 2",
        "-Chest CT | 14 Mar 2019 · 41 images",
        "--scout | Chest CT",
        "--2.0 lung | Chest CT · 40 images",
        "P2 | 1 image",
        "-q",
        "s/x | 2 images",
        "-2",
        "-10",
    ]


def test_a_filter_leaves_what_contains_its_cases(tree):
    assert lines(tree, [0, 6]) == [
        "P1 | 2 studies",
        "-Chest CT | 14 Mar 2019 · 1 of 2 cases",
        "--2.0 lung | Chest CT · 40 images",
        "s/x | 1 of 2 cases",
        "-10",
    ]


def test_collapsed_nodes_hide_all_below_them(tree):
    expanded = np.zeros(len(tree), dtype=bool)
    assert lines(tree, expanded=expanded) == ["P1 | 2 studies", "P2 | 1 image", "s/x | 2 images"]
    expanded[0] = True
    assert [line for line in lines(tree, expanded=expanded) if line.startswith("-")] == [
        "-Mammogram L CC | 2 Jan 2018 · 2 images",
        "-Chest CT | 14 Mar 2019 · 41 images",
    ]


def test_a_case_is_found_below_its_parents(tree, columns):
    node = tree.node_of(3)
    assert tree.case(node) == 3
    above = tree.parent[node]
    titles = []
    while above >= 0:
        titles.append(tree.title(int(above)))
        above = tree.parent[above]
    assert titles == ["Mammogram L CC", "Mammogram L CC", "P1"]


def test_nodes_are_found_again_by_their_cases(tree):
    first = [0, 1, 5]
    rows = tree.columns.case_row[tree.order[tree.start[first]]]
    again = tree.nodes_of(rows, tree.level[first].astype(np.int64))
    assert np.flatnonzero(again).tolist() == first


def test_names_distinguish_cases(columns):
    assert [columns.name(index) for index in range(5)] == [
        "Chest CT, 2.0 lung, 14 Mar 2019",
        "Chest CT, scout, 14 Mar 2019",
        "Mammogram L CC, 2 Jan 2018",
        "Mammogram R CC, 2 Jan 2018",
        "q",
    ]
    said = HeaderColumns(
        np.array([1, 2, 3]),
        [None] * 3,
        [json.dumps(["CT"] + [None] * (len(READ) - 1))] * 3,
        {name: [None] * 3 for name in (*GROUPS, DATE)},
    )
    rows = np.array([1, 2])
    twice = case_columns(rows, ["a", "b"], [None] * 2, [None] * 2, [0] * 2, headers=case_headers(said, rows))
    assert [twice.name(0), twice.name(1)] == ["CT", "CT (2)"]


def test_an_empty_library_has_an_empty_tree():
    tree = patient_tree(case_columns([], [], [], [], []))
    assert (len(tree), lines(tree, [])) == (0, [])


def test_nodes_of_any_library_are_found_as_one_by_one():
    rng = np.random.default_rng(0)
    n = 300
    patients = [f"P{k}" if k else None for k in rng.integers(40, size=n)]
    said = HeaderColumns(
        np.arange(0, n, 2),
        [None] * (n // 2),
        [json.dumps(["CT", *[None] * (len(READ) - 1)])] * (n // 2),
        {name: [str(k) for k in rng.integers(4, size=n // 2)] for name in (*GROUPS, DATE)},
    )
    headers = case_headers(said, np.arange(n))
    tree = patient_tree(
        case_columns(
            range(n), [f"a{k % 7}/{k}" for k in range(n)], [None] * n, patients, [0] * n, headers=headers
        )
    )
    cases = [set(tree.order[tree.start[node] : tree.stop[node]].tolist()) for node in range(len(tree))]
    for chosen in (np.arange(n), rng.choice(n, 30, replace=False), np.empty(0, dtype=np.intp)):
        matches = tree.matches(chosen)
        assert matches.tolist() == [len(one & set(chosen.tolist())) for one in cases]
        expanded = rng.random(len(tree)) < 0.6

        def opened(node: int, expanded=expanded) -> bool:
            above = int(tree.parent[node])
            return above < 0 or (bool(expanded[above]) and opened(above))

        shown = [node for node in range(len(tree)) if matches[node] and opened(node)]
        assert tree.visible(matches, expanded).tolist() == shown
    rows, levels = rng.integers(n + 20, size=50), rng.integers(4, size=50)
    asked = set(zip(rows.tolist(), levels.tolist(), strict=True))
    found = [
        any((row, level) in asked for row in one)
        for one, level in zip(cases, tree.level.tolist(), strict=True)
    ]
    assert tree.nodes_of(rows, levels).tolist() == found
