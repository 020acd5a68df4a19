"""The metric that ranks the cases of a library while they are being measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semblance.core.evaluation.data_sources import sealed_rows
from semblance.core.language import tr_lazy
from semblance.core.metrics.pipeline import fit_metric
from semblance.core.metrics.registry import make_learner
from semblance.core.metrics.steps.sequence import chosen_steps
from semblance.core.metrics.storage import save_metric
from semblance.core.workflows.metrics.train_request import PREPARED, PROVISIONAL

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import FeatureSet

#: Measured cases that its steps are fitted on at most.
MOST_FITTED = 2000


def store_provisional_metric(library: Library, feature_set: FeatureSet, name: str) -> None:
    """Store the plain distance on the cases that ``feature_set`` has so far, as the metric ``name``.

    Its steps are the default ones of the extractor, fitted on these cases (at most :data:`MOST_FITTED`) and not on
    their findings. It is not scored. Its card has the key :data:`PROVISIONAL` and a note that says so. It ranks cases
    measured later too: the coordinates are computed whenever the metric is loaded. A metric of the same name is
    replaced, so that a search that names it continues with the better one.

    Raises:
        BadInput: all measured cases have the same features.
    """
    measured = np.setdiff1d(library.features.cases_of(feature_set), sealed_rows(library))
    sample = np.random.default_rng(0).permutation(measured)[:MOST_FITTED]
    fitted_on, numbers = library.features.read(feature_set, sample)
    metric = fit_metric(
        make_learner("euclidean"),
        numbers.astype(np.float64),
        steps=chosen_steps("", feature_set.extractor, feature_set.settings, labelled=False),
        feature_names=[column for column, _ in feature_set.columns],
        feature_groups=feature_set.groups,
    )
    metric = metric.with_card(
        name=name,
        library=library.name,
        feature_set=feature_set.name,
        notes=(
            *metric.card.notes,
            tr_lazy("Provisional: it ranks the cases measured so far and is not scored."),
        ),
    )
    file = library.new_metric_file()
    save_metric(metric, file)
    card = {**metric.card.to_json(), PREPARED: {}, PROVISIONAL: True}
    library.add_metric(name, "euclidean", feature_set.id, file, card, fitted_on, None)
