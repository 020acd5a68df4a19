"""Learners that train a network of convolutions on images: ConvCCML, and ConvNet, which it is compared with.

Im, Taylor: Learning a metric for class-conditional KNN. IJCNN 2016: ConvCCML is that of Section IV, ConvNet
that of Table I. Equation numbers are theirs.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import finding_codes
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.distances.convolution import ConvolutionDistance, side_after
from semblance.core.metrics.estimators.ccml import best_hyperparameters, expected_accuracy_of
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.training import TrainingPoint, begin_card
from semblance.core.metrics.training_data.rows import LabelledRows, TrainingInput, labelled_rows
from semblance.core.tasks import Reporter

#: Side of the kernels of each layer, and maps a layer (the paper's).
KERNELS = (5, 3)
MAPS = 10
#: Larger images do not improve so small a network.
_LARGEST = 128
#: Median squared distance of two cases at the start.
_SPREAD = 10.0
_PAIRS, _SCALE_ROWS = 4000, 500
_BLOCK = 256

_MEAN, _SQUARE, _TINY = 0.9, 0.99, 1e-8

Codes = npt.NDArray[np.int64]

_BATCH, _PASSES = 128, 12
_FEWEST_ROUNDS = 200
_POINTS = 40


def import_torch(title: str) -> Any:
    """The module ``torch``; ``title`` names the learner that needs it.

    Raises:
        BadInput: it is not installed.
    """
    try:
        import torch
    except ImportError:
        raise BadInput(
            tr_lazy("{title} needs PyTorch, which is not installed.", title=title),
            'Install it with: pip install "semblance-retrieval[deep]".',
        ) from None
    return torch


@contextlib.contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Make results independent of the number of processors."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Images:
    """Rows as images: ``side`` pixels along each side; ``centre`` is taken off, ``scale`` divides."""

    side: int
    centre: float
    scale: float

    def tensor(self, torch: Any, X: Matrix) -> Any:
        """(n, d) -> (n, 1, side, side) float32."""
        scaled = ((X - self.centre) / self.scale).astype(np.float32)
        return torch.from_numpy(scaled.reshape(len(X), 1, self.side, self.side))


def as_images(title: str, X: Matrix, layers: int) -> Images:
    """How rows (n, d) are images for a network of ``layers``.

    Raises:
        BadInput: d is no square, or the image is too small or too large; ``title`` names the learner.
    """
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1]:
        raise BadInput(
            tr_lazy(
                "{title} looks at square images, and {shape} numbers a case are not a square one.",
                title=title,
                shape=X.shape[1],
            ),
            "Extract 'pixels' and use no step (--steps none): some steps leave columns out.",
        )
    if side_after(side, KERNELS[:layers]) == 0 or side > _LARGEST:
        smallest = next(s for s in range(1, _LARGEST) if side_after(s, KERNELS[:layers]))
        raise BadInput(
            tr_lazy(
                "{title} with layers={layers} cannot process images of {side} x {side} pixels.",
                title=title,
                layers=layers,
                side=side,
            ),
            tr_lazy(
                "Extract 'pixels' with a size from {value} to {largest}; 28 is usual.",
                value=max(8, smallest),
                largest=_LARGEST,
            ),
        )
    centre = float(X.mean())
    # A block at a time: many images fill the memory once as it is.
    squares = (
        float(np.square(X[start : start + _BLOCK] - centre).sum()) for start in range(0, len(X), _BLOCK)
    )
    # Equal images have no scale.
    return Images(side, centre, math.sqrt(math.fsum(squares) / X.size) or 1.0)


class Network:
    """Weights being trained; ``parameters`` are torch's tensors, the linear map V (p, f) the last."""

    def __init__(
        self, torch: Any, images: Images, layers: int, components: int, X: Matrix, seed: int
    ) -> None:
        """Random kernels; V is scaled so that cases of ``X`` lie about as far apart as softmax resolves."""
        self._torch, self._images, self._layers = torch, images, layers
        rng = np.random.default_rng([seed, 2])
        self.parameters: list[Any] = []
        channels = 1
        for kernel in KERNELS[:layers]:
            shape = (MAPS, channels, kernel, kernel)
            self._add(rng.normal(size=shape) * math.sqrt(2.0 / (channels * kernel * kernel)))
            self._add(np.zeros(MAPS))
            channels = MAPS
        width = MAPS * side_after(images.side, KERNELS[:layers]) ** 2
        self._add(rng.normal(size=(components, width)) / math.sqrt(width))
        some = X[rng.permutation(len(X))[:_SCALE_ROWS]]
        Z = self.embed(some)
        i, j = rng.integers(len(Z), size=(2, _PAIRS))
        median = float(np.median(np.square(Z[i] - Z[j]).sum(axis=1)[i != j]))
        if median <= 0.0:
            median = 2.0 * float(Z.var(axis=0).sum())
        if median > 0.0:
            with torch.no_grad():
                self.parameters[-1] *= math.sqrt(_SPREAD / median)

    def _add(self, values: Matrix) -> None:
        self.parameters.append(
            self._torch.from_numpy(values.astype(np.float32)).requires_grad_(requires_grad=True)
        )

    def forward(self, images: Any) -> Any:
        """(n, 1, side, side) -> (n, p), both torch's."""
        functional = self._torch.nn.functional
        maps = images
        for layer in range(self._layers):
            kernels, biases = self.parameters[2 * layer : 2 * layer + 2]
            maps = functional.max_pool2d(functional.relu(functional.conv2d(maps, kernels, biases)), 2)
        return functional.linear(maps.flatten(1), self.parameters[-1])

    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, p), in the precision of training."""
        with self._torch.no_grad():
            blocks = [
                self.forward(self._images.tensor(self._torch, X[start : start + _BLOCK])).numpy()
                for start in range(0, len(X), _BLOCK)
            ]
        return np.concatenate(blocks).astype(np.float64)

    def frozen(self) -> ConvolutionDistance:
        """The distance as it is now; later training does not change it."""
        values = [tensor.detach().numpy().astype(np.float64) for tensor in self.parameters]
        layers = tuple((values[2 * n], values[2 * n + 1]) for n in range(self._layers))
        return ConvolutionDistance(
            self._images.side, self._images.centre, self._images.scale, layers, values[-1]
        )


class Hyperparameters(NamedTuple):
    """Neighbours k (0 where none count), learning rate, weight decay, dimensions p of the output."""

    k: int
    rate: float
    decay: float
    components: int


class Objective(abc.ABC):
    """The objective of the output of a network; ``parameters`` are tensors trained with it."""

    parameters: tuple[Any, ...] = ()

    @abc.abstractmethod
    def loss(self, Z: Any, codes: Codes) -> tuple[float, Any]:
        """Of a batch's output (b, p), a tensor, with findings (b,) ascending: the share called right, and
        the loss whose gradient leads there."""


class NetworkTraining:
    """Adam on mini-batches of the rows, the rate falling to 0 along half a cosine.

    ``round`` counts the batches; ``accuracy`` is the running mean of the correct share that :meth:`Objective.loss`
    returns.
    """

    def __init__(
        self,
        torch: Any,
        images: Images,
        rows: LabelledRows,
        choice: Hyperparameters,
        objective: Objective,
        *,
        layers: int,
        batch: int,
        rounds: int,
        seed: int,
    ) -> None:
        self._torch, self._images, self._rows = torch, images, rows
        self._choice, self._objective, self.rounds = choice, objective, rounds
        self._batch = min(batch, len(rows.X))
        self._rng = np.random.default_rng(seed)
        self._queue = np.empty(0, dtype=np.intp)
        self.network = Network(torch, images, layers, choice.components, rows.X, seed)
        self._trained = [*self.network.parameters, *objective.parameters]
        self._means = [torch.zeros_like(tensor) for tensor in self._trained]
        self._squares = [torch.zeros_like(tensor) for tensor in self._trained]
        self.round = 0
        self.accuracy = 0.0

    def step(self) -> None:
        """One batch; does nothing once all rounds are done."""
        if self.round >= self.rounds:
            return
        self.round += 1
        if len(self._queue) < self._batch:
            self._queue = np.concatenate([self._queue, self._rng.permutation(len(self._rows.X))])
        batch, self._queue = self._queue[: self._batch], self._queue[self._batch :]
        batch = batch[np.argsort(self._rows.codes[batch], kind="stable")]
        Z = self.network.forward(self._images.tensor(self._torch, self._rows.X[batch]))
        value, loss = self._objective.loss(Z, self._rows.codes[batch])
        loss.backward()
        self._descend()
        memory = min(0.9, 1.0 - 1.0 / self.round)
        self.accuracy = memory * self.accuracy + (1.0 - memory) * value

    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, p): rows after the network so far."""
        return self.network.embed(X)

    def _descend(self) -> None:
        rate = self._choice.rate * 0.5 * (1.0 + math.cos(math.pi * self.round / self.rounds))
        rate /= 1.0 - _MEAN**self.round
        with self._torch.no_grad():
            for tensor, mean, square in zip(self._trained, self._means, self._squares, strict=True):
                gradient = tensor.grad.add(tensor, alpha=self._choice.decay)
                mean.mul_(_MEAN).add_(gradient, alpha=1.0 - _MEAN)
                square.mul_(_SQUARE).addcmul_(gradient, gradient, value=1.0 - _SQUARE)
                root = (square / (1.0 - _SQUARE**self.round)).sqrt_().add_(_TINY)
                tensor.addcdiv_(mean, root, value=-rate)
                tensor.grad = None


class ImageLearner(Learner):
    """Trains a network of convolutions on square images. Fitted: ``distance_``."""

    layers: int
    rate: float
    decay: float
    components: int
    batch: int
    rounds: int

    def _fit(self, data: TrainingInput) -> None:
        """Train the network on ``data``, whose rows are square images.

        Raises:
            BadInput: PyTorch is not installed, rows that are not square images, fewer than two findings, or a
                training that did not converge.
            Cancelled: as :meth:`fit`.
        """
        torch = import_torch(self.title)
        found = labelled_rows(self.title, data.X, data.y)
        images = as_images(self.title, found.X, self.layers)
        patients = None
        if data.groups is not None and data.y is not None:
            patients = np.asarray(data.groups)[finding_codes(data.y)[0] >= 0]
        with one_thread(torch):
            trained, notes = self._train(torch, images, found, patients, data.reporter)
            distance = trained.network.frozen()
        if not all(np.isfinite(array).all() for array in distance.arrays().values()):
            raise BadInput("The training did not converge.", "Try a smaller rate, or leave it at 0.")
        self.distance_: ConvolutionDistance = distance
        card = begin_card(self, data, notes=notes, rounds=trained.round)
        versions = {**card.versions, "torch": str(torch.__version__)}
        self._card: MetricCard = dataclasses.replace(card, versions=versions)

    @abc.abstractmethod
    def _hyperparameters(self) -> tuple[Hyperparameters, ...]:
        """The candidates, the most usual first."""

    @abc.abstractmethod
    def _objective(self, torch: Any, rows: LabelledRows, choice: Hyperparameters, seed: int) -> Objective:
        """The objective of the network on ``rows``."""

    def _train(
        self, torch: Any, images: Any, rows: LabelledRows, groups: npt.ArrayLike | None, reporter: Reporter
    ) -> tuple[NetworkTraining, tuple[str, ...]]:
        seed, n = self.random_state or 0, len(rows.X)
        batch = self.batch or _BATCH
        rounds = self.rounds or max(_FEWEST_ROUNDS, -(-_PASSES * n // batch))
        candidates = self._candidates()
        # A quarter of the rounds each, another quarter of two, and all at the end.
        total = rounds if len(candidates) == 1 else round(rounds * (len(candidates) / 4 + 2 / 4 + 1))
        ticks = 0

        def tick() -> None:
            nonlocal ticks
            ticks += 1
            reporter.check_cancelled()
            reporter.progress(min(ticks, total), total, self.title)

        def begin(part: LabelledRows, choice: Hyperparameters) -> NetworkTraining:
            objective = self._objective(torch, part, choice, seed)
            return NetworkTraining(
                torch,
                images,
                part,
                choice,
                objective,
                layers=self.layers,
                batch=batch,
                rounds=rounds,
                seed=seed,
            )

        chosen = best_hyperparameters(rows, candidates, begin, groups=groups, seed=seed, tick=tick)
        training = begin(rows, chosen)
        notes = [_described(chosen, len(candidates) > 1)]
        while training.round < rounds:
            tick()
            training.step()
            if training.round * _POINTS // rounds > (training.round - 1) * _POINTS // rounds:
                frozen = training.network.frozen()
                reporter.partial(_point(training.round, 1.0 - training.accuracy, frozen))
            if reporter.stop_requested:
                notes.append(
                    tr_lazy(
                        "Stopped on request after {round} of {rounds} rounds.",
                        round=training.round,
                        rounds=rounds,
                    )
                )
                break
        else:
            notes.append(tr_lazy("All {rounds} rounds.", rounds=rounds))
        return training, tuple(notes)

    def _candidates(self) -> tuple[Hyperparameters, ...]:
        tried = [
            choice._replace(
                rate=self.rate or choice.rate,
                decay=choice.decay if self.decay < 0.0 else self.decay,
                components=self.components,
            )
            for choice in self._hyperparameters()
        ]
        return tuple(dict.fromkeys(tried))


def _point(number: int, objective: float, distance: ConvolutionDistance) -> TrainingPoint:
    return TrainingPoint(number, objective, lambda: distance)


def _described(choice: Hyperparameters, chosen: bool) -> str:
    neighbours = f"k = {choice.k}, " if choice.k else ""
    how = tr_lazy(", chosen on cases set aside") if chosen else ""
    return tr_lazy(
        "{neighbours}rate {rate:g}, decay {decay:g}{how}.",
        neighbours=neighbours,
        rate=choice.rate,
        decay=choice.decay,
        how=how,
    )


class ConvNet(declarations.ConvNet, ImageLearner):
    """Softmax cross-entropy over the findings, on top of the network of :class:`ConvCCML`.

    The distance is the squared Euclidean one on the last hidden layer, the linear map below the softmax.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_digits(return_X_y=True)
        >>> learner = make_learner("convnet", layers=1, rounds=12, random_state=0).fit(X[:300], y[:300])
        >>> learner.metric().distances(X[:2], X[:300]).shape
        (2, 300)
    """

    def _hyperparameters(self) -> tuple[Hyperparameters, ...]:
        return (
            Hyperparameters(0, 0.003, 1e-4, 0),
            Hyperparameters(0, 0.01, 1e-4, 0),
            Hyperparameters(0, 0.001, 1e-3, 0),
        )

    def _objective(self, torch: Any, rows: LabelledRows, choice: Hyperparameters, seed: int) -> Objective:
        return _CrossEntropy(torch, len(rows.names), choice.components, seed)


class _CrossEntropy(Objective):
    def __init__(self, torch: Any, findings: int, components: int, seed: int) -> None:
        self._torch = torch
        rng = np.random.default_rng([seed, 3])
        start = (rng.normal(size=(findings, components)) / math.sqrt(components)).astype(np.float32)
        weights = torch.from_numpy(start).requires_grad_(requires_grad=True)
        self.parameters = (weights, torch.zeros(findings, requires_grad=True))

    def loss(self, Z: Any, codes: Codes) -> tuple[float, Any]:
        functional = self._torch.nn.functional
        logits = functional.linear(Z, *self.parameters)
        right = (logits.detach().numpy().argmax(axis=1) == codes).mean()
        return float(right), functional.cross_entropy(logits, self._torch.from_numpy(codes))


class ConvCCML(declarations.ConvCCML, ImageLearner):
    """Maximises the expected accuracy of class-conditional k-NN (Eq. 11) after convolutions (Eqs. 16, 17).

    10 maps of 5 x 5, the largest of 2 x 2, then (``layers`` = 2) 10 of 3 x 3 and pooling again, and a linear map;
    neighbours are searched within the batch. Chosen parameters are on the card.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_digits(return_X_y=True)
        >>> learner = make_learner("conv_ccml", layers=1, rounds=12, random_state=0).fit(X[:300], y[:300])
        >>> learner.metric().distances(X[:2], X[:300]).shape
        (2, 300)
    """

    def _hyperparameters(self) -> tuple[Hyperparameters, ...]:
        usual = (
            Hyperparameters(3, 0.003, 1e-4, 0),
            Hyperparameters(1, 0.003, 1e-3, 0),
            Hyperparameters(5, 0.01, 1e-4, 0),
            Hyperparameters(3, 0.001, 1e-3, 0),
        )
        return tuple(choice._replace(k=self.k or choice.k) for choice in usual)

    def _objective(self, torch: Any, rows: LabelledRows, choice: Hyperparameters, seed: int) -> Objective:
        return _ExpectedAccuracy(torch, choice.k, self.locality == "local")


class _ExpectedAccuracy(Objective):
    def __init__(self, torch: Any, k: int, local: bool) -> None:
        self._torch, self._k, self._local = torch, k, local

    def loss(self, Z: Any, codes: Codes) -> tuple[float, Any]:
        finding = np.zeros(len(codes), dtype=np.intp)
        np.cumsum(codes[1:] != codes[:-1], out=finding[1:])
        output = Z.detach().numpy().astype(np.float64)
        value, slope = expected_accuracy_of(output, finding, self._k, self._local)
        # Its gradient by Z is the slope of the objective, and torch carries it on to the weights.
        return value, -(Z * self._torch.from_numpy(slope.astype(np.float32))).sum()
