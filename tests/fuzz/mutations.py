"""Damaged copies of a file, the same for the same number and seed."""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile
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


def mutated_inside(data: bytes, number: int, seed: int) -> bytes:
    """Copy ``number`` of a zip, one of whose entries is mutated: its text, a value of its JSON, or its bytes. A list of
    checksums in it follows, as whoever forges a file would let it."""
    rng = random.Random(f"{seed}:{number}:inside")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    # Descriptions decide more than numbers do.
    texts = [name for name in entries if name.endswith(".json")]
    name = rng.choice(texts if texts and rng.random() < 0.6 else list(entries))
    if name in texts and rng.random() < 0.7:
        entries[name] = _forged_json(entries[name], rng)
    elif zipfile.is_zipfile(io.BytesIO(entries[name])):
        entries[name] = mutated_inside(entries[name], number, seed + 1)
    else:
        entries[name] = mutated(entries[name], number, seed, words=TOKENS if name in texts else LENGTHS)
    if "backup.json" in entries and name != "backup.json":
        listing = json.loads(entries["backup.json"])
        listing["files"][name] = {
            "size": len(entries[name]),
            "sha256": hashlib.sha256(entries[name]).hexdigest(),
        }
        entries["backup.json"] = json.dumps(listing).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)
    return out.getvalue()


def _forged_json(data: bytes, rng: random.Random) -> bytes:
    """The JSON with one of its values, at any depth, removed or replaced by another kind of value."""
    document = json.loads(data)
    place, key = document, None
    while isinstance(place, dict | list) and place:
        inner = list(place) if isinstance(place, dict) else list(range(len(place)))
        chosen = rng.choice(inner)
        if not isinstance(place[chosen], dict | list) or rng.random() < 0.3:
            key = chosen
            break
        if not place[chosen]:
            key = chosen
            break
        place = place[chosen]
    values = (
        None,
        True,
        -1,
        0,
        1 << 70,
        1e308,
        "",
        "x" * 3000,
        "\u202e\n",
        [],
        [None],
        {},
        {"a": 1},
        [[]] * 9,
    )
    if key is None:
        return json.dumps(rng.choice(values)).encode()
    if rng.random() < 0.2:
        del place[key]
    elif rng.random() < 0.1:
        deep = "[" * 100_000 + "]" * 100_000
        place[key] = "DEEP"
        return json.dumps(document).replace('"DEEP"', deep).encode()
    else:
        place[key] = rng.choice(values)
    return json.dumps(document).encode()
