"""Errors of the HTTP interface as ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from semblance.core.engine import WorkerEnded
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.log import describe_failure, logger
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
