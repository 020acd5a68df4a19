"""The commands of outcomes."""

from __future__ import annotations

from tests.helpers.tables import write_table


def test_a_saved_search_is_followed(document, run_command, tmp_path):
    library = tmp_path / "lib"
    document("import", write_table(tmp_path / "t.csv", n=120), "--library", library)
    document("features", library, "--extractor", "raw")
    document("train", library, "--learner", "euclidean", "--name", "plain")
    from semblance.core.workflows.searches.batch_queries import held_out_cases

    case = held_out_cases(library, "plain")[0]
    found = document("search", library, "--case", case, "--save", "first")
    entered = document("outcome", "enter", library, "first", "--finding", "kind 0")
    assert entered["probability"] == found["vote"]["probability"]
    assert entered["outcome"] == "kind 0"
    assert document("outcome", "list", library)["searches"] == [entered]
    code, _, message = run_command("outcome", "enter", library, "first", "--finding", "kind 1")
    assert code != 0
    assert "'kind 0', entered" in message
    assert "--replace 'kind 0'" in message
    assert document("outcome", "list", library)["searches"] == [entered]
    replaced = document("outcome", "enter", library, "first", "--finding", "kind 1", "--replace", "kind 0")
    assert replaced["outcome"] == "kind 1"
    drift = document("outcome", "drift", library)
    assert (drift["outcomes"], drift["scores"][0]["brier"]) == (1, None)
    assert "nothing is claimed" in run_command("outcome", "drift", library)[1]
    assert run_command("search", library, "--case", case, "--save", "first")[0] != 0
