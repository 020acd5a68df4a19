"""Embed a search in its report, and open it again in the library it came from.

A report names cases by digests made with the library's own key. They reveal no id, and the library finds its cases by
them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging.dicom.dicom_file import errors_as_bad_input, open_dicom
from semblance.core.imaging.formats import DICOM, HEAD_BYTES, sniff
from semblance.core.imaging.region import Region
from semblance.core.imaging.zip_archive import open_regular_file
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.network.studies import is_uid
from semblance.core.reports.dicom.structured_report import PRIVATE_CREATOR, PRIVATE_ELEMENT, PRIVATE_GROUP
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind, given_marks, outside_image
from semblance.core.searches.feedback.ledger import Ledger
from semblance.core.searches.query import Query
from semblance.core.searches.search import WHOLE, Search, new_ledger
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.library.library import Library

VERSION = 1
#: Larger files are not read as reports, and folders with more files are not searched for an image.
MAX_BYTES, MAX_FILES = 64 << 20, 5000
_LIBRARY = "the library itself"
_FORGED = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


def embedded_search(
    library: Library, search: Search, judgements: Sequence[Judgement], *, identified: bool
) -> dict[str, Any]:
    """``search`` and its judgements in force as JSON; empty for a read-only library without a key for pseudonyms.

    ``images``: marked images from outside. Their paths are named only if ``identified``.
    """
    pseudonyms = library.available_pseudonyms()
    if pseudonyms is None:
        return {}
    digest = pseudonyms.reference

    def query(one: Query) -> dict[str, Any]:
        region = None if one.region is None else one.region.to_json()
        given = {} if one.vector is None else {"vector": list(one.vector)}
        if one.case is not None:
            return {"case": digest(one.case), "region": region, **given}
        if one.image is None:
            return {"region": None, "name": digest(one.key), **given}
        location = {"path": str(one.image.absolute())} if identified else {}
        uid = _instance(one.image)
        instance = {} if uid is None else {"instance": digest(uid)}
        # Judgements name it by its path.
        name = digest(str(one.image))
        return {"content": _content(one.image), "region": region, "name": name, **instance, **location}

    plain = search.to_json()
    judged = [*given_marks(search), *judgements]
    images = {path for one in judged if (path := outside_image(one.case)) is not None and path.is_file()}
    return {
        "version": VERSION,
        "library": digest(_LIBRARY),
        **{name: plain[name] for name in ("strength", "hide_same_patient", "fold_duplicates")},
        **{name: plain[name] for name in ("diverse", "unusual", "without_patient", "match")},
        "metric": digest(search.metric),
        "without": [digest(group) for group in search.without],
        "concepts": [[digest(name), amount] for name, amount in search.concepts],
        "query": query(search.query),
        "judgements": [
            {
                "kind": one.kind.value,
                "query": digest(one.query),
                "case": digest(one.case),
                "other": None if one.other is None else digest(one.other),
                "region": None if one.region is None else dict(one.region),
                "shown": [digest(case) for case in one.shown],
                "time": one.time,
                **({} if one.place is None else {"place": dict(one.place)}),
            }
            for one in judged
        ],
        "images": [query(Query(image=image)) for image in sorted(images)],
    }


def reopen_report(library: LibraryLocation, report: Path, *, reporter: Reporter = SILENT) -> Search:
    """The search in the JSON report at ``report``; its judgements are in a new ledger.

    Raises:
        BadInput: no JSON report, one of another library, or its metric, case or image no longer exists.
    """
    values = _read(report)
    with open_library(library) as opened:
        if not opened.writable:
            raise SemblanceError(
                tr_lazy(
                    "{opened} is open for looking only, so it cannot take up a report's marks.",
                    opened=opened.name,
                ),
                "Copy it to a folder you may write to.",
            )
        digest = opened.pseudonyms().reference
        if values.get("library") != digest(_LIBRARY):
            raise BadInput(
                tr_lazy("{report} was not made from {opened}.", report=report.name, opened=opened.name),
                "Open the library it was made from first.",
            )
        try:
            return _opened(opened, values, report, digest)
        except _FORGED:
            raise _damaged(report) from None


def _opened(
    library: Library, values: Mapping[str, Any], report: Path, digest: Callable[[str], str]
) -> Search:
    cases = {digest(row.case_id): row.case_id for row in library.catalogue.all_cases()}
    metrics = {digest(metric.name): metric for metric in library.metrics()}
    metric = metrics.get(values["metric"])
    if metric is None:
        raise BadInput(
            tr_lazy(
                "The metric of {report} is no longer in {library}.", report=report.name, library=library.name
            ),
            "Train or import it again.",
        )
    groups = {digest(group): group for _, group in library.features.of_metric(metric).columns}

    def query(data: Mapping[str, Any]) -> Query:
        region = None if data["region"] is None else Region.from_json(dict(data["region"]))
        vector = tuple(map(float, data["vector"])) if data.get("vector") is not None else None
        if "case" in data:
            if data["case"] not in cases:
                raise BadInput(
                    tr_lazy(
                        "A case of {report} is no longer in {library}.",
                        report=report.name,
                        library=library.name,
                    ),
                    "Import its image again.",
                )
            return Query(case=cases[data["case"]], region=region, vector=vector)
        if vector is not None and "content" not in data:
            return Query(vector=vector)
        return Query(image=_found(report, data, digest), region=region, vector=vector)

    ledger, asked = new_ledger(), query(values["query"])
    concepts = _concepts(library, digest)
    queries = cases if asked.case is not None else cases | {values["query"].get("name", ""): asked.key}
    images = {
        data["name"]: path for data in values.get("images", ()) if (path := _mark(report, data, digest))
    }
    judgements = [_judgement(data, cases | images, queries) for data in values["judgements"]]
    known = [
        *_examples(values, asked, cases, lambda data: _mark(report, data, digest)),
        *(one for one in judgements if one is not None),
    ]
    if known:
        Ledger(library.judgements(ledger)).add(known)
    return Search(
        metric.name,
        asked,
        ledger,
        float(values["strength"]),
        tuple(groups[group] for group in values["without"] if group in groups),
        (),
        (),
        tuple((concepts[name], float(amount)) for name, amount in values["concepts"] if name in concepts),
        bool(values["hide_same_patient"]),
        bool(values["fold_duplicates"]),
        float(values["diverse"]),
        float(values["unusual"]),
        bool(values.get("without_patient", False)),
        match=str(values.get("match", WHOLE)),
    )


def _concepts(library: Library, digest: Callable[[str], str]) -> dict[str, str]:
    return {digest(concept.name): concept.name for concept in library.concepts.all()}


def _mark(report: Path, data: Mapping[str, Any], digest: Callable[[str], str]) -> str:
    """The path of a marked image from outside; "" where it is not found, as a case is that no longer exists."""
    try:
        return str(_found(report, data, digest).absolute())
    except BadInput:
        return ""


def _examples(
    values: Mapping[str, Any],
    query: Query,
    cases: Mapping[str, str],
    found: Callable[[Mapping[str, Any]], str],
) -> list[Judgement]:
    """What the version before this one kept in reports as examples beside the judgements. ``found`` gives the path of
    an image."""

    def marked(key: str) -> tuple[str, ...]:
        wholes = [one for one in values.get(key, ()) if one["region"] is None]
        names = [cases.get(one["case"], "") if "case" in one else found(one) for one in wholes]
        return tuple(name for name in names if name)

    return given_marks(Search("", query, like=marked("like"), unlike=marked("unlike")))


def _judgement(
    data: Mapping[str, Any], cases: Mapping[str, str], queries: Mapping[str, str]
) -> Judgement | None:
    """A judgement of the report; ``None`` if one of its cases no longer exists or its query was another image from
    outside. ``cases``, with marked images, and ``queries``: digests -> names."""
    names = [data["case"], *([data["other"]] if data["other"] is not None else [])]
    if data["query"] not in queries or any(name not in cases for name in names):
        return None
    return Judgement(
        JudgementKind(data["kind"]),
        queries[data["query"]],
        cases[data["case"]],
        None if data["other"] is None else cases[data["other"]],
        data["region"],
        tuple(cases[case] for case in data["shown"] if case in cases),
        "",
        str(data["time"]),
        data.get("place"),
    )


def _read(report: Path) -> Mapping[str, Any]:
    try:
        if report.stat().st_size > MAX_BYTES:
            raise _damaged(report)
        values = _search_of_object(report) or json.loads(report.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(
            tr_lazy("{report} cannot be read: {reason}.", report=report, reason=error.strerror or error),
            "Choose another file.",
        ) from error
    except (ValueError, RecursionError):
        raise _damaged(report) from None
    search = values.get("search") if isinstance(values, dict) else None
    if not isinstance(search, dict):
        raise _damaged(report)
    if not search:
        raise BadInput(
            tr_lazy(
                "{report} was made from a library open for looking only and cannot be reopened.",
                report=report.name,
            ),
            "Make the report again from a library you may write to.",
        )
    if search.get("version") != VERSION:
        raise BadInput(
            tr_lazy("{report} was made by another version of Semblance.", report=report.name),
            "Update Semblance.",
        )
    return search


def is_structured_report(file: Path) -> bool:
    """Whether ``file`` is a structured report of this program with its search."""
    try:
        return bool(_search_of_object(file))
    except SemblanceError:
        return False


def _search_of_object(report: Path) -> dict[str, Any] | None:
    """The search in a structured report of this program; ``None`` if ``report`` is no DICOM file."""
    with open_regular_file(report, str(report)) as file:
        if sniff(file.read(HEAD_BYTES)) != DICOM:
            return None
        opened = open_dicom(file, report.name)
        with errors_as_bad_input(report.name):
            try:
                block = opened.dataset.private_block(PRIVATE_GROUP, PRIVATE_CREATOR)
                return {"search": json.loads(block[PRIVATE_ELEMENT].value)}
            except KeyError:
                raise _damaged(report) from None


def _damaged(report: Path) -> BadInput:
    return BadInput(
        tr_lazy("{report} is no JSON or structured report of Semblance, or damaged.", report=report.name),
        "Choose another file.",
    )


def _found(report: Path, data: Mapping[str, Any], digest: Callable[[str], str]) -> Path:
    """An image from outside: where it was, or the file with its content, or of the same DICOM instance, beside the
    report or in another series of the study that was retrieved with it."""
    expected, instance = str(data["content"]), data.get("instance")
    location = [Path(str(data["path"]))] if "path" in data else []
    near = [file for file in report.parent.iterdir() if file.is_file()]
    if is_uid(report.parent.name) and is_uid(report.parent.parent.name):
        near += [file for file in report.parent.parent.glob("*/*.dcm") if file.parent != report.parent]
    size = int(expected.partition("-")[0])
    candidates = [file for file in (*location, *sorted(near)[:MAX_FILES]) if file.is_file()]
    for file in candidates:
        if file.stat().st_size == size and _content(file) == expected:
            return file
    # A PACS may rewrite the header of a file.
    for file in candidates if instance is not None else ():
        uid = _instance(file)
        if uid is not None and digest(uid) == instance:
            return file
    raise BadInput(
        tr_lazy("The query image of {report} was not found.", report=report.name),
        "Put it into the folder of the report; its name does not matter.",
    )


def _instance(file: Path) -> str | None:
    """The SOP Instance UID; ``None`` of a file that is not a DICOM object."""
    try:
        with open_regular_file(file, str(file)) as opened:
            if sniff(opened.read(HEAD_BYTES)) != DICOM:
                return None
            header = open_dicom(opened, file.name, ("SOPInstanceUID",)).dataset
    except BadInput:
        return None
    return str(header.get("SOPInstanceUID", "")) or None


def _content(file: Path) -> str:
    """Size and SHA-256 of a file's bytes.

    Raises:
        BadInput: it is not there, or cannot be read.
    """
    with open_regular_file(file, str(file)) as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return f"{file.stat().st_size}-{digest}"
