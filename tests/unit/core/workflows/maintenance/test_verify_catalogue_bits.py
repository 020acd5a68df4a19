"""After one bit of a catalogue flipped the library can be repaired, and nothing else is lost."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE, JudgementRecord, now
from semblance.core.workflows.maintenance.verification_result import VerificationResult
from semblance.core.workflows.maintenance.verify_library import verify_library
from tests.helpers.libraries import case_rows, make_library, numbers_set, settled, values_of

CASES = 60
FLIPS = 25
#: The images of a library made by hand were never there.
ALWAYS = "images"


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    path = make_library(tmp_path_factory.mktemp("sound") / "lib.semblance", cases=CASES)
    with Library.open(path) as opened:
        made, rows = numbers_set(opened), case_rows(opened)
        opened.features.write_chunk(made, rows, values_of(rows))
        opened.save_search("mine", {"query": "s/0.png", "among": list(range(50))})
        opened.judgements("mine").append(
            [
                JudgementRecord("alike", "s/0.png", f"s/{n}.png", None, None, ("a", "b"), "me", now())
                for n in range(20)
            ]
        )
    settled(path)
    return path


def problem_texts(result: VerificationResult) -> list[str]:
    return [finding.says for finding in result.findings if finding.part not in (ALWAYS, "left over")]


# The first page describes the tables; the next hold what people made.
@pytest.mark.parametrize(("start", "end"), [(0, 100), (100, 4096), (4096, None)])
def test_a_flipped_bit_is_repaired_or_nothing_is_touched(sound, tmp_path, start, end):
    """SQLite keeps no check sums of rows: one letter that became another goes unnoticed, damage does not."""
    chance = random.Random(start)
    whole = (sound / CATALOGUE).read_bytes()
    places = [place for place, byte in enumerate(whole[:end]) if place >= start and byte]
    repaired = lost = 0
    for number in range(FLIPS):
        path = tmp_path / f"{number}.semblance"
        shutil.copytree(sound, path)
        place = chance.choice(places)
        data = bytearray(whole)
        data[place] ^= 1 << chance.randrange(8)
        (path / CATALOGUE).write_bytes(data)
        what = f"byte {place}: {whole[place]} became {data[place]}"
        try:
            found = problem_texts(verify_library(path))
            result = verify_library(path, repair=True)
        except SemblanceError:
            lost += 1
            continue
        if result.works == ["Nothing else can be verified while the catalogue is damaged."]:
            # The list of tables is there once only.
            lost += 1
            continue
        assert problem_texts(verify_library(path)) == [], what
        with Library.open(path) as opened:
            assert len(opened.catalogue.all_cases()) >= CASES - 1, what
        repaired += bool(found)
        shutil.rmtree(path)
    assert lost <= (FLIPS // 2 if start == 100 else 2)
    assert repaired
