"""Places join the distance of a metric only where they find more of the same finding beyond chance."""

from __future__ import annotations

import numpy as np

from semblance.core.evaluation.place_weight import WEIGHTS, chosen_weight, shares_with_places

N, PLACES, WIDTH = 80, 9, 16


def chosen(signal_in_places: float, signal_in_metric: float):
    """The choice where findings differ in one place of the images, and in the metric, by so much."""
    rng = np.random.default_rng(0)
    findings = np.arange(N) % 2
    codes = rng.normal(0.0, 20.0, (N, PLACES, WIDTH))
    codes[np.arange(N), rng.integers(0, PLACES, N), findings] += signal_in_places
    embedded = rng.normal(size=(N, 8))
    embedded[:, 0] += signal_in_metric * findings
    distances = ((embedded[:, np.newaxis] - embedded) ** 2).sum(axis=2)
    coded = np.clip(np.rint(codes), -127, 127).astype(np.int8)
    rows, units = np.arange(N), np.arange(N) // 2
    shares = shares_with_places(distances, coded, rows, findings, units, 2)
    assert shares.shape == (len(WEIGHTS), N, 2)
    np.testing.assert_allclose(shares.sum(axis=2), 1.0)
    return chosen_weight(shares, findings, units, np.zeros(N, dtype=np.intp), ["a", "b"], title="The metric")


def test_places_that_tell_findings_apart_join_a_metric_that_does_not():
    choice = chosen(107.0, 0.0)
    assert choice.is_better and choice.accuracy[1] > choice.accuracy[0] + 0.1
    assert type(choice).from_json(choice.to_json()) == choice


def test_places_of_noise_do_not_join():
    choice = chosen(0.0, 2.0)
    assert not choice.is_better and choice.ci95[0] <= 0.0


def test_a_loss_on_held_out_patients_keeps_places_out():
    from dataclasses import replace

    assert not replace(chosen(107.0, 0.0), held_out=-0.01).is_better
