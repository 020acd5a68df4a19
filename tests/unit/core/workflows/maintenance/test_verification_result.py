from __future__ import annotations

from semblance.core.workflows.maintenance.verification_result import first_names


def test_many_names_are_cut_short():
    assert first_names(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert first_names([""]) == "the file itself"
