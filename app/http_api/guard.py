"""What keeps strangers out of the HTTP interface and limits requests, and how failures are answered."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, MutableMapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semblance.core.engine import WorkerEnded
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.log import describe_failure, logger
from semblance.core.network.connection_limits import is_loopback
from semblance.core.workflows.network.answer_requests import UnknownCase

MEDIA_TYPE = "application/problem+json"
SCHEMA = {
    "type": "object",
    "description": "Why there is no answer, and what to do.",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
    "required": ["title", "status", "detail"],
}
#: For the description of each route.
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": SCHEMA}}}
    for status in (400, 401, 403, 404, 408, 413, 415, 421, 422, 503)
}
#: Errors whose cause is not the request.
_OWN_FAULTS = (500, 503)

#: Bytes of the head of a request.
MAX_HEAD_BYTES = 16 << 10
#: Headers of every answer. It is for the program that asked, and no page that a browser may build on.
SAFE_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
#: A host in the header Host, and its port (RFC 9110, 7.2).
_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{0,5})?")


class Problem(HTTPException):
    """A request that is refused: HTTP ``status_code`` and a ``detail`` of whole sentences."""


def problem_response(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The response that describes an error."""
    document = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JSONResponse(document, status, headers, MEDIA_TYPE)


def add_handlers(application: FastAPI) -> None:
    """Answer every error of ``application`` as a problem."""
    application.add_exception_handler(HTTPException, _refused)
    application.add_exception_handler(RequestValidationError, _invalid)
    application.add_exception_handler(SemblanceError, _failed)
    application.add_exception_handler(ClientDisconnect, _left)
    application.add_exception_handler(Exception, _defect)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    detail = error.detail
    if not isinstance(error, Problem):
        detail = f"{request.method} {request.url.path} is not a request that Semblance answers. See /docs."
    return problem_response(error.status_code, detail, dict(error.headers or {}))


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    details = [f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}." for one in error.errors()]
    return problem_response(422, f"A parameter is not valid. {' '.join(details)}")


async def _left(_: Request, __: Exception) -> JSONResponse:
    return problem_response(400, "The client left before the answer.")


async def _failed(_: Request, error: Exception) -> JSONResponse:
    if isinstance(error, UnknownCase):
        status = 404
    elif isinstance(error, BadArguments):
        status = 400
    elif isinstance(error, BadInput):
        status = 422
    else:
        status = 503 if isinstance(error, WorkerEnded) else 500
    if status in _OWN_FAULTS:
        logger.error("a request failed: %s", describe_failure(error))
    return problem_response(status, str(error))


async def _defect(_: Request, error: Exception) -> JSONResponse:
    logger.error("a request failed: %s", describe_failure(error))
    return problem_response(500, f"A defect in Semblance ({type(error).__name__}). The log has details.")


class Guard:
    """Refuses requests that do not name this server as their host, since a page from elsewhere whose name points here
    (DNS rebinding) could read the answers, and those whose length is not certain (request smuggling).

    ``names`` are hosts under which clients may ask, beside this computer's loopback names and the address they reached.
    """

    def __init__(self, application: ASGIApp, names: Collection[str] = ()) -> None:
        self._application = application
        self._names = {_plain(name) for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        started = False

        async def send_safely(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if (refused := self._refusal(scope)) is not None:
            await refused(scope, receive, send_safely)
            return
        try:
            await self._application(scope, receive, send_safely)
        except Exception as error:  # noqa: BLE001 - uvicorn would print it with what is in it
            if not started:
                logger.error("a request failed: %s", describe_failure(error))
                await problem_response(500, "A defect in Semblance. The log has details.")(
                    scope, receive, send_safely
                )

    def _refusal(self, scope: MutableMapping[str, Any]) -> Response | None:
        """The answer if the request is refused. An address in its target replaces the header Host."""
        headers = Headers(scope=scope)
        if not scope["http_version"].startswith("1."):
            return problem_response(505, "Use HTTP/1.1.", {"Connection": "close"})
        if "transfer-encoding" in headers and ("content-length" in headers or scope["http_version"] != "1.1"):
            return problem_response(
                400,
                "The length of the body is not certain. Send either Content-Length or Transfer-Encoding.",
                {"Connection": "close"},
            )
        if sum(map(len, (scope["raw_path"], scope["query_string"], *sum(headers.raw, ())))) > MAX_HEAD_BYTES:
            # uvicorn bounds what has not come as a whole.
            return problem_response(431, f"The head of the request is larger than {MAX_HEAD_BYTES >> 10} kB.")
        host = headers.get("host", "")
        target = scope["raw_path"].decode("ascii")
        if not target.startswith("/"):
            try:
                parts = urlsplit(target)
            except ValueError:
                parts = urlsplit("")
            if parts.scheme.lower() not in ("http", "https") or not parts.netloc:
                return problem_response(
                    400, "The target of the request is no path. Send one that begins with /."
                )
            host = parts.netloc
            at = len(parts.scheme) + len("://") + len(host)
            scope["raw_path"] = (target[at:] or "/").encode("ascii")
            scope["path"] = scope["path"][at:] or "/"
            scope["headers"] = [(k, v) for k, v in scope["headers"] if k != b"host"]
            scope["headers"].append((b"host", host.encode("ascii")))
        if not self._is_own(host, scope.get("server")):
            return problem_response(
                421,
                "The header Host does not name this server. Ask at the address that it printed, or start it with "
                "--allow-host and this name.",
            )
        return None

    def _is_own(self, host: str, server: tuple[str, int | None] | None) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = _plain(found["host"])
        if name in self._names or is_loopback(name):
            return True
        # An address cannot be made to point elsewhere, so the one that the client reached is right.
        return server is not None and name == _plain(server[0])


def _plain(host: str) -> str:
    """``host`` in the one form that is compared."""
    name = host.strip("[]").lower().removesuffix(".")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name
    return str(getattr(address, "ipv4_mapped", None) or address)
