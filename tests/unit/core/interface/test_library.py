"""The Python interface on one small library: it gives what the commands and the workflows give."""

import json

import numpy as np
import pytest
from PIL import Image

import semblance as sb
from semblance.app.cli.main import run
from semblance.core.errors import BadArguments
from semblance.core.imaging import open_image
from semblance.core.library.open_library import open_library
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.images import striped_folder, texture

#: Quick to measure; its features are named.
EXTRACTOR = "colour_edge_texture"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A library with features, a metric, and one file that cannot be read."""
    folder = tmp_path_factory.mktemp("interface")
    images = striped_folder(folder / "images", n=24)
    (images / "level" / "broken.png").write_bytes(b"no image")
    with pytest.warns(UserWarning, match="1 could not be read: level/broken.png"):
        lib = sb.create_library(folder / "Striped.semblance", images, extract=False)
    lib.extract(EXTRACTOR)
    lib.train("euclidean", name="plain", control=False)
    return lib


@pytest.fixture
def lib(made):
    # Workflows close their libraries after each test.
    return sb.open_library(made.location)


@pytest.fixture
def command(capsys):
    """The JSON that a command prints."""

    def run_it(*arguments):
        assert run([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run_it


def test_import_says_what_became_of_every_file_and_can_be_repeated(made, lib):
    assert (made.imported["added"], len(made.imported["failed"])) == (24, 1)
    with pytest.warns(UserWarning, match="broken") as warned:
        again = sb.create_library(str(lib.location), str(lib.location.parent / "images"), extract=False)
    assert (again.imported["added"], again.imported["unchanged"]) == (0, 24)
    assert warned[0].filename == __file__, "A warning names the line of the caller's program."


def test_a_source_of_nothing_is_an_error_with_the_reason(tmp_path):
    (tmp_path / "images").mkdir()
    with pytest.raises(sb.SemblanceError):
        sb.create_library(tmp_path / "new.semblance", tmp_path / "images")
    with pytest.raises(sb.SemblanceError, match="does not exist"):
        sb.open_library(tmp_path / "none.semblance")


def test_cases_and_features_are_those_of_the_library(lib, command):
    cases, found = lib.cases, lib.features()
    assert cases["case_id"].tolist() == command("info", lib.location)["case_ids"]
    assert set(cases["finding"]) == {"level", "upright"}
    assert cases["patient"].nunique() == 12
    assert all(path.endswith(".png") for path in cases["path"])
    with open_library(lib.location) as opened:
        rows, values = opened.features.read(opened.features.get(EXTRACTOR))
        ids = {row.id: row.case_id for row in opened.catalogue.all_cases()}
    np.testing.assert_array_equal(found.array, values)
    assert found.case_ids == tuple(ids[row] for row in rows.tolist())
    assert found.shape == found.array.shape == (24, len(found.names))
    assert list(found.to_frame().columns) == ["case_id", *found.names]
    np.testing.assert_array_equal(np.concatenate([block for _, block in found.blocks(7)]), found.array)


def test_searches_are_those_of_the_command_and_the_workflow(lib, command):
    case, other = lib.cases["case_id"][3], "images/upright/p002.png"
    path = lib.cases["path"][5]
    for query, options, flags in (
        (case, {}, ["--case", case]),
        (case, {"like": [other], "diverse": 0.4}, ["--case", case, "--like", other, "--diverse", 0.4]),
        (path, {}, ["--image", path]),
        (path, {"region": (4, 6, 30, 20)}, ["--image", path, "--region", "4,6,30,20"]),
    ):
        ranking = lib.search(query, k=7, **options)
        printed = command("search", lib.location, *flags, "-k", 7)
        for line in printed["results"] + printed["other_finding"]:
            line.pop("reason", None)
            line.pop("parts", None)
        given = json.loads(json.dumps(ranking.to_json(), default=str))
        assert given | {"seconds": None} == printed | {"seconds": None}
    assert [(one.case_id, one.distance) for one in lib.search(case, k=7)] == [
        (one.case_id, one.distance) for one in nearest_cases(lib.location, "plain", Query(case), k=7).ranked
    ]


def test_an_image_in_memory_is_searched_as_its_file_is(lib):
    path = lib.cases["path"][5]
    expected = lib.search(path, k=5).case_ids
    pixels = np.squeeze(open_image(lib.location.__class__(path)).pixels).astype(np.uint8)
    for image in (pixels, pixels / 255.0, np.repeat(pixels[..., None], 3, axis=2), Image.fromarray(pixels)):
        assert lib.search(image, k=5).case_ids == expected
    outside = np.asarray(texture(3))
    assert len(lib.search(outside, k=5)) == 5


def test_a_vector_is_searched_alone_or_beside_its_case(lib):
    found = lib.features(EXTRACTOR)
    case, vector = found.case_ids[4], found.array[4]
    beside = lib.search(case, vector=vector)
    assert beside.case_ids == lib.search(case).case_ids
    alone = lib.search(vector)
    assert alone.case_ids[0] == case
    assert alone[0].distance == pytest.approx(0, abs=1e-9)
    assert "a vector" in repr(alone)
    with pytest.raises(sb.SemblanceError, match="row of numbers"):
        lib.search(case, vector=np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("nowhere.png", "no case 'nowhere.png'.*no such file"),
        (np.zeros((2, 3, 4, 5)), "no image"),
        (np.full((8, 8), 300.0), "values from 0 to 1"),
        (object(), "cannot be a object"),
    ],
)
def test_what_is_no_query_is_refused_in_words(lib, query, message):
    with pytest.raises(sb.SemblanceError, match=message):
        lib.search(query)


def test_a_region_is_four_numbers(lib):
    with pytest.raises(sb.SemblanceError, match="four whole numbers"):
        lib.search(lib.cases["case_id"][0], region=(1, 2, 3))


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": 2.5},
        {"k": "5"},
        {"diverse": 5},
        {"no_match_rate": -1},
        {"candidates": -1},
        {"like": 5},
    ],
)
def test_an_option_out_of_its_range_is_refused_as_on_the_command_line(lib, wrong):
    with pytest.raises(BadArguments, match=r"cannot be|is no case"):
        lib.search(lib.cases["case_id"][0], **wrong)


def test_what_is_no_metric_and_no_seed_is_refused_in_words(lib):
    with pytest.raises(BadArguments, match="5 is no metric"):
        lib.evaluate(5)
    with pytest.raises(BadArguments, match="seed cannot be -1"):
        lib.train("euclidean", seed=-1)


def test_marks_make_a_new_ranking(lib):
    case = lib.cases["case_id"][0]
    first = lib.search(case, k=8)
    before = first.case_ids
    liked, disliked = first[5], first[0].case_id
    assert lib.search(liked, k=8).case_ids == lib.search(liked.case_id, k=8).case_ids
    second = first.mark(like=liked, unlike=[disliked])
    assert first.case_ids == before
    assert second.search.like == (liked.case_id,)
    assert second.search.unlike == (disliked,)
    assert disliked not in second.case_ids[:5]
    third = second.mark(like=disliked)
    assert third.search.like == (liked.case_id, disliked)
    assert third.search.unlike == ()
    assert set(second.to_frame()["near_liked"].dropna()) == {liked.case_id}
    with pytest.raises(sb.SemblanceError):
        first.mark(like=[case])


def test_a_metric_measures_cases_and_rows_alike(lib):
    metric, found = lib.metric("plain"), lib.features()
    ids = found.case_ids[:3]
    distances = metric.distances(ids, found.array)
    np.testing.assert_allclose(distances, metric.distances(found.array[:3]), rtol=1e-12)
    embedded = metric.embed()
    squares = ((embedded[:3, None] - embedded[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances, squares, atol=1e-9)
    parts = metric.explain(ids[0], ids[1])
    assert sum(part.amount for part in parts) == pytest.approx(distances[0, 1])
    assert [one.distance for one in lib.search(ids[0], k=1)] == pytest.approx(
        [np.sort(distances[0])[2]], rel=1
    )
    assert metric.card["learner"] == "euclidean"
    assert "Metric card" in repr(metric.card)
    with pytest.raises(sb.SemblanceError, match="no case 'nobody'"):
        metric.embed(["nobody"])


def test_training_makes_the_metric_current_and_its_settings_are_checked(lib):
    metric = lib.train("pca", name="second", components=3, control=False)
    assert lib.metric().name == metric.name == "second"
    assert metric.fitted.card.parameters["components"] == 3
    with pytest.raises(sb.SemblanceError, match="has no parameter 'colour'"):
        lib.train("pca", name="third", colour=1)
    assert lib.use_metric("plain").name == lib.metric().name == "plain"
    # An object is the metric that was trained, never another one of its name.
    lib.train("euclidean", name="second", control=False)
    stale = "Another metric was trained under the name 'second'"
    with pytest.raises(sb.SemblanceError, match=stale):
        lib.use_metric(metric)
    with pytest.raises(sb.SemblanceError, match=stale):
        lib.search(lib.cases["case_id"][0], metric=metric)
    lib.use_metric("plain")


def test_evaluations_are_those_of_the_command(lib, command):
    scores = lib.evaluate(["euclidean", "pca"], repeats=2, settings={"pca": {"components": 3}})
    printed = command(
        *("evaluate", lib.location, "--protocol", "bdm", "--learner", "euclidean,pca"),
        *("--repeats", 2, "--set", "pca.components=3"),
    )
    document = json.loads(json.dumps(scores.to_json(), default=str))
    for one in (*document["results"], *printed["results"]):
        one.pop("fit_seconds")
    assert document == printed
    frame = scores.to_frame()
    chosen = frame[(frame["learner"] == "pca") & (frame["score"] == "auc")]
    assert chosen["mean"].tolist() == [scores["pca"]["auc"]]
    assert scores.roc("upright", "pca").tpr[-1] == 1.0
    with pytest.raises(sb.SemblanceError, match="Several learners"):
        scores.roc("upright")


def test_a_metric_is_evaluated_by_its_recipe(lib):
    metric = lib.train("pca", name="recipe", components=3, steps="standardise", control=False)
    by_metric = lib.evaluate(metric, repeats=2)
    by_name = lib.evaluate("pca", repeats=2, settings={"pca": {"components": 3}}, steps="standardise")
    assert by_metric["pca"] == by_name["pca"] == lib.evaluate("recipe", repeats=2)["pca"]


def test_own_splits_are_followed_and_each_query_is_told(lib, tmp_path):
    cases = lib.cases
    parts = ["train" if int(patient[1:]) % 2 else "test" for patient in cases["patient"]]
    table = dict(zip(cases["case_id"], parts, strict=True))
    scores = lib.evaluate("plain", splits=table, out=tmp_path / "out")
    asked = scores.per_query[scores.per_query["k"] == 10]
    assert {table[case] for case in asked["case_id"]} == {"test"}
    assert asked["hits"].mean() / 10 == pytest.approx(scores["euclidean"]["retrieval_accuracy@10"])
    assert dict(zip(scores.splits["case_id"], scores.splits["part"], strict=True)) == table
    assert (tmp_path / "out" / "config.json").is_file()
    for splits in (tmp_path / "out" / "splits.csv", scores.splits, parts):
        assert lib.evaluate("plain", splits=splits)["euclidean"] == scores["euclidean"]
    with pytest.raises(sb.SemblanceError, match="patient"):
        lib.evaluate("plain", splits=["train", "test"] * 12)


def test_what_is_exported_can_be_read_again(lib, tmp_path):
    lib.use_metric("plain")
    files = lib.export(tmp_path / "out", features=EXTRACTOR, splits=True)
    assert [file.name for file in files] == ["cases.csv", "splits.csv", f"{EXTRACTOR}.npz"]
    with np.load(files[2]) as stored:
        order = np.argsort(stored["case_id"])
        np.testing.assert_array_equal(stored["features"][order], lib.features().array)
        assert tuple(stored["case_id"][order]) == lib.features().case_ids
    lines = files[0].read_text().splitlines()
    assert lines[0] == "case_id,finding,unit"
    assert len({line.rpartition(",")[2] for line in lines[1:]}) == 12
    parts = dict(line.rsplit(",", 1) for line in files[1].read_text().splitlines()[1:])
    assert set(parts.values()) == {"train", "test"}
    again = lib.add_features("again", files[2])
    np.testing.assert_array_equal(again.array, lib.features(EXTRACTOR).array)


def test_it_shows_itself_and_ends(lib):
    text = repr(lib)
    assert "24 cases of 12 patients" in text
    assert "level 12, upright 12" in text
    assert len(text.splitlines()) < 10
    ranking = lib.search(lib.cases["case_id"][0], k=3)
    assert ranking[0].case_id in repr(ranking)
    assert "hidden: " in repr(ranking)
    with lib as same:
        assert same is lib
        assert len(same) == 24
    with pytest.raises(sb.SemblanceError, match="was closed"):
        lib.search("any")
    assert "closed" in repr(lib)
