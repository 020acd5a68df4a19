"""Parameters of learners and extractors, with their descriptions for the command line, window and help pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from semblance.core.errors import BadArguments
from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.language import tr_lazy

Value = bool | int | float | str | None


@dataclass(frozen=True)
class Parameter(JsonDocument):
    """One parameter of a learner or extractor.

    ``meaning`` is one plain sentence; ``paper`` the value the paper used, where it says one. ``minimum`` and
    ``maximum`` are inclusive. ``choices`` lists the values of a text parameter. ``file``: a text parameter is the
    path of a required file with this pattern (``*.onnx``). ``added_later``: feature sets were made before there was
    this parameter of an extractor; where it has its default, settings leave it out, so that theirs are the same.
    """

    JSON_KEYS: ClassVar[JsonKeys] = ("name", "meaning", "default", "minimum", "maximum", "choices", "paper")

    name: str
    default: Value
    meaning: str
    label: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    paper: Value = None
    file: str = ""
    added_later: bool = False

    @property
    def title(self) -> str:
        """The name shown for the parameter: its label, or its name in sentence case."""
        return self.label or self.name.replace("_", " ").capitalize()

    def check(self, value: Value) -> Value:
        """``value`` if it is allowed, made the type of the default.

        Raises:
            BadArguments: wrong type, outside the range or not among the choices.
        """
        expected = type(self.default)
        if expected is bool:
            if not isinstance(value, bool):
                raise self._refusal(value, tr_lazy("true or false"))
        elif expected is int:
            if isinstance(value, bool) or not isinstance(value, int | float) or value % 1 != 0:
                raise self._refusal(value, tr_lazy("a whole number"))
            value = int(value)
        elif expected is float:
            if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
                raise self._refusal(value, tr_lazy("a number"))
            value = float(value)
        elif expected is str and not isinstance(value, str):
            raise self._refusal(value, tr_lazy("a word"))
        if self.choices and value not in self.choices:
            raise self._refusal(value, tr_lazy("one of {choices}", choices=", ".join(self.choices)))
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self.minimum is not None and value < self.minimum:
                raise self._refusal(value, tr_lazy("at least {minimum:g}", minimum=self.minimum))
            if self.maximum is not None and value > self.maximum:
                raise self._refusal(value, tr_lazy("at most {maximum:g}", maximum=self.maximum))
        return value

    def parse(self, text: str) -> Value:
        """The value written as ``text`` on the command line.

        Raises:
            BadArguments: the text is not a value of this parameter.
        """
        value: Value = text
        if isinstance(self.default, bool):
            accepted = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
            if text.lower() not in accepted:
                raise self._refusal(text, tr_lazy("true or false"))
            value = accepted[text.lower()]
        elif isinstance(self.default, int | float):
            try:
                value = float(text)
            except ValueError:
                raise self._refusal(text, tr_lazy("a number")) from None
        return self.check(value)

    def _refusal(self, value: object, expected: str) -> BadArguments:
        return BadArguments(
            tr_lazy("'{name}' cannot be {value}.", name=self.name, value=repr(value)),
            tr_lazy("It must be {expected}.", expected=expected),
        )


def checked(owner: str, parameters: tuple[Parameter, ...], given: Mapping[str, Value]) -> dict[str, Value]:
    """The full, checked set of values: defaults, then ``given``.

    Raises:
        BadArguments: an unknown name or a refused value; the message names ``owner``.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            names = ", ".join(known) or "none"
            raise BadArguments(
                tr_lazy("{owner} has no parameter '{name}'.", owner=owner, name=name),
                tr_lazy("Its parameters: {names}.", names=names),
            )
    return {name: parameter.check(given.get(name, parameter.default)) for name, parameter in known.items()}


def parse_settings(owner: str, parameters: tuple[Parameter, ...], texts: list[str]) -> dict[str, Value]:
    """From ``key=value`` texts of the command line.

    Raises:
        BadArguments: a text without ``=``, an unknown key or a refused value.
    """
    known = {parameter.name: parameter for parameter in parameters}
    values: dict[str, Value] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or key not in known:
            names = ", ".join(known) or "none"
            raise BadArguments(
                tr_lazy("'{value}' is not a setting of {owner}.", value=text, owner=owner),
                tr_lazy("Write key=value; its parameters: {names}.", names=names),
            )
        values[key] = known[key].parse(value)
    return values
