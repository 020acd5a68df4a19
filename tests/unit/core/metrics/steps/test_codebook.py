"""Merging words against the greedy choice by definition."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.protocols.registry import get_protocol
from semblance.core.features.registry import extractors
from semblance.core.local_descriptors import DescriptorPacking
from semblance.core.metrics import fit_metric, load_metric, make_learner
from semblance.core.metrics.steps import apply_steps, fit_steps, parse_steps, steps_text
from semblance.core.metrics.steps import codebook as module
from semblance.core.metrics.steps.codebook import Codebook, merge_words
from semblance.core.metrics.steps.sequence import chosen_steps, default_steps

#: Four values of a byte each, of which two share a column.
PACKING = DescriptorPacking(low=(0.0,) * 4, high=(255.0,) * 4, bits=8)
KINDS = np.array(
    [[20, 20, 20, 20], [230, 20, 20, 120], [20, 230, 120, 20], [120, 120, 230, 230]], dtype=float
)


def local_rows(
    n: int = 60, places: int = 30, seed: int = 0, form: DescriptorPacking = PACKING
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n, d) float32 rows, (n,) findings, (n, 4) the true share of every kind; some places are missing."""
    rng = np.random.default_rng(seed)
    findings = np.array(["benign", "malignant"])[np.arange(n) % 2]
    rows, shares = [], []
    for finding in findings:
        weights = [6, 2, 1, 1] if finding == "benign" else [2, 6, 1, 1]
        place_count = int(rng.integers(places // 2, places + 1))
        kinds = rng.choice(4, place_count, p=np.array(weights) / 10)
        rows.append(form.pack(KINDS[kinds] + rng.normal(0, 4, (place_count, 4)), places))
        shares.append(np.bincount(kinds, minlength=4) / place_count)
    return np.stack(rows), findings, np.array(shares)


WHITENED = dataclasses.replace(PACKING, whitened=True)


def information(counts: np.ndarray) -> float:
    shares = counts / counts.sum()
    outer = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0)
    positive = shares > 0
    return float((shares[positive] * np.log(shares[positive] / outer[positive])).sum())


def grouped(counts: np.ndarray, member: np.ndarray) -> np.ndarray:
    out = np.zeros((member.max() + 1, counts.shape[1]))
    np.add.at(out, member, counts)
    return out


def naive(counts: np.ndarray, k: int) -> np.ndarray:
    """Of all pairs the one that loses least, again and again."""
    groups = [[word] for word in range(len(counts))]
    while len(groups) > k:
        remaining = {}
        for i, j in itertools.combinations(range(len(groups)), 2):
            merged = [*groups[:i], groups[i] + groups[j], *groups[i + 1 : j], *groups[j + 1 :]]
            remaining[i, j] = information(np.array([counts[group].sum(axis=0) for group in merged]))
        i, j = max(remaining, key=lambda pair: remaining[pair])
        groups[i] += groups.pop(j)
    member = np.empty(len(counts), dtype=int)
    for number, group in enumerate(sorted(groups, key=min)):
        member[group] = number
    return member


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("findings", [2, 5])
def test_merging_is_the_greedy_choice_by_definition(seed, findings):
    counts = np.random.default_rng(seed).integers(0, 60, (14, findings)).astype(float)
    for k in (13, 8, 4, 2):
        np.testing.assert_array_equal(merge_words(counts.copy(), k), naive(counts, k))


def test_unused_words_are_merged_first():
    counts = np.array([[5.0, 1.0], [0.0, 0.0], [1.0, 7.0], [0.0, 0.0], [3.0, 3.0]])
    assert len(grouped(counts, merge_words(counts, 3))) == 3
    assert information(grouped(counts, merge_words(counts, 3))) == pytest.approx(
        information(counts), rel=1e-12
    )


def test_words_with_the_same_information_are_merged_without_loss():
    kinds = np.array([[8.0, 1.0, 1.0], [1.0, 8.0, 1.0], [2.0, 2.0, 6.0]])
    counts = np.repeat(kinds, [5, 7, 3], axis=0) * np.arange(1, 16)[:, None]
    member = merge_words(counts, 3)
    np.testing.assert_array_equal(member, np.repeat([0, 1, 2], [5, 7, 3]))
    assert information(grouped(counts, member)) == pytest.approx(information(counts), rel=1e-12)


def with_form(text: str, form=PACKING):
    steps = parse_steps(text)
    assert isinstance(steps[0], Codebook)
    steps[0].form = form
    return steps


def fitted(text: str = "codebook:4", form=PACKING, **rows):
    X, y, shares = local_rows(form=form, **rows)
    steps, counted = fit_steps(with_form(text, form), X, y)
    return steps, counted, X, y, shares


@pytest.mark.parametrize("form", [PACKING, WHITENED])
def test_words_are_counted_as_shares_of_the_places_there_are(form):
    steps, counted, _, _, shares = fitted(form=form)
    words = steps[0].words_ @ np.linalg.inv(steps[0].whitening_) if form.whitened else steps[0].words_
    kinds = np.array([np.abs(KINDS - word).sum(axis=1).argmin() for word in words])
    assert sorted(kinds) == [0, 1, 2, 3]
    np.testing.assert_allclose(counted, shares[:, kinds], atol=1e-12)
    assert words == pytest.approx(KINDS[kinds], abs=2.0)


def test_the_codebook_comes_before_imputing_and_the_other_steps_after():
    steps, counted, X, *_ = fitted("codebook:4,standardise")
    assert [step.kind for step in steps] == ["codebook", "impute", "standardise"]
    assert steps[1].count_ == 0
    assert counted.mean(axis=0) == pytest.approx(0, abs=1e-12)
    np.testing.assert_array_equal(apply_steps(steps, X), counted)


def test_an_image_is_counted_alike_alone_and_among_others_in_either_precision():
    steps, counted, X, *_ = fitted(n=200)
    for row in (0, 77, 199):
        np.testing.assert_array_equal(apply_steps(steps, X[row])[0], counted[row])
        np.testing.assert_array_equal(
            apply_steps(steps, X[row : row + 1].astype(np.float64))[0], counted[row]
        )


def test_the_same_rows_give_the_same_words():
    first, _, X, y, _ = fitted("codebook:7")
    again, _ = fit_steps(with_form("codebook:7"), X.astype(np.float64), y)
    np.testing.assert_array_equal(first[0].words_, again[0].words_)


def test_an_image_without_any_place_has_no_words_and_a_gap_is_no_place():
    steps, _, X, *_ = fitted()
    nothing = np.full_like(X[:1], -1.0)
    assert not apply_steps(steps, nothing).any()
    gap = X[:1].copy()
    gap[0, 0] = np.nan
    one_less = PACKING.places(X[:1]).sum() - 1
    found = apply_steps(steps, gap)[0]
    assert found.sum() == pytest.approx(1)
    np.testing.assert_allclose(found * one_less, np.rint(found * one_less), atol=1e-9)


def test_more_words_than_different_descriptors_are_not_made():
    row = PACKING.pack(KINDS[:3], 5)
    steps, counted = fit_steps(with_form("codebook:50"), np.stack([row, row]))
    assert counted.shape == (2, 3)
    assert counted[0] == pytest.approx(1 / 3)
    assert steps[0].text == "codebook:50"


def test_few_descriptors_of_many_images_are_used(monkeypatch):
    monkeypatch.setattr(module, "MOST", 100)
    steps, counted, *_ = fitted(n=300)
    assert steps[0]._n_descriptors == 100
    assert counted.shape == (300, 4)


def test_merged_words_still_separate_the_findings():
    """Forty words of four kinds: kinds 2 and 3 tell nothing, so two words suffice for the rest."""
    steps, counted, _, y, shares = fitted("codebook:40:3", n=200)
    assert counted.shape == (200, 3)
    assert counted.sum(axis=1) == pytest.approx(1)
    malignant = y == "malignant"
    apart = np.abs(counted[malignant].mean(axis=0) - counted[~malignant].mean(axis=0))
    true = np.abs(shares[malignant].mean(axis=0) - shares[~malignant].mean(axis=0))
    assert apart.max() > 0.9 * true.max()
    assert "40 words merged to 3" in steps[0].describe()


def test_merging_needs_findings():
    X, y, _ = local_rows()
    for findings in (None, np.full(len(y), "benign")):
        with pytest.raises(BadInput, match="two findings"):
            fit_steps(with_form("codebook:20:5"), X, findings)


def test_cases_without_a_finding_are_not_counted_for_merging_but_for_words():
    X, y, _ = local_rows(n=80)
    known = y.copy()
    known[40:] = ""
    steps, counted = fit_steps(with_form("codebook:20:3"), X, known)
    assert counted.shape == (80, 3)
    whole, _ = fit_steps(with_form("codebook:20:3"), X, y)
    np.testing.assert_array_equal(steps[0].words_, whole[0].words_)


@pytest.mark.parametrize("text", ["codebook:4", "codebook:30:5,standardise"])
@pytest.mark.parametrize("form", [PACKING, WHITENED])
def test_a_stored_codebook_counts_alike(tmp_path, text, form):
    X, y, _ = local_rows(form=form)
    metric = fit_metric(make_learner("boostmetric", rounds=5), X, y, steps=with_form(text, form))
    metric.save(tmp_path / "m.metric")
    again = load_metric(tmp_path / "m.metric")
    np.testing.assert_array_equal(again.distances(X[:5], X), metric.distances(X[:5], X))
    assert again.card.to_json() == metric.card.to_json()
    assert again.card.steps[0].startswith("codebook: ")
    assert [step.text for step in again.steps] == [step.text for step in metric.steps]
    assert {part.name.split()[0] for part in again.explain(X[0], X[1])} == {"word"}


def test_parts_of_a_distance_are_words_and_sum_to_it():
    X, y, _ = local_rows()
    metric = fit_metric(
        make_learner("boostmetric", rounds=5), X, y, steps=with_form("codebook:6,standardise")
    )
    parts = metric.explain(X[0], X[1])
    assert sum(part.amount for part in parts) == pytest.approx(
        metric.distances(X[:1], X[1:2])[0, 0], rel=1e-9
    )


def test_other_rows_are_refused():
    steps, _, X, *_ = fitted()
    for bad in (X + 0.5, X - 10.0, np.where(X >= 0, X + PACKING.largest + 1, X)):
        with pytest.raises(BadInput, match="no local descriptors"):
            apply_steps(steps, bad)
        with pytest.raises(BadInput, match="no local descriptors"):
            fit_steps(with_form("codebook:4"), bad)
    with pytest.raises(BadInput, match="no local descriptors"):
        fit_steps(with_form("codebook:4"), X[:, :-1])
    with pytest.raises(BadInput, match="60 numbers a case"):
        apply_steps(steps, X[:, :-1])
    with pytest.raises(BadInput, match="anything to describe"):
        fit_steps(with_form("codebook:4"), np.full_like(X, -1.0))


def test_codebooks_are_fitted_without_the_cases_they_are_tested_on():
    """The held-out images are made of quite other places: the metrics of both runs have to be the same."""
    X, y, _ = local_rows(n=60)
    fitted_on: list[list[np.ndarray]] = []

    class Watching(Codebook):
        def fit(self, X, y=None):
            super().fit(X, y)
            fitted_on[-1].append(np.concatenate([self.words_.ravel(), self.merged_]))
            return self

    def run(rows):
        fitted_on.append([])
        steps = (Watching(20, 5, PACKING),)
        data = EvaluationData(rows, y)
        return get_protocol("bdm").run(data, [LearnerSpec("euclidean")], steps=steps, repeats=1, seed=3)

    assert not run(X).failed
    split = get_protocol("bdm").splits(EvaluationData(X, y), 1, 3)[1][0]
    other = X.copy()
    other[split.test] = np.where(other[split.test] >= 0, PACKING.largest - other[split.test], -1.0)
    run(other)
    other = X.copy()
    other[split.train] = np.where(other[split.train] >= 0, PACKING.largest - other[split.train], -1.0)
    run(other)
    assert [len(words) for words in fitted_on] == [1, 1, 1]
    np.testing.assert_array_equal(fitted_on[0][0], fitted_on[1][0])
    assert not np.array_equal(fitted_on[0][0], fitted_on[2][0])


@pytest.mark.parametrize("text", ["codebook:200", "codebook:2000:300", "codebook:100,standardise,pca:20"])
def test_texts_are_read_and_written(text):
    assert steps_text(parse_steps(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "codebook",
        "codebook:",
        "codebook:1",
        "codebook:x",
        "codebook:200:",
        "codebook:200:300",
        "codebook:20:5:2",
        "codebook:-5",
        "standardise,codebook:20",
        "codebook:20,codebook:30",
    ],
)
def test_texts_that_are_no_codebooks_are_refused(text):
    with pytest.raises(BadArguments) as caught:
        parse_steps(text)
    assert caught.value.hint


def test_extractors_with_local_descriptors_start_with_a_codebook_of_the_images():
    local = [extractor for extractor in extractors() if extractor.local is not None]
    assert [extractor.name for extractor in local] == ["visual_words", "textons"]
    for extractor in local:
        (codebook,) = chosen_steps("", extractor.name)
        assert codebook.text == steps_text(default_steps(extractor.name))
        assert codebook.form == extractor.local
        with pytest.raises(BadArguments, match="counted first") as caught:
            chosen_steps("standardise", extractor.name)
        assert "codebook" in caught.value.hint
    assert steps_text(chosen_steps("codebook:100,standardise", "textons")) == "codebook:100,standardise"


def test_without_findings_words_are_not_merged_by_default():
    assert steps_text(chosen_steps("", "textons", labelled=False)) == "codebook:300"
    assert steps_text(chosen_steps("", "gabor", labelled=False)) == steps_text(default_steps("gabor"))


def test_numbers_that_are_no_descriptors_take_no_codebook():
    with pytest.raises(BadArguments, match="'gabor'") as caught:
        chosen_steps("codebook:100", "gabor")
    assert "visual_words, textons" in caught.value.hint
    with pytest.raises(BadInput, match="local descriptors"):
        fit_steps(parse_steps("codebook:5"), np.ones((4, 6)))


def stored() -> tuple[dict, dict]:
    steps, *_ = fitted("codebook:20:4", form=WHITENED)
    return steps[0].settings(), steps[0].arrays()


def test_what_was_stored_comes_back():
    settings, arrays = stored()
    again = Codebook.restore(settings, arrays)
    assert again.settings() == settings
    assert again.form == WHITENED


@pytest.mark.parametrize(
    "change",
    [
        {"n_words": 0},
        {"n_words": "20"},
        {"n_merged": True},
        {"n_features": 7},
        {"bits": 30},
        {"whitened": 1},
        {"whitened": False},
        {"words": None},
        {"words": np.zeros((3, 5), np.float32)},
        {"words": np.zeros((20, 4))},
        {"whitening": None},
        {"whitening": np.eye(3, dtype=np.float32)},
        {"low": None},
        {"low": np.full(4, 300.0)},
        {"high": np.empty(0)},
        {"merged": np.zeros(3, np.int64)},
        {"merged": np.arange(20) * 2},
        {"merged": np.zeros(20)},
    ],
)
def test_stored_values_that_do_not_fit_are_refused(change):
    settings, arrays = stored()
    for name, value in change.items():
        target = settings if name in settings else arrays
        target[name] = value
        if value is None:
            del target[name]
    with pytest.raises(BadInput):
        Codebook.restore(settings, arrays)
