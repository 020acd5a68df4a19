"""Several feature sets each go through their own steps and count alike afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.features.fusion import FusedSet, fusion_settings
from semblance.core.metrics import fit_metric, make_learner
from semblance.core.metrics.metric import load_metric
from semblance.core.metrics.steps import parse_steps, steps_text
from semblance.core.metrics.steps.per_set import PerSet, SetSteps
from semblance.core.metrics.steps.sequence import chosen_steps

GROUPS = ("a",) * 6 + ("b",) * 2 + ("c",)


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.random((n, 6)), rng.normal(size=(n, 3)) * [1, 50, 1000]], axis=1)


def step():
    return PerSet(
        [SetSteps("first", 6, parse_steps("l2,pca:4")), SetSteps("second", 3, parse_steps("standardise"))]
    )


def test_each_set_has_the_same_mean_squared_distance():
    moved = step().fit(rows()).transform(rows())
    assert moved.shape == (40, 7)
    assert moved[:, :4].var(axis=0).sum() == pytest.approx(1)
    assert moved[:, 4:].var(axis=0).sum() == pytest.approx(1)


def test_components_are_named_by_their_set_and_columns_by_their_group():
    fitted = step().fit(rows())
    assert fitted.names(GROUPS) == ("first",) * 4 + ("b", "b", "c")
    metric = fit_metric(make_learner("euclidean"), rows(), steps=(step(),), feature_groups=GROUPS)
    parts = metric.explain(rows()[0], rows()[1])
    assert [part.name for part in parts] == ["first", "b", "c"]
    assert sum(part.amount for part in parts) == pytest.approx(
        metric.distances(rows()[:1], rows()[1:2])[0, 0]
    )


def test_it_is_stored_with_its_metric(tmp_path):
    metric = fit_metric(make_learner("euclidean"), rows(), steps=(step(),), feature_groups=GROUPS)
    metric.save(tmp_path / "m.metric")
    again = load_metric(tmp_path / "m.metric")
    np.testing.assert_array_equal(again.transform(rows(seed=1)), metric.transform(rows(seed=1)))
    assert steps_text(again.steps) == "impute,sets"


@pytest.mark.parametrize(
    "change",
    [
        lambda settings, arrays: settings.pop("sets"),
        lambda settings, arrays: settings["sets"][0].update(columns=5),
        lambda settings, arrays: settings["sets"][0]["steps"][0].update(kind="sets"),
        lambda settings, arrays: settings["sets"].pop(),
        lambda settings, arrays: arrays.update(scales=-arrays["scales"]),
        lambda settings, arrays: arrays.pop("scales"),
    ],
)
def test_stored_parts_that_do_not_fit_are_refused(change):
    fitted = step().fit(rows())
    settings, arrays = fitted.settings(), fitted.arrays()
    change(settings, arrays)
    with pytest.raises(BadInput):
        PerSet.restore(settings, arrays)


def test_the_steps_of_each_set_are_its_extractors_own():
    settings = fusion_settings([FusedSet("encoder", "encoder", 1, 1280), FusedSet("m", "mass", 1, 38)])
    (found,) = chosen_steps("", "fusion", settings)
    assert [(one.name, one.columns, steps_text(one.steps)) for one in found.sets] == [
        ("encoder", 1280, "l2,pca:64"),
        ("m", 38, "standardise"),
    ]
    with pytest.raises(BadInput, match="several sets"):
        found.fit(rows())
