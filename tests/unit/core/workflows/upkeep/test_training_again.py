from __future__ import annotations

import re
import shlex

import numpy as np

from core.library.library import Library
from core.library.records import MetricRecord
from core.workflows.metrics.training import TrainRequest, train_metric
from core.workflows.upkeep.checking import check_library
from core.workflows.upkeep.training_again import training_command
from tests.helpers.program import semblance


def test_the_command_a_check_tells_makes_the_same_metric(library):
    settings = {"rounds": 3, "step": "exact"}
    request = TrainRequest(
        "bdm_v", "it's mine", steps="standardise,pca:4", settings=settings, seed=5, max_cases=20
    )
    train_metric(library, request)
    with Library.open(library) as opened:
        record = opened.metric("it's mine")
    record.file.write_bytes(b"lost")
    (finding,) = check_library(library).findings
    command = re.search(r"\((semblance train .*)\), or restore", finding.remedy)
    assert command
    words = shlex.split(command[1].replace("LIB", str(library)))
    status, _, said = semblance(*words[1:])
    assert status == 0, said
    assert check_library(library).findings == []
    with Library.open(library) as opened:
        assert opened.metric("it's mine").card["content_hash"] == record.card["content_hash"]


def test_no_command_makes_a_metric_of_clicks(library):
    training = np.arange(3)
    record = MetricRecord(1, "mine", "clicks", 1, library / "metrics" / "a.metric", {}, training, None)
    assert training_command(record) == ""
