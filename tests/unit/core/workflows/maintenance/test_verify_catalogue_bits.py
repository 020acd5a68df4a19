"""A bit that flips in a catalogue changes nothing that is read, or is told; what can be mended is."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE, JudgementRecord, now
from semblance.core.workflows.maintenance.problems import VerificationResult
from semblance.core.workflows.maintenance.verify_library import verify_library
from tests.helpers.libraries import make_library, numbers_set, result_rows, settled, values_of

CASES = 60
FLIPS = 25
#: The images of a library made by hand were never there.
ALWAYS = "images"


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    path = make_library(tmp_path_factory.mktemp("sound") / "lib.semblance", cases=CASES)
    with Library.open(path) as opened:
        made, rows = numbers_set(opened), result_rows(opened)
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


class _Text(bytes):
    """Told apart from a blob of the same bytes."""


def _kept(row: tuple) -> str:
    return repr([(type(value).__name__, value) for value in row])


def read(path: Path) -> dict[str, list[str]] | None:
    """Everything in a catalogue; ``None`` where it cannot be read."""
    try:
        with closing(sqlite3.connect(f"file:{path / CATALOGUE}?mode=ro", uri=True)) as connection:
            connection.text_factory = _Text
            query = "SELECT name FROM sqlite_master WHERE type='table'"
            names = [r[0].decode() for r in connection.execute(query)]
            return {name: sorted(connection.execute(f'SELECT * FROM "{name}"'), key=repr) for name in names}
    except (sqlite3.Error, UnicodeDecodeError):
        return None


def told(result: VerificationResult) -> list[str]:
    return [finding.says for finding in result.findings if finding.part not in (ALWAYS, "left over")]


# The first page describes the tables; the next hold what people made.
@pytest.mark.parametrize(("start", "end"), [(0, 100), (100, 4096), (4096, 8192), (8192, None)])
def test_no_flipped_bit_goes_unnoticed(sound, tmp_path, start, end):
    chance = random.Random(start)
    whole = (sound / CATALOGUE).read_bytes()
    before = read(sound)
    places = [place for place, byte in enumerate(whole[:end]) if place >= start and byte]
    mended = lost = 0
    for number in range(FLIPS):
        path = tmp_path / f"{number}.semblance"
        shutil.copytree(sound, path)
        place = chance.choice(places)
        data = bytearray(whole)
        data[place] ^= 1 << chance.randrange(8)
        (path / CATALOGUE).write_bytes(data)
        same = read(path) == before
        try:
            found = told(verify_library(path))
        except SemblanceError as error:
            found = [str(error)]
        assert same or found, f"byte {place}: {whole[place]} became {data[place]}"
        repaired = verify_library(path, repair=True)
        if repaired.works == ["Nothing more can be said while the catalogue is damaged."]:
            # The list of tables is there once only.
            assert "malformed" in told(repaired)[0]
            lost += 1
            continue
        assert told(verify_library(path)) == [], f"byte {place}: {whole[place]} became {data[place]}"
        mended += bool(found)
        shutil.rmtree(path)
    assert lost <= (FLIPS // 2 if start == 100 else 2 if start else 0)
    assert mended
