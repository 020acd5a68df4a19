"""Requests that Schemathesis makes from the description of the HTTP interface never cause a server error, and the
answers are what the description says."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from PIL import Image
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from semblance.app.http_api.application import ServiceSettings
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.http_server import TOKEN, running_server
from tests.helpers.images import striped_folder

#: Requests for each route.
EXAMPLES = 20
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@pytest.fixture
def server(tmp_path):
    striped_folder(tmp_path / "images", n=24)
    import_source(tmp_path / "images", tmp_path / "lib")
    extract_features(tmp_path / "lib", "pixels", workers=1)
    train_metric(tmp_path / "lib", TrainRequest("euclidean", "plain"))
    with running_server(ServiceSettings(tmp_path / "lib", TOKEN, identified=True)) as client:
        yield client


def a_png() -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng(9).integers(0, 255, (40, 40)).astype(np.uint8)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.long
def test_no_request_causes_a_server_error(server):
    schema = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
    statuses: dict[str, set[int]] = {}
    sent = itertools.count()
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def send(case):
            # Random requests rarely name a case or hold an image: a third does beside its random parts, a third has
            # no others.
            kind = next(sent) % 3
            if kind == 2:
                case.query = {}
            if kind and "case" in {parameter.name for parameter in case.operation.query}:
                case.query = {**(case.query or {}), "case": "images/level/p000.png", "identified": "true"}
            if kind and case.operation.method == "post":
                case.body, case.media_type = a_png(), "image/png"
            # Its own limit is 10 s, which a busy computer can take.
            answer = case.call(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=120)
            statuses.setdefault(case.operation.label, set()).add(answer.status_code)
            case.validate_response(answer, checks=CHECKS)

        send()
    assert all(200 in answered for answered in statuses.values()), statuses
    assert len(statuses) == 6
