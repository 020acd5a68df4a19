"""Query and retrieval by DIMSE: C-FIND, C-GET and C-MOVE of the study root (PS3.4, annex C)."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.network.association import abort, answers, association, keep_object, query_seconds
from semblance.core.network.studies import (
    MAX_STUDIES,
    FoundStudies,
    Instance,
    Series,
    Study,
    StudyQuery,
    instance_from,
    series_from,
    study_from,
)
from semblance.core.normal_text import composed

if TYPE_CHECKING:
    from pydicom import Dataset

    from semblance.core.network.servers import Server
    from semblance.core.network.studies import StudyQuery

#: Character sets that a text may be in if it is not UTF-8: those of DICOM, the most usual first.
_CHARACTER_SETS: Final = (
    "latin-1",
    "iso8859-2",
    "iso8859-5",
    "windows-1251",
    "iso8859-7",
    "iso8859-9",
    "shift_jis",
    "gb18030",
    "euc-kr",
)
#: Sets of pydicom whose characters have several bytes.
_WIDE: Final = ("shift_jis", "gb18030", "gbk", "euc_kr")


class DimseAnswer:
    """One answer to ``query``. ``is_certain``: its texts are in the character set that it states.

    A text in another is read as UTF-8, else as what fits the query, which the server has compared with it, else as
    Latin-1.
    """

    def __init__(self, dataset: Dataset, query: StudyQuery) -> None:
        from pydicom.charset import python_encoding

        self._dataset = dataset
        self._query = query
        self.is_certain = True
        stated = str(dataset.get("SpecificCharacterSet") or "")
        # Several sets change by escape sequences, which only pydicom reads.
        self._is_mixed = stated.startswith(("[", "ISO 2022"))
        codec = python_encoding.get(stated, "").lower()
        #: That of the set that is stated; ASCII alone is what is stated where nothing is.
        self._codec = "" if codec == "iso8859" else codec

    def get(self, keyword: str) -> Any:
        """The value or values of the element with this keyword."""
        from pydicom.datadict import tag_for_keyword

        tag = tag_for_keyword(keyword)
        element = self._dataset.get_item(tag) if tag is not None and tag in self._dataset else None
        data = self._bytes_of(element)
        if data is None or self._is_mixed:
            return self._dataset.get(keyword)
        return [part.strip(" \0") for part in self._decoded(keyword, data).split("\\")]

    def _bytes_of(self, element: Any) -> bytes | None:
        """The bytes of an element as they came, ``None`` where they are not known."""
        value = getattr(element, "value", None)
        # pynetdicom may have read it, as Latin-1 where no character set is stated.
        value = getattr(value, "original_string", value)
        if isinstance(value, str) and not self._codec:
            with contextlib.suppress(UnicodeEncodeError):
                return value.encode("latin-1")
        return value if isinstance(value, bytes) else None

    def _decoded(self, keyword: str, data: bytes) -> str:
        codecs = ("utf-8", self._codec)
        for codec in dict.fromkeys(codecs[::-1] if self._codec in _WIDE else codecs):
            with contextlib.suppress(UnicodeDecodeError, LookupError):
                text = data.decode(codec)
                # Bytes of a character set of one byte are hardly ever UTF-8 as well.
                self.is_certain = self.is_certain and (
                    data.isascii() or codec.replace("-", "") == self._codec
                )
                return text
        self.is_certain = False
        return self._fitting(keyword, data)

    def _fitting(self, keyword: str, data: bytes) -> str:
        for codec in _CHARACTER_SETS:
            try:
                text = composed(data.decode(codec))
            except UnicodeDecodeError:
                continue
            if self._query.fits(keyword, text):
                return text
        return data.decode("latin-1")


_STUDY_KEYS: Final = (
    "PatientName",
    "PatientID",
    "StudyDate",
    "ModalitiesInStudy",
    "StudyDescription",
    "AccessionNumber",
    "NumberOfStudyRelatedSeries",
    "NumberOfStudyRelatedInstances",
    "StudyInstanceUID",
)
_SERIES_KEYS: Final = (
    "Modality",
    "SeriesDescription",
    "SeriesNumber",
    "BodyPartExamined",
    "NumberOfSeriesRelatedInstances",
    "SeriesInstanceUID",
)
#: Presentation contexts of one association (PS3.8, section 9.3.2.2).
_MAX_CONTEXTS: Final = 128
#: Transfer syntaxes in which objects are taken, so that a PACS need not decode what it stores.
SYNTAXES: Final = (
    "1.2.840.10008.1.2.1",  # explicit, little endian
    "1.2.840.10008.1.2",  # implicit
    "1.2.840.10008.1.2.4.90",  # JPEG 2000, lossless
    "1.2.840.10008.1.2.4.70",  # JPEG, lossless
    "1.2.840.10008.1.2.4.80",  # JPEG-LS, lossless
    "1.2.840.10008.1.2.4.201",  # High-Throughput JPEG 2000, lossless
    "1.2.840.10008.1.2.5",  # run-length
    "1.2.840.10008.1.2.4.50",  # JPEG
    "1.2.840.10008.1.2.4.91",  # JPEG 2000
    "1.2.840.10008.1.2.4.51",  # JPEG, extended
    "1.2.840.10008.1.2.4.203",  # High-Throughput JPEG 2000
)
#: Responses to one retrieval: one for each object, and some that only report progress.
_MOST_RESPONSES: Final = 10_000
#: How often a PACS may send one object in a retrieval.
_MOST_REPEATED: Final = 20
_OUT_OF_RESOURCES: Final = 0xA700


def find_studies(server: Server, query: StudyQuery, *, limit: int = MAX_STUDIES) -> FoundStudies:
    """The studies that fit ``query``, at most ``limit``.

    Raises:
        SemblanceError: there is no connection or answer.
    """
    identifier = _identifier("STUDY", _STUDY_KEYS)
    identifier.PatientName = query.name_pattern
    identifier.PatientID = query.patient_id
    identifier.StudyDate = query.dates
    identifier.ModalitiesInStudy = query.modality.upper()
    identifier.StudyDescription = query.description_pattern
    identifier.AccessionNumber = query.accession
    identifier.StudyInstanceUID = query.study
    found: list[Study] = []
    with _finding(server) as ask:
        for dataset in ask(identifier):
            answer = DimseAnswer(dataset, query)
            study = study_from(answer)
            if study is not None and query.matches(study, is_certain=answer.is_certain):
                found.append(study)
            if len(found) > limit:
                break
    return FoundStudies(found[:limit], is_cut=len(found) > limit)


def list_series(server: Server, study: str) -> list[Series]:
    """The series of a study.

    Raises:
        SemblanceError: there is no connection or answer.
    """
    identifier = _identifier("SERIES", _SERIES_KEYS)
    identifier.StudyInstanceUID = study
    with _finding(server) as ask:
        found = (series_from(DimseAnswer(one, StudyQuery())) for one in ask(identifier))
        return [series for series in found if series is not None]


def list_instances(server: Server, study: str, series: Sequence[str]) -> list[Instance]:
    """The objects of some ``series`` of a study.

    Raises:
        SemblanceError: there is no connection or answer.
    """
    found: list[Instance] = []
    with _finding(server) as ask:
        for uid in series:
            identifier = _identifier("IMAGE", ("SOPInstanceUID", "SOPClassUID"))
            identifier.StudyInstanceUID, identifier.SeriesInstanceUID = study, uid
            found += [one for answer in ask(identifier) if (one := instance_from(answer, uid)) is not None]
    return found


def get_instances(
    server: Server,
    study: str,
    wanted: Sequence[tuple[str, Sequence[str]]],
    sop_classes: Sequence[str],
    keep: Callable[[bytes], object],
    is_cancelled: Callable[[], bool],
) -> None:
    """Let ``server`` send objects over one association (C-GET); ``keep`` gets each in the file format.

    ``wanted``: series with the objects to send, none for all of the series. ``keep`` may raise; then the object
    counts as refused and what it raised is raised here in the end.

    Raises:
        SemblanceError: there is no connection, the PACS refuses, or the connection is lost.
    """
    from pynetdicom import evt
    from pynetdicom.presentation import build_context
    from pynetdicom.sop_class import StudyRootQueryRetrieveInformationModelGet

    contexts, roles = [build_context(StudyRootQueryRetrieveInformationModelGet)], []
    offered = _storage_contexts(sop_classes)
    contexts += offered
    roles = _storage_roles(offered)
    problems: list[Exception] = []
    sent: Counter[str] = Counter()

    def store(event: Any) -> Any:
        if is_cancelled():
            return _OUT_OF_RESOURCES
        uid = str(event.request.AffectedSOPInstanceUID)
        sent[uid] += 1
        if sent[uid] > _MOST_REPEATED:
            # A PACS may send an object again, but this one would not end.
            problems.append(
                SemblanceError(
                    tr_lazy("The PACS '{name}' sends the same object again and again.", name=server.name),
                    "Ask who looks after the PACS; its log says more.",
                )
            )
            abort(event.assoc)
            return _OUT_OF_RESOURCES
        status, problem = keep_object(event, keep)
        if problem is not None:
            problems.append(problem)
        return status

    handlers = [(evt.EVT_C_STORE, store)]
    with association(server, contexts, roles=roles, handlers=handlers, is_cancelled=is_cancelled) as opened:
        for series, instances in wanted:
            if is_cancelled():
                return
            identifier = _retrieval(study, series, instances)
            responses = opened.send_c_get(identifier, StudyRootQueryRetrieveInformationModelGet)
            _consume(responses, server, "C-GET", problems, is_cancelled)


def move_instances(
    server: Server, study: str, wanted: Sequence[tuple[str, Sequence[str]]], is_cancelled: Callable[[], bool]
) -> None:
    """Let ``server`` send objects to our listener (C-MOVE). ``wanted`` as in :func:`get_instances`.

    Raises:
        SemblanceError: there is no connection, the PACS refuses, or the connection is lost.
    """
    from pynetdicom.presentation import build_context
    from pynetdicom.sop_class import StudyRootQueryRetrieveInformationModelMove

    contexts = [build_context(StudyRootQueryRetrieveInformationModelMove)]
    with association(server, contexts, is_cancelled=is_cancelled) as opened:
        for series, instances in wanted:
            if is_cancelled():
                return
            responses = opened.send_c_move(
                _retrieval(study, series, instances),
                server.own_ae_title,
                StudyRootQueryRetrieveInformationModelMove,
            )
            _consume(responses, server, "C-MOVE", [], is_cancelled)


def _consume(
    responses: Any, server: Server, what: str, problems: Sequence[Exception], is_cancelled: Callable[[], bool]
) -> None:
    """Wait for the end of a retrieval, and raise what ``problems`` holds."""
    try:
        for _ in answers(responses, server, what, most=_MOST_RESPONSES):
            if is_cancelled():
                return
    except SemblanceError:
        if is_cancelled():
            return
        if problems:
            raise problems[0] from None
        raise
    if problems:
        raise problems[0]


@contextlib.contextmanager
def _finding(server: Server) -> Iterator[Callable[[Dataset], Iterator[Dataset]]]:
    """A function that queries ``server`` and returns its answers, over one association."""
    from pynetdicom import build_context
    from pynetdicom.sop_class import StudyRootQueryRetrieveInformationModelFind

    model = StudyRootQueryRetrieveInformationModelFind
    with association(server, [build_context(model)]) as opened:

        def ask(identifier: Dataset) -> Iterator[Dataset]:
            responses = opened.send_c_find(identifier, model)
            for answer in answers(responses, server, "C-FIND", seconds=query_seconds()):
                # One that cannot be decoded has none.
                if answer is not None:
                    yield answer

        yield ask


def _identifier(level: str, keys: Sequence[str]) -> Dataset:
    from pydicom import Dataset

    identifier = Dataset()
    identifier.SpecificCharacterSet = "ISO_IR 192"
    identifier.QueryRetrieveLevel = level
    for key in keys:
        setattr(identifier, key, None)
    return identifier


def _retrieval(study: str, series: str, instances: Sequence[str]) -> Dataset:
    from pydicom import Dataset

    identifier = Dataset()
    identifier.QueryRetrieveLevel = "IMAGE" if instances else "SERIES"
    identifier.StudyInstanceUID, identifier.SeriesInstanceUID = study, series
    if instances:
        identifier.SOPInstanceUID = list(instances)
    return identifier


def _storage_contexts(sop_classes: Sequence[str]) -> list[Any]:
    """A context for each SOP class and transfer syntax, up to the limit of an association, the classes first."""
    from pynetdicom import StoragePresentationContexts
    from pynetdicom.presentation import build_context

    limit = _MAX_CONTEXTS - 1
    classes = list(dict.fromkeys(sop_classes)) or [
        str(context.abstract_syntax) for context in StoragePresentationContexts
    ]
    plain = [build_context(uid, list(SYNTAXES[:2])) for uid in classes[:limit]]
    packed = [build_context(uid, [syntax]) for syntax in SYNTAXES[2:] for uid in classes]
    return [*plain, *packed][:limit]


def _storage_roles(contexts: Sequence[Any]) -> list[Any]:
    """That the server sends and we store, for each SOP class of ``contexts``."""
    from pynetdicom import build_role

    classes = dict.fromkeys(str(context.abstract_syntax) for context in contexts)
    return [build_role(uid, scp_role=True) for uid in classes]
