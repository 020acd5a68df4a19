"""An experiment from the options of the command line, or the choices of the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.evaluation.data_sources import PREFIX
from semblance.core.evaluation.protocols.registry import protocol_class
from semblance.core.evaluation.split_file import attributes_of
from semblance.core.language import tr_lazy
from semblance.core.metrics.registry import declared_learner
from semblance.core.parameters import Parameter, Value, parse_settings
from semblance.core.research.selection import CRITERION
from semblance.core.research.spec import NESTED, ExperimentSpec
from semblance.core.workflows.evaluation.evaluate_learners import PROTOCOL, settings_by_name

#: Separates the alternative values of a parameter.
OR = "|"


@dataclass(frozen=True)
class ExperimentOptions:
    """As written on the command line; ``settings`` are texts ``NAME.key=value`` or ``NAME.key=value|value``.

    ``libraries`` are ``LIB`` or ``LIB:FEATURES``; ``train_on`` and ``test_on`` either kind.
    """

    tables: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    train_on: str | None = None
    test_on: tuple[str, ...] = ()
    unrelated: bool = False
    learners: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    select: str = NESTED
    select_by: str = CRITERION
    protocols: tuple[str, ...] = ("full",)
    steps: tuple[str, ...] = ("",)
    findings: str = ""
    max_cases: int | None = None
    repeats: int | None = None
    seed: int = 0
    name: str = "experiment"
    splits: str | None = None
    per_query: bool = True

    @property
    def cases(self) -> bool:
        """Whether any cases are named."""
        return bool(self.tables or self.libraries or self.train_on or self.test_on)


def experiment_spec(options: ExperimentOptions) -> ExperimentSpec:
    """The experiment that the options describe; files by absolute paths.

    Raises:
        BadArguments: nothing to measure, or unknown names, settings or values.
    """
    if not options.cases:
        raise BadArguments(
            "Specify what to measure on.", "Give --table, --library, or --train-on and --test-on."
        )
    if not options.learners:
        raise BadArguments("No learner is named.", "Use --learner euclidean,bdm_v, for example.")
    if (options.train_on is None) != (not options.test_on):
        raise BadArguments("Only one side of 'train on, test on' is named.", "Give --train-on and --test-on.")
    own = settings_by_name(options.learners, options.settings)
    baselines = {name for one in options.protocols for name in protocol_class(one).baselines}
    learners: list[dict[str, Any]] = []
    for name in options.learners:
        known = () if name in baselines else declared_learner(name).parameters
        params, grid = _values(name, known, own[name])
        learners.append({"learner": name, "params": params, "grid": grid, "select": options.select})
    protocols: list[dict[str, Any]] = []
    for name in options.protocols:
        known = protocol_class(name).parameters
        texts = [text for text in own[PROTOCOL] if text.partition("=")[0] in {one.name for one in known}]
        protocols.append(
            {
                "protocol": name,
                "settings": parse_settings(PROTOCOL, known, texts),
                **({"repeats": options.repeats} if options.repeats is not None else {}),
            }
        )
    _check_settings(own[PROTOCOL], options.protocols)
    return ExperimentSpec.from_json(
        {
            "name": options.name,
            "cases": _cases(options),
            "steps": list(options.steps),
            "learners": learners,
            "protocols": protocols,
            "seed": options.seed,
            "select_by": options.select_by,
            "per_query": options.per_query,
        }
    )


def _values(
    name: str, known: tuple[Parameter, ...], texts: Sequence[str]
) -> tuple[dict[str, Value], dict[str, list[Value]]]:
    """Parameters with one value, and those with several alternatives."""
    params: dict[str, Value] = {}
    grid: dict[str, list[Value]] = {}
    for text in texts:
        key, _, value = text.partition("=")
        if OR not in value:
            params |= parse_settings(name, known, [text])
            continue
        grid[key] = [
            next(iter(parse_settings(name, known, [f"{key}={one.strip()}"]).values()))
            for one in value.split(OR)
        ]
    return params, grid


def _check_settings(texts: Sequence[str], protocols: Sequence[str]) -> None:
    known = {one.name for name in protocols for one in protocol_class(name).parameters}
    for text in texts:
        if text.partition("=")[0] not in known:
            raise BadArguments(
                tr_lazy("'{value}' is not a setting of a protocol measured by.", value=text),
                tr_lazy("Their settings: {known}.", known=", ".join(sorted(known)) or "none"),
            )


def _cases(options: ExperimentOptions) -> list[dict[str, Any]]:
    splits = options.splits
    if splits and not attributes_of(splits):
        if len(options.tables) + len(options.libraries) > 1:
            raise BadArguments(
                "A file of splits is of one table or library.",
                "Name one, or the splits by a column: --splits column:NAME.",
            )
        splits = str(Path(splits).absolute())
    common: dict[str, Any] = {"findings": options.findings, "max_cases": options.max_cases}
    if splits:
        common["splits"] = splits
    found = [{**_table(table), **common} for table in options.tables]
    found += [{**_library(library), **common} for library in options.libraries]
    for tested in options.test_on:
        test = {**_either(tested), **{key: value for key, value in common.items() if key != "splits"}}
        found.append(
            {**_either(options.train_on or ""), **common, "test": test, "unrelated": options.unrelated}
        )
    return found


def _either(text: str) -> dict[str, Any]:
    """A library where there is a folder, else a table."""
    library = _library(text)
    return library if Path(library["library"]).is_dir() else _table(text)


def _table(text: str) -> dict[str, Any]:
    return {"table": text if text.startswith(PREFIX) else str(Path(text).absolute())}


def _library(text: str) -> dict[str, Any]:
    path, colon, features = text.rpartition(":")
    if colon and path and not Path(text).is_dir() and Path(path).is_dir():
        return {"library": str(Path(path).absolute()), "features": features}
    return {"library": str(Path(text).absolute())}
