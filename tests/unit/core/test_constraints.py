from __future__ import annotations

import collections

import numpy as np
import pytest

from semblance.core.constraints import (
    check_usable,
    checked_pairs,
    count_pairs,
    finding_codes,
    from_findings,
    from_judgements,
    no_findings,
    sample_pairs,
    sample_triplets,
    visual_neighbour_pairs,
)
from semblance.core.errors import BadInput
from semblance.core.tasks import Cancelled, Reporter
from tests.helpers import naive_bdm as naive


def test_findings_become_signs_with_an_empty_diagonal():
    assert from_findings(["a", "b", "a"]).dense().tolist() == [[0, -1, 1], [-1, 0, -1], [1, -1, 0]]


def test_a_case_without_a_finding_is_unknown_to_all():
    for unknown in [None, ""]:
        assert from_findings(np.array(["a", unknown, "a"], dtype=object)).dense().tolist() == [
            [0, 0, 1],
            [0, 0, 0],
            [1, 0, 0],
        ], unknown


def test_codes_follow_sorted_names_whatever_their_type():
    codes, names = finding_codes([2, 10, 2])
    assert (codes.tolist(), names) == ([1, 0, 1], ("10", "2"))
    codes, names = finding_codes(np.array([1.0, np.nan, 0.0]))
    assert (codes.tolist(), names) == ([1, -1, 0], ("0.0", "1.0"))


def test_pairs_overrule_what_was_there_in_both_directions():
    similarity = from_findings(["a", "b", "a"]).with_pairs(np.array([[1, 0, 1], [0, 2, -1]]))
    assert similarity.dense().tolist() == [[0, 1, -1], [1, 0, -1], [-1, -1, 0]]
    assert similarity.changed.tolist() == [[0, 1, 1], [0, 2, -1]]
    assert count_pairs(similarity) == {"similar": 1, "dissimilar": 2}


def test_the_last_judgement_of_a_pair_counts_unless_findings_agree():
    similarity = from_findings(["a", "b", "a", ""]).with_similar(np.array([[0, 1], [0, 2], [2, 3]]))
    assert similarity.changed.tolist() == [[0, 1, 1], [2, 3, 1]]
    again = similarity.with_pairs(np.array([[1, 0, -1], [3, 2, -1]]))
    assert again.changed.tolist() == [[2, 3, -1]]
    assert count_pairs(again) == {"similar": 1, "dissimilar": 3}
    assert (again.dense() == -1).sum() == 6


def test_counts_equal_those_of_the_matrix():
    rng = np.random.default_rng(0)
    similarity = from_findings(rng.choice(["a", "b", "c", ""], size=30))
    i, j = rng.permutation(30)[:28].reshape(2, 14)
    similarity = similarity.with_pairs(np.stack([i, j, rng.choice([-1, 1], size=14)], axis=1))
    signs = similarity.dense()
    assert count_pairs(similarity) == {
        "similar": (signs == 1).sum() // 2,
        "dissimilar": (signs == -1).sum() // 2,
    }


def test_pairs_that_make_no_sense_are_refused():
    for pairs, words in [
        ([[0, 3, 1]], "outside 0 to 2"),
        ([[-1, 0, 1]], "outside 0 to 2"),
        ([[1, 1, 1]], "Case 1 is paired with itself"),
        ([[0, 1, 0]], "neither"),
        ([[0, 1, 1], [1, 0, -1]], "rows 0 and 1 is called similar and dissimilar"),
        ([[0, 1]], "table"),
        ([[0.0, 1.0, 1.0]], "table"),
    ]:
        with pytest.raises(BadInput, match=words):
            no_findings(3).with_pairs(np.array(pairs))


def test_no_pairs_change_nothing():
    assert not no_findings(3).with_pairs(np.empty((0, 3), dtype=np.int64)).dense().any()


def test_visual_pairs_equal_plain_loops():
    for k in [1, 5, 44, 100]:
        X, _ = naive.problem()
        assert [
            tuple(pair) for pair in visual_neighbour_pairs(X, k).tolist()
        ] == naive.visual_neighbour_pairs(X, k), k


def test_visual_pairs_of_repeated_and_far_off_rows_go_by_row_number():
    X = np.repeat(np.array([[0.0, 0.0], [0.5, 0.25], [8.0, 0.0]]), 4, axis=0) + 2.0**26
    assert [tuple(pair) for pair in visual_neighbour_pairs(X, 3).tolist()] == naive.visual_neighbour_pairs(
        X, 3
    )
    assert [tuple(pair) for pair in visual_neighbour_pairs(X, 5).tolist()] == naive.visual_neighbour_pairs(
        X, 5
    )


def test_visual_pairs_of_blocks_equal_those_of_all_at_once(monkeypatch):
    X, _ = naive.problem()
    whole = visual_neighbour_pairs(X, 5)
    monkeypatch.setattr("semblance.core.constraints._BLOCK", 45 * 7)
    assert (visual_neighbour_pairs(X, 5) == whole).all()


def test_the_search_for_visual_pairs_reports_progress_and_can_be_cancelled(monkeypatch):
    class Impatient(Reporter):
        def __init__(self):
            self.progress_calls = []

        def progress(self, done, total, what):
            self.progress_calls.append((done, total, what))

        def check_cancelled(self):
            if len(self.progress_calls) == 3:
                raise Cancelled

    monkeypatch.setattr("semblance.core.constraints._BLOCK", 45 * 7)
    X, reporter = naive.problem()[0], Impatient()
    with pytest.raises(Cancelled):
        visual_neighbour_pairs(X, 5, reporter)
    assert reporter.progress_calls == [(done, 45, "Visual neighbours") for done in (0, 7, 14)]


def test_one_case_has_no_visual_pair():
    assert visual_neighbour_pairs(np.zeros((1, 2)), 5).shape == (0, 2)


def test_visual_pairs_overrule_findings_and_are_counted():
    similarity = from_findings(["a", "b", "a"]).with_similar(np.array([[0, 1], [0, 2]]))
    assert count_pairs(similarity) == {"similar": 2, "dissimilar": 1}


def test_both_kinds_of_pair_are_needed():
    with pytest.raises(BadInput, match="dissimilar"):
        check_usable(from_findings(["a", "a"]))
    with pytest.raises(BadInput, match="finding 'a'"):
        check_usable(from_findings(["a", "a"]), ("a",))
    with pytest.raises(BadInput, match="called similar"):
        check_usable(from_findings(["a", "b"]), ("a", "b"))
    check_usable(from_findings(["a", "b", "a"]))


def test_sampled_triplets_are_true_and_seeded():
    y = np.array(["a", "b", "a", "c", "a", "b", ""])
    triplets = sample_triplets(y, 300, seed=1)
    for i, j, k in triplets.tolist():
        assert i != j
        assert y[i] == y[j] != y[k]
        assert y[k] != ""
    assert {tuple(t) for t in triplets[:, :2].tolist()} == {
        (i, j) for i in range(6) for j in range(6) if i != j and y[i] == y[j]
    }
    assert (triplets == sample_triplets(y, 300, seed=1)).all()
    with pytest.raises(BadInput, match="similar and a dissimilar"):
        sample_triplets(["a", "b"], 3, seed=0)


def all_pairs(y):
    n = len(y)
    return {(i, j): 1 if y[i] == y[j] else -1 for i in range(n) for j in range(i + 1, n)}


def test_drawn_pairs_are_different_true_and_of_both_kinds():
    y = np.array([*["a"] * 60, *["b"] * 2, "", *["c"] * 1])
    truth = {pair: value for pair, value in all_pairs(y).items() if 62 not in pair}
    pairs = sample_pairs(y, 100, seed=3)
    found = {(i, j): value for i, j, value in pairs.tolist()}
    assert len(found) == len(pairs) == 100
    assert all(truth[pair] == value for pair, value in found.items())
    assert {1, -1} == set(found.values())
    assert (sample_pairs(y, 100, seed=3) == pairs).all()
    assert (sample_pairs(y, 100, seed=4) != pairs).any()
    everything = sample_pairs(y, 10_000, seed=3)
    assert {(i, j): value for i, j, value in everything.tolist()} == truth


def test_rare_kinds_of_pairs_are_drawn_too():
    for rare in ["similar", "dissimilar"]:
        y = np.arange(300) if rare == "similar" else np.zeros(300, dtype=int)
        y[0] = 1
        y[1] = 1 if rare == "similar" else 0
        pairs = sample_pairs([str(one) for one in y], 50, seed=0)
        assert len({(i, j) for i, j, _ in pairs.tolist()}) == 50, rare
        assert ((pairs[:, 2] > 0) == (rare == "similar")).sum() >= 1, rare
        assert all(value == (1 if y[i] == y[j] else -1) for i, j, value in pairs.tolist()), rare


def test_drawn_pairs_are_equally_likely():
    y = list("aaabbbb")
    counts = collections.Counter()
    for seed in range(1500):
        counts.update((i, j) for i, j, _ in sample_pairs(y, 5, seed=seed).tolist())
    assert len(counts) == 21
    assert max(counts.values()) < 1.35 * min(counts.values())


def test_judgements_become_pairs_and_triplets() -> None:
    rows = {case: place for place, case in enumerate("qabcd")}
    judgements = [
        ("alike", "q", "a", None),
        ("not alike", "q", "b", None),
        ("closer", "q", "c", "d"),
        ("alike", "q", "b", None),
        ("not alike", "q", "c", None),
        ("alike", "q", "gone", None),
        ("closer", "outside.png", "a", "b"),
    ]
    found = from_judgements(judgements, rows)
    assert {tuple(pair) for pair in found.pairs.tolist()} == {(0, 1, 1), (0, 2, 1), (0, 3, -1)}
    assert {tuple(one) for one in found.triplets.tolist()} == {(0, 3, 4), (0, 1, 3), (0, 2, 3)}
    assert found.left_out == 2
    checked_pairs(found.pairs, 5)


def test_no_judgements_make_no_constraints() -> None:
    found = from_judgements([], {})
    assert found.pairs.shape == found.triplets.shape == (0, 3)
    with pytest.raises(ValueError, match="odd"):
        from_judgements([("odd", "a", "b", None)], {"a": 0, "b": 1})
