"""Checks of what a plug-in adds, as ``check_estimator`` of scikit-learn is one. They raise ``AssertionError`` with what
is wrong and what to do, and need no pytest.

    from semblance.testing import check_learner
    from my_package import MyLearner

    def test_my_learner():
        check_learner(MyLearner)
"""

from __future__ import annotations

import contextlib
import functools
import io
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.parameters import Parameter
from semblance.core.plugins import PluginFailed
from semblance.core.tasks import SILENT, Cancelled, Reporter

if TYPE_CHECKING:
    from semblance.core.evaluation.protocols.protocol import EvaluationProtocol
    from semblance.core.features.extractor import Extractor
    from semblance.core.imaging.image import Image
    from semblance.core.library.importers.importer import Found, Importer
    from semblance.core.library.importers.source import Source
    from semblance.core.metrics.learner import Learner
    from semblance.core.metrics.metric import Metric

__all__ = [
    "check_extractor",
    "check_importer",
    "check_learner",
    "check_metric",
    "check_protocol",
    "check_report",
]

Numbers = npt.NDArray[Any]

#: Problems of :func:`check_learner`: rows of so many cases of each finding, and columns.
_PROBLEMS: dict[str, tuple[tuple[int, ...], int]] = {
    "two findings": ((14, 16), 5),
    "four findings": ((9, 12, 7, 10), 4),
    "more columns than rows": ((8, 8), 30),
}
_CANCELLED_AT = 5

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _says_what_was_raised(check: Callable[_P, _R]) -> Callable[_P, _R]:
    """``check``, with an error of the plug-in itself as ``AssertionError``; a name that nothing has stays its own."""

    @functools.wraps(check)
    def checked(*args: _P.args, **named: _P.kwargs) -> _R:
        try:
            return check(*args, **named)
        except (AssertionError, BadArguments):
            raise
        except Exception as error:
            given = next(iter((*args, *named.values())))
            raise AssertionError(
                f"{getattr(given, '__name__', type(given).__name__)} raises {type(error).__name__}: {error}. Mend what "
                "the traceback above shows; raise BadInput(what is wrong, what to do) for what cannot be used."
            ) from error

    return checked


@_says_what_was_raised
def check_learner(learner: str | type[Learner] | Learner) -> None:
    """Check the contract of a learner: a class, one with parameters set, or a name.

    It says what it is; it fits the rows of findings, pairs or triplets that it accepts, or refuses them in words; its
    metric passes :func:`check_metric`; the same seed gives the same metric, in whatever order the rows come; a fit
    neither changes its rows, nor depends on one before, nor prints; cancelled, it is as before.

    Raises:
        AssertionError: what is wrong, and what to do.
    """
    from sklearn.base import clone

    from semblance.core.metrics.learner import Learner

    made: Any = _made(learner, "learner")
    who = _who(made)
    _require(isinstance(made, Learner), who, "is no Learner", "Derive it from LinearLearner or from Learner.")
    _check_names(made, who, "name", ("title", "summary"))
    _require(
        made.accepts <= {"findings", "pairs", "triplets"},
        who,
        f"accepts {sorted(made.accepts)}",
        "Name what it learns from in `accepts`: any of 'findings', 'pairs' and 'triplets'.",
    )
    _check_parameters(made.parameters, who)
    fitted = 0
    for name, (counts, width) in _PROBLEMS.items():
        X, y = _blobs(counts, width)
        given = _constraints(made, y)
        try:
            metric = _fit(made, X, y, given, f"{who} on {name}")
        except SemblanceError as error:
            _require(
                not isinstance(error.__cause__, PluginFailed), who, f"fails on {name}: {error}", "Mend it."
            )
            _require(
                bool(error.hint), who, f"refuses {name} without a hint", "Say in the hint what a user can do."
            )
            continue
        fitted += 1
        where = f"{who} on {name}"
        check_metric(metric, X, where)
        card = metric.card
        _require(
            (card.learner, card.n_cases, dict(card.parameters)) == (made.name, len(X), made.method_params()),
            where,
            "gives a card with another learner, number of cases or other parameters",
            "Make the card with begin_card(self, data).",
        )
        again = _fit(clone(made), X, y, given, where)
        _require(
            again.card.content_hash == card.content_hash,
            where,
            "gives another metric at a second fit",
            "Draw from np.random.default_rng(data.seed) only.",
        )
        other = clone(made)
        with contextlib.suppress(SemblanceError):
            _fit(other, *_blobs((7, 9), 6, seed=5), _constraints(made, _blobs((7, 9), 6, seed=5)[1]), where)
        _require(
            _fit(other, X, y, given, where).card.content_hash == card.content_hash,
            where,
            "depends on what it was fitted on before",
            "Set what is learnt anew in each fit.",
        )
        if not given:
            order = np.random.default_rng(3).permutation(len(X))
            d = metric.distances(X, X)
            shuffled = _fit(clone(made), X[order], y[order], given, where).distances(X, X)
            _require(
                np.allclose(shuffled, d, rtol=1e-5, atol=1e-7 * max(float(d.max()), 1e-300)),
                where,
                "gives another metric if the same rows come in another order",
                "Compute from data.X, which comes in one order, and draw by data.seed.",
            )
        _check_cancelling(clone(made), X, y, given, where)
    _require(fitted > 0, who, "refuses every problem", "It must learn from some labelled rows.")
    _require(
        _sent(made, who).get_params() == made.get_params(),
        who,
        "loses its parameters on the way to another process",
        "Keep them in the declared fields.",
    )


def check_metric(metric: Metric, rows: Numbers, who: str = "The metric") -> None:
    """Check that squared distances of ``rows`` (n, d) are finite, symmetric, never negative and zero from a row to
    itself, that explanations sum to them, and that they are the same once saved and loaded.

    Raises:
        AssertionError: what is wrong.
    """
    from semblance.core.metrics.distances import DISTANCES
    from semblance.core.metrics.metric import load_metric

    kinds = ", ".join(kind.__name__ for kind in DISTANCES)
    _require(
        type(metric.distance) in DISTANCES,
        who,
        f"has the distance {type(metric.distance).__name__}, which no file can hold",
        f"Give one of these: {kinds}.",
    )
    d = metric.distances(rows, rows)
    _require(
        bool(np.isfinite(d).all()), who, "gives distances that are no numbers", "Check for a division by 0."
    )
    _require(bool((d >= 0).all()), who, "gives negative distances", "Give the square of a distance.")
    _require(bool((np.diag(d) == 0).all()), who, "finds a row far from itself", "Compare rows by difference.")
    _require(
        bool((np.abs(d - d.T) <= 1e-12 * d.max()).all()),
        who,
        "is not symmetric",
        "Compare rows both ways alike.",
    )
    for name, array in metric.distance.arrays().items():
        _require(
            bool(np.isfinite(array).all()),
            who,
            f"stores values in '{name}' that are no numbers",
            "Mend them.",
        )
    for q, x in ((0, 1), (2, len(rows) - 1), (3, 3)):
        parts = [part.amount for part in metric.explain(rows[q], rows[x])]
        slack = 1e-9 * float(d[q, x]) + 1e-14 * max(map(abs, parts), default=0.0)
        _require(
            abs(sum(parts) - float(metric.distances(rows[q], rows[x])[0, 0])) <= slack,
            who,
            "explains a distance by parts with another sum",
            "Parts must sum to the distance.",
        )
    with tempfile.TemporaryDirectory() as folder:
        metric.save(Path(folder) / "checked.metric")
        again = load_metric(Path(folder) / "checked.metric")
    same = np.array_equal(again.distances(rows, rows), d) and again.card == metric.card
    same &= (again.is_metric, again.distance.ties) == (metric.is_metric, metric.distance.ties)
    _require(same, who, "is another one once saved and loaded", "Keep all it needs in its distance.")
    _require(
        again.explain(rows[0], rows[1]) == metric.explain(rows[0], rows[1]),
        who,
        "explains a distance otherwise once saved and loaded",
        "Keep all it needs in its distance.",
    )


@_says_what_was_raised
def check_extractor(extractor: str | type[Extractor] | Extractor) -> None:
    """Check the contract of an extractor of images: a class, one with settings, or a name.

    It says what it is, and names each number once; the numbers are finite, float32, the same for the same image
    alone, together with others, after others and in another process; 8, 16 and 32 bits a pixel, grey and colour, small,
    constant and narrow images are measured or refused in words; pixels are left as they are.

    Raises:
        AssertionError: what is wrong, and what to do.
    """
    from semblance.core.features.extractor import Extractor, FeatureDefinition, FeatureName
    from semblance.core.imaging.image import Image
    from semblance.core.imaging.region import Region

    made: Any = _made(extractor, "extractor")
    who = _who(made)
    _require(isinstance(made, Extractor), who, "is no Extractor", "Derive it from Extractor.")
    _check_names(made, who, "name", ("title", "summary"))
    _require(
        type(made.version) is int and made.version >= 1,
        who,
        f"has the version {made.version!r}",
        "Set `version = 1`, and raise it whenever the numbers change.",
    )
    _check_parameters(made.parameters, who)
    _require(
        all(isinstance(feature, FeatureName | FeatureDefinition) for feature in made.feature_names),
        who,
        "has feature_names that are no FeatureName",
        "Give a FeatureName(name, group) for each number in feature_names.",
    )
    names = [feature.name for feature in made.feature_names]
    _require(len(set(names)) == len(names) > 0, who, "does not name each number once", "Mend feature_names.")
    _require(
        all(feature.group for feature in made.feature_names),
        who,
        "has a number without a group",
        "Give each FeatureName the group it is explained with.",
    )
    if made.needs_volume or not made.needs_image:
        return
    image = Image(_noise((48, 64)), 255.0, name="checked.png")
    first = made.extract(image)
    _require(
        isinstance(first, np.ndarray) and first.shape == (len(names),) and first.dtype == np.float32,
        who,
        f"gives {_shape_text(first)}, and names {len(names)} numbers",
        "Return np.array([...], dtype=np.float32) with a number for each of feature_names.",
    )
    kept = first.copy()
    sizes = ((48, 64, 3), (1, 1), (1, 90), (2, 3), (9, 7, 3), (200, 4))
    images = [Image(_noise(size), 255.0, name="checked.png") for size in sizes]
    images += [Image(np.full((20, 30), value, np.uint8), 255.0, name="checked.png") for value in (0, 255)]
    images += [
        Image(_noise((48, 64)).astype(np.uint16) * np.uint16(257), 65535.0, name="checked.png"),
        Image(_noise((48, 64)).astype(np.float32) / np.float32(255), 1.0, name="checked.png"),
    ]
    for other in images:
        _measured_or_refused(made, other, None, who)
    _require(np.array_equal(first, kept), who, "changes numbers that it gave before", "Return a new array.")
    once_more: tuple[tuple[str, Callable[[], Numbers]], ...] = (
        ("for the same image after others", lambda: made.extract(image)),
        ("made anew", lambda: type(made)(**made.settings).extract(image)),
        ("in another process", lambda: _sent(made, who).extract(image)),
        ("prepared and then measured", lambda: made.measure([made.prepare(image)])[0]),
        ("measured together with others", lambda: made.extract_many([images[0], image])[1]),
    )
    for what, again in once_more:
        _require(
            np.allclose(again(), kept, rtol=1e-6, atol=1e-7),
            who,
            f"gives other numbers {what}",
            "They may depend on this image and the settings alone.",
        )
    _measured_or_refused(made, image, Region(10, 10, 30, 20), who)
    _measured_or_refused(made, image, Region(50, 40, 100, 100), who)
    holes = _noise((48, 64)).astype(np.float32)
    holes[3, 4] = np.nan
    for given, region, what, remedy in (
        (image, Region(500, 500, 5, 5), "a region beside the image", "Use image.cropped(region)."),
        (
            Image(holes, 255.0, name="checked.png"),
            None,
            "pixels that are no numbers",
            "Pass pixels through finite() of semblance.core.features.resampling.",
        ),
    ):
        try:
            made.extract(given, region)
        except BadInput as error:
            _require(not isinstance(error, PluginFailed), who, f"fails on {what}: {error}", remedy)
        except Exception as error:  # noqa: BLE001 - whatever it raises is what is wrong
            _fail(who, f"raises {type(error).__name__} on {what} and no BadInput: {error}", remedy)
        else:
            _fail(who, f"measures {what}", remedy)
    pixels = _noise((60, 60))
    before = pixels.copy()
    pixels.flags.writeable = False
    _measured_or_refused(made, Image(pixels, 255.0, name="checked.png"), None, who)
    _require(np.array_equal(pixels, before), who, "changes the pixels", "Work on a copy.")


@_says_what_was_raised
def check_importer(importer: str | type[Importer] | Importer, source: str | Path) -> list[Found]:
    """Check the contract of an importer on ``source``, a file, folder or zip of its kind; returns what it finds there.

    It says what it is; it recognises the source, and no empty folder; two scans find the same; every file of the
    source is in a case or rejected with a reason, and not both; keys are unique, and paths those of the source.

    Raises:
        AssertionError: what is wrong, and what to do.
    """
    from semblance.core.library.importers.importer import Importer, Recognition
    from semblance.core.library.importers.source import Source

    made: Any = _made(importer, "importer")
    who = _who(made)
    _require(isinstance(made, Importer), who, "is no Importer", "Derive it from Importer or FolderImporter.")
    _check_names(made, who, "kind", ("title", "summary"))
    _check_parameters(made.parameters, who)
    with tempfile.TemporaryDirectory() as folder, Source.open(Path(folder)) as empty:
        _require(
            made.recognise(empty) is None, who, "takes an empty folder for its kind", "Return None there."
        )
    with Source.open(Path(source)) as opened:
        fit = made.recognise(opened)
        _require(
            isinstance(fit, Recognition) and 0.0 < fit.confidence <= 1.0 and bool(fit.explanation),
            who,
            f"does not recognise {source}",
            "Return Recognition(confidence, explanation), with a confidence above 0 and up to 1.",
        )
        found = scan_twice(made, opened, who)
        missed = _unreported(opened, found)
    _require(bool(found), who, f"finds nothing in {source}", "Yield a FoundCase for each case.")
    _require(
        not missed,
        who,
        f"reports a file never, or as a case and as rejected: {', '.join(sorted(missed)[:5])}",
        "Yield each file once, as the path of a FoundCase or as a RejectedFile.",
    )
    return found


def scan_twice(importer: Importer, source: Source, who: str = "") -> list[Found]:
    """What ``importer`` finds in ``source``, checked: the same twice, keys that are unique, reasons of rejected files.

    Raises:
        AssertionError: what is wrong, and what to do.
    """
    from semblance.core.library.importers.importer import FoundCase, FoundRows, RejectedFile

    who = who or _who(importer)
    found = list(importer.scan(source, SILENT))
    _require(
        repr(found) == repr(list(importer.scan(source, SILENT))),
        who,
        "finds other cases at a second scan",
        "Go through source.entries() in its order, and keep nothing between scans.",
    )
    keys: list[str] = []
    for one in found:
        if isinstance(one, RejectedFile):
            _require(bool(one.reason), who, f"rejects {one.path} without a reason", "Say why in a sentence.")
        else:
            _require(
                isinstance(one, FoundCase | FoundRows),
                who,
                f"yields {type(one).__name__}",
                "Yield FoundCase, FoundRows or RejectedFile.",
            )
            keys += one.keys if isinstance(one, FoundRows) else [one.key]
    twice = sorted({key for key in keys if keys.count(key) > 1}) if len(set(keys)) < len(keys) else []
    _require(
        not twice, who, f"gives a key twice: {', '.join(twice[:5])}", "Use the path, or path and number."
    )
    return found


def _unreported(source: Source, found: list[Found]) -> set[str]:
    from semblance.core.library.importers.importer import FoundCase, RejectedFile

    entries = {source.label(entry.path) for entry in source.entries()}
    of_cases = set()
    for one in found:
        if not isinstance(one, RejectedFile):
            paths = one.paths if isinstance(one, FoundCase) else (one.path,)
            of_cases |= {source.label(path) if path else "" for path in paths}
    rejected = {one.path for one in found if isinstance(one, RejectedFile)}
    return (of_cases & rejected) | (entries - of_cases - rejected)


@_says_what_was_raised
def check_protocol(protocol: str | type[EvaluationProtocol] | EvaluationProtocol) -> None:
    """Check the contract of a protocol: it says what it is, measures a learner on a table of two findings with
    patients, gives finite scores, among them those it compares by, and the same for the same seed.

    Raises:
        AssertionError: what is wrong, and what to do.
    """
    from semblance.core.evaluation.data import EvaluationData
    from semblance.core.evaluation.protocols.protocol import EvaluationProtocol, LearnerSpec

    made: Any = _made(protocol, "protocol")
    who = _who(made)
    _require(isinstance(made, EvaluationProtocol), who, "is no protocol", "Derive it from SplitProtocol.")
    _check_names(made, who, "name", ("title", "summary"))
    _check_parameters(made.parameters, who)
    _require(
        type(made.repeats) is int and made.repeats >= 1, who, "has no number of repeats", "Set `repeats = 1`."
    )
    X, y = _blobs((60, 60), 4)
    patients = np.array([f"patient {number // 2}" for number in np.argsort(np.argsort(y, kind="stable"))])
    data = EvaluationData(X, y, patients, tuple(f"column {n}" for n in range(4)))
    found = [made.run(data, [LearnerSpec("euclidean")], repeats=1, seed=seed) for seed in (1, 1)]
    _require(
        not found[0].failed, who, f"cannot measure: {[one.reason for one in found[0].failed]}", "Mend it."
    )
    scores = [one.results[0].to_json()["scores"] for one in found]
    lacking = [name for name in made.compared if name not in scores[0]]
    _require(not lacking, who, f"compares by scores it does not give: {lacking}", "Mend `compared`.")
    _require(scores[0] == scores[1], who, "gives other scores with the same seed", "Draw by the seed only.")
    values = [value for score in scores[0].values() for value in score["values"]]
    _require(bool(np.isfinite(values).all()), who, "gives scores that are no numbers", "Leave them out.")


@_says_what_was_raised
def check_report(writer: Callable[..., bytes]) -> bytes:
    """Check what writes a report: called with a report and ``"A4"``, it gives bytes, the same for the same report;
    returns them. Patients are in the report only where its ``identified`` is true.

    Raises:
        AssertionError: what is wrong, and what to do.
    """
    from semblance.core.reports.document import ReportDocument, ReportedCase, ReportedQuery
    from semblance.core.retrieval.index import CaseRow, Rank
    from semblance.core.searches.similar_cases import Vote

    who = f"The report writer {getattr(writer, '__name__', writer)!s}"
    secret = "PATIENT-4711"
    report = ReportDocument(
        title="Similar cases",
        created="2026-03-01T14:05:00+00:00",
        library="Checked",
        metric="Euclidean",
        query=ReportedQuery(case_id="1", image=None, finding="benign"),
        ranking=tuple(
            ReportedCase(Rank(n), CaseRow(n), str(n), 0.1 * n, "benign", secret, f"/images/{secret}/{n}.png")
            for n in (2, 3)
        ),
        vote=Vote(voters=("benign", "benign"), counts={"benign": 2}, finding="benign"),
        identified=False,
    )
    first = writer(report, "A4")
    _require(
        isinstance(first, bytes), who, f"gives {type(first).__name__}", "Return bytes, as text.encode() is."
    )
    _require(
        writer(report, "A4") == first, who, "gives other bytes for the same report", "Use report.created."
    )
    _require(
        secret.encode() not in first,
        who,
        "writes the patient of a report that is not identified",
        "Write patient and path only where report.identified is true.",
    )
    return first


def _require(condition: bool, who: str, what: str, remedy: str) -> None:
    if not condition:
        _fail(who, what, remedy)


def _fail(who: str, what: str, remedy: str) -> None:
    raise AssertionError(f"{who} {what}. {remedy}")


def _made(given: Any, kind: str) -> Any:
    """An instance of what was given: a name, a class or an instance already."""
    if isinstance(given, str):
        if kind == "learner":
            from semblance.core.metrics.registry import make_learner

            return make_learner(given)
        if kind == "extractor":
            from semblance.core.features.registry import make_extractor

            return make_extractor(given)
        if kind == "importer":
            from semblance.core.library.importers.registry import get_importer

            return get_importer(given)
        from semblance.core.evaluation.protocols.registry import get_protocol

        return get_protocol(given)
    if not isinstance(given, type):
        return given
    try:
        return given()
    except TypeError as error:
        _fail(
            given.__name__,
            f"cannot be made: {error}",
            "Give all its parameters defaults, and write what it lacks.",
        )


def _who(made: Any) -> str:
    return type(made).__name__


def _sent(made: Any, who: str) -> Any:
    """``made`` as another process gets it."""
    try:
        return pickle.loads(pickle.dumps(made))
    except Exception as error:
        raise AssertionError(
            f"{who} cannot be sent to another process: {error}. Write its class at the top of a module, and keep no "
            "open files or functions in it."
        ) from error


def _check_names(made: Any, who: str, name: str, texts: tuple[str, ...]) -> None:
    value = getattr(made, name, None)
    plain = isinstance(value, str) and value.isidentifier() and value == value.lower()
    _require(
        plain,
        who,
        f"has the {name} {value!r}",
        f"Set `{name}` to small letters, digits and _, as its entry point is called.",
    )
    for text in texts:
        found = getattr(made, text, None)
        _require(isinstance(found, str) and bool(found), who, f"has no {text}", f"Set `{text}` in the class.")


def _check_parameters(parameters: Any, who: str) -> None:
    for one in parameters:
        _require(
            isinstance(one, Parameter),
            who,
            f"has the parameter {one!r}",
            "Make it with Parameter or parameter().",
        )
        _require(
            bool(one.meaning), who, f"does not say what '{one.name}' means", "Give its meaning in a sentence."
        )
        try:
            one.check(one.default)
        except SemblanceError as error:
            _fail(who, f"has a default of '{one.name}' out of its range: {error}", "Mend one of them.")


def _noise(shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    return np.random.default_rng(sum(shape)).integers(1, 256, shape, dtype=np.uint8)


def _blobs(counts: tuple[int, ...], width: int, seed: int = 0) -> tuple[Numbers, Numbers]:
    """Rows (n, width) and findings (n,): overlapping clouds."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    X = rng.normal(size=(len(codes), width)) + 1.5 * rng.normal(size=(len(counts), width))[codes]
    return X, np.array([f"finding {code}" for code in codes])


def _constraints(learner: Learner, y: Numbers) -> dict[str, Numbers]:
    """Pairs or triplets of findings ``y`` for a learner that takes no findings; nothing for others."""
    if "findings" in learner.accepts or not learner.accepts:
        return {}
    i, j = np.triu_indices(len(y), 1)
    same = y[i] == y[j]
    if "pairs" in learner.accepts:
        return {"pairs": np.stack([i, j, np.where(same, 1, -1)], axis=1)[::3].astype(np.int64)}
    near, far = np.stack([i, j], axis=1)[same], {finding: np.flatnonzero(y != finding) for finding in set(y)}
    triplets = [(a, b, far[y[a]][(a + b) % len(far[y[a]])]) for a, b in near.tolist()]
    return {"triplets": np.array(triplets[::2], dtype=np.int64)}


def _fit(learner: Any, X: Numbers, y: Numbers, given: dict[str, Numbers], who: str, **how: Any) -> Metric:
    """The metric of a fit that changes none of its rows and prints nothing."""
    rows, findings = X.copy(), y.copy()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            fitted = learner.fit(rows, None if given else findings, **given, **how)
            metric: Metric = fitted.metric()
        except (SemblanceError, Cancelled):
            raise
        except Exception as error:
            raise AssertionError(
                f"{who} raises {type(error).__name__}: {error}. Raise BadInput(what is wrong, what to do) where it "
                "cannot learn, and set distance_ and _card in _fit."
            ) from error
    _require(fitted is learner, who, "does not return itself from fit", "Write _learn or _fit, and not fit.")
    _require(not printed.getvalue(), who, "prints", "Report by data.reporter, or as notes on the card.")
    same = np.array_equal(rows, X) and np.array_equal(findings, y)
    _require(same, who, "changes the rows that it is fitted on", "Work on a copy of data.X.")
    return metric


class _CancelsAt(Reporter):
    """Cancels at one of its calls."""

    def __init__(self, call: int) -> None:
        self.left = call

    def check_cancelled(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Cancelled


def _check_cancelling(learner: Learner, X: Numbers, y: Numbers, given: dict[str, Numbers], who: str) -> None:
    for call in (1, _CANCELLED_AT):
        before = dict(vars(learner))
        try:
            _fit(learner, X, y, given, who, reporter=_CancelsAt(call))
        except Cancelled:
            unchanged = vars(learner).keys() == before.keys()
            _require(
                unchanged and all(vars(learner)[name] is value for name, value in before.items()),
                who,
                "is another learner after a fit that was cancelled",
                "Do not write fit, and let Cancelled pass.",
            )


def _measured_or_refused(extractor: Extractor, image: Image, region: Any, who: str) -> None:
    size = f"an image of the shape {image.pixels.shape} and the type {image.pixels.dtype}"
    try:
        numbers = extractor.extract(image, region)
    except BadInput as error:
        _require(
            not isinstance(error, PluginFailed), who, f"fails on {size}: {error}", "Measure it, or refuse it."
        )
        _require(
            bool(error.hint), who, f"refuses {size} without a hint", "Say in the hint what a user can do."
        )
        return
    except Exception as error:
        raise AssertionError(
            f"{who} raises {type(error).__name__} on {size}: {error}. Measure it, or raise BadInput(what, what to do)."
        ) from error
    _require(
        bool(np.isfinite(numbers).all()), who, f"gives values that are no numbers of {size}", "Mend them."
    )


def _shape_text(found: Any) -> str:
    if isinstance(found, np.ndarray):
        return f"an array of the shape {found.shape} and the type {found.dtype}"
    return type(found).__name__
