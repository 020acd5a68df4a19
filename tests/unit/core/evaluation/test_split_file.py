"""Splits that are given: files and tables of every kind, and what is refused with the list of the cases."""

import dataclasses

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.split_file import SplitTable, split_table

N = 24
IDS = [f"c{row:02d}" for row in range(N)]
FINDINGS = np.array(["a", "b"] * (N // 2))
PARTS = ["train"] * 12 + ["val"] * 4 + ["test"] * 8


def cases(patients=None, ids=IDS, **more) -> EvaluationData:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) + (FINDINGS == "b")[:, None]
    return EvaluationData(X, FINDINGS, patients, case_ids=np.array(ids), source="cases", **more)


def splits_of(value, data=None):
    data = data or cases()
    return split_table(value, data, data).splits(data, lambda repeat: 100 + repeat)


def text_of(rows, header="case_id,part,fold,repeat", separator=","):
    return (
        "\n".join([header.replace(",", separator), *(separator.join(map(str, row)) for row in rows)]) + "\n"
    )


def write(tmp_path, text, name="splits.csv"):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


def parts(given, place=0):
    split = given.splits[place]
    return [[IDS[row] for row in rows] for rows in (split.train, split.validation, split.test)]


def expected(of=tuple(PARTS)):
    return [
        [name for name, part in zip(IDS, of, strict=True) if part == word]
        for word in ("train", "val", "test")
    ]


@pytest.mark.parametrize(
    "words", [("train", "val", "test"), ("Training", "validation", "TESTING"), ("train", "dev", "test")]
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_file_of_parts(tmp_path, words, separator):
    renamed = dict(zip(("train", "val", "test"), words, strict=True))
    rows = [(name, renamed[part]) for name, part in zip(IDS, PARTS, strict=True)]
    file = write(tmp_path, text_of(rows[::-1], "case_id,part", separator))
    given = splits_of(str(file))
    assert parts(given) == expected()
    assert (given.labels, given.per_repeat, given.splits[0].seed) == ((("", ""),), 1, 100)


def test_the_same_from_a_parquet_file_a_mapping_an_array_and_a_mapping_of_ids(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"case_id": IDS, "part": PARTS, "other": list(range(N))}
    parquet.write_table(pa.table(columns), tmp_path / "splits.parquet")
    for value in (
        tmp_path / "splits.parquet",
        columns,
        np.array(PARTS),
        dict(zip(IDS, PARTS, strict=True)),
        SplitTable.of(columns),
    ):
        assert parts(splits_of(value)) == expected()


def test_folds_without_parts_are_each_tested_once_in_a_repeat():
    fold = [row % 3 for row in range(N)] + [row // 8 for row in range(N)]
    given = splits_of({"case_id": IDS * 2, "fold": fold, "repeat": [1] * N + [2] * N})
    assert given.per_repeat == 3
    assert given.labels == (("1", "0"), ("1", "1"), ("1", "2"), ("2", "0"), ("2", "1"), ("2", "2"))
    for place, (split, (repeat, number)) in enumerate(zip(given.splits, given.labels, strict=True)):
        of = fold[:N] if repeat == "1" else fold[N:]
        assert split.test.tolist() == [row for row in range(N) if of[row] == int(number)]
        assert np.union1d(split.train, split.test).tolist() == list(range(N))
        assert split.seed == 100 + place // 3


def test_parts_may_be_given_for_each_fold_and_leave_cases_out():
    second = ["excluded"] * 4 + ["test"] * 10 + ["train"] * 10
    given = splits_of({"case_id": IDS * 2, "part": [*PARTS, *second], "fold": ["x"] * N + ["y"] * N})
    assert parts(given) == expected()
    assert parts(given, 1) == [IDS[14:], [], IDS[4:14]]


def test_columns_of_the_cases():
    data = cases(attributes={"split": np.array(PARTS), "site": np.array(["A", "B", "C"] * (N // 3))})
    assert parts(splits_of("official", data)) == expected()
    assert parts(splits_of("column:split", data)) == expected()
    by_site = splits_of("column:site", data)
    assert [label[1] for label in by_site.labels] == ["A", "B", "C"]
    assert by_site.splits[1].test.tolist() == list(range(1, N, 3))
    with pytest.raises(BadInput, match="no column 'colour'"):
        splits_of("column:colour", data)


def test_ids_are_found_by_their_own_part_where_only_one_case_has_it():
    data = cases(ids=[f"folder{row % 2}/x{row // 2 if row < 2 else row}" for row in range(N)])
    table = {"case_id": [name.rpartition("/")[2] for name in data.case_ids], "part": PARTS}
    with pytest.raises(BadInput, match="unknown cases: x0"):
        splits_of(table, data)
    table["case_id"][:2] = data.case_ids[:2].tolist()
    assert splits_of(table, data).splits[0].train.tolist() == list(range(12))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [*rows, ("nobody", "test"), ("no one", "test")], "unknown cases: nobody, no one"),
        (lambda rows: rows[3:], "no row in a split for c00, c01, c02"),
        (lambda rows: [], "has no rows|no row"),
        (lambda rows: [*rows, ("c05", "train")], "more than one row in a split for c05"),
        (lambda rows: [(name, part.replace("val", "holdout")) for name, part in rows], "the part 'holdout'"),
        (lambda rows: [(name, "" if name == "c01" else part) for name, part in rows], "has no part for c01"),
        (
            lambda rows: [(name, part.replace("test", "val")) for name, part in rows],
            "no case of the part 'test'",
        ),
        (
            lambda rows: [(name, part.replace("train", "excluded")) for name, part in rows],
            "no case of the part 'train'",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_the_list(tmp_path, change, message):
    rows = change(list(zip(IDS, PARTS, strict=True)))
    with pytest.raises(BadInput, match=message):
        splits_of(write(tmp_path, text_of(rows, "case_id,part")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,part\na,train\n", "no column of case ids"),
        ("case_id,finding\na,b\n", "neither a part nor a fold"),
        (
            "case_id,part,fold\n" + "".join(f"{name},train,{'' if name == 'c03' else 1}\n" for name in IDS),
            "no fold for c03",
        ),
        ("", "."),
        ("\x00\x01\x02", "."),
    ],
)
def test_a_file_that_is_no_table_of_splits_is_refused(tmp_path, text, message):
    with pytest.raises(BadInput, match=message):
        splits_of(write(tmp_path, text))
    with pytest.raises(BadInput, match="cannot be read"):
        splits_of(tmp_path / "missing.csv")


def test_many_unknown_cases_are_counted():
    table = {"case_id": [*IDS, *(f"z{i}" for i in range(50))], "part": [*PARTS, *["test"] * 50]}
    with pytest.raises(BadInput, match=r"z0, z1, .*z9 and 40 more"):
        splits_of(table)


def test_a_patient_in_two_parts_is_refused_with_the_cases():
    patients = [f"p{row}" for row in range(N)]
    patients[20] = patients[3]
    with pytest.raises(BadInput, match=r"Patients: 1, cases: c03 \(train\) / c20 \(test\)"):
        splits_of({"case_id": IDS, "part": PARTS}, cases(np.array(patients)))
    left_out = [*PARTS[:20], "excluded", *PARTS[21:]]
    assert len(splits_of({"case_id": IDS, "part": left_out}, cases(np.array(patients))).splits) == 1


def test_copies_of_an_image_are_counted_and_not_refused():
    units = np.array([f"one image, {row}" if row in (3, 20) else "" for row in range(N)])
    units[20] = units[3]
    data = cases(units=units)
    given = splits_of({"case_id": IDS, "part": PARTS}, data)
    assert "1 tested cases have a copy" in str(given.rule)
    protocol = get_protocol("bdm")
    protocol.take_splits(SplitTable.of({"case_id": IDS, "part": PARTS}))
    assert protocol.run(data, [LearnerSpec("euclidean")]).results


@pytest.mark.parametrize(
    "name", ["bdm", "full", "metricboost", "boostmetric", "online", "ccml", "pairs", "feedback"]
)
def test_what_the_test_part_holds_reaches_no_fit(name, monkeypatch):
    """The tested rows are poisoned: the fitted metric stays the same, to the last bit."""
    from semblance.core.evaluation.protocols import protocol as module

    def distances(data):
        found = []
        fit = module._fit

        def recorded(learner, prepared, reporter):
            metric, seconds = fit(learner, prepared, reporter)
            found.append(metric.distances(data_probe, data_probe))
            return metric, seconds

        monkeypatch.setattr(module, "_fit", recorded)
        protocol = get_protocol(name, **({"cases": 2, "queries": 4} if name == "feedback" else {}))
        protocol.take_splits(split_table({"case_id": IDS, "part": PARTS}, data, data))
        result = protocol.run(data, [LearnerSpec("lda")])
        monkeypatch.setattr(module, "_fit", fit)
        assert not result.failed
        return found

    clean = cases()
    data_probe = clean.X
    poisoned = clean.X.copy()
    poisoned[12:] = poisoned[12:] * 1e6 + 7.0
    for a, b in zip(distances(clean), distances(dataclasses.replace(clean, X=poisoned)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_protocols_and_settings_without_given_splits_say_why():
    with pytest.raises(BadArguments, match="region takes no splits"):
        get_protocol("region").check_splits()
    with pytest.raises(BadArguments, match="train_on"):
        get_protocol("metricboost", train_on="one").check_splits()
    protocol = get_protocol("bdm")
    protocol.take_splits(SplitTable.of({"case_id": IDS, "part": PARTS}))
    with pytest.raises(BadArguments, match="how many repeats"):
        protocol.run(cases(), [LearnerSpec("euclidean")], repeats=3)


def test_auto_chooses_by_a_given_validation_part():
    protocol = get_protocol("boostmetric")
    data = cases()
    protocol.take_splits(split_table({"case_id": IDS, "part": PARTS}, data, data))
    plan = protocol.plan(data, None, 0)
    assert plan.chosen_by == ("knn_error@3",)
    assert plan.splits[0].validation.tolist() == list(range(12, 16))
