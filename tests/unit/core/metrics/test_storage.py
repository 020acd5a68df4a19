"""Metric files that are damaged, forged, from elsewhere or cannot be written."""

from __future__ import annotations

import io
import json
import os
import pickle
import stat
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics import fit_metric, load_metric, make_learner
from semblance.core.metrics.card import MetricCard, Split
from semblance.core.metrics.distances import LinearDistance
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.steps import fit_steps, parse_steps
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.steps.scaling import Impute, Standardise
from semblance.core.metrics.storage import MANIFEST, MetricContents, content_hash
from tests.helpers import naive_bdm as naive


@pytest.fixture
def stored(tmp_path):
    X, y = naive.problem()
    path = tmp_path / "m.metric"
    fit_metric(make_learner("bdm", rounds=3), X, y, steps=parse_steps("standardise,pca:3")).save(path)
    return path


def rewrite(path, change):
    """Write the archive again after ``change(manifest, entries)``."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(entries.pop(MANIFEST))
    change(manifest, entries)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MANIFEST, json.dumps(manifest))
        for name, data in entries.items():
            archive.writestr(name, data)


def refused(path, words):
    with pytest.raises(BadInput, match=words) as caught:
        load_metric(path)
    assert str(path) in caught.value.message
    return caught.value


def npy(array, **options):
    data = io.BytesIO()
    np.save(data, array, **options)
    return data.getvalue()


def test_all_of_the_card_comes_back(stored, tmp_path):
    metric = load_metric(stored).with_card(
        name="Grüße 'x'",
        library="L",
        feature_set="gabor",
        split=Split(3, 0.5, True),
        scores={"auc": {"mean": 0.71234567890123456}},
        measured_on="held-out patients",
        n_patients=12,
    )
    metric.save(tmp_path / "again")
    assert load_metric(tmp_path / "again").card == metric.card
    assert MetricCard.from_json(metric.card.to_json() | {"of a later version": 1}) == metric.card


def test_the_hash_follows_the_numbers_not_the_card(stored):
    metric = load_metric(stored)
    assert metric.with_card(name="other").card.content_hash == metric.card.content_hash
    X, y = naive.problem(seed=1)
    other = fit_metric(make_learner("bdm", rounds=3), X, y, steps=parse_steps("standardise,pca:3"))
    assert other.card.content_hash != metric.card.content_hash


def test_a_missing_file_and_a_folder_are_reported(tmp_path):
    refused(tmp_path / "none", "no metric at")
    refused(tmp_path, "could not be read")


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 half"])
def test_other_files_are_no_metrics(tmp_path, content):
    path = tmp_path / "m"
    path.write_bytes(content)
    refused(path, "not a metric, or it is damaged")


def test_a_file_cut_short_anywhere_is_refused(stored):
    data = stored.read_bytes()
    for length in range(0, len(data), len(data) // 40):
        stored.write_bytes(data[:length])
        refused(stored, "damaged|cannot be used")


def test_a_byte_changed_anywhere_is_refused_or_harmless(stored):
    data, hash_before = stored.read_bytes(), load_metric(stored).card.content_hash
    for place in np.random.default_rng(0).integers(0, len(data), size=150).tolist():
        changed = bytearray(data)
        changed[place] ^= 0x5A
        stored.write_bytes(bytes(changed))
        try:
            assert load_metric(stored).card.content_hash == hash_before
        except BadInput as error:
            assert str(stored) in error.message


def test_a_newer_file_asks_for_an_update(stored):
    rewrite(stored, lambda manifest, _: manifest.update(version=2))
    assert "Update Semblance" in refused(stored, "newer version").hint


def test_an_unknown_kind_asks_for_an_update(stored):
    rewrite(stored, lambda manifest, _: manifest["distance"].update(kind="quantum"))
    assert "Update Semblance" in refused(stored, "'quantum'").hint


@pytest.mark.parametrize(
    "change",
    [
        lambda m, _: m.update(format="other"),
        lambda m, _: m.update(version="1"),
        lambda m, _: m.update(steps=None),
        lambda m, _: m.update(card=[]),
        lambda m, _: m["card"].update(n_cases="many"),
        lambda m, _: m["card"].pop("learner"),
        lambda m, _: m["card"].update(split={"seed": 1}),
        lambda m, _: m["steps"].pop(),
        lambda m, _: m["steps"].reverse(),
        lambda m, _: m["distance"].update(arrays={"L": "arrays/none.npy"}),
        lambda m, _: m["distance"].update(arrays={"L": ["x"]}),
        lambda m, _: m["distance"].update(settings={"n_features": -1}),
        lambda m, _: m["feature_groups"].pop(),
        lambda m, e: e.update({name: npy(np.zeros(2)) for name in e}),
        lambda m, e: e.update({name: data[:-4] for name, data in e.items()}),
        lambda m, e: e.update(dict.fromkeys(e, b"")),
    ],
)
def test_forged_descriptions_and_arrays_are_refused(stored, change):
    rewrite(stored, change)
    refused(stored, ".")


def test_numbers_other_than_those_saved_are_refused(stored):
    def change(_, entries):
        name = next(name for name in entries if "thresholds" in name)
        entries[name] = npy(np.load(io.BytesIO(entries[name])) + 1.0)

    rewrite(stored, change)
    refused(stored, "not those it was saved with")


def test_values_that_are_not_numbers_are_refused(stored):
    def change(_, entries):
        name = next(name for name in entries if "thresholds" in name)
        entries[name] = npy(np.full(3, np.nan))

    rewrite(stored, change)
    refused(stored, "not numbers")


class Trap:
    def __reduce__(self):
        return sys.exit, (3,)


def test_nothing_is_ever_unpickled(stored):
    def change(_, entries):
        name = next(name for name in entries if "thresholds" in name)
        entries[name] = npy(np.array([Trap()], dtype=object), allow_pickle=True)

    rewrite(stored, change)
    refused(stored, "does not hold plain numbers")
    stored.write_bytes(pickle.dumps(Trap()))
    refused(stored, "not a metric")


def test_a_header_that_claims_terabytes_takes_no_memory(stored):
    def change(_, entries):
        name = next(name for name in entries if "thresholds" in name)
        data = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            data, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
        )
        entries[name] = data.getvalue() + bytes(64)

    rewrite(stored, change)
    refused(stored, "incomplete")


def test_an_archive_far_too_large_is_refused_before_it_is_read(stored, monkeypatch):
    monkeypatch.setenv("SEMBLANCE_MEMORY_MB", "3")
    with zipfile.ZipFile(stored, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(4_000_000))
    refused(stored, "far larger")


def test_an_unusual_packing_is_refused(stored):
    with zipfile.ZipFile(stored) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_LZMA) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    refused(stored, "packed")


def test_a_failed_save_leaves_what_was_there(stored, monkeypatch):
    before = stored.read_bytes()
    metric = load_metric(stored)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BadInput, match="No space left on device"):
        metric.save(stored)
    assert stored.read_bytes() == before
    assert list(stored.parent.iterdir()) == [stored]


def test_a_missing_folder_is_reported(stored, tmp_path):
    with pytest.raises(BadInput, match="could not be written"):
        load_metric(stored).save(tmp_path / "none" / "m")


def test_parts_that_do_not_fit_make_no_metric():
    card = MetricCard("euclidean")
    fitted, _ = fit_steps(parse_steps("standardise"), naive.problem()[0])
    with pytest.raises(BadInput, match="distance"):
        Metric(fitted, LinearDistance(4), card)
    with pytest.raises(BadInput, match="2 are named"):
        Metric((), LinearDistance(4), card, ("a", "b"))


def test_the_hash_of_a_metric_stored_before_is_still_the_same():
    metric = Metric((), LinearDistance(2, np.array([[1.0, 2.0]])), MetricCard("lda"), ("a", "b"))
    assert metric.card.content_hash == "8bfc90b585aea79b24c592e6d28fe48911ec2f2f82919b6939204dde99cfef03"


STANDARDISE = {"mean_": [1.0, 2.0], "deviation_": [3.0, 4.0], "selected_": [0, 1]}


def hash_of(groups=("a", "b"), L=((1.0, 2.0),), steps=(), **changed):
    """The content hash of a small metric with a step ``standardise``, one of its values changed."""
    step = Standardise()
    for name, value in (STANDARDISE | changed).items():
        setattr(step, name, np.array(value))
    step._n_features = 2
    return content_hash(
        MetricContents((step, *steps), LinearDistance(2, np.array(L)), MetricCard("x"), groups)
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"groups": ("a", "c")},
        {"groups": ("ab", "")},
        {"L": ((1.0, 2.5),)},
        {"L": ((1.0,), (2.0,))},
        {"L": ((1, 2),)},
        {"mean_": [1.0, 3.0]},
        {"mean_": [3.0, 4.0], "deviation_": [1.0, 2.0]},
        {"steps": (PCA(2),)},
        {"steps": (PCA(3),)},
        {"steps": (Impute(),)},
    ],
    ids=[
        "renamed group",
        "split group",
        "L value",
        "L row",
        "L type",
        "mean",
        "statistics",
        "pca:2",
        "pca:3",
        "impute",
    ],
)
def test_the_hash_covers_all_that_decides_distances(changed):
    assert hash_of(**changed) != hash_of()
    assert hash_of(**changed) == hash_of(**changed)


def test_other_settings_of_steps_give_another_hash():
    assert hash_of(steps=(PCA(2),)) != hash_of(steps=(PCA(3),))


def test_a_metric_is_on_the_disk_before_it_takes_its_name_and_the_name_before_saving_ends(
    stored, monkeypatch
):
    done = []
    force, rename = os.fsync, Path.replace

    def fsync(handle):
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        force(handle)

    def replace(path, target):
        done.append("rename")
        assert zipfile.is_zipfile(path)
        return rename(path, target)

    monkeypatch.setattr("os.fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    load_metric(stored).save(stored)
    assert done == ["file", "rename", "folder"]


def test_the_same_metric_makes_the_same_file_at_any_time(stored, tmp_path, monkeypatch):
    metric = load_metric(stored)
    metric.save(tmp_path / "now")
    monkeypatch.setattr("time.time", lambda: 4e8)
    metric.save(tmp_path / "later")
    assert (tmp_path / "now").read_bytes() == (tmp_path / "later").read_bytes()
    with zipfile.ZipFile(tmp_path / "now") as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_DEFLATED}


def test_too_many_entries_and_too_large_a_description_are_refused(stored, monkeypatch):
    monkeypatch.setattr("semblance.core.metrics.storage.MAX_ENTRIES", 3)
    refused(stored, "far larger")
    monkeypatch.undo()
    monkeypatch.setattr("semblance.core.metrics.storage.max_text_bytes", lambda: 100)
    refused(stored, "no usable 'metric.json'")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m, _: m.update(steps=None), "list of steps or feature groups is missing"),
        (lambda m, _: m.update(feature_groups="ab"), "list of steps or feature groups is missing"),
        (lambda m, _: m.update(card=[]), "description has the wrong form"),
        (lambda m, _: m.update(distance=[]), "description has the wrong form"),
        (
            lambda _, e: e.update({name: data[:6] + b"\x02" + data[7:] for name, data in e.items()}),
            "unknown form",
        ),
    ],
)
def test_the_errors_of_a_forged_description_are_reported(stored, change, words):
    rewrite(stored, change)
    refused(stored, words)
