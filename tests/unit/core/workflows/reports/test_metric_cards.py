"""Cards of metrics and metrics as files."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sqlite3
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.shortcuts import ShortcutProbe
from semblance.core.evaluation.subgroups import SubgroupScore
from semblance.core.library.library import Library
from semblance.core.library.metric_scores import HASH, hash_of
from semblance.core.library.records import CATALOGUE
from semblance.core.metrics.storage import MANIFEST
from semblance.core.purpose import PURPOSE
from semblance.core.reports.card_document import card_markdown
from semblance.core.searches.query import Query
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.metric_exchange import (
    ABOUT,
    METRIC,
    SUFFIX,
    export_metric,
    import_metric,
)
from semblance.core.workflows.metrics.score_metric import score_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.reports.metric_cards import compared_cards, metric_card, write_metric_card
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.libraries import raw
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cards")
    table_library(folder / "a", n=80, metrics=(TrainRequest("bdm", "bits", settings={"rounds": 20}), PLAIN))
    return folder


@pytest.fixture
def library(made, tmp_path):
    return shutil.copytree(made / "a", tmp_path / "a") / "lib.semblance"


@pytest.fixture
def file(library, tmp_path):
    return export_metric(library, "bits", tmp_path / f"bits{SUFFIX}")


def ranked(library, metric):
    return [
        (line.case_id, line.distance) for line in nearest_cases(library, metric, Query(case="t/c0")).ranked
    ]


def test_the_card_shows_subgroups_and_marks_gaps_beyond_chance(library):
    shown = card_markdown(metric_card(library, "plain"))
    assert "| finding kind 0 |" in shown
    assert "**Gaps beyond chance:** none, adjusted for" in shown
    with Library.open(library, writable=True) as opened:
        scores = dict(opened.metric("plain").scores)
        gap = SubgroupScore("sex", "M", 40, 0.61, (0.5, 0.7), 0.4, 0.6, (0.5, 0.7), 0.004, 0.3)
        opened.set_scores("plain", scores | {"subgroups": [gap.to_json()]})
    shown = card_markdown(metric_card(library, "plain"))
    assert "**Gaps beyond chance:** sex M, adjusted for 2 tests (Holm)" in shown
    row = "| sex M | 40 | 0.61 (0.50–0.70) | 0.40 | 0.60 (0.50–0.70) | beyond chance: accuracy (p 0.004) |"
    assert row in shown


def test_the_card_shows_shortcuts_and_the_control_beside_the_score(library):
    lines = dict(metric_card(library, "bits").lines())
    assert lines["Control, trained on shuffled findings"].endswith("near chance, as it should be")
    with Library.open(library, writable=True) as opened:
        scores = dict(opened.metric("bits").scores)
        probe = ShortcutProbe("station", 40, 3, 0.6, 0.4, (0.3, 0.5), 0.01, 0.55, (0.5, 0.6), 0.3, 0.8, 0.5)
        control = {**scores["shuffled_control"], "accuracy": 0.9}
        changed = scores | {"shortcuts": [probe.to_json()], "shuffled_control": control}
        opened.set_scores("bits", changed)
    shown = card_markdown(metric_card(library, "bits"))
    row = "| station (3 groups) | 40 | 0.60 | 0.40 (0.30–0.50) | 0.55 (0.50–0.60) | 0.80 (chance 0.50) |"
    assert f"{row} beyond chance (p 0.010) |" in shown
    assert "**Retrieved more often than chance explains:** station (3 groups), adjusted for 2 tests" in shown
    assert "above chance. The measurement is doubtful: do not rely on the scores" in shown
    with raw(library) as connection:
        connection.execute("UPDATE metrics SET scores = ? WHERE name = 'bits'", (json.dumps(scores),))
    with pytest.raises(BadInput, match="were changed after they were written"):
        metric_card(library, "bits")


def test_the_weakest_findings_and_the_confusion_are_those_of_the_held_out_cases(library):
    with Library.open(library) as opened:
        record = opened.metric("bits")
        trained = set(record.training.tolist())
        held_out = [row.finding for row in opened.catalogue.all_cases() if row.id not in trained]
    scores = record.scores
    names = sorted(set(held_out))
    assert {name: one["n"] for name, one in scores["by_finding"].items()} == {
        name: held_out.count(name) for name in names
    }
    assert [sum(row) for row in scores["confusion"]] == [held_out.count(name) for name in names]
    right = sum(scores["confusion"][place][place] for place in range(len(names)))
    voters = scores["voters"]
    assert right / len(held_out) == pytest.approx(scores["knn_accuracy"]["mean"][voters - 1], abs=0.06)
    means = [one["mean"] * one["n"] for one in scores["by_finding"].values()]
    k = next(iter(scores["by_finding"].values()))["k"]
    assert sum(means) / len(held_out) == pytest.approx(scores["retrieval_accuracy"]["mean"][k - 1])


def test_a_card_is_written_for_people_and_for_programs(library, tmp_path):
    text = write_metric_card(library, "bits", tmp_path / "card.md").read_text()
    for heading in ("# Metric card: bits", "## Scores (held-out", "## Where it fails", "## Calibration"):
        assert heading in text
    values = json.loads(write_metric_card(library, "bits", tmp_path / "card.json").read_text())
    assert values["card"]["learner"] == "bdm"
    assert values["scores"]["auc"] == pytest.approx(values["card"]["scores"]["auc"])
    assert "t/c" not in json.dumps(values)
    with pytest.raises(BadArguments, match="cannot be a file like"):
        write_metric_card(library, "bits", tmp_path / "card.docx")
    with pytest.raises(BadArguments, match="no metric"):
        metric_card(library, "gone")


def test_names_from_files_are_text_in_markdown(library):
    document = metric_card(library, "bits")
    hostile = replace(document, name="<img src=x> | *a*")
    assert "\\<img src=x\\> \\| \\*a\\*" in card_markdown(hostile)


def test_two_cards_are_compared_line_by_line(library):
    table = compared_cards(library, "bits", "plain")
    lines = {row[0]: row[1:] for row in table.rows}
    assert lines["Learner"][2] == "differs"
    assert lines["Features"] == (lines["Features"][0], lines["Features"][0], "")
    assert lines["Name"] == ("bits", "plain", "differs")


def test_a_metric_comes_back_as_it_was(library, file):
    before = ranked(library, "bits")
    assert import_metric(library, file) == "bits 2"
    assert ranked(library, "bits 2") == before
    with Library.open(library) as opened:
        old, new = opened.metric("bits"), opened.metric("bits 2")
        assert np.array_equal(np.sort(old.training), np.sort(new.training))
        assert new.scores["auc"] == old.scores["auc"]


def test_in_another_library_it_has_no_scores_and_still_names_its_training_cases(made, file, tmp_path):
    other = table_library(tmp_path / "b", n=80, metrics=(TrainRequest("euclidean", "theirs"),))
    assert import_metric(other, file, "brought") == "brought"
    with Library.open(other) as opened:
        record = opened.metric("brought")
        trained = {
            row.case_id for row in opened.catalogue.all_cases() if row.id in set(record.training.tolist())
        }
    assert record.scores is None
    assert record.card["scores"] == {}
    with Library.open(made / "a" / "lib.semblance", writable=False) as opened:
        rows = set(opened.metric("bits").training.tolist())
        assert trained == {row.case_id for row in opened.catalogue.all_cases() if row.id in rows}
    assert score_metric(other, "brought")["n_train"] == len(trained)


def test_the_file_names_no_case(file):
    with zipfile.ZipFile(file) as packed:
        assert set(packed.namelist()) == {ABOUT, METRIC}
        assert "t/c" not in packed.read(ABOUT).decode()


def test_a_library_without_its_features_says_which(file, tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "t.csv").write_text("case_id,x,label\n" + "".join(f"c{i},{i},a\n" for i in range(9)))
    import_source(tmp_path / "b" / "t.csv", tmp_path / "b.semblance")
    extract_features(tmp_path / "b.semblance", "raw")
    with pytest.raises(BadInput, match=r"'raw' features that .* does not have") as error:
        import_metric(tmp_path / "b.semblance", file)
    assert "semblance features LIB --extractor raw" in error.value.hint


def repacked(file, out, **changes):
    with zipfile.ZipFile(file) as packed, zipfile.ZipFile(out, "w") as new:
        about = {**json.loads(packed.read(ABOUT)), **changes}
        for added in (HASH, "seal", "metric_sha256"):
            about.pop(added, None)
        new.writestr(ABOUT, json.dumps(about))
        new.writestr(METRIC, packed.read(METRIC))
    return out


@pytest.mark.parametrize("suffix", [".md", ".json"])
def test_a_card_states_the_intended_purpose(library, tmp_path, suffix):
    write_metric_card(library, "bits", tmp_path / f"card{suffix}")
    assert PURPOSE in (tmp_path / f"card{suffix}").read_text("utf-8")


@pytest.mark.parametrize(
    "changes",
    [{"format": "x"}, {"training": [3]}, {"features": {}}, {"name": ""}, {"scores": 3}, {"card": []}],
    ids=lambda changes: next(iter(changes)),
)
def test_a_forged_file_is_refused_and_nothing_is_left(library, file, tmp_path, changes):
    with Library.open(library) as opened:
        before = sorted((opened.location / "metrics").iterdir())
    with pytest.raises(BadInput, match="no metric of Semblance"):
        import_metric(library, repacked(file, tmp_path / "bad", **changes))
    assert sorted((library / "metrics").iterdir()) == before


def test_a_damaged_file_is_refused_and_nothing_is_left(library, file, tmp_path):
    before = sorted((library / "metrics").iterdir())
    data = file.read_bytes()
    (tmp_path / "half").write_bytes(data[: len(data) // 2])
    (tmp_path / "text").write_text("no zip")
    with zipfile.ZipFile(file) as archive:
        inside = archive.getinfo("metric.zip")
    place = inside.header_offset + 100 + inside.compress_size // 2
    (tmp_path / "flipped").write_bytes(data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :])
    # The version of zip that is needed to unpack it, in the table of contents.
    place = data.rindex(b"PK\x01\x02") + 6
    (tmp_path / "later").write_bytes(data[:place] + bytes([188]) + data[place + 1 :])
    for name in ("half", "text", "gone", "flipped", "later"):
        with pytest.raises(BadInput):
            import_metric(library, tmp_path / name)
    with pytest.raises(BadInput, match="another version"):
        import_metric(library, repacked(file, tmp_path / "new", version=9))
    assert sorted((library / "metrics").iterdir()) == before
    with pytest.raises(BadArguments, match="cannot be called"):
        export_metric(library, "bits", tmp_path / "bits.zip")


@pytest.mark.parametrize("column", ["card", "scores", "hash"])
def test_a_card_with_altered_figures_is_not_shown(library, column):
    card = metric_card(library, "bits")
    with contextlib.closing(sqlite3.connect(library / CATALOGUE)) as catalogue, catalogue:
        changed = "scores" if column == "scores" else "card"
        (text,) = catalogue.execute(f"SELECT {changed} FROM metrics WHERE name = 'bits'").fetchone()
        values = json.loads(text)
        values["n_test" if column == "scores" else "n_cases"] += 1000
        if column == "hash":
            del values[HASH]
        catalogue.execute(f"UPDATE metrics SET {changed} = ? WHERE name = 'bits'", (json.dumps(values),))
    with pytest.raises(BadInput, match="'bits' or its scores were changed after they were written"):
        metric_card(library, "bits")
    if column == "scores":
        # The figures are measured again, and nothing of the change is left.
        score_metric(library, "bits")
        assert metric_card(library, "bits").values["scores"]["n_test"] == card.values["scores"]["n_test"]


def edited(file, out, change, *, renewed=False):
    """``file`` after ``change`` of what stands in it; ``renewed``: with a digest of the changed facts."""
    with zipfile.ZipFile(file) as packed:
        about, metric = json.loads(packed.read(ABOUT)), packed.read(METRIC)
    digest, seal = about.pop(HASH), about.pop("seal")
    change(about)
    if renewed:
        digest = hash_of(about)
    with zipfile.ZipFile(out, "w") as new:
        new.writestr(ABOUT, json.dumps(about | {HASH: digest, "seal": seal}))
        new.writestr(METRIC, metric)
    return out


def other_value(value):
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return f"{value} of another"
    if isinstance(value, list):
        return [*value, *value[:1]] if value else ["another"]
    return {**value, "another": 1} if isinstance(value, dict) else {}


def check_unverified(library, name):
    """The metric is shown as unverified, without a score, until it is scored here."""
    with Library.open(library) as opened:
        record = opened.metric(name)
    assert record.scores is None
    assert (record.card["unverified"], record.card["scores"], record.card["measured_on"]) == (True, {}, "")
    document = metric_card(library, name)
    assert document.values["scores"] is None
    assert (document.values["card"]["unverified"], document.values["card"]["scores"]) == (True, {})
    assert "**Unverified:** This metric came from a file that was changed" in card_markdown(document)


@pytest.mark.parametrize("renewed", [False, True], ids=["digest kept", "digest renewed"])
def test_a_file_with_anything_edited_gives_an_unverified_metric_without_scores(
    library, file, tmp_path, renewed
):
    with zipfile.ZipFile(file) as packed:
        about = json.loads(packed.read(ABOUT))
    places = [("card", key) for key in about["card"] if key not in ("content_hash", "learner", "split")]
    places += [("scores", key) for key in about["scores"]] + [("name",), ("training",)]
    for number, place in enumerate(places):

        def change(about, place=place):
            table = about if len(place) == 1 else about[place[0]]
            table[place[-1]] = other_value(table[place[-1]])

        out = edited(file, tmp_path / f"{number}{SUFFIX}", change, renewed=renewed)
        try:
            check_unverified(library, import_metric(library, out, f"edited {number}"))
        except BadInput:
            # A value of a kind that no card has is refused.
            assert place[0] == "card", place


def test_a_file_with_an_edited_card_within_the_metric_gives_an_unverified_one(library, file, tmp_path):
    with zipfile.ZipFile(file) as packed:
        about, metric = packed.read(ABOUT), packed.read(METRIC)
    inner = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(metric)) as parts, zipfile.ZipFile(inner, "w") as new:
        for name in parts.namelist():
            content = parts.read(name)
            if name == MANIFEST:
                manifest = json.loads(content)
                manifest["card"]["notes"] = ["AUC 0.99 on 10,000 patients"]
                content = json.dumps(manifest).encode()
            new.writestr(name, content)
    with zipfile.ZipFile(tmp_path / f"inner{SUFFIX}", "w") as new:
        new.writestr(ABOUT, about)
        new.writestr(METRIC, inner.getvalue())
    name = import_metric(library, tmp_path / f"inner{SUFFIX}")
    check_unverified(library, name)
    assert "0.99" not in card_markdown(metric_card(library, name))


def test_a_file_of_an_earlier_version_without_a_digest_gives_an_unverified_metric(library, file, tmp_path):
    check_unverified(library, import_metric(library, repacked(file, tmp_path / f"old{SUFFIX}")))


def test_an_unverified_metric_has_scores_again_when_it_is_scored_here(library, file, tmp_path):
    def change(about):
        about["scores"]["n_test"] += 1000

    name = import_metric(library, edited(file, tmp_path / f"changed{SUFFIX}", change))
    check_unverified(library, name)
    scores = score_metric(library, name)
    shown = metric_card(library, name)
    assert shown.values["scores"]["n_test"] == scores["n_test"] < 1000
    assert "**Unverified:**" in card_markdown(shown)


def test_a_file_as_it_was_exported_is_not_unverified(library, file, tmp_path):
    other = table_library(tmp_path / "b", n=80, metrics=())
    for home in (library, other):
        name = import_metric(home, file, "brought")
        document = metric_card(home, name)
        assert document.values["card"]["unverified"] is False
        assert "Unverified" not in card_markdown(document)


def test_a_card_with_counts_that_are_no_numbers_is_refused_at_the_import(library, file, tmp_path):
    with zipfile.ZipFile(file) as packed:
        card = json.loads(packed.read(ABOUT))["card"]
    changed = repacked(file, tmp_path / f"x{SUFFIX}", card={**card, "findings": {"kind 0": "many"}})
    with pytest.raises(BadInput, match="no usable 'findings'"):
        import_metric(library, changed)
    with Library.open(library) as opened:
        assert [record.name for record in opened.metrics()] == ["bits", "plain"]
