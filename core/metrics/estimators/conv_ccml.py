"""ConvCCML: the objective of CCML, climbed by a network of convolutions.

Im, Taylor: Learning a metric for class-conditional KNN. IJCNN 2016, Section IV. Equation numbers are theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semblance.core.metrics import declarations
from semblance.core.metrics.class_conditional.objective import expected_accuracy_of
from semblance.core.metrics.deep.image_learner import ImageLearner
from semblance.core.metrics.deep.network_training import Codes, Hyperparameters, Objective
from semblance.core.metrics.training_data.labelled_rows import LabelledRows


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
