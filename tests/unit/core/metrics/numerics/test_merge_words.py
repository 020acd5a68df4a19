"""Merging words against the greedy choice by definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from semblance.core.metrics.numerics.merge_words import merge_words


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
