"""The routes of ``semblance serve``. Each hands its request to a worker process, which does the work."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from fastapi_offline import FastAPIOffline
from pydantic import BaseModel, Field
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp

from semblance import resources
from semblance.app.http_api.connections import ADMITTED
from semblance.app.http_api.guard import RESPONSES, Guard, Problem, add_handlers
from semblance.core.engine import Engine
from semblance.core.imaging.formats import DICOM, HEAD_BYTES, sniff
from semblance.core.imaging.region import Region
from semblance.core.library.location import LibraryLocation
from semblance.core.log import logger
from semblance.core.purpose import PURPOSE
from semblance.core.version import program_version
from semblance.core.workflows.network.answer_requests import (
    REPORT_FORMATS,
    ReportFormat,
    SearchRequest,
    answer_report,
    answer_search,
    answer_thumbnail,
    describe_served_library,
)

#: Bytes of an image in a request, and requests that are answered or wait at a time.
MAX_BYTES, MAX_REQUESTS = 64 << 20, 32
#: Seconds in which an image has to come, and those for an answer.
BODY_S, ANSWER_S = 60.0, 300.0
#: Similar cases, marks of either kind, and letters of a text, in one request.
MAX_CASES, MAX_MARKS, MAX_TEXT = 200, 500, 500
_LONGEST_NAME = 1000
_DICOM = "application/dicom"
#: Where the files of the page of the description are.
_FILES = "/static-offline-docs"
_IMAGE_TYPES = {"image/png": "PNG", "image/jpeg": "JPEG", _DICOM: DICOM}
_MEDIA_TYPES = {
    ".pdf": "application/pdf",
    ".html": "text/html; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
}


@dataclass(frozen=True)
class ServiceSettings:
    """What is served, and to whom.

    ``identified``: a request may ask for patient ids, case ids and paths. ``origins``: web pages that may ask, such
    as ``https://viewer.example``. ``clean_pixels``: text burnt into the images of answers is blacked out. ``key`` makes
    the references of a library that has no key of its own. ``hosts``: names under which clients may ask, beside
    ``localhost`` and the address.
    """

    library: LibraryLocation
    token: str
    identified: bool = False
    origins: Sequence[str] = ()
    workers: int = 1
    clean_pixels: bool = False
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    hosts: Sequence[str] = ()


class _Service:
    """The worker processes, and how many requests there are."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self._engine: Engine | None = None
        self._running = 0

    @asynccontextmanager
    async def running(self, _: FastAPI) -> AsyncIterator[None]:
        # asyncio would print what clients cause, with a traceback, as often as they want.
        asyncio.get_running_loop().set_exception_handler(_log_failure)
        self._engine = Engine(self.settings.workers)
        try:
            yield
        finally:
            await asyncio.to_thread(self._engine.shutdown)

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Count a request, with the time in which its image comes.

        Raises:
            Problem: there are too many.
        """
        if self._running >= MAX_REQUESTS:
            raise Problem(503, "Too many requests wait. Try again later.", {"Retry-After": "5"})
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    async def run(
        self, request: Request, function: Callable[..., Any], *arguments: Any, **options: Any
    ) -> Any:
        """Call ``function`` in a worker for ``request``.

        Raises:
            Problem: it takes too long.
            ClientDisconnect: nobody waits for the answer any more.
        """
        assert self._engine is not None
        task = self._engine.submit(function, self.settings.library, *arguments, **options)
        answer, left = asyncio.wrap_future(task.future), asyncio.create_task(_wait_until_left(request))
        # Nobody may be there to look at it.
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await asyncio.wait({answer, left}, timeout=ANSWER_S, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            task.cancel()
            if left.done():
                raise ClientDisconnect
            raise Problem(503, f"There was no answer within {ANSWER_S:.0f} seconds.")
        finally:
            left.cancel()


async def _wait_until_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _log_failure(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    logger.error("a connection failed: %s", context.get("exception") or context["message"])


def make_application(settings: ServiceSettings) -> ASGIApp:
    """The application that answers requests on ``settings.library``."""
    service = _Service(settings)
    application = FastAPIOffline(
        docs_url=None,
        redoc_url=None,
        static_url=_FILES,
        title="Semblance",
        summary="Search a library of medical images for similar cases.",
        description=str(PURPOSE),
        version=program_version(),
        lifespan=service.running,
    )
    application.state.service = service
    application.include_router(_routes)
    application.add_api_route("/docs", _description, include_in_schema=False)
    add_handlers(application)
    if settings.origins:
        application.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    return Guard(application, settings.hosts)


async def _description(request: Request) -> HTMLResponse:
    """The page of the description. Of the scripts in it only its own may run."""
    page = get_swagger_ui_html(
        openapi_url=request.app.openapi_url,
        title="Semblance",
        swagger_js_url=f"{_FILES}/swagger-ui-bundle.js",
        swagger_css_url=f"{_FILES}/swagger-ui.css",
        swagger_favicon_url=f"{_FILES}/favicon.png",
        swagger_ui_parameters={"persistAuthorization": False},
    )
    scripts = re.findall(rb"<script>(.*?)</script>", bytes(page.body), re.DOTALL)
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(one).digest()).decode()}'" for one in scripts]
    page.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'self' {' '.join(hashes)}; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return page


def _service(request: Request) -> _Service:
    service: _Service = request.app.state.service
    return service


async def _check_token(
    request: Request,
    given: Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))],
) -> None:
    token = _service(request).settings.token
    if given is None or not secrets.compare_digest(given.credentials.encode(), token.encode()):
        raise Problem(
            401,
            "The token is missing or wrong. Send the header 'Authorization: Bearer TOKEN'.",
            {"WWW-Authenticate": "Bearer"},
        )


async def _admit(request: Request) -> AsyncIterator[None]:
    async with _service(request).admitted():
        setattr(request.state, ADMITTED, True)
        yield


Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
Case = Annotated[Name, Field(description="The case, as an earlier answer calls it.")]
Identified = Annotated[
    bool, Field(description="Case ids, patient ids and paths. Only with `semblance serve --identified`.")
]


class _Options(BaseModel, extra="forbid"):
    """The parameters that all searches take."""

    metric: Name | None = Field(None, description="The metric. Without it, the current one.")
    region: str | None = Field(
        None,
        description="The region of the image to search with, in pixels: x,y,width,height.",
        pattern=r"^[0-9]{1,6},[0-9]{1,6},[0-9]{1,6},[0-9]{1,6}$",
    )
    match: Literal["place", "whole", "both"] | None = Field(
        None,
        description="What is compared: places, whole images, or both. Without it a region is compared by place where "
        "the library has places, and everything else as a whole.",
    )
    like: list[Name] = Field([], description="Cases marked as more like the query.", max_length=MAX_MARKS)
    unlike: list[Name] = Field([], description="Cases marked as less like the query.", max_length=MAX_MARKS)
    diverse: float = Field(
        0.0,
        ge=0,
        le=1,
        description="From 0, order by distance alone, to 1, prefer cases unlike those before.",
    )
    text: str = Field(
        "",
        description="Words, the order of whose cases is fused with that of the image.",
        max_length=MAX_TEXT,
    )
    identified: Identified = False

    def request(self, settings: ServiceSettings, **query: Any) -> SearchRequest:
        """What is asked of ``settings.library``.

        Raises:
            Problem: identified answers are not allowed.
            BadInput: not a region.
        """
        _check_identified(settings, self.identified)
        return SearchRequest(
            settings.key,
            region=None if self.region is None else Region.parse(self.region),
            match=self.match or "",
            metric=self.metric,
            like=tuple(self.like),
            unlike=tuple(self.unlike),
            diverse=self.diverse,
            text=self.text,
            identified=self.identified,
            **query,
        )


class _SearchOptions(_Options):
    k: int = Field(20, ge=1, le=MAX_CASES, description="Number of cases.")


class _SearchOfCase(_SearchOptions):
    case: Case


class _ReportOptions(_Options):
    format: ReportFormat = Field("pdf", description="The format of the report.")
    page: Literal["A4", "letter"] = Field("A4", description="Paper size.")


class _ReportOfCase(_ReportOptions):
    case: Case


class _ThumbnailOptions(BaseModel, extra="forbid"):
    case: Case
    identified: Identified = False


def _check_identified(settings: ServiceSettings, identified: bool) -> None:
    if identified and not settings.identified:
        raise Problem(
            403, "Identified answers are not allowed. Start the server with --identified to allow them."
        )


async def _image(request: Request) -> bytes:
    """The image in the body.

    Raises:
        Problem: none, of another type than stated, too large, or too slow.
    """
    stated = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if stated not in _IMAGE_TYPES:
        raise Problem(415, f"Send an image with one of the types {', '.join(_IMAGE_TYPES)}.")
    too_large = Problem(413, f"The image is larger than {MAX_BYTES >> 20} MB.")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MAX_BYTES:
        raise too_large
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                data += part
                if len(data) > MAX_BYTES:
                    raise too_large
    except TimeoutError:
        raise Problem(408, f"The image did not come within {BODY_S:.0f} seconds.") from None
    if sniff(bytes(data[:HEAD_BYTES])) != _IMAGE_TYPES[stated]:
        raise Problem(422, f"The body is not a file of the type {stated}.")
    return bytes(data)


_BODY = {
    "requestBody": {
        "required": True,
        "description": f"The image, at most {MAX_BYTES >> 20} MB.",
        "content": {name: {"schema": {"type": "string", "format": "binary"}} for name in _IMAGE_TYPES},
    }
}
_BINARY = {"schema": {"type": "string", "format": "binary"}}


def _search_schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(resources.path("schemas/search.json").read_text(encoding="utf-8"))
    del schema["$schema"]
    return schema


_FOUND: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The similar cases.",
        "content": {"application/json": {"schema": _search_schema()}},
    },
    **RESPONSES,
}
_REPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The report. DICOM objects come as multipart/related, ready for STOW-RS.",
        "content": {
            "application/pdf": _BINARY,
            "text/html": {"schema": {"type": "string"}},
            "text/csv": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
            "multipart/related": _BINARY,
        },
    },
    **RESPONSES,
}
_THUMBNAIL: dict[int | str, dict[str, Any]] = {
    200: {"description": "The thumbnail.", "content": {"image/png": _BINARY, "image/jpeg": _BINARY}},
    **RESPONSES,
}
_routes = APIRouter(prefix="/v1", dependencies=[Depends(_check_token), Depends(_admit)], responses=RESPONSES)


@_routes.get("/library")
async def describe_library(request: Request) -> dict[str, Any]:
    """Number of cases, findings, metrics, and the current metric."""
    found: dict[str, Any] = await _service(request).run(request, describe_served_library)
    return found


@_routes.post("/search", responses=_FOUND, response_class=Response, openapi_extra=_BODY)
async def search_with_image(request: Request, options: Annotated[_SearchOptions, Query()]) -> Response:
    """The cases most similar to the image in the body."""
    service = _service(request)
    asked = options.request(service.settings, k=options.k)
    return await _search(request, replace(asked, image=await _image(request)))


@_routes.get("/search", responses=_FOUND, response_class=Response)
async def search_with_case(request: Request, options: Annotated[_SearchOfCase, Query()]) -> Response:
    """The cases most similar to a case of the library."""
    service = _service(request)
    return await _search(request, options.request(service.settings, k=options.k, case=options.case))


@_routes.post("/report", responses=_REPORT, response_class=Response, openapi_extra=_BODY)
async def report_with_image(request: Request, options: Annotated[_ReportOptions, Query()]) -> Response:
    """A report of the search with the image in the body."""
    service = _service(request)
    asked = options.request(service.settings)
    return await _report(request, replace(asked, image=await _image(request)), options)


@_routes.get("/report", responses=_REPORT, response_class=Response)
async def report_with_case(request: Request, options: Annotated[_ReportOfCase, Query()]) -> Response:
    """A report of the search with a case of the library."""
    service = _service(request)
    return await _report(request, options.request(service.settings, case=options.case), options)


@_routes.get("/thumbnail", responses=_THUMBNAIL, response_class=Response)
async def thumbnail_of_case(request: Request, options: Annotated[_ThumbnailOptions, Query()]) -> Response:
    """The small image of a case."""
    service = _service(request)
    _check_identified(service.settings, options.identified)
    data = await service.run(
        request,
        answer_thumbnail,
        options.case,
        service.settings.key,
        identified=options.identified,
        clean_pixels=service.settings.clean_pixels,
    )
    return Response(data, media_type="image/png" if sniff(data[:HEAD_BYTES]) == "PNG" else "image/jpeg")


async def _search(request: Request, asked: SearchRequest) -> Response:
    document = await _service(request).run(request, answer_search, asked)
    # Texts of the program are of a class of their own.
    content = json.dumps(document, ensure_ascii=False, allow_nan=False, default=str)
    return Response(content, media_type="application/json")


async def _report(request: Request, asked: SearchRequest, options: _ReportOptions) -> Response:
    service, size = _service(request), (options.format, options.page)
    files = await service.run(
        request, answer_report, asked, *size, clean_pixels=service.settings.clean_pixels
    )
    suffix, _ = REPORT_FORMATS[options.format]
    if suffix in _MEDIA_TYPES:
        return Response(files[0], media_type=_MEDIA_TYPES[suffix])
    boundary = secrets.token_hex(16)
    parts = [f"--{boundary}\r\nContent-Type: {_DICOM}\r\n\r\n".encode() + file + b"\r\n" for file in files]
    content = b"".join(parts) + f"--{boundary}--\r\n".encode()
    return Response(content, media_type=f'multipart/related; type="{_DICOM}"; boundary={boundary}')
