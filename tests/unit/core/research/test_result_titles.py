from __future__ import annotations

import pytest

from semblance.core.evaluation.protocols.registry import protocols
from semblance.core.research.result_titles import cases_title, learner_title, protocol_title, score_title


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("retrieval_accuracy@10", "Retrieval accuracy @10"),
        ("map@r", "MAP@R"),
        ("auc", "Mean AUC over findings"),
        ("auc:benign@2", "AUC, benign@2 against the rest"),
        ("hit_rate@3", "Hit rate @3"),
        ("something_new@3", "something_new@3"),
    ],
)
def test_score_titles(name, title):
    assert score_title(name) == title


def test_every_compared_score_has_a_title():
    for protocol in protocols():
        for name in protocol.compared:
            assert score_title(name) != name, f"{protocol.name}: {name}"


def test_titles_keep_parameters():
    assert learner_title("bdm_v (rounds=50|100), standardise") == "BDM+V (rounds=50|100), standardise"
    assert learner_title("votes of all") == "votes of all"
    assert protocol_title("full (split=folds)") == "All scores (split=folds)"
    assert cases_title("builtin:breast_cancer") == "breast cancer"
    assert cases_title("my_table") == "my_table"
