"""The specification of an experiment, from a JSON file or the options of the command line."""

from __future__ import annotations

import glob
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path, PurePath
from typing import Any, Self

from semblance.core.errors import BadArguments
from semblance.core.evaluation.data_sources import PREFIX
from semblance.core.evaluation.protocols.registry import protocol_class
from semblance.core.evaluation.split_file import attributes_of
from semblance.core.language import tr_lazy
from semblance.core.metrics.registry import declared_learner
from semblance.core.metrics.steps.sequence import parse_steps
from semblance.core.parameters import Parameter, Value, checked
from semblance.core.research.selection import CRITERION, INNER_FOLDS, check_criterion

#: How a grid is used: parameters are chosen inside training parts, or every combination is its own learner.
NESTED, EACH = "nested", "each"
#: Depth of the folders in which files of an experiment are searched.
_MAX_DEPTH = 3
#: An experiment with more cells is refused.
MAX_CELLS = 100_000


@dataclass(frozen=True)
class CasesSpec:
    """Cases of a ``library``'s feature set or of a ``table``; ``test``: train on these, test on those.

    ``findings``, ``max_cases`` and ``splits`` (a file, ``official`` or ``column:NAME``) as in ``evaluate``.
    ``unrelated``: equal patient names of both sides are different patients.
    """

    table: str | None = None
    library: str | None = None
    features: str | None = None
    findings: str = ""
    max_cases: int | None = None
    test: CasesSpec | None = None
    unrelated: bool = False
    splits: str | None = None

    @property
    def name(self) -> str:
        """The name of the table or library, without its folder."""
        path = self.table or self.library or ""
        if not path.startswith(PREFIX):
            path = PurePath(path).name
            for ending in (".csv", ".parquet", ".semblance"):
                path = path.removesuffix(ending)
        name = f"{path}:{self.features}" if self.features else path
        return f"{name} → {self.test.name}" if self.test else name

    def files(self) -> list[str]:
        """The paths of the tables and libraries, including those for testing."""
        path = self.table or self.library or ""
        own = [] if path.startswith(PREFIX) else [path]
        given = [self.splits] if self.splits and not attributes_of(self.splits) else []
        return [*own, *given, *(self.test.files() if self.test else [])]

    def with_files(self, files_now: Mapping[str, str]) -> CasesSpec:
        """The same with other paths, from ``files_now``."""
        return replace(
            self,
            table=files_now.get(self.table, self.table) if self.table else None,
            library=files_now.get(self.library, self.library) if self.library else None,
            splits=files_now.get(self.splits, self.splits) if self.splits else None,
            test=self.test.with_files(files_now) if self.test else None,
        )

    def to_json(self) -> dict[str, Any]:
        """The values that :meth:`from_json` reads, without those that are not set."""
        values = {key: value for key, value in vars(self).items() if value not in (None, "", False)}
        return {**values, "test": self.test.to_json()} if self.test else values

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """From a mapping, or from only the path of a CSV file.

        Raises:
            BadArguments: unknown keys or values.
        """
        if isinstance(values, str):
            values = {"table": values}
        _check_keys(values, cls, tr_lazy("the cases"))
        test_values = values.get("test")
        test = None if test_values is None else CasesSpec.from_json(test_values)
        if test is not None and test.test is not None:
            raise BadArguments("Cases to test on cannot be tested on others.", "Leave out the inner 'test'.")
        spec = cls(**{**values, "test": test})
        for key, kind in _CASES_TYPES.items():
            value = getattr(spec, key)
            if value is not None and (
                not isinstance(value, kind) or (kind is int and isinstance(value, bool))
            ):
                raise BadArguments(
                    tr_lazy("'{key}' of the cases cannot be {value}.", key=key, value=repr(value)), _SHAPE
                )
        if (spec.table is None) == (spec.library is None):
            raise BadArguments("Cases are of a table or of a library.", _SHAPE)
        if spec.splits and (spec.test is not None):
            raise BadArguments(
                "Cases that are tested on others are not split.", "Leave 'splits' or 'test' out."
            )
        return spec


_CASES_TYPES: dict[str, type] = {
    "table": str, "library": str, "features": str, "findings": str, "max_cases": int, "unrelated": bool,
    "splits": str,
}  # fmt: skip
_SHAPE = (
    'Write {"table": "wine.csv"} or {"library": "breasts.semblance", "features": "gabor"}; '
    "the help page 'Experiments' lists all keys."
)


@dataclass(frozen=True)
class LearnerChoice:
    """A learner with the parameters that differ from the defaults, and a ``grid`` of values to choose from.

    ``select``: ``nested`` chooses them inside each training part, ``each`` measures every combination.
    """

    learner: str
    params: Mapping[str, Value] = field(default_factory=dict)
    grid: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    select: str = NESTED

    @property
    def label(self) -> str:
        """The name with the parameters that differ from the defaults."""
        texts = [f"{name}={_text(value)}" for name, value in self.params.items()]
        texts += [f"{name}={'|'.join(map(_text, values))}" for name, values in self.grid.items()]
        return f"{self.learner} ({', '.join(texts)})" if texts else self.learner

    @property
    def combinations(self) -> list[dict[str, Value]]:
        """The parameters of every point of the grid; one point without a grid."""
        names = list(self.grid)
        return [
            {**self.params, **dict(zip(names, values, strict=True))}
            for values in itertools.product(*self.grid.values())
        ]

    def variants(self) -> list[LearnerChoice]:
        """Itself; with ``each`` a learner for every combination."""
        if self.select == NESTED or not self.grid:
            return [self]
        return [LearnerChoice(self.learner, params) for params in self.combinations]

    def to_json(self) -> dict[str, Any]:
        """The values that :meth:`from_json` reads, without those that are not set."""
        out: dict[str, Any] = {"learner": self.learner}
        if self.params:
            out["params"] = dict(self.params)
        if self.grid:
            out |= {"grid": {name: list(values) for name, values in self.grid.items()}, "select": self.select}
        return out

    @classmethod
    def from_json(cls, values: Any, baselines: Sequence[str] = ()) -> Self:
        """From a mapping, or from only a learner's name; ``baselines`` are names without parameters.

        Raises:
            BadArguments: unknown keys, names or values.
        """
        if isinstance(values, str):
            values = {"learner": values}
        _check_keys(values, cls, tr_lazy("a learner"))
        name = values.get("learner")
        if not isinstance(name, str):
            raise BadArguments("A learner has no name.", 'Write {"learner": "bdm"}.')
        known = () if name in baselines else declared_learner(name).parameters
        params, grid = values.get("params", {}), values.get("grid", {})
        if not isinstance(params, Mapping) or not isinstance(grid, Mapping):
            raise BadArguments(
                tr_lazy("The parameters of {name} are no table.", name=name), 'Write {"rounds": 50}.'
            )
        checked(name, known, params)
        if any(not isinstance(choices, list | tuple) or not choices for choices in grid.values()):
            raise BadArguments(
                tr_lazy("The grid of {name} needs lists.", name=name), 'Write {"rounds": [50, 100]}.'
            )
        for key, choices in grid.items():
            for value in choices:
                checked(name, known, {key: value})
        in_both = sorted(set(params) & set(grid))
        if in_both:
            raise BadArguments(
                tr_lazy("'{both}' of {name} is set and chosen.", both=in_both[0], name=name),
                "Name it in params or in grid, not in both.",
            )
        select = values.get("select", NESTED)
        if select not in (NESTED, EACH):
            raise BadArguments(
                tr_lazy("'select' cannot be {select}.", select=repr(select)),
                tr_lazy("Use {nested} or {each}.", nested=NESTED, each=EACH),
            )
        parameters: dict[str, Parameter] = {parameter.name: parameter for parameter in known}
        return cls(
            name,
            {key: parameters[key].check(value) for key, value in params.items()},
            {key: tuple(parameters[key].check(value) for value in choices) for key, choices in grid.items()},
            select,
        )


@dataclass(frozen=True)
class ProtocolChoice:
    """A protocol, its settings, and the number of repeats (``None``: the default)."""

    protocol: str
    settings: Mapping[str, Value] = field(default_factory=dict)
    repeats: int | None = None

    @property
    def label(self) -> str:
        """The name, with the settings in brackets."""
        texts = ", ".join(f"{name}={_text(value)}" for name, value in self.settings.items())
        return f"{self.protocol} ({texts})" if texts else self.protocol

    @property
    def n_repeats(self) -> int:
        """The number of repeats, by default that of the protocol."""
        return self.repeats or protocol_class(self.protocol).repeats

    def to_json(self) -> dict[str, Any]:
        """The values that :meth:`from_json` reads, without those that are not set."""
        values = {key: value for key, value in vars(self).items() if value}
        return {**values, "settings": dict(self.settings)} if self.settings else values

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """From a mapping, or from only a protocol's name.

        Raises:
            BadArguments: unknown keys, names or values.
        """
        if isinstance(values, str):
            values = {"protocol": values}
        _check_keys(values, cls, tr_lazy("a protocol"))
        if "protocol" not in values:
            raise BadArguments("A protocol has no name.", 'Write {"protocol": "full"}.')
        chosen = protocol_class(str(values["protocol"]))
        repeats = values.get("repeats")
        if repeats is not None and (not isinstance(repeats, int) or isinstance(repeats, bool) or repeats < 1):
            raise BadArguments("There must be at least one repeat.", "Give a whole number from 1.")
        settings = values.get("settings", {})
        full = checked(tr_lazy("The protocol {chosen}", chosen=chosen.name), chosen.parameters, settings)
        return cls(chosen.name, {name: full[name] for name in settings}, repeats)


@dataclass(frozen=True)
class ExperimentSpec:
    """Everything that determines the numbers: cases x ``steps`` x learners x protocols, and the seed.

    ``steps`` as in ``evaluate``, "" for the default steps of the cases. ``select_by``: the score by which grids
    are chosen inside training parts, in ``inner_folds`` folds. ``per_query``: keep what each query found, for
    the export; it changes no number.
    """

    cases: tuple[CasesSpec, ...]
    learners: tuple[LearnerChoice, ...]
    protocols: tuple[ProtocolChoice, ...]
    steps: tuple[str, ...] = ("",)
    seed: int = 0
    select_by: str = CRITERION
    inner_folds: int = INNER_FOLDS
    name: str = "experiment"
    per_query: bool = True

    def variants(self) -> list[LearnerChoice]:
        """All learners that are measured, with every combination of grids with ``each``."""
        return [variant for choice in self.learners for variant in choice.variants()]

    @property
    def n_cells(self) -> int:
        """Number of cells: cases x steps x learners x repeats of every protocol."""
        repeats = sum(self.n_repeats(choice, one) for choice in self.protocols for one in self.cases)
        return len(self.steps) * len(self.variants()) * repeats

    @staticmethod
    def n_repeats(protocol: ProtocolChoice, cases: CasesSpec) -> int:
        """The number of cells of a learner on these cases: all splits that are given are one."""
        return 1 if cases.splits else protocol.n_repeats

    def located(self, folder: Path) -> ExperimentSpec:
        """The same with relative files found in ``folder`` or in its subfolders."""
        files = {file for one in self.cases for file in one.files()}
        files_now = {file: str(_find_file(folder, file)) for file in files if not Path(file).is_absolute()}
        return replace(self, cases=tuple(one.with_files(files_now) for one in self.cases))

    def to_json(self) -> dict[str, Any]:
        """The values that :meth:`from_json` reads."""
        return {
            "name": self.name,
            "cases": [one.to_json() for one in self.cases],
            "steps": list(self.steps),
            "learners": [one.to_json() for one in self.learners],
            "protocols": [one.to_json() for one in self.protocols],
            "seed": self.seed,
            "select_by": self.select_by,
            "inner_folds": self.inner_folds,
            **({} if self.per_query else {"per_query": False}),
        }

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """
        Raises:
            BadArguments: an unknown key, name or value, or too many cells; the message names it.
        """
        _check_keys(values, cls, tr_lazy("the experiment"))
        for key in ("cases", "learners", "protocols"):
            if not isinstance(values.get(key), list) or not values[key]:
                raise BadArguments(
                    tr_lazy("The experiment names no {key}.", key=key),
                    tr_lazy('Give "{key}" a list.', key=key),
                )
        protocols = tuple(ProtocolChoice.from_json(one) for one in values["protocols"])
        baselines = {name for one in protocols for name in protocol_class(one.protocol).baselines}
        steps = values.get("steps", [""])
        if not isinstance(steps, list) or not steps or not all(isinstance(text, str) for text in steps):
            raise BadArguments(
                "The steps are no list of texts.", 'Write ["standardise", "standardise,pca:20"].'
            )
        for text in steps:
            parse_steps(text)
        spec = cls(
            cases=tuple(CasesSpec.from_json(one) for one in values["cases"]),
            learners=tuple(LearnerChoice.from_json(one, sorted(baselines)) for one in values["learners"]),
            protocols=protocols,
            steps=tuple(steps),
            seed=_whole_number(values, "seed", 0, 0),
            select_by=check_criterion(values.get("select_by", CRITERION)),
            inner_folds=_whole_number(values, "inner_folds", INNER_FOLDS, 2),
            name=str(values.get("name", "experiment")),
            per_query=_truth(values, "per_query"),
        )
        spec._check()
        return spec

    def _check(self) -> None:
        for what, labels in (
            ("cases", [one.to_json() for one in self.cases]),
            ("learner", [one.label for one in self.variants()]),
            ("protocol", [one.label for one in self.protocols]),
            ("steps", list(self.steps)),
        ):
            for place, one in enumerate(labels):
                if one in labels[:place]:
                    label = one if isinstance(one, str) else self.cases[place].name
                    raise BadArguments(
                        tr_lazy("The {what} '{label}' is in the experiment twice.", what=what, label=label),
                        "Name each once.",
                    )
        for protocol in self.protocols if any(one.splits for one in self.cases) else ():
            protocol_class(protocol.protocol)(**protocol.settings).check_splits()
            if protocol.repeats is not None:
                raise BadArguments(
                    "The splits say how many repeats there are.", "Leave the number of repeats out."
                )
        if self.n_cells > MAX_CELLS:
            raise BadArguments(
                tr_lazy("The experiment has {n_cells} cells.", n_cells=self.n_cells),
                tr_lazy("Keep it below {most_cells}: make the grid smaller.", most_cells=MAX_CELLS),
            )


def _find_file(folder: Path, file: str) -> Path:
    """``file`` in ``folder``, or in the subfolder of the smallest depth if it is unique there."""
    if not (folder / file).exists():
        for depth in range(1, _MAX_DEPTH + 1):
            matches = list(folder.glob("*/" * depth + glob.escape(file)))
            if matches:
                return matches[0] if len(matches) == 1 else folder / file
    return folder / file


def _check_keys(values: Any, kind: Any, what: str) -> None:
    if not isinstance(values, Mapping):
        raise BadArguments(
            tr_lazy("No table of keys and values is given for {what}.", what=what), "See the help page."
        )
    known = [one.name for one in fields(kind)]
    unknown = next((key for key in values if key not in known), None)
    if unknown is not None:
        raise BadArguments(
            tr_lazy("'{unknown}' is not a key of {what}.", unknown=unknown, what=what),
            tr_lazy("Keys: {known}.", known=", ".join(known)),
        )


def _whole_number(values: Mapping[str, Any], key: str, default: int, minimum: int) -> int:
    value = values.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise BadArguments(
            tr_lazy("'{key}' cannot be {value}.", key=key, value=repr(value)),
            tr_lazy("Give a whole number from {least}.", least=minimum),
        )
    return value


def _truth(values: Mapping[str, Any], key: str) -> bool:
    value = values.get(key, True)
    if not isinstance(value, bool):
        raise BadArguments(
            tr_lazy("'{key}' cannot be {value}.", key=key, value=repr(value)), "Give true or false."
        )
    return value


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
