"""Train a stored metric again as it was trained, without some of its training cases."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.evaluation.calibration import Calibration, stored_calibration
from semblance.core.evaluation.data_sources import library_data
from semblance.core.evaluation.splits import HoldOut
from semblance.core.files import create_folder
from semblance.core.language import tr_lazy
from semblance.core.metrics.declarations import CLICKS, BDMVisualShare
from semblance.core.metrics.metric import Metric, load_metric
from semblance.core.metrics.registry import declared_learner, estimator_class, make_learner
from semblance.core.metrics.storage import save_metric
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.held_out_cases import HeldOutCases, held_out_cases
from semblance.core.workflows.metrics.leakage import Ids
from semblance.core.workflows.metrics.score_metric import calibrate_estimate
from semblance.core.workflows.metrics.slider_steps import slider_of
from semblance.core.workflows.metrics.train_metric import fit_training_part
from semblance.core.workflows.metrics.train_request import stored_request
from semblance.core.workflows.metrics.training_data import TrainingData

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import MetricRecord
    from semblance.core.metrics.learner import Learner

#: Metrics without a patient that are stored for one metric.
KEPT = 20
_SUFFIX = ".metric"


@dataclass(frozen=True, eq=False)
class RefittedMetric:
    """``metric``, fitted to the cases ``training`` (n,) alone, and the ``calibration`` of its own estimate on the
    held-out cases; ``None`` if these are too few or the metric was not scored."""

    metric: Metric
    training: Ids
    calibration: Calibration | None


def refit_metric(
    library: Library, record: MetricRecord, excluded: Ids, *, reporter: Reporter = SILENT
) -> RefittedMetric:
    """The metric of ``record``, trained again with its learner, settings, steps and seed on its training cases but
    the ids ``excluded``.

    The result is stored in the folder of derived files if the library is writable.

    Raises:
        BadInput: it was not trained in this library, or too few cases are left.
        BadArguments: this version does not have the learner or its settings.
    """
    training = np.setdiff1d(record.training, excluded)
    file = _file_of(library, record, training)
    kept = _kept_metric(file)
    if kept is None:
        kept = _fit(library, record, training, reporter)
        if library.writable:
            _keep(kept, file, record)
    return RefittedMetric(kept, training, stored_calibration(kept.card.scores))


def _fit(library: Library, record: MetricRecord, training: Ids, reporter: Reporter) -> Metric:
    if record.learner == CLICKS:
        raise BadInput(
            tr_lazy(
                "The metric '{name}' was refined by marks, and these cannot be repeated.", name=record.name
            ),
            "Choose the metric that it was refined from, and rank by that without the case.",
        )
    reporter.progress(0, None, "Reading features")
    request = stored_request(record)
    learner = _learner_of(record, request.seed)
    feature_set = library.features.of_metric(record)
    held_out: HeldOutCases | None = None
    if record.card.get("split") is None:
        everything = library_data(library, feature_set)
        assert everything.case_rows is not None
        cases = everything.rows(np.flatnonzero(np.isin(everything.case_rows, training)))
        data = TrainingData(feature_set, everything, cases, None)
    else:
        held_out = held_out_cases(library, record)
        cases = held_out.cases
        assert cases.case_rows is not None
        rows = np.flatnonzero(np.isin(cases.case_rows, training))
        split = HoldOut(rows, held_out.test, cases.by_patient, request.seed)
        data = TrainingData(feature_set, held_out.everything, cases, split, held_out.findings_map)
    metric, _ = fit_training_part(library, request, learner, data, reporter)
    stored = stored_calibration(record.scores)
    if held_out is None or stored is None:
        return metric
    # On the held-out cases of the original metric: the cases that are left out now belong to the query.
    calibration = calibrate_estimate(
        library, metric, held_out, measured_on=stored.measured_on, seed=request.seed, reporter=reporter
    )
    return metric.with_card(scores={"calibration": None if calibration is None else calibration.to_json()})


def _learner_of(record: MetricRecord, seed: int) -> Learner:
    """The learner with the settings on the card, not yet fitted.

    Raises:
        BadArguments: this version does not have it.
    """
    parameters = record.card.get("parameters")
    given: dict[str, Any] = dict(parameters) if isinstance(parameters, Mapping) else {}
    slider = slider_of(record.card)
    if slider is not None:
        learner: Learner = estimator_class(BDMVisualShare)(
            **given | {"visual_share": 1.0 - slider[1] / 100.0, "random_state": seed}
        )
        return learner
    plugin = record.card.get("plugin")
    kind = declared_learner(
        record.learner, str(plugin.get("package", "")) if isinstance(plugin, Mapping) else ""
    )
    known = {parameter.name for parameter in kind.parameters}
    unknown = sorted(set(given) - known)
    if unknown:
        raise BadArguments(
            tr_lazy(
                "This version of {title} has no setting '{setting}', with which '{name}' was trained.",
                title=kind.title,
                setting=unknown[0],
                name=record.name,
            ),
            "Train the metric again.",
        )
    return make_learner(kind.name, **given)


def _file_of(library: Library, record: MetricRecord, training: Ids) -> Path:
    digest = hashlib.blake2b(training.tobytes(), digest_size=12).hexdigest()
    return library.derived / f"{record.file.stem}.{digest}{_SUFFIX}"


def _kept_metric(file: Path) -> Metric | None:
    if not file.is_file():
        return None
    try:
        return load_metric(file)
    except BadInput:
        # Derived files are made again.
        return None


def _keep(metric: Metric, file: Path, record: MetricRecord) -> None:
    """Write ``metric`` to ``file`` and remove the oldest others of ``record``."""
    try:
        create_folder(file.parent)
        save_metric(metric, file)
        older = sorted(
            file.parent.glob(f"{record.file.stem}.*{_SUFFIX}"), key=lambda one: one.stat().st_mtime
        )
        for one in older[:-KEPT]:
            one.unlink(missing_ok=True)
    except (OSError, SemblanceError):
        # If the disk is full, the next search takes some seconds longer; this one must not fail.
        return
