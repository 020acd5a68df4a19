"""Results of verifying a library."""

from __future__ import annotations

from semblance.core.workflows.maintenance.verification_result import VerificationResult


def problem_parts(result: VerificationResult) -> list[str]:
    return [finding.part for finding in result.findings]
