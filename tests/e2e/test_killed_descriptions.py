"""An extraction that describes places is killed at random moments, and goes on until all cases have theirs."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from semblance.core.features.places import PLACES
from semblance.core.library.library import Library
from semblance.core.workflows.features import described_sets
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.stored_places import read_places
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.encoders import mapped, settings
from tests.helpers.images import striped_folder

TOP = Path(__file__).resolve().parents[2]
IMAGES, KILLS = 240, 6
#: Parts of few cases, each written slowly, so that a kill often falls between the sets of one part.
EXTRACTION = """
import sys, time
from pathlib import Path
from semblance.core.library.feature_sets import FeatureSets
from semblance.core.workflows.features import described_sets, extract_features, measuring_order
from tests.helpers.engine_here import EngineHere
measuring_order.CHUNK = measuring_order.STEP = 6
described_sets.SAMPLE = 40
extract_features.open_engine = lambda *_: EngineHere(2)
write = FeatureSets.write_chunk
def slowly(*arguments):
    done = write(*arguments)
    print("written", flush=True)
    time.sleep(0.02)
    return done
FeatureSets.write_chunk = slowly
model, how = sys.argv[2:]
extract_features.extract_features(Path(sys.argv[1]), "onnx", settings={"model": model, "settings": how})
"""


@pytest.mark.long
def test_every_kill_leaves_whole_parts_and_the_next_run_continues(tmp_path, monkeypatch):
    monkeypatch.setattr(described_sets, "SAMPLE", 40)
    given = [str(mapped(tmp_path / "own.onnx"))]
    given.append(str(settings(tmp_path / "own.json", output="features", map="map")))
    library, whole = tmp_path / "lib", tmp_path / "whole"
    for path in (library, whole):
        import_source(striped_folder(tmp_path / "images", n=IMAGES), path)
    rng = random.Random(0)
    counts = []
    for _ in range(KILLS):
        command = [sys.executable, "-c", EXTRACTION, str(library), *given]
        with subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, text=True) as program:
            for _ in range(rng.randrange(6, 40)):
                program.stdout.readline()
            time.sleep(rng.random() * 0.03)
            program.send_signal(signal.SIGKILL)
        with Library.open(library) as opened:
            features = opened.features.get("onnx")
            places = opened.features.part(features, PLACES)
            ids, values = opened.features.read(features)
            assert len(set(ids.tolist())) == len(ids)
            if places is not None:
                stored = read_places(opened, features) if len(opened.features.cases_of(places)) else None
                counts.append(0 if stored is None else len(stored.rows))
    assert counts == sorted(counts) and 0 < counts[0] < IMAGES
    how = dict(zip(("model", "settings"), given, strict=True))
    for path in (library, whole):
        assert extract_features(path, "onnx", settings=how, workers=1).failed == []
    with Library.open(library) as one, Library.open(whole) as other:
        (ids, values), (_, expected) = (
            opened.features.read(opened.features.get("onnx")) for opened in (one, other)
        )
        np.testing.assert_array_equal(values, expected)
        found, known = (read_places(opened, opened.features.get("onnx")) for opened in (one, other))
    assert ids.tolist() == found.rows.tolist() == list(range(1, IMAGES + 1))
    # Whoever fitted the coding had the same sample.
    np.testing.assert_array_equal(found.codes, known.codes)
