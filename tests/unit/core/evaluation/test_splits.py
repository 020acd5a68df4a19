"""Splits are seeded, stratified, and never put a patient on both sides."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.core.errors import BadInput
from semblance.core.evaluation.splits import (
    HoldOut,
    check_leakage_between,
    folds,
    halves,
    hold_out,
    linked,
    patient_codes,
    patients_known,
    per_finding,
    three_parts,
)


def library(n_patients, seed=0, most=6):
    """Patients of 1..most cases, mostly of one finding each."""
    rng = np.random.default_rng(seed)
    y, groups = [], []
    for patient in range(n_patients):
        finding = rng.choice(["benign", "malignant", "normal"], p=[0.5, 0.3, 0.2])
        for _ in range(rng.integers(1, most + 1)):
            y.append(finding if rng.random() < 0.9 else "benign")
            groups.append(f"patient {patient}")
    return y, groups


def counts(y, rows):
    return Counter(np.asarray(y)[rows].tolist())


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6).filter(lambda sizes: sum(sizes) >= 2),
    seed=st.integers(0, 99),
)
def test_halves_are_within_one_case_for_every_finding(sizes, seed):
    y = [f"finding {finding}" for finding, size in enumerate(sizes) for _ in range(size)]
    split = halves(y, None, seed)
    assert sorted([*split.train, *split.test]) == list(range(len(y)))
    assert abs(len(split.train) - len(split.test)) <= 1
    train, test = counts(y, split.train), counts(y, split.test)
    assert all(abs(train[name] - test[name]) <= 1 for name in set(y))
    assert not split.by_patient


@given(n=st.integers(2, 60), fraction=st.floats(0.05, 0.95), seed=st.integers(0, 99))
def test_a_holdout_keeps_its_share_of_every_finding(n, fraction, seed):
    y = ["a"] * n + ["b"] * (2 * n)
    test = counts(y, hold_out(y, None, seed, fraction).test)
    assert abs(test["a"] - fraction * n) <= 1
    assert abs(test["b"] - fraction * 2 * n) <= 1


@given(n_patients=st.integers(2, 40), seed=st.integers(0, 99))
def test_no_patient_is_on_both_sides_of_a_split(n_patients, seed):
    y, groups = library(n_patients, seed)
    names = np.asarray(groups)
    for split in [halves(y, groups, seed), hold_out(y, groups, seed, 0.2)]:
        assert split.by_patient
        assert len(split.train)
        assert len(split.test)
        assert not set(names[split.train]) & set(names[split.test])


def test_halves_by_patient_are_balanced():
    y, groups = library(120)
    for seed in range(5):
        split = halves(y, groups, seed)
        train, test = counts(y, split.train), counts(y, split.test)
        for name in set(y):
            assert abs(train[name] - test[name]) <= 4


def test_patients_of_very_different_size_still_split_at_random():
    groups = [f"p{patient}" for patient in range(30) for _ in range(patient + 1)]
    y = ["a" if row % 3 else "b" for row in range(len(groups))]
    splits = {tuple(halves(y, groups, seed).train) for seed in range(10)}
    assert len(splits) == 10
    largest_in_training = {29 in {int(groups[row][1:]) for row in split} for split in splits}
    assert largest_in_training == {True, False}


@pytest.mark.parametrize("by_patient", [True, False])
def test_a_seed_gives_the_same_split_and_another_seed_another(by_patient):
    y, groups = library(50)
    patients = groups if by_patient else None
    first, again, other = (halves(y, patients, seed).train.tolist() for seed in (3, 3, 4))
    assert first == again
    assert first != other


@pytest.mark.parametrize("by_patient", [True, False])
def test_folds_test_every_case_once(by_patient):
    y, groups = library(60)
    splits = folds(y, groups if by_patient else None, 1, 5)
    assert sorted(row for split in splits for row in split.test) == list(range(len(y)))
    whole = Counter(y)
    for split in splits:
        for name, number in counts(y, split.test).items():
            assert abs(number - whole[name] / 5) <= (6 if by_patient else 1)
        if by_patient:
            names = np.asarray(groups)
            assert not set(names[split.train]) & set(names[split.test])


def test_no_fold_is_empty_if_a_finding_has_few_patients():
    y = ["a", "a", "a", "b", "c"]
    groups = ["p", "p", "p", "q", "r"]
    for seed in range(20):
        assert all(len(split.test) for split in folds(y, groups, seed, 3))


def test_three_hundred_of_each_finding():
    y = ["benign"] * 400 + ["malignant"] * 700
    split = per_finding(y, None, 5, 300)
    assert counts(y, split.train) == {"benign": 300, "malignant": 300}
    groups = [f"p{row // 3}" for row in range(1100)]
    split = per_finding(y, groups, 5, 300)
    assert split.by_patient
    assert all(abs(number - 300) <= 3 for number in counts(y, split.train).values())


def test_per_finding_refuses_a_finding_with_nothing_left_to_test():
    with pytest.raises(BadInput, match="nothing of it would be left"):
        per_finding(["a"] * 300 + ["b"] * 500, None, 0, 300)


@pytest.mark.parametrize(
    ("y", "groups", "what"),
    [(["a"], None, r"cases \(1\)"), (["a", "b"], ["p", "p"], r"patients \(1\)"), ([], None, r"cases \(0\)")],
)
def test_too_few_cases_to_split_are_refused(y, groups, what):
    with pytest.raises(BadInput, match=what):
        halves(y, groups, 0)


def test_leakage_is_refused():
    rows = np.arange(4)
    with pytest.raises(BadInput, match="A case is in the training part and"):
        check_leakage_between(rows[:3], rows[2:], None, 4)
    with pytest.raises(BadInput, match="1 of the patients"):
        check_leakage_between(rows[:2], rows[2:], ["p", "q", "q", "r"], 4)
    check_leakage_between(rows[:2], rows[2:], ["p", "q", "", ""], 4)


def test_a_case_without_patient_is_a_patient_of_its_own():
    codes = patient_codes(["p", None, "", "p"], 4)
    assert codes is not None
    assert codes[0] == codes[3]
    assert len(set(codes.tolist())) == 3
    assert patient_codes(["", None], 2) is None
    assert patients_known(["p", "q"])
    assert not patients_known(["p", ""])
    assert not patients_known(None)


def test_patients_must_fit_the_cases():
    with pytest.raises(BadInput, match="2 patients for 3 cases"):
        halves(["a", "b", "b"], ["p", "q"], 0)


def test_splits_are_plain_data():
    split = halves(["a", "b", "a", "b"], None, 7)
    assert isinstance(split, HoldOut)
    assert split.seed == 7
    assert (np.diff(split.train) > 0).all()


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5).filter(lambda sizes: sum(sizes) >= 3),
    fractions=st.sampled_from([(0.15, 0.15), (0.05, 0.9), (0.6, 0.3), (1 / 3, 1 / 3)]),
    seed=st.integers(0, 99),
)
def test_three_parts_keep_their_shares_of_every_finding(sizes, fractions, seed):
    y = [f"finding {finding}" for finding, size in enumerate(sizes) for _ in range(size)]
    split = three_parts(y, None, seed, *fractions)
    parts = (split.train, split.validation, split.test)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(y)))
    assert all(len(part) for part in parts)
    if len(y) >= 40:
        for part, share in zip(parts, (1 - sum(fractions), *fractions), strict=True):
            found = counts(y, part)
            assert all(abs(found[name] - share * y.count(name)) <= 2 for name in set(y))


@given(n_patients=st.integers(3, 40), seed=st.integers(0, 99))
def test_no_patient_is_in_two_of_three_parts(n_patients, seed):
    y, groups = library(n_patients, seed)
    names = np.asarray(groups)
    split = three_parts(y, groups, seed, 0.15, 0.15)
    assert split.by_patient
    parts = [set(names[rows].tolist()) for rows in (split.train, split.validation, split.test)]
    assert all(parts)
    assert sum(len(part) for part in parts) == len(set(groups))
    assert split.swapped().train is split.test
    assert split.swapped().validation is split.validation


def test_three_parts_need_three_and_every_two_are_checked():
    for groups in (None, ["p", "p", "q"]):
        with pytest.raises(BadInput, match="3 parts"):
            three_parts(["a", "b", "a"][: 2 if groups is None else 3], groups, 0, 0.15, 0.15)
    rows = np.arange(6)
    patients = ["p", "p", "q", "q", "r", "r"]
    HoldOut(rows[:2], rows[2:4], True, 0, rows[4:]).check_leakage(patients, 6)
    for train, test, validation in (
        ([0, 1], [2, 3], [3, 4]),
        ([0, 1], [2], [3, 4]),
        ([0, 2], [3], [4]),
        ([0], [2, 3], [1]),
    ):
        with pytest.raises(BadInput, match="in the training part and in the tested part"):
            HoldOut(np.array(train), np.array(test), True, 0, np.array(validation)).check_leakage(patients, 6)


@given(
    st.integers(0, 12).flatmap(
        lambda n: st.lists(st.lists(st.integers(-1, 4), min_size=n, max_size=n), min_size=1, max_size=3)
    )
)
def test_a_unit_holds_all_cases_linked_by_what_they_share(kinds):
    n = len(kinds[0])
    units = [{place} for place in range(n)]
    for kind in kinds:
        for a in range(n):
            for b in range(a):
                if kind[a] == kind[b] >= 0 and units[a] is not units[b]:
                    units[a] |= units[b]
                    for place in units[b]:
                        units[place] = units[a]
    found = linked(*(np.array(kind, dtype=np.intp) for kind in kinds))
    assert found.tolist() == [min(unit) for unit in units]
