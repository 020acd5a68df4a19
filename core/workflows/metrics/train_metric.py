"""Train a metric on a library: read the cases, choose what to learn from, fit, score, store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from semblance.core.engine.cluster import Cluster
from semblance.core.errors import BadArguments
from semblance.core.evaluation.evaluate_metric import card_scores, chance_note, stored_scores
from semblance.core.features.fusion import clinical_columns
from semblance.core.features.imported import Imported, origin_text
from semblance.core.json_document import JsonDocument
from semblance.core.language import as_lazy, join_texts, tr_lazy, tr_lazy_n
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import checked_name
from semblance.core.metrics.card import Split
from semblance.core.metrics.declarations import LearnerDeclaration
from semblance.core.metrics.pipeline import attach_steps
from semblance.core.metrics.registry import learners, make_learner
from semblance.core.metrics.steps.sequence import chosen_steps, fit_steps, step_sample_note
from semblance.core.metrics.training_data.validation import using_parallel_map
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.fuse_features import fused_features
from semblance.core.workflows.features.region_imbalance import region_imbalance_warning
from semblance.core.workflows.metrics.score_metric import CONTROL, held_out_scores, shuffled_control
from semblance.core.workflows.metrics.stored_metric import store_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.metrics.training_curve import CurveReporter
from semblance.core.workflows.metrics.training_data import (
    TrainingData,
    read_training_data,
    training_supervision,
)

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.metrics.learner import Learner
    from semblance.core.metrics.metric import Metric

#: Key of stored scores: the points of the training curve.
CURVE = "training_curve"


@dataclass(frozen=True)
class TrainResult(JsonDocument):
    """A stored metric: its card and its held-out scores as JSON, ``None`` where it was not scored."""

    library: str
    metric: str
    card: dict[str, Any]
    scores: dict[str, Any] | None
    seconds: float
    #: A warning on the scores, if there is one; also on the card.
    warning: str = ""


def train_metric(
    library: LibraryLocation, request: TrainRequest, *, cluster: str = "", reporter: Reporter = SILENT
) -> TrainResult:
    """Fit a metric on the training part of ``library``, score it on the held-out part, and store it.

    If the library has no findings, or too few to hold some out, a learner that needs none is fitted on all cases and
    not scored.

    The reporter's partial results are :class:`~semblance.core.workflows.metrics.training_curve.CurvePoint`. A
    metric of the same name is replaced. Stopping stores the best so far; cancelling stores nothing.

    With the address of a Dask scheduler as ``cluster`` its workers choose the parameters of the learner, each part of
    the choice as a task; the metric is the same to 1e-9.

    Raises:
        BadArguments: unknown learner, setting, step or feature set, or a learner that has no such parts for a cluster.
        SemblanceError: the cluster cannot be used or was lost.
        BadInput: too few cases or findings, or data the learner cannot use.
    """
    start = time.monotonic()
    request = replace(request, name=checked_name(request.name, tr_lazy("A metric")))
    learner = make_learner(request.learner, **(request.settings or {}))
    request = replace(request, features=fused_features(library, request.features, reporter))
    with _cluster_tasks(cluster, learner, reporter), open_library(library, writable=True) as opened:
        reporter.progress(0, None, "Reading features")
        data = read_training_data(opened, request, learner)
        metric, scores = fit_and_score(opened, request, learner, data, reporter)
        warning = _warning(opened, data)
        notes = [note for note in (_origin_note(opened, data), data.unscored, warning) if note]
        metric = metric.with_card(notes=(*metric.card.notes, *notes))
        store_metric(opened, request, metric, data, scores, reporter)
        return TrainResult(
            str(opened.location),
            request.name,
            metric.card.to_json(),
            None if scores is None else {name: value for name, value in scores.items() if name != CURVE},
            time.monotonic() - start,
            join_texts([one for one in (warning, chance_note(stored_scores(scores))) if one], " "),
        )


def _cluster_tasks(address: str, learner: Learner, reporter: Reporter) -> AbstractContextManager[None]:
    """The context in which the parts of a training are tasks of the cluster at ``address``, if there is one.

    Raises:
        BadArguments: ``learner`` has no such parts.
        SemblanceError: the cluster cannot be used.
    """
    if not address:
        return nullcontext()
    if not _has_parts(type(learner)):
        able = join_texts(as_lazy(one.title) for one in learners() if _has_parts(one))
        raise BadArguments(
            tr_lazy("{title} has no parts that a cluster could train.", title=learner.title),
            tr_lazy("These have: {able}. Or leave the cluster out.", able=able),
        )
    return _mapped_by_cluster(address, reporter)


def _has_parts(learner: type[LearnerDeclaration]) -> bool:
    return "n_jobs" in learner.how_fitted()


@contextmanager
def _mapped_by_cluster(address: str, reporter: Reporter) -> Iterator[None]:
    with Cluster(address) as cluster, using_parallel_map(partial(cluster.map, reporter=reporter)):
        yield


def fit_and_score(
    library: Library, request: TrainRequest, learner: Learner, data: TrainingData, reporter: Reporter
) -> tuple[Metric, dict[str, Any] | None]:
    """The metric that ``learner`` finds on the training cases, and its scores on the held-out ones with the
    training curve; ``None`` for scores where none were held out.

    Raises:
        BadArguments: unknown step.
        BadInput: data the learner cannot use.
    """
    unfitted = deepcopy(learner)
    metric, curve = fit_training_part(library, request, learner, data, reporter)
    held_out = data.held_out
    if held_out is None or curve is None:
        return metric, None
    scores = held_out_scores(library, metric, held_out, seed=request.seed, reporter=reporter)

    def fit(shuffled: TrainingData, quiet: Reporter) -> Metric:
        return fit_training_part(library, request, unfitted, shuffled, quiet)[0]

    control = shuffled_control(request, metric, data, fit, reporter)
    metric = metric.with_card(
        split=Split(request.seed, request.held_out, data.cases.by_patient), **card_scores(scores)
    )
    measured = {**scores, CONTROL: None if control is None else control.to_json()}
    return metric, {**measured, CURVE: curve.to_json()}


def fit_training_part(
    library: Library, request: TrainRequest, learner: Learner, data: TrainingData, reporter: Reporter
) -> tuple[Metric, CurveReporter | None]:
    """The metric that ``learner`` finds on the training cases, with its steps, not yet scored; the curve where cases
    were held out to score it on.

    Raises:
        BadArguments, BadInput, Cancelled: as :func:`fit_and_score`.
    """
    cases, split, training = data.cases, data.split, data.training_rows
    supervision = training_supervision(
        library,
        learner,
        data.train,
        from_findings=request.from_findings and split is not None,
        ledger=request.judgements,
        seed=request.seed,
    )
    steps = chosen_steps(
        request.steps, data.feature_set.extractor, data.feature_set.settings, labelled=split is not None
    )
    fitted, rows = fit_steps(steps, cases.X, None if split is None else cases.y[training], training)
    curve = None if split is None else CurveReporter(reporter, fitted, cases, split.test, request.seed)
    learner.fit(
        rows,
        supervision.y,
        groups=None if cases.groups is None else cases.groups[training],
        reporter=curve or reporter,
        pairs=supervision.pairs,
        triplets=supervision.triplets,
    )
    if curve is not None:
        curve.end()
    metric = attach_steps(learner.metric(), fitted, cases.feature_names, cases.feature_groups)
    notes = (*metric.card.notes, *step_sample_note(len(rows), cases.X.shape[1]))
    metric = supervision.noted_on(metric.with_card(notes=notes))
    feature_set = data.feature_set
    card = metric.with_card(
        name=request.name,
        library=library.name,
        feature_set=feature_set.name,
        clinical_columns=clinical_columns(feature_set.extractor, feature_set.settings),
    )
    return card, curve


def _origin_note(library: Library, data: TrainingData) -> str:
    """Where imported features came from, and how many cases have none; "" of features that are measured here."""
    feature_set = data.feature_set
    if feature_set.extractor != Imported.name:
        return ""
    origin = origin_text(feature_set.settings)
    lacking = len(library.catalogue.case_rows()) - len(library.features.cases_of(feature_set))
    if not lacking:
        return tr_lazy("The features '{name}' were imported: {origin}.", name=feature_set.name, origin=origin)
    return tr_lazy_n(
        "The features '{name}' were imported: {origin}. {n} case of the library has none of them.",
        "The features '{name}' were imported: {origin}. {n} cases of the library have none of them.",
        lacking,
        name=feature_set.name,
        origin=origin,
    )


def _warning(library: Library, data: TrainingData) -> str:
    """A warning if findings differ in the share of cases with regions."""
    if data.split is None:
        return ""
    assert data.cases.case_rows is not None
    return region_imbalance_warning(library, data.feature_set, data.cases.case_rows, data.cases.y.tolist())
