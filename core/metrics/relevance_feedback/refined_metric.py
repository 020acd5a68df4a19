"""A metric refined by feedback, frozen, with a card that names the original metric."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.declarations import CLICKS
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.relevance_feedback.feedback_space import FEATURE_SHARE, FeedbackSpace
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm
from semblance.core.metrics.relevance_feedback.triplet_learning import SLOPE
from semblance.core.metrics.training import versions


def refined_metric(
    base: Metric,
    space: FeedbackSpace,
    form: FeedbackForm,
    *,
    name: str,
    judgements: int,
    triplets: int,
    authors: Sequence[str] = (),
    strength: float = 1.0,
) -> Metric:
    """``base`` with ``form`` learnt in ``space``, as a metric of its own.

    ``form`` is used unchanged; ``strength`` is only recorded on the card. The scores of ``base`` are not those of the
    result, so the card has none.
    """
    # The authors have a field of their own, because notes are printed in reports.
    came_from = tr_lazy_n(
        "{n} mark on the metric '{card}'", "{n} marks on the metric '{card}'", judgements, card=base.card.name
    )
    parameters: dict[str, Any] = {
        "base": base.card.name,
        "base_learner": base.card.learner,
        "slope": SLOPE,
        "feature_share": FEATURE_SHARE,
        "strength": float(strength),
    }
    old = base.card
    card = MetricCard(
        learner=CLICKS,
        name=name,
        parameters=parameters,
        steps=old.steps,
        library=old.library,
        feature_set=old.feature_set,
        findings=old.findings,
        n_cases=old.n_cases,
        n_patients=old.n_patients,
        constraints={**old.constraints, "judgements": judgements, "judged triplets": triplets},
        imputed=old.imputed,
        dropped_columns=old.dropped_columns,
        notes=(*old.notes, tr_lazy("Refined with {came_from}.", came_from=came_from)),
        authors=tuple(dict.fromkeys((*old.authors, *authors))),
        versions=versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return Metric(base.steps, space.distance(form), card, base.feature_groups)
