"""ConvNet: the network of ConvCCML trained to name the finding, the plain baseline beside it.

Im, Taylor: Learning a metric for class-conditional KNN. IJCNN 2016, Table I ("ConvNet").
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semblance.core.metrics import declarations
from semblance.core.metrics.deep.image_learner import ImageLearner
from semblance.core.metrics.deep.network_training import Codes, Hyperparameters, Objective
from semblance.core.metrics.training_data.labelled_rows import LabelledRows


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
