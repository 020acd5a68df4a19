"""The registry of learners."""

from __future__ import annotations

from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.metrics.estimators.bdm import BDM, BDMV
from semblance.core.metrics.estimators.bdm_kernel import BDMKernel
from semblance.core.metrics.estimators.boostmetric import BoostMetric
from semblance.core.metrics.estimators.ccml import CCML
from semblance.core.metrics.estimators.conv_ccml import ConvCCML
from semblance.core.metrics.estimators.convnet import ConvNet
from semblance.core.metrics.estimators.distboost import DistBoost
from semblance.core.metrics.estimators.fixed_distances import L1, Euclidean
from semblance.core.metrics.estimators.itml import ITML
from semblance.core.metrics.estimators.lda import LDA
from semblance.core.metrics.estimators.lfda import LFDA
from semblance.core.metrics.estimators.lmnn import LMNN
from semblance.core.metrics.estimators.mahalanobis import Mahalanobis
from semblance.core.metrics.estimators.metricboost import MetricBoost
from semblance.core.metrics.estimators.mlkr import MLKR
from semblance.core.metrics.estimators.mmc import MMC
from semblance.core.metrics.estimators.nca import NCA
from semblance.core.metrics.estimators.ncmc import NCMC
from semblance.core.metrics.estimators.passive_aggressive import PassiveAggressive
from semblance.core.metrics.estimators.pca import PrincipalComponents
from semblance.core.metrics.estimators.proxy_anchor import ProxyAnchor
from semblance.core.metrics.estimators.rca import RCA
from semblance.core.metrics.estimators.scml import SCML
from semblance.core.metrics.estimators.sdml import SDML
from semblance.core.metrics.estimators.supcon import SupCon
from semblance.core.metrics.estimators.triplet_head import TripletHead
from semblance.core.metrics.learner import HOW_FITTED, Learner
from semblance.core.metrics.relevance_feedback.refined_metric import LEARNER as CLICKS
from semblance.core.parameters import checked

_LEARNERS: tuple[type[Learner], ...] = (
    Euclidean,
    L1,
    Mahalanobis,
    PrincipalComponents,
    LDA,
    LFDA,
    RCA,
    NCA,
    LMNN,
    ITML,
    SDML,
    SCML,
    MMC,
    DistBoost,
    NCMC,
    MLKR,
    TripletHead,
    ProxyAnchor,
    SupCon,
    ConvNet,
    BDM,
    BDMV,
    BDMKernel,
    MetricBoost,
    BoostMetric,
    PassiveAggressive,
    CCML,
    ConvCCML,
)


def learners() -> tuple[type[Learner], ...]:
    """The classes of all learners, the plainest first."""
    return _LEARNERS


def learner_class(name: str) -> type[Learner]:
    """The class of the learner so named.

    Raises:
        BadArguments: no such learner.
    """
    for learner in _LEARNERS:
        if learner.name == name:
            return learner
    names = ", ".join(learner.name for learner in _LEARNERS)
    raise BadArguments(
        tr_lazy("There is no learner '{name}'.", name=name), tr_lazy("Learners: {names}.", names=names)
    )


def learner_title(name: str) -> str:
    """The name on screen of the learner of a card, also of a metric refined by feedback.

    Raises:
        BadArguments: no such learner.
    """
    return "Clicks" if name == CLICKS else learner_class(name).title


def make_learner(name: str, **parameters: Any) -> Learner:
    """The learner so named, not yet fitted; ``random_state`` is accepted by all, ``n_jobs`` by those that choose.

    Raises:
        BadArguments: an unknown learner or parameter, or a value out of its range.
    """
    learner = learner_class(name)
    how = HOW_FITTED & learner._defaults().keys()
    own = {key: value for key, value in parameters.items() if key not in how}
    values: dict[str, Any] = dict(checked(name, learner.parameters, own))
    values.update((key, parameters[key]) for key in how & parameters.keys())
    return learner(**values)


#: Offered first, in this order: the methods of the papers Semblance implements.
_OF_THE_PAPERS = (
    "bdm_v",
    "bdm",
    "bdm_kernel",
    "metricboost",
    "boostmetric",
    "passive_aggressive",
    "ccml",
    "conv_ccml",
)


def grouped_learners() -> tuple[tuple[type[Learner], ...], tuple[type[Learner], ...]]:
    """The learners of the papers, the first to try first; and those they are compared with."""
    known = {learner.name: learner for learner in _LEARNERS}
    papers = tuple(known[name] for name in _OF_THE_PAPERS if name in known)
    return papers, tuple(learner for learner in _LEARNERS if learner not in papers)
