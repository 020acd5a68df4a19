"""Identifiers planted in every place of a file: none is left, and the search would find one."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from pydicom.uid import ExplicitVRLittleEndian

from semblance.core.imaging.deidentification import deidentify_dataset, kept_values, repack_pixels
from semblance.core.imaging.dicom.identity import Identity
from semblance.core.workflows.imaging import deidentify_files as module
from tests.helpers.planted_everywhere import CHARACTER_SETS
from tests.identifier_sweep import MOST, PACKED, PLAIN, Swept, cases, sweep


def check(swept: Swept) -> None:
    assert swept.result.failed == []
    assert swept.after.found == []
    assert len(swept.before.found) > 50
    assert swept.pixels_are_equal


def test_nothing_is_left_of_identifiers_in_a_fifth_of_all_attributes(tmp_path, record_property):
    swept = sweep(tmp_path, every=5)
    check(swept)
    assert swept.places > 3_500
    record_property("searched", swept.after.report())
    # The file and its receipt, and everything that is within them.
    assert swept.after.files == 2 and sum(swept.after.parts.values()) > 500


@pytest.mark.parametrize(
    ("character_set", "syntax"), list(zip(CHARACTER_SETS, itertools.cycle((*PACKED, *PLAIN)), strict=False))
)
def test_nothing_is_left_in_any_writing_system_and_transfer_syntax(tmp_path, character_set, syntax):
    check(sweep(tmp_path, MOST, character_set, syntax, every=47))


@pytest.mark.long
@pytest.mark.parametrize("name", [case[0] for case in cases()])
def test_the_whole_sweep_finds_nothing(tmp_path, name):
    (options, character_set, syntax) = next(case[1:] for case in cases() if case[0] == name)
    check(sweep(tmp_path, options, character_set, syntax))


def _does_nothing(*_: object, **__: object) -> str:
    return ""


def _keep_the_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(repack_pixels, "_whole_words", lambda content, *_, **__: content)
    # An overlay in the bits of the pixels has them written again.
    patch.setattr(module, "has_overlay_bits", lambda _: False)


def _keep_nested(patch: pytest.MonkeyPatch) -> None:
    walk = deidentify_dataset._Deidentifier._walk
    patch.setattr(
        deidentify_dataset._Deidentifier,
        "_walk",
        lambda self, dataset, depth: None if depth else walk(self, dataset, depth),
    )


#: What protects -> how it is switched off.
MECHANISMS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "texts and codes": lambda patch: patch.setattr(kept_values.KeptValues, "_clean_text", _does_nothing),
    "bytes": lambda patch: patch.setattr(kept_values.KeptValues, "_clean_bytes", _does_nothing),
    "numbers": lambda patch: patch.setattr(kept_values.KeptValues, "_clean_numbers", _does_nothing),
    "decimals, dates and UIDs": lambda patch: patch.setattr(kept_values.KeptValues, "_clean_formed", _does_nothing),
    "words of names": lambda patch: patch.setattr(Identity, "is_in", lambda *_: False),
    "private attributes": lambda patch: patch.setattr(
        deidentify_dataset._Deidentifier, "_remove_private", lambda _, dataset: set(dataset.keys())
    ),
    "nested values": _keep_nested,
    "the end of the pixels": _keep_the_end,
    "names of files": lambda patch: patch.setattr(
        module, "_file_name", lambda dataset, *_: "Quixley^Zebedee/HOSP-778812993.dcm"
    ),
}  # fmt: skip


@pytest.mark.parametrize("mechanism", list(MECHANISMS))
def test_the_sweep_finds_what_a_mechanism_would_leave(tmp_path, monkeypatch, mechanism):
    MECHANISMS[mechanism](monkeypatch)
    swept = sweep(tmp_path, every=17)
    assert swept.after.found or not swept.result.files


def test_the_sweep_finds_a_comment_in_a_codestream(tmp_path, monkeypatch):
    monkeypatch.setattr(repack_pixels, "clean_codestream", lambda data, *_: data)
    monkeypatch.setattr(Identity, "is_in_bytes", lambda *_, **__: False)
    swept = sweep(tmp_path, syntax=PACKED[1], every=97)
    assert {found[1] for found in swept.after.found} >= {"fragment of pixels"}


def test_the_whole_sweep_has_every_option_writing_system_and_transfer_syntax():
    names = [case[0] for case in cases()]
    assert len(names) == len(set(names)) == 12 + 2 * len(CHARACTER_SETS) + len(PLAIN) + len(PACKED)
    assert any(case[3] == ExplicitVRLittleEndian for case in cases())
