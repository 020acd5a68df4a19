"""The forms a frozen distance can take; each is stored under its kind."""

from __future__ import annotations

from semblance.core.metrics.distance import Distance
from semblance.core.metrics.distances.bits import BitDistance, KernelBitDistance
from semblance.core.metrics.distances.city_block import CityBlockDistance
from semblance.core.metrics.distances.convolution import ConvolutionDistance
from semblance.core.metrics.distances.linear import LinearDistance, LinearEmbeddingDistance
from semblance.core.metrics.distances.mixtures import MixtureDistance
from semblance.core.metrics.distances.refined import RefinedDistance
from semblance.core.metrics.distances.stumps import SignedDistance, StumpDistance

DISTANCES: tuple[type[Distance], ...] = (
    LinearDistance,
    BitDistance,
    LinearEmbeddingDistance,
    StumpDistance,
    SignedDistance,
    CityBlockDistance,
    ConvolutionDistance,
    MixtureDistance,
    KernelBitDistance,
    RefinedDistance,
)

__all__ = [
    "DISTANCES",
    "BitDistance",
    "CityBlockDistance",
    "ConvolutionDistance",
    "KernelBitDistance",
    "LinearDistance",
    "LinearEmbeddingDistance",
    "MixtureDistance",
    "RefinedDistance",
    "SignedDistance",
    "StumpDistance",
]
