"""Which learners there are, and what can be set: all that lists, forms and the command line show of them.

A learner is declared here and computed in a module of :mod:`semblance.core.metrics.estimators`, which is imported
when one is made. So a list of learners needs neither numpy nor scikit-learn.
"""

# ruff: noqa: D101 (title and summary say what they are)
from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, TypeVar, dataclass_transform

from semblance.core.parameters import Parameter, Value

_D = TypeVar("_D", bound="LearnerDeclaration")


def parameter(default: Value, meaning: str, **facts: Any) -> Any:
    """The default of a field of a declaration, with its ``meaning`` and the other ``facts`` of a
    :class:`Parameter`."""
    return Parameter("", default, meaning, **facts)


@dataclass_transform(eq_default=False, kw_only_default=True)
def declared(cls: type[_D]) -> type[_D]:
    """Give the class its ``parameters`` and an ``__init__`` that sets them; its own stand before inherited ones."""
    own = []
    for name in cls.__annotations__:
        found = vars(cls).get(name)
        if isinstance(found, Parameter):
            own.append(dataclasses.replace(found, name=name))
            setattr(cls, name, found.default)
    names = {parameter.name for parameter in own}
    cls.parameters = (*own, *(parameter for parameter in cls.parameters if parameter.name not in names))
    return dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class LearnerDeclaration:
    """The names of a learner, and its parameters as fields with their defaults."""

    name: ClassVar[str]
    title: ClassVar[str]
    #: The module of its estimator, which is the class of the same name there; empty: as ``name``.
    module: ClassVar[str] = ""
    #: Author, year and title, in short.
    paper: ClassVar[str] = ""
    #: The papers to cite: keys of resources/papers.bib, or whole BibTeX entries.
    citations: ClassVar[tuple[str, ...]] = ()
    #: When to use it, in one line.
    summary: ClassVar[str]
    #: The fields that belong to the method, in the order in which they are shown.
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    #: The constraints it eats: any of "findings", "pairs", "triplets"; empty for none.
    accepts: ClassVar[frozenset[str]] = frozenset()
    #: Whether it chooses something by findings where they are given, though it needs none.
    uses_given_findings: ClassVar[bool] = False
    #: The extra of the installation it cannot do without; empty for none.
    needs: ClassVar[str] = ""

    # Fields that are no Parameter say how it is fitted. ``n_jobs`` is another, of those that choose a parameter: the
    # threads they take, which change nothing in the result.
    random_state: int | None = None

    @classmethod
    def how_fitted(cls) -> frozenset[str]:
        """Names of the fields that do not change the method; all others are on the card."""
        return frozenset(field.name for field in dataclasses.fields(cls)) - {
            one.name for one in cls.parameters
        }


COMPONENTS: int = parameter(
    0, "Dimensions of the learnt space; 0: as many as there are features.", minimum=0, maximum=10_000
)
ROUNDS: int = parameter(50, "Iterations at most.", minimum=1, maximum=10_000)
HEAD_COMPONENTS: int = parameter(
    0,
    "Dimensions of the learnt space; 0: as many as there are features, at most 128.",
    minimum=0,
    maximum=10_000,
)
SHRINKAGE: float = parameter(
    -1.0,
    "Share of a round covariance mixed in; -1: chosen on cases set aside, or as Ledoit and Wolf say "
    "without findings; 0: none, unless the covariance cannot be inverted.",
    minimum=-1.0,
    maximum=1.0,
)
VALIDATION: float = parameter(
    0.2,
    "Share of the cases set aside to choose the number of rounds on; 0: all rounds.",
    minimum=0.0,
    maximum=0.5,
)
WHITEN: bool = parameter(
    True, "Even out first what varies within findings, shrunk as is best on cases set aside.", paper=False
)
PLAIN: float = parameter(
    -1.0,
    "Share of the plain distance mixed in; -1: chosen on cases set aside, up to all of it; 0: none.",
    label="Plain share",
    minimum=-1.0,
    maximum=1.0,
    paper=0.0,
)
TRAINING_CASES: int = parameter(
    4_000, "Train on a stratified sample of this many cases where there are more; 0: on all.", minimum=0
)
LAYERS: int = parameter(2, "Convolutions, each with pooling.", minimum=1, maximum=2, paper=2)
LOCALITY: str = parameter(
    "local",
    "Whom a case is held against: the nearest of each other finding (classwise), or of all others "
    "together (local).",
    choices=("classwise", "local"),
)
NEAREST_OF_FINDING: int = parameter(
    0, "Nearest cases of each finding that count; 0: chosen on cases set aside.", minimum=0, maximum=50
)
RATE: float = parameter(0.0, "Learning rate; 0: chosen on cases set aside.", minimum=0.0, maximum=1.0)


def drawn_pairs(count: int, paper: int | None = None) -> Any:
    """The parameter of a learner that draws ``count`` pairs by default."""
    return parameter(
        count,
        "Pairs drawn from findings: this many for each two findings in either order.",
        label="Pairs drawn",
        minimum=1,
        maximum=10_000,
        paper=paper,
    )


@declared
class Euclidean(LearnerDeclaration):
    name = "euclidean"
    title = "Euclidean"
    module = "fixed_distances"
    summary = "Plain visual similarity: nothing is learnt, all features have equal weight."


@declared
class L1(LearnerDeclaration):
    name = "l1"
    title = "L1"
    module = "fixed_distances"
    summary = "Visual similarity by absolute differences: an outlier in one feature weighs less."


@declared
class Mahalanobis(LearnerDeclaration):
    name = "mahalanobis"
    title = "Mahalanobis"
    paper = "Mahalanobis 1936, On the generalised distance in statistics"
    citations = ("mahalanobis1936generalised",)
    summary = "Like Euclidean, but correlated features count once; ignores findings."
    uses_given_findings = True

    shrinkage: float = SHRINKAGE
    n_jobs: int | None = None


@declared
class PrincipalComponents(LearnerDeclaration):
    name = "pca"
    title = "PCA"
    paper = "Pearson 1901, On lines and planes of closest fit to systems of points in space"
    citations = ("pearson1901lines",)
    summary = "Euclidean without the directions of least variance; ignores findings."

    components: int = parameter(
        0,
        "How many components are kept; 0: as many as hold the share of the variance.",
        minimum=0,
        maximum=100_000,
    )
    variance: float = parameter(
        0.99,
        "Share of the variance to keep where the number of components is 0.",
        minimum=0.01,
        maximum=1.0,
        paper=0.99,
    )


@declared
class LDA(LearnerDeclaration):
    name = "lda"
    title = "LDA"
    paper = "Fisher 1936, The use of multiple measurements in taxonomic problems"
    citations = ("fisher1936use",)
    summary = "Instant, and accurate where each finding is one cluster; few dimensions."
    accepts = frozenset({"findings"})

    components: int = parameter(
        0,
        "How many discriminants are kept at most; 0: all there are, one less than findings.",
        minimum=0,
        maximum=10_000,
    )
    shrinkage: float = SHRINKAGE
    n_jobs: int | None = None


@declared
class LFDA(LearnerDeclaration):
    name = "lfda"
    title = "LFDA"
    paper = (
        "Sugiyama 2007, Dimensionality reduction of multimodal labeled data by local Fisher discriminant "
        "analysis"
    )
    citations = ("sugiyama2007dimensionality",)
    summary = "Like LDA, for findings of several clusters, and with more dimensions."
    accepts = frozenset({"findings"})

    components: int = COMPONENTS
    k: int = parameter(
        7,
        "The distance to this nearest case of its finding is how far a case looks around.",
        minimum=1,
        maximum=1000,
        paper=7,
    )
    shrinkage: float = SHRINKAGE
    training_cases: int = TRAINING_CASES
    n_jobs: int | None = None


@declared
class RCA(LearnerDeclaration):
    name = "rca"
    title = "RCA"
    paper = "Bar-Hillel et al. 2005, Learning a Mahalanobis metric from equivalence constraints"
    citations = ("barhillel2005learning",)
    summary = "Instant: scales down what varies among similar cases; needs only similar pairs."
    accepts = frozenset({"findings", "pairs"})

    shrinkage: float = SHRINKAGE
    n_jobs: int | None = None


@declared
class NCA(LearnerDeclaration):
    name = "nca"
    title = "NCA"
    paper = "Goldberger et al. 2004, Neighbourhood components analysis"
    citations = ("goldberger2004neighbourhood",)
    summary = "Accurate for the very nearest cases; slow beyond a few thousand cases."
    accepts = frozenset({"findings"})

    components: int = COMPONENTS
    rounds: int = ROUNDS
    validation: float = VALIDATION
    training_cases: int = TRAINING_CASES


@declared
class LMNN(LearnerDeclaration):
    name = "lmnn"
    title = "LMNN"
    paper = (
        "Weinberger & Saul 2009, Distance metric learning for large margin nearest neighbor classification"
    )
    citations = ("weinberger2009distance",)
    summary = "A strong all-round metric for k-NN; for up to some thousand cases."
    accepts = frozenset({"findings"})

    k: int = parameter(3, "Nearest cases of the same finding to keep close.", minimum=1, maximum=100, paper=3)
    push: float = parameter(
        0.5,
        "Weight of separating different findings against keeping similar cases close.",
        minimum=0.01,
        maximum=0.99,
        paper=0.5,
    )
    rounds: int = parameter(100, "Iterations at most.", minimum=1, maximum=10_000)
    validation: float = VALIDATION
    training_cases: int = TRAINING_CASES


@declared
class ITML(LearnerDeclaration):
    name = "itml"
    title = "ITML"
    paper = "Davis et al. 2007, Information-theoretic metric learning"
    citations = ("davis2007information",)
    summary = "From pairs, as close to Euclidean as they allow; robust with few pairs."
    accepts = frozenset({"findings", "pairs"})

    gamma: float = parameter(
        1.0,
        "Penalty for missing a bound: large values follow the pairs, small values stay near plain "
        "visual similarity.",
        minimum=1e-6,
        maximum=1e6,
        paper=1.0,
    )
    draw: int = drawn_pairs(40)
    passes: int = parameter(
        0,
        "How often all pairs are gone through at most; 0: 50 times, or fewer beyond 60,000 pairs in all.",
        minimum=0,
        maximum=10_000,
    )
    tolerance: float = parameter(
        1e-3, "Relative change at which it has converged.", minimum=0.0, maximum=1.0, paper=1e-3
    )
    whiten: bool = WHITEN
    plain: float = PLAIN


@declared
class SDML(LearnerDeclaration):
    name = "sdml"
    title = "SDML"
    paper = "Qi et al. 2009, An efficient sparse metric learning in high-dimensional space"
    citations = ("qi2009efficient",)
    summary = "From pairs, for many features of which few are correlated."
    accepts = frozenset({"findings", "pairs"})

    balance: float = parameter(
        4.0,
        "Weight of the pairs (eta) against staying near plain visual similarity.",
        minimum=1e-6,
        maximum=1e6,
    )
    sparsity: float = parameter(
        0.01, "Penalty (lambda) on each product of two features.", minimum=0.0, maximum=100.0
    )
    draw: int = drawn_pairs(200)


@declared
class SCML(LearnerDeclaration):
    name = "scml"
    title = "SCML"
    paper = "Shi et al. 2014, Sparse compositional metric learning"
    citations = ("shi2014sparse",)
    summary = "A sparse sum of directions, each useful for some cases; from findings or triplets."
    accepts = frozenset({"findings", "triplets"})

    k: int = parameter(
        3, "Nearest cases of the same finding, and of others, in triplets.", minimum=1, maximum=100
    )
    regions: int = parameter(
        0, "Centres around which directions are sought; 0: one a feature, 10 to 50.", minimum=0, maximum=1_000
    )
    sparsity: float = parameter(
        1e-5, "Penalty (beta) on the weights: large values leave fewer directions.", minimum=0.0, maximum=10.0
    )
    rounds: int = parameter(100, "Iterations at most.", minimum=1, maximum=10_000)
    training_cases: int = TRAINING_CASES


@declared
class MMC(LearnerDeclaration):
    name = "mmc"
    title = "MMC"
    paper = "Xing et al. 2002, Distance metric learning, with application to clustering with side-information"
    citations = ("xing2002distance",)
    summary = "From pairs, for findings that form one cluster each; the classic to compare with."
    accepts = frozenset({"findings", "pairs"})

    draw: int = parameter(
        0,
        "Pairs drawn from findings: this many for each two findings in either order; 0: all, or 20,000 of more.",
        label="Pairs drawn",
        minimum=0,
        maximum=10_000,
    )
    rounds: int = parameter(100, "Iterations at most.", minimum=1, maximum=10_000)
    shrinkage: float = SHRINKAGE
    validation: float = VALIDATION
    plain: float = PLAIN
    n_jobs: int | None = None


@declared
class DistBoost(LearnerDeclaration):
    name = "distboost"
    title = "DistBoost"
    paper = "Hertz et al. 2004, Boosting margin based distance functions for clustering"
    citations = ("hertz2004boosting",)
    summary = "From pairs, where findings consist of clouds; not a linear map."
    accepts = frozenset({"findings", "pairs"})

    rounds: int = parameter(20, "How many mixtures are added at most.", minimum=1, maximum=500, paper=50)
    clouds: int = parameter(
        0, "Clouds of each mixture; 0: one a finding, at most 20.", minimum=0, maximum=200
    )
    components: int = parameter(
        15, "Principal components the mixtures are fitted in, at most.", minimum=1, maximum=100
    )
    draw: int = drawn_pairs(100)
    forget: float = parameter(
        1.0, "How fast pairs of which nothing is known lose weight.", minimum=0.0, maximum=100.0
    )


@declared
class NCMC(LearnerDeclaration):
    name = "ncmc"
    title = "NCMC"
    paper = "Mensink et al. 2013, Distance-based image classification"
    citations = ("mensink2013distance",)
    summary = "Fast on many cases where findings are clouds; several centres each for shapes."
    accepts = frozenset({"findings"})

    components: int = COMPONENTS
    centres: int = parameter(1, "Centres of each finding, found by k-means.", minimum=1, maximum=100)
    decay: float = parameter(
        1e-3, "Weight of keeping the map small, against overfitting.", minimum=0.0, maximum=10.0
    )
    rounds: int = parameter(100, "Iterations at most.", minimum=1, maximum=10_000)
    plain: float = PLAIN


@declared
class MLKR(LearnerDeclaration):
    name = "mlkr"
    title = "MLKR"
    paper = "Weinberger & Tesauro 2007, Metric learning for kernel regression"
    citations = ("weinberger2007metric",)
    summary = "For findings that are numbers, such as a size or a rating: near means a near number."
    accepts = frozenset({"findings"})

    target: str = parameter(
        "auto",
        "Numbers, or each finding for itself; auto: numbers where some of them have a fraction.",
        choices=("auto", "numbers", "findings"),
    )
    components: int = COMPONENTS
    rounds: int = ROUNDS


@declared
class TripletHead(LearnerDeclaration):
    name = "triplet_head"
    title = "Triplet head"
    module = "linear_heads"
    paper = "Schroff et al. 2015, FaceNet; Hermans et al. 2017, In defense of the triplet loss"
    citations = ("schroff2015facenet", "hermans2017defense")
    summary = "A linear layer on the features of an encoder; from findings or from triplets."
    accepts = frozenset({"findings", "triplets"})

    draw: int = parameter(
        20, "Triplets drawn from findings for each case.", label="Triplets drawn", minimum=1, maximum=1_000
    )
    temperature: float = parameter(
        0.2,
        "Difference of squared distances within which a triplet still counts.",
        minimum=1e-3,
        maximum=100.0,
    )
    components: int = HEAD_COMPONENTS
    rounds: int = ROUNDS
    validation: float = VALIDATION
    plain: float = PLAIN


@declared
class ProxyAnchor(LearnerDeclaration):
    name = "proxy_anchor"
    title = "Proxy-anchor head"
    module = "linear_heads"
    paper = "Kim et al. 2020, Proxy anchor loss for deep metric learning"
    citations = ("kim2020proxy",)
    summary = "A linear layer on the features of an encoder; quick, also with many cases."
    accepts = frozenset({"findings"})

    scale: float = parameter(
        32.0, "How much the hardest cases count before the others.", minimum=0.1, maximum=1000.0, paper=32.0
    )
    margin: float = parameter(
        0.1,
        "How much more similar than needed cases are to be to their proxy.",
        minimum=0.0,
        maximum=10.0,
        paper=0.1,
    )
    components: int = HEAD_COMPONENTS
    rounds: int = ROUNDS
    validation: float = VALIDATION
    plain: float = PLAIN


@declared
class SupCon(LearnerDeclaration):
    name = "supcon"
    title = "Contrastive head"
    module = "linear_heads"
    paper = "Khosla et al. 2020, Supervised contrastive learning"
    citations = ("khosla2020supervised",)
    summary = "A linear layer on the features of an encoder; all of a finding are drawn together."
    accepts = frozenset({"findings"})

    temperature: float = parameter(
        0.1,
        "Small values look at the nearest cases alone, large ones at all.",
        minimum=1e-3,
        maximum=100.0,
        paper=0.1,
    )
    components: int = HEAD_COMPONENTS
    rounds: int = ROUNDS
    validation: float = VALIDATION
    training_cases: int = TRAINING_CASES
    plain: float = PLAIN


@declared
class ImageNetwork(LearnerDeclaration):
    """What the networks of convolutions share."""

    accepts = frozenset({"findings"})
    needs = "deep"

    layers: int = LAYERS
    rate: float = RATE
    decay: float = parameter(
        -1.0,
        "Weight of keeping the network small; -1: chosen on cases set aside.",
        minimum=-1.0,
        maximum=10.0,
    )
    components: int = parameter(32, "Dimensions of the learnt space.", minimum=1, maximum=1000)
    batch: int = parameter(0, "Cases looked at together; 0: 128.", minimum=0, maximum=4096)
    rounds: int = parameter(
        0, "Batches; 0: 200, or enough to see every case twelve times.", minimum=0, maximum=1_000_000
    )


@declared
class ConvNet(ImageNetwork):
    name = "convnet"
    title = "ConvNet"
    module = "image_networks"
    paper = "Im & Taylor 2016, Table I"
    citations = ("im2016learning",)
    summary = "A plain network that names findings: what ConvCCML has to beat, on 'pixels'."


@declared
class BDM(LearnerDeclaration):
    name = "bdm"
    title = "BDM"
    paper = "Yang et al. 2010, A Boosting Framework for Visuality-Preserving Distance Metric Learning"
    citations = ("yang2010boosting",)
    summary = "Ranks by finding: boosted binary features, robust and fast, for any number of cases."
    accepts = frozenset({"findings", "pairs"})

    rounds: int = parameter(200, "How many bits are learnt at most.", minimum=1, maximum=2000, paper=312)
    step: str = parameter(
        "paper",
        "How far each bit counts: the paper's bound, or the exact minimum (fewer rounds).",
        choices=("paper", "exact"),
        paper="paper",
    )
    training_cases: int = TRAINING_CASES


@declared
class BDMV(BDM):
    name = "bdm_v"
    title = "BDM+V"
    module = "bdm"
    summary = "Ranks by finding and keeps visual similarity; the first to try on images."

    visual_neighbours: int = parameter(
        5,
        "How many nearest neighbours of each case count as similar whatever their finding.",
        minimum=0,
        maximum=100,
        paper=5,
    )


@declared
class BDMKernel(BDMV):
    name = "bdm_kernel"
    title = "Kernel BDM"
    module = "bdm_kernel"
    summary = "Ranks by finding where findings are not linearly separable; slower, can overfit."

    kernel: str = parameter(
        "rbf",
        "What the similarity of two rows is computed from: their squared distance, summed "
        "differences, or product.",
        choices=("rbf", "laplacian", "polynomial"),
    )
    width: str = parameter(
        "dimension",
        "What sets how far it reaches: number and variance of the features, or the median distance.",
        choices=("dimension", "median"),
    )
    degree: int = parameter(2, "The power of the polynomial kernel.", minimum=1, maximum=10)
    landmarks: int = parameter(
        200,
        "How many training cases, drawn at random, each case is compared with; all where they are fewer.",
        minimum=10,
        maximum=20_000,
    )
    visual_neighbours: int = parameter(
        0,
        "How many nearest neighbours of each case count as similar whatever their finding.",
        minimum=0,
        maximum=100,
    )


@declared
class MetricBoost(LearnerDeclaration):
    name = "metricboost"
    title = "MetricBoost"
    paper = "Bi et al. 2011, AdaBoost on Low-Rank PSD Matrices for Metric Learning"
    citations = ("bi2011adaboost",)
    summary = (
        "Puts a case nearer to its own finding than to any other: nothing to tune, few rounds, any "
        "number of findings."
    )
    accepts = frozenset({"findings", "triplets"})

    weak: str = parameter(
        "binary",
        "Output of a round for a pair: near or far, its squared distance in 0 to 1, or that with the "
        "best factor.",
        choices=("binary", "normalised", "real"),
        paper="binary",
    )
    threshold: str = parameter(
        "scan",
        "Where near ends (binary): the best of all places, or where two Gaussians meet if that helps.",
        choices=("scan", "gaussian"),
        paper="gaussian",
    )
    readout: str = parameter(
        "mahalanobis",
        "Form of the result: one linear map, or the votes of the rounds (binary; slower to search).",
        choices=("mahalanobis", "votes"),
        paper="votes",
    )
    rounds: int = parameter(20, "How many directions are learnt at most.", minimum=1, maximum=2000, paper=20)
    allow_similarity: bool = parameter(
        False,
        "Also use directions along which a large distance indicates similarity; the result is no metric.",
        paper=True,
    )
    anchors: int = parameter(
        0, "Learn from the triplets of this many cases, drawn at random; 0 means all.", minimum=0, paper=0
    )
    training_cases: int = TRAINING_CASES
    whiten: bool = WHITEN
    plain: float = PLAIN


@declared
class BoostMetric(LearnerDeclaration):
    name = "boostmetric"
    title = "BoostMetric"
    paper = "Shen et al. 2012, Positive Semidefinite Metric Learning Using Boosting-like Algorithms"
    citations = ("shen2012positive",)
    summary = (
        "For voting by the nearest few, with many findings or many cases: fast, accurate, nothing to tune."
    )
    accepts = frozenset({"findings", "triplets"})

    loss: str = parameter(
        "logistic",
        "What a triplet costs: logistic forgives wrong findings, exponential does not, hinge is for "
        "few cases.",
        choices=("exponential", "logistic", "hinge"),
        paper="exponential",
    )
    corrective: str = parameter(
        "stagewise",
        "Weigh only the new direction in each round, or all of them again (hinge always does).",
        choices=("stagewise", "total"),
        paper="stagewise",
    )
    passes: int = parameter(
        1,
        "How often neighbours are looked up again in the space learnt so far.",
        minimum=1,
        maximum=20,
        paper=1,
    )
    neighbours: int = parameter(
        3, "How many targets and how many impostors each case has.", minimum=1, maximum=50, paper=3
    )
    rounds: int = parameter(
        100, "How many directions a pass adds at most.", minimum=1, maximum=5000, paper=500
    )
    regularisation: float = parameter(
        1e-7,
        "What each unit of the trace costs (exponential, logistic).",
        minimum=0.0,
        maximum=1.0,
        paper=1e-7,
    )
    slack: float = parameter(
        0.2, "The share of triplets that may lie within the margin (hinge).", minimum=1e-3, maximum=1.0
    )
    whiten: bool = WHITEN
    plain: float = PLAIN


@declared
class PassiveAggressive(LearnerDeclaration):
    name = "passive_aggressive"
    title = "Passive-aggressive"
    paper = "Perez-Suay et al. 2013, Passive-aggressive online distance metric learning and extensions"
    citations = ("perezsuay2013passive",)
    summary = "Learns from pairs as they come, one after another; for marks and very large libraries."
    accepts = frozenset({"findings", "pairs"})

    variant: str = parameter(
        "pa2",
        "How far a pair may move the metric: to its margin (pa), at most by C (pa1), softened by C "
        "(pa2), or to its ideal distance from either side (pals).",
        choices=("pa", "pa1", "pa2", "pals"),
    )
    psd: str = parameter(
        "end",
        "When the metric is kept free of negative distances: once at the end (much faster) or always.",
        choices=("end", "always"),
    )
    C: float = parameter(
        0.0,
        "Aggressiveness: how strongly one pair counts; 0 chooses it on training pairs, 1e-4 to 1e2.",
        minimum=0.0,
        maximum=1e6,
    )
    draw: int = drawn_pairs(40, paper=40)
    passes: int = parameter(
        0,
        "How often all pairs are gone through; 0: as in the paper, at least twice and at most 50 times.",
        minimum=0,
        maximum=1000,
        paper=0,
    )
    start: str = parameter(
        "zero",
        "The metric to start from: none, or the Euclidean one scaled to the margin.",
        choices=("zero", "euclidean"),
        paper="zero",
    )
    whiten: bool = WHITEN
    plain: float = PLAIN
    n_jobs: int | None = None


@declared
class CCML(LearnerDeclaration):
    name = "ccml"
    title = "CCML"
    paper = "Im & Taylor 2016, Learning a metric for class-conditional KNN"
    citations = ("im2016learning",)
    summary = "Fast and accurate where a finding has several clusters; decide with class-wise k-NN."
    accepts = frozenset({"findings"})

    locality: str = LOCALITY
    k: int = NEAREST_OF_FINDING
    rate: float = RATE
    decay: float = parameter(
        -1.0, "Weight of keeping the map small; -1: chosen on cases set aside.", minimum=-1.0, maximum=10.0
    )
    components: int = parameter(
        0, "Dimensions of the learnt space; 0: chosen on cases set aside.", minimum=0, maximum=10_000
    )
    batch: int = parameter(
        0, "Cases looked at together; 0: 128, or 64 of few cases.", minimum=0, maximum=4096
    )
    rounds: int = parameter(
        0, "Batches; 0: 90 or 120, or enough to see every case twice.", minimum=0, maximum=1_000_000
    )
    plain: float = PLAIN
    n_jobs: int | None = None


@declared
class ConvCCML(ImageNetwork):
    name = "conv_ccml"
    title = "ConvCCML"
    module = "image_networks"
    paper = "Im & Taylor 2016, Learning a metric for class-conditional KNN"
    citations = ("im2016learning",)
    summary = "CCML that looks at the image itself: for many labelled images, with the features 'pixels'."

    layers: int = LAYERS
    locality: str = LOCALITY
    k: int = NEAREST_OF_FINDING


@declared
class BDMVisualShare(BDM):
    """For the slider; it is in no list."""

    name = "bdm_v"
    title = "BDM+V"
    module = "bdm"
    summary = "One step of the slider between visual and diagnostic similarity."

    visual_share: float = parameter(
        0.5,
        "Share of the pairs of training cases that looks decide; findings decide the others.",
        minimum=0.0,
        maximum=1.0,
    )


#: The plainest first.
LEARNERS: tuple[type[LearnerDeclaration], ...] = (
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
#: Offered first, in this order: the methods of the papers Semblance implements.
OF_THE_PAPERS: tuple[type[LearnerDeclaration], ...] = (
    BDMV,
    BDM,
    BDMKernel,
    MetricBoost,
    BoostMetric,
    PassiveAggressive,
    CCML,
    ConvCCML,
)
#: The learner on the card of a metric refined by feedback, which nobody makes by name.
CLICKS = "clicks"
