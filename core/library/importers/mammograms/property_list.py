"""Property lists (XML) of strangers: no entities, no document type of their own, nothing fetched."""

from __future__ import annotations

import plistlib
import xml.parsers.expat
from typing import Any

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.limits import max_text_bytes, size_text

_DEEPEST = 100
_COPY = tr_lazy("Copy it from its source again, or leave it out.")


def read_property_list(data: bytes, name: str) -> Any:
    """The value in an XML property list.

    The one document type allowed is Apple's, by name only: what it points to is not fetched.

    Raises:
        BadInput: too large, no XML, damaged, declaring entities or a document type inside, or nested deeply.
    """
    if len(data) > max_text_bytes():
        raise BadInput(
            tr_lazy(
                "'{name}' has {n}; the limit is {longest}.",
                name=name,
                n=size_text(len(data)),
                longest=size_text(max_text_bytes()),
            ),
            _COPY,
        )
    _check(data, name)
    try:
        return plistlib.loads(data, fmt=plistlib.FMT_XML)
    except Exception:  # noqa: BLE001 - plistlib lets whatever a damaged value raises through
        raise BadInput(tr_lazy("'{name}' is not a readable property list.", name=name), _COPY) from None


def _check(data: bytes, name: str) -> None:
    depth = 0

    def refuse(what: str) -> None:
        raise BadInput(
            tr_lazy("'{name}' is refused: {what}.", name=name, what=what),
            "Outlines do not need this. Ask the author of the file.",
        )

    def doctype(_type: str, _system: str | None, _public: str | None, has_subset: int) -> None:
        if has_subset:
            refuse(tr_lazy("it declares a document type of its own"))

    def entity(*_declared: Any) -> None:
        refuse(tr_lazy("it declares entities"))

    def start(_tag: str, _attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            refuse(tr_lazy("it is nested more than {deepest} deep", deepest=_DEEPEST))

    def end(_tag: str) -> None:
        nonlocal depth
        depth -= 1

    parser = xml.parsers.expat.ParserCreate()
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = entity
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(data, True)
    except (LookupError, ValueError):
        raise BadInput(tr_lazy("'{name}' is written in an unknown encoding.", name=name), _COPY) from None
    except xml.parsers.expat.ExpatError as error:
        raise BadInput(tr_lazy("'{name}' is damaged XML: {error}.", name=name, error=error), _COPY) from None
