"""Damaged lists and arrays: every file is reported, or the source is refused; nothing else is raised."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import SemblanceError
from semblance.core.library.importers.importer import FoundCase, RejectedFile
from semblance.core.library.importers.registry import get_importer
from semblance.core.library.importers.source import Source
from semblance.core.tasks import SILENT

POLYPS = (
    b"patient,view,polyp,scan,row,x,y,z,geodesic,f1,note\nA,prone,1,ct.npz,0,5,5,5,0.2,1.5,hello\n"
    b"A,supine,1,ct.npz,1,6,6,6,0.3,1.6,\nB,p,,ct.npz,1,6,6,6,,1.7,x\n"
)
LUNG = (
    b"scan,slice,x,y,w,h,polygon,finding,patient\nct[0],1,2,3,8,8,,emphysema,A\n"
    b'ct[0],2,,,,,"[[1,2],[8,2],[4,9]]",healthy,B\nct[1],0,1,1,5,5,"1 2; 8 2; 4 9",x,\n'
)


def mutated(data, rng):
    """``data`` with some bytes changed, cut out, put in or exchanged."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        at, length = int(rng.integers(len(out))), int(rng.integers(1, 20))
        way = rng.integers(4)
        if way == 0:
            out[at] = int(rng.integers(256))
        elif way == 1 and length < len(out) // 2:
            del out[at : at + length]
        elif way == 2:
            out[at:at] = rng.integers(0, 256, length, dtype=np.uint8).tobytes()
        else:
            other = int(rng.integers(len(out)))
            out[at : at + 6], out[other : other + 6] = out[other : other + 6], out[at : at + 6]
    return bytes(out)


@pytest.mark.parametrize(("kind", "table"), [("polyps", POLYPS), ("lung", LUNG)])
def test_mutated_copies(tmp_path, kind, table):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "ct.npz", ct=np.zeros((2, 9, 12, 12), np.int16), spacing=np.ones(3))
    arrays = (tmp_path / "ct.npz").read_bytes()
    cases = refused = 0
    for number in range(300):
        both = number % 3
        (tmp_path / "list.csv").write_bytes(mutated(table, rng) if both != 0 else table)
        (tmp_path / "ct.npz").write_bytes(mutated(arrays, rng) if both != 1 else arrays)
        try:
            with Source.open(tmp_path) as source:
                found = list(get_importer(kind).scan(source, SILENT))
        except SemblanceError:
            refused += 1
            continue
        paths = {path for item in found if isinstance(item, FoundCase) for path in item.paths}
        paths |= {item.path for item in found if isinstance(item, RejectedFile)}
        assert {"list.csv", "ct.npz"} <= paths
        cases += sum(isinstance(item, FoundCase) for item in found)
    assert cases > 50
    assert refused > 0
