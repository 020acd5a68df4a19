"""What checks of libraries found."""

from __future__ import annotations

from semblance.core.workflows.maintenance.problems import VerificationResult


def parts_of(result: VerificationResult) -> list[str]:
    return [finding.part for finding in result.findings]
