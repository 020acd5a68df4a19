"""What checks of libraries found."""

from __future__ import annotations

from semblance.core.workflows.upkeep.findings import CheckResult


def parts_of(result: CheckResult) -> list[str]:
    return [finding.part for finding in result.findings]
