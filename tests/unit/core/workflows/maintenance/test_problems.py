from __future__ import annotations

from semblance.core.workflows.maintenance.problems import few


def test_many_names_are_cut_short():
    assert few(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert few([""]) == "the file itself"
