"""The folder of an evaluation: its numbers are computed again with NumPy, and its splits give them to the byte."""

import hashlib
import inspect
import json

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, measure
from semblance.core.workflows.evaluation.write_evaluation import FILES, check_folder, write_evaluation
from tests.helpers import recompute_scores
from tests.helpers.recompute_scores import numbers, read_csv, recomputed

PROTOCOLS = ("bdm", "full", "metricboost", "boostmetric", "online", "ccml", "medmnist", "feedback")
SETTINGS = {"full": ("protocol.draws=0",), "feedback": ("protocol.cases=2", "protocol.queries=5")}
LEARNERS = ("euclidean", "mahalanobis", "bdm")
N = 90


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Three findings, patients of one to three cases, a case id with a semicolon, the official part of each case."""
    rng = np.random.default_rng(3)
    lines = ["case_id,patient_id,part,f1,f2,f3,label"]
    patient = -1
    for row in range(N):
        patient += row % 3 != 1
        finding = "abc"[int(rng.integers(3))]
        X = np.round(rng.normal(size=3) + (finding == "b") + 2 * (finding == "c"), 2)
        part = ("train", "train", "val", "test")[patient % 4]
        lines.append(f"k{row}{';' if row == 7 else ''},p{patient},{part},{X[0]},{X[1]},{X[2]},{finding}")
    path = tmp_path_factory.mktemp("table") / "lesions.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture(scope="module")
def exports(table, tmp_path_factory):
    """The folder of an evaluation by each protocol, written when it is asked for."""
    made = {}

    def of(protocol):
        if protocol not in made:
            folder = tmp_path_factory.mktemp("out") / protocol
            write_evaluation(measure(request(table, protocol)), folder)
            made[protocol] = folder
        return made[protocol]

    return of


def request(table, protocol, **more):
    return EvaluateRequest(
        LEARNERS,
        protocol,
        table=str(table),
        settings=("bdm.rounds=8", *SETTINGS.get(protocol, ())),
        repeats=more.pop(
            "repeats", 2 if protocol in ("bdm", "full", "boostmetric", "online", "feedback") else None
        ),
        keeps_queries=True,
        **more,
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_score_is_computed_again_with_numpy_alone(exports, protocol):
    folder = exports(protocol)
    found = recomputed(folder)
    scores = read_csv(folder / "scores.csv")
    assert {row["learner"] for row in scores} == set(LEARNERS)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    for row in scores:
        if row["score"] in recompute_scores.NOT_OF_QUERIES:
            continue
        values, mean, std, low, high = found[row["learner"], row["score"]]
        printed = [np.nan if one == "-" else float(one) for one in row["values"].split()]
        np.testing.assert_allclose(values, printed, rtol=0, atol=1e-9, err_msg=row["score"])
        assert float(row["mean"]) == pytest.approx(mean, abs=1e-9)
        if len(values) > 1:
            np.testing.assert_allclose(
                numbers([row["std"], row["ci95_low"], row["ci95_high"]]), [std, low, high], atol=1e-9
            )
    if protocol == "medmnist":
        check_bootstrap(folder, scores, config)


def check_bootstrap(folder, scores, config):
    """The interval of the one split: nearest case right or not, whole patients drawn."""
    (seed,) = [one["seed"] for one in config["splits"]]
    for row in scores:
        if row["score"] == "acc@1":
            of = [
                one
                for one in read_csv(folder / "per_query.csv")
                if one["learner"] == row["learner"] and one["k"] == "1"
            ]
            ends = recompute_scores.bootstrap(
                numbers([one["hits"] for one in of]), np.array([int(one["unit"]) for one in of]), seed
            )
            np.testing.assert_allclose(numbers([row["ci95_low"], row["ci95_high"]]), ends, atol=1e-9)


def test_the_recomputation_imports_nothing_of_the_program():
    assert "semblance" not in inspect.getsource(recompute_scores).replace("Semblance", "")


def test_the_nearest_cases_follow_from_the_features_and_the_splits(exports, table):
    """The nearest ids of the plain distance, with NumPy: standardised on the training part, without own patients."""
    cases = read_csv(table)
    place = {row["case_id"].replace(";", "%3B"): number for number, row in enumerate(cases)}
    X = np.array([[float(row[name]) for name in ("f1", "f2", "f3")] for row in cases])
    patient = np.array([row["patient_id"] for row in cases])
    folder = exports("bdm")
    splits = read_csv(folder / "splits.csv")
    for row in read_csv(folder / "per_query.csv"):
        if row["learner"] != "euclidean" or row["k"] != "5" or row["repeat"] != "2":
            continue
        part = {one["case_id"]: one["part"] for one in splits if one["repeat"] == row["repeat"]}
        parts = np.array([part[one["case_id"]] for one in cases])
        scaled = (X - X[parts == "train"].mean(axis=0)) / X[parts == "train"].std(axis=0)
        query = place[row["case_id"]]
        there = np.flatnonzero((parts == "test") & (patient != patient[query]))
        distance = np.square(scaled[there] - scaled[query]).sum(axis=1)
        found = [place[one] for one in row["nearest_ids"].split(";")]
        np.testing.assert_allclose(
            np.sort(distance)[:5], np.square(scaled[found] - scaled[query]).sum(axis=1), rtol=1e-9
        )
        assert float(row["hits"]) == sum(cases[one]["label"] == row["finding"] for one in found)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_splits_of_one_run_give_the_next_the_same_numbers_to_the_byte(exports, table, tmp_path, protocol):
    folder = exports(protocol)
    again = measure(request(table, protocol, repeats=None, splits=str(folder / "splits.csv")))
    write_evaluation(again, tmp_path)
    for name in ("scores.csv", "per_query.csv", "splits.csv"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_the_description_has_versions_hashes_and_no_folder(exports, table):
    folder = exports("bdm")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    for name, digest in config["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert config["data"]["sha256_file"] == hashlib.sha256(table.read_bytes()).hexdigest()
    X = np.array([[float(row[name]) for name in ("f1", "f2", "f3")] for row in read_csv(table)])
    # 'part' is a column of texts, and no feature.
    assert config["data"]["sha256_features"] == hashlib.sha256(X.astype("<f8").tobytes()).hexdigest()
    assert config["data"]["path"] == table.name
    assert str(table.parent) not in "".join((folder / name).read_text("utf-8") for name in FILES)
    assert config["program"]["name"] == "semblance-retrieval"
    assert [one["seed"] for one in config["splits"]] and config["versions"]["numpy"]


def test_the_methods_say_what_was_done_with_references(exports):
    text = (exports("bdm") / "methods.txt").read_text("utf-8")
    for part in (
        "lesions.csv: 90 cases of 60 patients",
        "3 features",
        "No patient is in two parts",
        "Repeats: 2",
        "rounds = 8",
        "standardise",
        "Seed 0",
        "Yang L, Jin R",
        "@article{yang2010",
        "corrected resampled t-test",
    ):
        assert part in text, part


def test_only_files_of_an_evaluation_are_replaced(exports, tmp_path):
    folder = exports("bdm")
    check_folder(folder)
    check_folder(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    check_folder(tmp_path)
    (tmp_path / "scores.csv").write_text("mine")
    with pytest.raises(BadInput, match=r"scores\.csv"):
        check_folder(tmp_path)
    with pytest.raises(BadInput, match="is a file"):
        check_folder(tmp_path / "scores.csv")


def test_an_evaluation_that_keeps_no_queries_has_none(table):
    result = measure(EvaluateRequest(("euclidean",), "bdm", table=str(table), repeats=1)).result
    assert result.queries == () and len(result.splits) == 1
