"""The default steps of an extractor, and a check that requested steps fit its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.features.fusion import Fusion, fused_sets
from semblance.core.features.registry import extractor_class, extractors
from semblance.core.language import tr_lazy
from semblance.core.metrics.steps.codebook import Codebook
from semblance.core.metrics.steps.per_set import PerSet, SetSteps
from semblance.core.metrics.steps.sequence import parse_steps, steps_text
from semblance.core.metrics.steps.step import Step

#: Extractors with many numbers of one kind; those of pixels share their unit and have to stay an image. Those of
#: encoders share theirs too: standardised, the many that hardly vary count as much as the others.
_DEFAULTS = {
    "encoder": "l2,pca:64",
    "onnx": "l2,pca:64",
    "gabor": "standardise,pca:200",
    "pixels": "none",
    "visual_words": "codebook:200",
    "textons": "codebook:2000:300",
    "fusion": "sets",
}
#: The same where there are no findings to merge words by.
_WITHOUT_FINDINGS = {"textons": "codebook:300"}


def chosen_steps(
    text: str, extractor: str, settings: Mapping[str, Any] | None = None, *, labelled: bool = True
) -> tuple[Step, ...]:
    """Unfitted steps from ``text``, where empty those that suit it, for the rows of ``extractor``.

    ``labelled``: there are findings. A codebook gets the layout of the extractor's local descriptors, and the step
    ``sets`` the fused sets, both from the ``settings`` of the extractor.

    Raises:
        BadArguments: as :func:`parse_steps`; a codebook for rows without local descriptors, or none for
            rows of them; no such extractor.
    """
    steps = parse_steps(text) if text else default_steps(extractor, labelled=labelled)
    if settings is not None and extractor == Fusion.name:
        for step in steps:
            if isinstance(step, PerSet):
                step.sets = tuple(
                    SetSteps(one.name, one.columns, default_steps(one.extractor, labelled=labelled))
                    for one in fused_sets(settings)
                )
    form = extractor_class(extractor).local
    codebook = steps[0] if steps and isinstance(steps[0], Codebook) else None
    if form is None and codebook is not None:
        local = ", ".join(one.name for one in extractors() if one.local is not None)
        raise BadArguments(
            tr_lazy(
                "The numbers of '{extractor}' are no local descriptors for a codebook.", extractor=extractor
            ),
            tr_lazy("Leave the step out; extractors with local descriptors: {local}.", local=local),
        )
    if form is not None:
        if codebook is None:
            raise BadArguments(
                tr_lazy(
                    "'{extractor}' holds local descriptors, which have to be counted first.",
                    extractor=extractor,
                ),
                tr_lazy(
                    "Begin the steps with a codebook: {extractor}.",
                    extractor=steps_text(default_steps(extractor)),
                ),
            )
        codebook.form = form
    return steps


def default_steps(extractor: str, *, labelled: bool = True) -> tuple[Step, ...]:
    """Unfitted steps that suit the numbers of the extractor so named; ``labelled``: there are findings."""
    usual = _DEFAULTS.get(extractor, "standardise")
    return parse_steps(usual if labelled else _WITHOUT_FINDINGS.get(extractor, usual))
