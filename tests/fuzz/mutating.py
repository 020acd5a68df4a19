"""Damaged copies of a file, the same for the same number and seed."""

from __future__ import annotations

import random
from collections.abc import Sequence

#: What is written over lengths and tags.
LENGTHS = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\xfe\xff\0\xe0")
#: What is written into texts.
TOKENS = (
    b"nan", b"-inf", b"1e309", b"1e300", b"NaN", b"Infinity",
    b"-1", b"0", b"99999999999999999999", b'"', b"'", b",", b";", b"\t", b"\r\n",
    b"\0", b"\xff", b"\xef\xbb\xbf", "é胸".encode(), b"../", b"<", b"&x;", b"]]>", b"{", b"[[", b"x" * 5000,
)  # fmt: skip


def mutated(data: bytes, number: int, seed: int, *, words: Sequence[bytes] = LENGTHS) -> bytes:
    """Copy ``number``: bytes flipped, parts cut out, doubled or swapped, ``words`` written over or into it;
    mostly near its beginning."""
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
            word = rng.choice(words)
            out[at : at + (4 if words is LENGTHS else rng.choice((0, len(word))))] = word
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
