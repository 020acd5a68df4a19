from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from semblance.core.library.library import Library
from semblance.core.library.records import MetricRecord
from semblance.core.workflows.maintenance.retraining_advice import retraining_advice
from semblance.core.workflows.maintenance.verify_library import verify_library
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.program import run_program


def test_the_command_of_a_check_makes_the_same_metric(library):
    settings = {"rounds": 3, "step": "exact"}
    request = TrainRequest(
        "bdm_v", "it's mine", steps="standardise,pca:4", settings=settings, seed=5, max_cases=20
    )
    train_metric(library, request)
    with Library.open(library) as opened:
        record = opened.metric("it's mine")
    record.file.write_bytes(b"lost")
    (finding,) = verify_library(library).findings
    command = re.search(r"\((semblance train .*)\), or restore", finding.remedy)
    assert command
    words = shlex.split(command[1].replace("LIB", str(library)))
    status, _, err = run_program(*words[1:])
    assert status == 0, err
    assert verify_library(library).findings == []
    with Library.open(library) as opened:
        assert opened.metric("it's mine").card["content_hash"] == record.card["content_hash"]


def record_of(card: dict, learner: str = "bdm_v") -> MetricRecord:
    return MetricRecord(1, "mine 30 %", learner, 1, Path("a.metric"), card, np.arange(3), None)


@pytest.mark.parametrize(
    ("card", "learner", "says"),
    [
        ({}, "clicks", "make it again from its judgements"),
        ({}, "from tomorrow", "this version has no learner 'from tomorrow'"),
        ({}, "bdm_v", "If it was imported, import its file again. Otherwise train it again with"),
        ({"asked": {}}, "bdm_v", r"\(semblance train LIB --learner bdm_v --name 'mine 30 %'\)"),
        ({"asked": {}, "slider": {"name": "mine", "place": 30}}, "bdm_v", "--name mine --slider"),
        ({"asked": {}, "parameters": {"training_cases": 4000}}, "bdm_v", r"--name 'mine 30 %'\)"),
        ({"asked": "odd", "parameters": [], "split": 3}, "bdm_v", "with the settings on its card"),
        ({"asked": {"steps": "none", "else": "x"}}, "bdm_v", r"--steps none\)"),
    ],
)
def test_a_metric_no_command_can_train_gets_other_advice(card, learner, says):
    assert re.search(says, retraining_advice(record_of(card, learner)))


def test_window_only_training_is_not_advised_as_a_command(library):
    train_metric(library, TrainRequest("euclidean", "mine", held_out=0.5))
    with Library.open(library) as opened:
        assert "in the window" in retraining_advice(opened.metric("mine"))
