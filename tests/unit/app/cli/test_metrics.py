"""The commands of the sealed test vault."""

from __future__ import annotations

from tests.helpers.tables import write_table


def test_from_the_import_to_the_opening(document, run_command, tmp_path):
    library = tmp_path / "lib"
    imported = document(
        "import", write_table(tmp_path / "t.csv", n=120), "--library", library, "--seal", 0.25
    )
    sealed = imported["vault"]["cases"]
    assert 24 <= sealed <= 36
    document("features", library, "--extractor", "raw")
    document("train", library, "--learner", "euclidean", "--name", "plain")
    found = document("search", library, "--metric", "plain", "--case", _unsealed(document, library))
    assert found["sealed"] == sealed
    assert document("vault", "status", library)["openings"] == []
    opening = document("vault", "open", library, "--metric", "plain")
    assert (opening["number"], opening["result"]["cases"]) == (1, sealed)
    _, out, _ = run_command("vault", "status", library)
    assert "opening 1" in out
    status, _, error = run_command("vault", "unseal", library)
    assert status == 1
    assert "stays sealed" in error


def test_sealing_is_named_either_by_share_or_by_list(document, run_command, tmp_path):
    library = tmp_path / "lib"
    document("import", write_table(tmp_path / "t.csv"), "--library", library)
    for arguments in ((), ("--share", 0.2, "--list", tmp_path / "list.txt")):
        assert run_command("vault", "seal", library, *arguments)[0] == 2
    (tmp_path / "list.txt").write_text("P1\nt/c9\n")
    sealed = document("vault", "seal", library, "--list", tmp_path / "list.txt")
    assert (sealed["cases"], sealed["patients"]) == (4, 2)
    assert document("vault", "unseal", library) == {"unsealed": 4}
    assert run_command("vault", "status", library)[1] == "Nothing is sealed.\n"


def _unsealed(document, library) -> str:
    """A case that can be asked."""
    from semblance.core.workflows.searches.batch_queries import all_cases

    return all_cases(library)[0]
