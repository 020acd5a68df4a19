"""Mutated DICOM files: each must decode or be refused with a reason, within limits of time and memory.

``python -m tests.helpers.fuzz_dicom --count 5000`` runs many. A child process decodes; a parent watches that
it neither dies, nor takes longer than :data:`SECONDS` for one file, nor more memory than :data:`BYTES`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 5
BYTES = 1 << 30
#: Address space that a process has before it decodes anything: libraries, not pixels.
_LIBRARIES = 2 << 30
_LARGEST = 1 << 20
#: What is written over lengths and tags.
_LENGTHS = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\xfe\xff\0\xe0")


@dataclass
class Outcome:
    """How many files decoded and were refused; what went wrong: (number, what)."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, str]] = field(default_factory=list)


def seeds(data: Path | None) -> list[bytes]:
    """Files to mutate: generated ones of several packings, and the small real ones."""
    import numpy as np
    from pydicom.uid import ExplicitVRBigEndian, ImplicitVRLittleEndian, JPEG2000Lossless, RLELossless

    from tests.helpers.dicom_files import ct_slice, encoded, picture

    rng = np.random.default_rng(0)
    grey = rng.integers(-1000, 1000, (64, 64)).astype(np.int16)
    colour = rng.integers(0, 256, (3, 12, 16, 3)).astype(np.uint8)
    found = [
        encoded(ct_slice(grey)),
        encoded(ct_slice(grey), ImplicitVRLittleEndian),
        encoded(ct_slice(grey), ExplicitVRBigEndian),
        encoded(picture(colour)),
    ]
    for syntax in (RLELossless, JPEG2000Lossless):
        packed = ct_slice(grey)
        encoded(packed)
        packed.compress(syntax, generate_instance_uid=False)
        out = io.BytesIO()
        packed.save_as(out, enforce_file_format=True)
        found.append(out.getvalue())
    if data is not None:
        files = sorted(p for p in (data / "dicom").rglob("*") if p.is_file() and p.suffix == ".dcm")
        found += [
            p.read_bytes() for p in files if 0 < p.stat().st_size <= _LARGEST and "chest" not in p.parts
        ]
    return found


def mutated(data: bytes, number: int, seed: int) -> bytes:
    """Copy ``number``: bytes flipped, parts cut out, doubled or swapped; mostly within the header."""
    rng = random.Random(f"{seed}:{number}")
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if len(out) < 16:
            break
        reach = len(out) if rng.random() < 0.4 else min(len(out), 2048)
        at = rng.randrange(reach)
        length = rng.choice((1, 2, 4, 16, 256))
        kind = rng.randrange(6)
        if kind == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[at : at + 4] = rng.choice(
                (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\xfe\xff\0\xe0")
            )
        elif kind == 2:
            del out[at : at + length]
        elif kind == 3:
            out[at:at] = out[at : at + length]
        elif kind == 4:
            other = rng.randrange(reach)
            one, two = bytes(out[at : at + length]), bytes(out[other : other + length])
            out[at : at + len(two)], out[other : other + len(one)] = two, one
        elif rng.random() < 0.5:
            del out[at:]
        else:
            out[at] = rng.randrange(256)
    return bytes(out)


def decode(data: bytes) -> str:
    """What became of one file: "decoded", "no pixels" or "refused"."""
    from core.errors import BadInput
    from core.imaging.dicom import cad, dicomdir, segmentations, structures
    from core.imaging.dicom.geometry import plane_of
    from core.imaging.dicom.pictures import DicomPictures
    from core.imaging.dicom.reading import complaints, open_dicom
    from core.library.importers.dicom_series import HEADER_TAGS, grouped, instance_of

    try:
        header = open_dicom(io.BytesIO(data), "mutated", HEADER_TAGS)
        grouped([instance_of("mutated", header.dataset, pixels=True, pseudonyms=None)])
        whole = open_dicom(io.BytesIO(data), "mutated")
        with complaints("mutated"):
            dicomdir.named_files(whole.dataset)
            cad.marks_of(whole.dataset)
            plane = plane_of(whole.dataset)
            if plane is not None:
                structures.structures(whole.dataset, [plane], (64, 64))
            segmentations.referenced_instances(whole.dataset)
        if not whole.pixels:
            return "no pixels"
        pictures = DicomPictures(io.BytesIO(data), "mutated")
        for frame in sorted({0, len(pictures) - 1}):
            pictures.picture(frame).grey()
    except BadInput as error:
        assert error.message
        return "refused"
    return "decoded"


def run(data: Path | None, numbers: Sequence[int], seed: int) -> Outcome:
    """Decode the copies ``numbers`` in child processes; one that dies or hangs is told and replaced."""
    outcome, waiting = Outcome(), list(numbers)
    while waiting:
        child = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.helpers.fuzz_dicom", "--child", str(seed)]
            + ([str(data)] if data else []),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        with child:
            child.stdout.readline()
            while waiting:
                number = waiting.pop(0)
                try:
                    child.stdin.write(f"{number}\n")
                    child.stdin.flush()
                except BrokenPipeError:
                    outcome.wrong.append((number, "the process was gone"))
                    break
                ready, _, _ = select.select([child.stdout], [], [], SECONDS)
                told = child.stdout.readline().strip() if ready else "hangs"
                if told in ("decoded", "refused", "no pixels"):
                    outcome.counts[told] += 1
                    continue
                child.kill()
                outcome.wrong.append((number, told or f"crash {child.wait()}"))
                break
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
    return outcome


def serve(data: Path | None, seed: int) -> None:
    """The child: decodes the numbers it reads, under a limit of memory."""
    import resource

    originals = seeds(data)
    decode(originals[0])
    resource.setrlimit(resource.RLIMIT_AS, (BYTES + _LIBRARIES, BYTES + _LIBRARIES))
    print("ready", flush=True)
    for line in sys.stdin:
        number = int(line)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            told = decode(mutated(originals[number % len(originals)], number, seed))
        except BaseException as error:  # noqa: BLE001 - that is what is looked for
            told = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if peak > before and peak * 1024 > BYTES:
            told = f"{peak // 1024} MB"
        print(told, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs="+")
    options = parser.parse_args()
    if options.child:
        serve(Path(options.child[1]) if len(options.child) > 1 else None, int(options.child[0]))
        return
    from tests.helpers.data import folder

    outcome = run(folder(), range(options.count), options.seed)
    print(dict(outcome.counts))
    for number, what in outcome.wrong:
        print(f"{number}: {what}")
    sys.exit(1 if outcome.wrong else 0)


if __name__ == "__main__":
    main()
