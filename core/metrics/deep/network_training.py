"""Training of a network with Adam on mini-batches, for any objective."""

from __future__ import annotations

import abc
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.deep.network import Images, Network
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.labelled_rows import LabelledRows

_MEAN, _SQUARE, _TINY = 0.9, 0.99, 1e-8

Codes = npt.NDArray[np.int64]


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
