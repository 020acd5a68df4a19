"""A library of cases, opened from Python."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from semblance.metric import Metric

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.figure import Figure

    from semblance.core.imaging.region import Region
    from semblance.core.library.location import LibraryLocation
    from semblance.core.parameters import Value
    from semblance.core.reports.plot import ThemeName
    from semblance.core.searches.query import Query
    from semblance.core.tasks import Reporter
    from semblance.features import Features
    from semblance.ranking import RankedResult, Ranking
    from semblance.scores import Scores

    #: The id of a case, the path of an image file, an array or PIL image, or a vector (d,) of features.
    QueryLike = Any
    #: Left, top, width and height in pixels.
    RegionLike = Region | Sequence[int] | str | None
    #: A file, a data frame, a mapping from case ids to parts, a sequence of parts, "official" or "column:NAME".
    SplitsLike = Any
    MarkLike = str | RankedResult | Iterable[str | RankedResult]


def open_library(location: str | Path, *, progress: bool = True) -> Library:
    """Open a library in a folder, or on a server at ``postgresql://HOST/DATABASE``.

    ``progress``: show the progress of long work on stderr, in terminals and notebooks.

    >>> import semblance as sb
    >>> lib = sb.open_library("breast.semblance")  # doctest: +SKIP

    Raises:
        BadInput: there is no library, or it is damaged or of a newer program; the message says what to do.
    """
    library = Library(_location(location), progress=progress)
    library._check()
    return library


def create_library(
    location: str | Path,
    source: str | Path | None = None,
    *,
    kind: str = "auto",
    settings: Mapping[str, Any] | None = None,
    identified: bool = False,
    extract: bool = True,
    prepare: bool = False,
    progress: bool = True,
) -> Library:
    """Make a library, import ``source`` into it and extract the default features, so that it can be searched.

    ``source`` is a folder, a .zip file or a table; see :meth:`Library.add_cases`, which takes the other arguments. A
    library that exists is opened, and what is new in ``source`` is added: the same call can be run again.

    >>> import semblance as sb
    >>> lib = sb.create_library("breast.semblance", source="images/")  # doctest: +SKIP

    Raises:
        BadInput: no such source, or nothing in it can be used; the message says why.
        SemblanceError: the library cannot be written.
    """
    from semblance.core.library.open_library import open_or_create_library

    library = Library(_location(location), progress=progress)
    if source is None:
        open_or_create_library(library.location).close()
    else:
        library.add_cases(
            source, kind=kind, settings=settings, identified=identified, extract=extract, prepare=prepare
        )
    return library


class Library:
    """The cases of a library with their feature sets and metrics.

    It reads the library anew for each call, so it shows what the window and other programs change meanwhile. Metrics
    stay loaded between searches. Use it in ``with``, or call :meth:`close`, to free them. Calls from several threads
    wait for each other.
    """

    def __init__(self, location: LibraryLocation, *, progress: bool = True) -> None:
        """Use :func:`open_library` or :func:`create_library`, which also check the library."""
        self._place, self._progress = location, progress
        self._is_closed = False
        #: The state of the library at which its current metric was read, and the name of that.
        self._current: tuple[Any, str] | None = None
        #: What the last :meth:`add_cases` of this object did with every file, as ``semblance import --json`` prints it:
        #: ``added``, ``unchanged``, ``failed`` and ``ignored`` with paths and reasons; ``None`` before.
        self.imported: dict[str, Any] | None = None

    # The library

    @property
    def location(self) -> LibraryLocation:
        """The folder, or the address of the server.

        Raises:
            SemblanceError: the library was closed.
        """
        from semblance.core.errors import SemblanceError
        from semblance.core.language import tr_lazy

        if self._is_closed:
            raise SemblanceError(
                tr_lazy("The library {name} was closed.", name=self._place.name),
                "Open it again with open_library.",
            )
        return self._place

    @property
    def name(self) -> str:
        """What people call it: its folder without the ending, or the database."""
        from semblance.core.library.location import library_name

        return library_name(self._place)

    def close(self) -> None:
        """Free what was loaded for searches. The object cannot be used any more."""
        from semblance.core.workflows.library.close_library import close_library

        if not self._is_closed:
            self._is_closed = True
            close_library(self._place)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return int(self.info()["cases"])

    def info(self) -> dict[str, Any]:
        """Counts of cases, patients and findings, and the names of feature sets, metrics and saved searches, as
        ``semblance info --json`` prints them, without the case ids."""
        from semblance.core.library.open_library import open_library as opened_library

        with opened_library(self.location) as opened:
            return opened.summary()

    @property
    def findings(self) -> dict[str, int]:
        """Finding -> its number of cases."""
        return dict(self.info()["findings"])

    @property
    def cases(self) -> Any:
        """A data frame with a row for each case: case_id, finding, patient, path, kind, width, height, slices, sealed,
        then what headers and tables say, such as age and sex.

        Sizes are in pixels. ``path`` is the image file, "" for the row of a table; ``slices`` is the number of slices
        of a volume; ``sealed`` says whether the case is in the sealed test vault. Unless the source was imported with
        its ids, patients are pseudonyms. It is a pandas data frame where pandas is installed, else
        :class:`semblance.frame.Columns`.

        >>> lib.cases["finding"].value_counts()  # doctest: +SKIP
        """
        from semblance.core.workflows.library.describe_library import list_cases
        from semblance.frame import data_frame

        return data_frame(self._run(list_cases))

    def add_cases(
        self,
        source: str | Path,
        *,
        kind: str = "auto",
        settings: Mapping[str, Any] | None = None,
        identified: bool = False,
        extract: bool = True,
        prepare: bool = False,
    ) -> dict[str, Any]:
        """Import a folder, a .zip file or a table, and extract the default features of the new cases.

        ``kind``: the kind of source, where it is not recognised (``semblance kinds`` lists them). ``settings``: how a
        table is written, such as ``{"finding": "diagnosis", "delimiter": ";"}``. ``identified`` keeps patient ids,
        dates and folders instead of replacing them by codes. Without ``extract`` nothing is measured. Afterwards the
        library has a current metric, the Euclidean distance, unless it had one. With ``prepare`` a learner is chosen by
        validation and becomes current if held-out patients confirm that it is better, as ``semblance import --prepare``
        does.

        Returns what was done with every file (see :attr:`imported`), and warns of files that could not be read.
        Importing again adds only what is new.

        Raises:
            BadInput: no such source, or of no known kind.
            BadArguments: an unknown kind or setting.
            SemblanceError: nothing in the source can be used, or the library cannot be written.
        """
        from semblance.core.errors import SemblanceError
        from semblance.core.language import tr_lazy
        from semblance.core.workflows.library.import_and_prepare import PreparedImport, import_and_prepare
        from semblance.core.workflows.library.import_source import import_source

        where, texts = _path(source), [f"{key}={value}" for key, value in (settings or {}).items()]
        if extract or prepare:
            done = self._run(
                _with_source(import_and_prepare, where),
                kind=kind,
                settings=texts,
                identified=identified,
                trained=prepare,
            )
        else:
            done = PreparedImport(
                self._run(
                    _with_source(import_source, where), kind=kind, settings=texts, identified=identified
                )
            )
        self.imported = done.imported.to_json()
        if done.prepared is not None:
            self.imported["prepared"] = done.prepared.to_json()
        if done.error is not None:
            raise done.error
        if not done.imported.added and not done.imported.unchanged:
            raise SemblanceError(
                tr_lazy(
                    "Nothing in {source} could be used: {failed} failed, {ignored} ignored.",
                    source=where,
                    failed=len(done.imported.failed),
                    ignored=len(done.imported.ignored),
                ),
                _first_reason(self.imported) or "Name the kind of the source.",
            )
        _warn_of_failures(self.imported)
        return self.imported

    # Features

    @property
    def feature_sets(self) -> tuple[str, ...]:
        """The names of the feature sets, oldest first."""
        return tuple(self.info()["feature_sets"])

    def features(self, name: str | None = None) -> Features:
        """The numbers of a feature set: ``.array`` (n, d), ``.case_ids`` (n,), ``.names`` (d,).

        Without ``name`` the only one. ``places`` are the descriptions of small parts of each image, (n, p, m), and
        ``levels`` the averages of several depths of the encoder, where the library has them.

        >>> F = lib.features("encoder")  # doctest: +SKIP
        >>> F.array.shape  # doctest: +SKIP
        (214, 1280)

        Raises:
            BadArguments: no such set, or several where none is named.
            BadInput: the library has no features.
        """
        from semblance.features import read_features

        return read_features(self.location, name)

    def add_features(
        self,
        name: str,
        vectors: npt.ArrayLike | str | Path,
        case_ids: Iterable[str] | None = None,
        *,
        key: str = "case_id",
        names: Sequence[str] = (),
        origin: str = "",
    ) -> Features:
        """Add vectors that another program computed as the feature set ``name``; returns the features.

        ``vectors``: an array (n, d) of real numbers whose rows belong to ``case_ids`` (n,), or a file: .npy with its
        ids beside it, .npz, Parquet (wide or with a list column) or CSV. ``key``: "case_id", or "path" where rows are
        named by the paths of their images. ``names`` (d,) of the numbers. ``origin``: what made them, for cards. Cases
        without a row have no features in the set, and no case is added. The same vectors again change nothing.

        >>> lib.add_features("dinov2", array, case_ids=ids)  # doctest: +SKIP
        >>> lib.add_features("dinov2", "dinov2.parquet", key="path")  # doctest: +SKIP

        Raises:
            BadArguments: another key, or a set of that name that holds something else.
            BadInput: another shape, a number that is not finite, or ids that are unknown or named twice; the message
                lists them.
        """
        from semblance.core.errors import BadArguments
        from semblance.core.workflows.features.exchange_features import add_features, import_features
        from semblance.core.workflows.searches.index_candidates import update_indexes

        if isinstance(vectors, str | Path):
            if case_ids is not None or len(names):
                raise BadArguments("A file names its cases itself.", "Leave case_ids and names out.")
            added = self._run(import_features, _path(vectors), name, key, origin=origin)
        elif case_ids is None:
            raise BadArguments("The rows of an array have no names.", "Give case_ids, one for each row.")
        else:
            added = self._run(
                add_features, name, vectors, list(case_ids), key=key, names=tuple(names), origin=origin
            )
        update_indexes(self.location)
        return self.features(added.features)

    def extract(self, extractor: str | None = None, name: str | None = None, **settings: Value) -> Features:
        """Measure every case with an extractor, by default the one that suits the cases; returns the features.

        ``settings`` are those of the extractor. Cases that were measured before are not measured again. Warns of cases
        that could not be measured.

        Raises:
            BadArguments: an unknown extractor or setting, or ``name`` is a feature set made with others.
            BadInput: no case suits the extractor.
        """
        from semblance.core.errors import SemblanceError
        from semblance.core.language import tr_lazy
        from semblance.core.workflows.features.extract_features import extract_features
        from semblance.core.workflows.features.suitable_extractors import suitable_extractors
        from semblance.core.workflows.searches.index_candidates import update_indexes

        if extractor is None:
            extractor = next(iter(suitable_extractors(self.location)), "encoder")
        done = self._run(extract_features, extractor, settings=settings, name=name)
        update_indexes(self.location)
        if done.failed and not done.cases:
            raise SemblanceError(
                tr_lazy(
                    "No case of {library} gave {extractor} features.", library=self.name, extractor=extractor
                ),
                tr_lazy("The first reason: {reason}", reason=done.failed[0]["reason"]),
            )
        _warn(done.failed, "case_id", "could not be measured")
        return self.features(done.features)

    # Metrics

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics, oldest first."""
        return tuple(self.info()["metrics"])

    def metric(self, name: str | None = None) -> Metric:
        """The metric called ``name``; without a name the current one.

        Raises:
            BadArguments: no such metric; the message lists those there are.
            BadInput: the library has no metric.
        """
        from semblance.core.library.open_library import open_library as opened_library
        from semblance.core.workflows.metrics.stored_metric import current_metric

        name = current_metric(self.location) if name is None else name
        with opened_library(self.location) as opened:
            return Metric(self.location, opened.metric(name))

    def use_metric(self, metric: str | Metric) -> Metric:
        """Make a metric the current one: searches use it where none is named.

        Raises:
            BadArguments: no such metric.
        """
        from semblance.core.workflows.metrics.stored_metric import set_current_metric

        name = metric.stored_name() if isinstance(metric, Metric) else metric
        set_current_metric(self.location, name)
        return self.metric(name)

    def train(
        self,
        learner: str,
        features: str | None = None,
        name: str | None = None,
        *,
        steps: str = "",
        findings: str = "",
        max_cases: int | None = None,
        seed: int = 0,
        control: bool = True,
        **settings: Value,
    ) -> Metric:
        """Train a metric, score it on held-out patients, store it under ``name`` and make it current.

        ``learner``: a name of ``semblance learners``, and ``settings`` its parameters. ``features``: the feature set,
        where the library has several; "a,b" takes several together. ``steps``: before the learner, such as
        "standardise,pca:200". ``findings``: merge and drop findings, "1,2=low;4,5=high;3=-". ``control``: also train on
        shuffled findings, so that the card can say what chance is. A metric of the same name is replaced; without
        ``name`` it is called after learner and features.

        >>> m = lib.train("bdm_v", features="encoder", name="mine", visual_neighbours=5)  # doctest: +SKIP

        Raises:
            BadArguments: an unknown learner, setting, step or feature set.
            BadInput: too few cases or findings, or features that the learner cannot use.
        """
        from semblance.core.workflows.metrics.train_metric import train_metric
        from semblance.core.workflows.metrics.train_request import TrainRequest
        from semblance.core.workflows.searches.open_metrics import prepare_searches

        seed = _whole("seed", seed, 0)
        request = TrainRequest(
            learner,
            name or "-".join(filter(None, (learner, features))),
            features,
            steps,
            findings,
            max_cases,
            _checked(learner, settings),
            seed,
            control=control,
        )
        done = self._run(train_metric, request)
        prepare_searches(self.location, done.metric)
        if done.warning:
            _warn_text(str(done.warning))
        return self.use_metric(done.metric)

    # Searches

    def search(
        self,
        query: QueryLike = None,
        k: int = 10,
        region: RegionLike = None,
        *,
        vector: npt.ArrayLike | None = None,
        metric: str | Metric | None = None,
        match: str = "",
        like: MarkLike = (),
        unlike: MarkLike = (),
        slice: int | None = None,
        keep_order: bool = False,
        diverse: float = 0.0,
        without: Sequence[str] = (),
        without_patient: bool = False,
        no_match_rate: float = 0.01,
        candidates: int | None = None,
        text: str = "",
    ) -> Ranking:
        """The ``k`` cases most similar to ``query``, as ``semblance search`` ranks them.

        ``query`` is the id of a case, a result of a ranking, the path of an image file, an image as an array (h, w) or
        (h, w, 3), uint8 or from 0 to 1, or as a PIL image, or a vector (d,) of the metric's features as extracted. A
        text that is the id of a case is the case. ``vector``: the same vector beside an image or case, whose patient is
        then left out.

        ``region``: (x, y, width, height) in pixels, the part of the query to search with. ``match``: what is compared,
        "place", "whole" or "both"; by default "place" with a region where the library has places, else "whole".
        ``metric``: by default the current one. ``like`` and ``unlike``: cases marked as more and less like what is
        searched (see :meth:`semblance.Ranking.mark`). ``slice``: of a volume, from 1 in the order of space;
        ``keep_order``: with ``match="place"`` the slices of a volume are found in others in their order. ``diverse``:
        from 0, order by distance alone, to 1. ``without``: groups of features to leave out. ``without_patient``: if the
        metric was trained on the query or its patient, train it again without them first. ``no_match_rate``: the share
        of the library's own cases that would have no close match. ``candidates``: of a library on a server with an
        index, how many are compared; 0: all. ``text``: words, the order of whose cases is fused with that of the query.

        >>> r = lib.search("query.png", k=10, region=(40, 60, 128, 128))  # doctest: +SKIP
        >>> [one.case_id for one in r]  # doctest: +SKIP

        Raises:
            BadArguments: no such metric or group, or values that cannot go together.
            BadInput: no such case or file, or one that cannot be read or has not the metric's features.
        """
        from semblance.core.errors import BadArguments
        from semblance.core.searches.search import PLACE, Search
        from semblance.core.workflows.searches.rank_cases import marked_search
        from semblance.core.workflows.searches.slice_query import query_by_slices, query_on_slice
        from semblance.progress import one_at_a_time
        from semblance.ranking import Ranking, case_ids

        k = _whole("k", k, 1)
        diverse = _share("diverse", diverse)
        no_match_rate = _share("no_match_rate", no_match_rate)
        candidates = None if candidates is None else _whole("candidates", candidates, 0)
        slice = None if slice is None else _whole("slice", slice, 1)
        if keep_order and match != PLACE:
            raise BadArguments("Slices are compared by place only.", "Add match='place'.")
        with one_at_a_time:
            found, name = self._query(query, region, vector), self._metric_name(metric)
            if slice is not None:
                found = query_on_slice(self.location, found, slice)
            if match == PLACE and found.vector is None:
                found = query_by_slices(self.location, found, in_order=keep_order)
        search = Search(
            name,
            found,
            diverse=diverse,
            no_match_rate=no_match_rate,
            without=(without,) if isinstance(without, str) else tuple(without),
            without_patient=without_patient,
            candidates=candidates,
            match=match,
            text=text,
            like=case_ids(like),
            unlike=case_ids(unlike),
        )
        searched = self._run(marked_search, search, k=k)
        return Ranking(self.location, searched, k, progress=self._progress)

    def report(
        self, query: QueryLike | Ranking, out: str | Path, *, identified: bool = False, **options: Any
    ) -> Path:
        """Write the report of a search, or of a ranking: a .pdf, .html, .csv, .json or .dcm file; returns ``out``.

        ``options`` are those of :meth:`search`. De-identified unless ``identified``.

        Raises:
            BadArguments, BadInput: as :meth:`search`, and for another ending.
            SemblanceError: the file cannot be written.
        """
        from semblance.ranking import Ranking

        ranking = query if isinstance(query, Ranking) else self.search(query, **options)
        return ranking.report(out, identified=identified)

    def map(self, metric: str | Metric | None = None, *, theme: ThemeName = "light") -> Figure:
        """A map of all cases under ``metric``, by default the current one: similar cases lie near each other, in the
        colours of their findings. A figure of Matplotlib that names no case.

        ``theme``: "light", "dark" or "print".

        >>> lib.map().savefig("map.png")  # doctest: +SKIP

        Raises:
            BadArguments: no such metric.
            BadInput: fewer than three cases have the metric's features.
        """
        from semblance.core.workflows.evaluation.map_library import map_drawing, map_library
        from semblance.core.workflows.library.library_snapshot import read_snapshot
        from semblance.figures import map_figure

        found = self._run(map_library, self._metric_name(metric))
        snapshot = read_snapshot(self.location)
        return map_figure(map_drawing(found, snapshot.columns, snapshot.finding_colours), theme=theme)

    # Evaluation

    def evaluate(
        self,
        metric: str | Metric | Sequence[str | Metric] | None = None,
        splits: SplitsLike = None,
        *,
        protocol: str = "bdm",
        features: str | None = None,
        steps: str = "",
        findings: str = "",
        max_cases: int | None = None,
        repeats: int | None = None,
        seed: int = 0,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        out: str | Path | None = None,
    ) -> Scores:
        """Score metrics or learners on cases that they are not fitted on.

        ``metric``: a metric, whose learner, settings, steps and features are fitted anew on the training part, the name
        of a learner or of a metric, or a list of them; by default the current metric. The stored metric itself is never
        scored on cases that it was trained on. ``splits``: which cases are fitted on and which are tested, in place of
        the splits of the protocol: a file or data frame with case_id, part ("train", "test", "validation"), fold and
        repeat, a mapping from case ids to parts, a sequence of parts, one for each case, "official" (MedMNIST's own) or
        "column:NAME" (an attribute of the cases). The test part never reaches a fit. ``protocol``: how cases are split
        and what is measured (``semblance protocols`` lists them). ``settings``: parameters by learner, such as
        ``{"bdm_v": {"visual_neighbours": 5}}``, and of the protocol as ``{"protocol": {"train_on": "one"}}``.
        ``repeats``: number of random splits. ``out``: a folder for scores.csv, per_query.csv, splits.csv and
        config.json, from which every number can be computed again. The other arguments are those of :meth:`train`.

        >>> s = lib.evaluate(["euclidean", "bdm_v"], features="encoder", repeats=5)  # doctest: +SKIP
        >>> s["bdm_v"]["retrieval_accuracy@10"]  # doctest: +SKIP
        >>> lib.evaluate(m, splits="official.csv", out="results/").per_query  # doctest: +SKIP

        Raises:
            BadArguments: an unknown metric, learner, protocol or setting.
            BadInput: cases that the protocol cannot use; splits that name unknown cases, name one twice, miss one, or
                put a patient into two parts (the message lists them); or ``out`` holds files of something else.
        """
        from semblance.core.errors import BadInput
        from semblance.core.language import tr_lazy
        from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, measure
        from semblance.core.workflows.evaluation.write_evaluation import check_folder, write_evaluation
        from semblance.progress import run
        from semblance.scores import Scores

        listed = [metric] if metric is None or isinstance(metric, str | Metric) else _listed(metric)
        seed = _whole("seed", seed, 0)
        recipes = [self._recipe(one) for one in listed]
        request = EvaluateRequest(
            tuple(recipe.learner for recipe in recipes),
            protocol,
            self.location,
            None,
            _common(features, [recipe.features for recipe in recipes], "features"),
            _common(steps, [recipe.steps for recipe in recipes], "steps") or "",
            _common(findings, [recipe.findings for recipe in recipes], "findings") or "",
            max_cases,
            tuple(
                [
                    f"{recipe.learner}.{key}={value}"
                    for recipe in recipes
                    for key, value in recipe.settings.items()
                ]
                + [
                    f"{name}.{key}={value}"
                    for name, of in (settings or {}).items()
                    for key, value in of.items()
                ]
            ),
            repeats,
            seed,
            splits=Path(splits).expanduser() if _names_file(splits) else splits,
            keeps_queries=True,
        )
        if out is not None:
            check_folder(_path(out))
        found = run(measure, request, shown=self._progress)
        if not found.result.results and found.result.failed:
            first = found.result.failed[0]
            raise BadInput(
                tr_lazy("{learner} could not be evaluated.", learner=first.learner),
                tr_lazy("The reason: {reason}", reason=first.reason),
            )
        if out is not None:
            run(write_evaluation, found, _path(out), shown=self._progress)
        return Scores(found)

    # Out

    def export(
        self,
        folder: str | Path,
        features: str | Sequence[str] = (),
        *,
        splits: bool = False,
        format: str = "npz",
        identified: bool = False,
    ) -> list[Path]:
        """Write the cases, feature sets and the split of the current metric into a folder; returns the files.

        ``cases.csv``: case_id, finding, and unit, a number that is equal for cases of one patient, lesion or image, so
        that they can be kept together. A file for each of ``features``, as ``semblance export-features`` writes it:
        ``format`` is "npz", "parquet" or "csv". With ``splits`` ``splits.csv`` says for each case whether the current
        metric was trained on it (train) or scored on it (test), and :meth:`evaluate` takes it. Cases in the sealed test
        vault are left out. With ``identified`` ``cases.csv`` also has patient and path.

        >>> lib.export("out/", features=["encoder"], splits=True)  # doctest: +SKIP

        Raises:
            BadArguments: no such feature set or format.
            BadInput: ``splits`` without a metric that was scored.
            SemblanceError: the folder cannot be written.
        """
        from semblance.core.workflows.library.export_library import export_library

        chosen = (features,) if isinstance(features, str) else tuple(features)
        found: list[Path] = self._run(
            export_library,
            _path(folder),
            features=chosen,
            splits=splits,
            ending=format,
            identified=identified,
        )
        return found

    # Parts

    def _check(self) -> None:
        from semblance.core.library.open_library import open_library as opened_library

        opened_library(self.location).close()

    def _run(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """``function(location, *args, **options)`` of the workflows, with progress."""
        from semblance.progress import run

        return run(function, self.location, *args, shown=self._progress, **options)

    def _repr_html_(self) -> str:
        from semblance.display import library_html

        return repr(self) if self._is_closed else library_html(self.location, self.name)

    def __repr__(self) -> str:
        from semblance.core.language import visible

        if self._is_closed:
            return f"Library {visible(self.name)!r} (closed)"
        info = self.info()
        patients = f" of {info['patients']:,} patients" if info["patients"] else ""
        lines = [f"Library {visible(self.name)!r}: {info['cases']:,} cases{patients}"]
        for title, names in (
            ("findings", [f"{finding} {n:,}" for finding, n in info["findings"].items()]),
            ("feature sets", info["feature_sets"]),
            ("metrics", info["metrics"]),
            ("searches", info["searches"]),
        ):
            if names:
                more = "" if len(names) <= _NAMED else f", … ({len(names):,})"
                lines.append(f"  {title}: {', '.join(map(visible, names[:_NAMED]))}{more}")
        lines.append(f"  {visible(str(self._place))}")
        return "\n".join(lines)

    def _metric_name(self, metric: str | Metric | None) -> str:
        from semblance.core.workflows.imaging.library_cache import cached_library
        from semblance.core.workflows.metrics.stored_metric import current_metric

        if metric is not None:
            return metric.stored_name() if isinstance(metric, Metric) else metric
        # Asked for with every search: read again only where any program wrote to the library.
        stamp = cached_library(self.location).catalogue.stamp()
        if self._current is None or self._current[0] != stamp:
            self._current = stamp, current_metric(self.location)
        return self._current[1]

    def _query(self, query: QueryLike, region: RegionLike, vector: npt.ArrayLike | None) -> Query:
        """
        Raises:
            BadArguments: no image and no vector.
            BadInput: neither a case nor a file.
        """
        from dataclasses import replace

        from semblance.core.searches.query import Query
        from semblance.query_images import query_vector
        from semblance.ranking import RankedResult

        if isinstance(query, RankedResult):
            query = query.case_id
        if vector is None and (vector := query_vector(query)) is not None:
            query = None
        if vector is None:
            return self._query_of_image(query, region)
        numbers = tuple(float(number) for number in query_vector(vector, required=True))
        found = Query(None, None, _region(region)) if query is None else self._query_of_image(query, region)
        return replace(found, vector=numbers)

    def _query_of_image(self, query: QueryLike, region: RegionLike) -> Query:
        from semblance.core.errors import BadInput
        from semblance.core.language import tr_lazy
        from semblance.core.normal_text import composed
        from semblance.core.searches.query import Query
        from semblance.core.workflows.imaging.library_cache import cached_library
        from semblance.query_images import image_file

        part = _region(region)
        if isinstance(query, Path):
            return Query(None, query.expanduser(), part)
        if not isinstance(query, str):
            return Query(None, image_file(query), part)
        if cached_library(self.location).catalogue.rows_of([composed(query)]):
            return Query(composed(query), None, part)
        file = Path(query).expanduser()
        if not file.exists():
            raise BadInput(
                tr_lazy(
                    "There is no case '{query}' in {library}, and no such file.",
                    query=query,
                    library=self.name,
                ),
                "The data frame lib.cases lists the case ids.",
            )
        return Query(None, file, part)

    def _recipe(self, what: str | Metric | None) -> _Recipe:
        """
        Raises:
            BadArguments: neither a learner nor a metric.
            BadInput: the metric cannot be trained again.
        """
        from semblance.core.errors import BadInput
        from semblance.core.evaluation.protocols.protocol import AUTO
        from semblance.core.language import tr_lazy
        from semblance.core.workflows.metrics.train_request import stored_request

        if isinstance(what, str) and (what == AUTO or _is_learner(what)):
            return _Recipe(what)
        metric = what if isinstance(what, Metric) else self.metric(what)
        request = stored_request(metric.record)
        if request.judgements:
            raise BadInput(
                tr_lazy(
                    "The metric '{name}' was also trained on marks, which no split repeats.", name=metric.name
                ),
                tr_lazy("Evaluate its learner: '{learner}'.", learner=metric.learner),
            )
        given = metric.record.card.get("parameters")
        return _Recipe(
            metric.learner,
            metric.features,
            request.steps,
            request.findings,
            {key: value for key, value in dict(given or {}).items() if value is not None},
        )


#: Names of each kind that the text of a library lists.
_NAMED = 8
#: Files that a warning names.
_WARNED = 3


@dataclass(frozen=True)
class _Recipe:
    """How a metric is fitted."""

    learner: str
    features: str | None = None
    steps: str = ""
    findings: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


def _common(given: str | None, values: Sequence[str | None], what: str) -> str | None:
    """``given``, or what all metrics have in common.

    Raises:
        BadArguments: they differ.
    """
    from semblance.core.errors import BadArguments
    from semblance.core.language import tr_lazy

    several = sorted({value for value in values if value})
    if given or not several:
        return given
    if len(several) > 1:
        raise BadArguments(
            tr_lazy("The metrics differ in {what}: {values}.", what=what, values="; ".join(several)),
            tr_lazy("Evaluate them one by one, or give {what}.", what=what),
        )
    return several[0]


def _location(location: str | Path | LibraryLocation) -> LibraryLocation:
    from semblance.core.library.location import ServerAddress, library_location

    if isinstance(location, ServerAddress):
        return location
    found = library_location(os.fspath(location))
    return found.expanduser() if isinstance(found, Path) else found


def _whole(what: str, value: Any, least: int) -> int:
    """``value`` as a whole number from ``least``.

    Raises:
        BadArguments: it is none.
    """
    import operator

    from semblance.core.errors import BadArguments
    from semblance.core.language import tr_lazy

    with contextlib.suppress(TypeError):
        if (found := operator.index(value)) >= least:
            return found
    raise BadArguments(
        tr_lazy("{what} cannot be {value}.", what=what, value=repr(value)),
        tr_lazy("Give a whole number from {least}.", least=least),
    )


def _share(what: str, value: Any) -> float:
    """``value`` as a number from 0 to 1.

    Raises:
        BadArguments: it is none.
    """
    from semblance.core.errors import BadArguments
    from semblance.core.language import tr_lazy

    with contextlib.suppress(TypeError, ValueError):
        if 0 <= (found := float(value)) <= 1:
            return found
    raise BadArguments(
        tr_lazy("{what} cannot be {value}.", what=what, value=repr(value)), "Give a number from 0 to 1."
    )


def _listed(metrics: Any) -> list[str | Metric]:
    """
    Raises:
        BadArguments: neither metrics nor names.
    """
    from semblance.core.errors import BadArguments
    from semblance.core.language import tr_lazy

    found = list(metrics) if isinstance(metrics, Iterable) else [metrics]
    for one in found:
        if one is not None and not isinstance(one, str | Metric):
            raise BadArguments(
                tr_lazy("{value} is no metric.", value=repr(one)),
                "Give a metric, the name of a metric or learner, or a list of them.",
            )
    return found


def _path(path: str | Path) -> Path:
    return Path(path).expanduser()


def _is_learner(name: str) -> bool:
    """Whether a learner of the program or of a plug-in has this name."""
    from semblance.core.errors import BadArguments
    from semblance.core.metrics.registry import declared_learner

    try:
        declared_learner(name)
    except BadArguments:
        return False
    return True


def _names_file(splits: SplitsLike) -> bool:
    from semblance.core.evaluation.split_file import attributes_of

    return isinstance(splits, str | Path) and not attributes_of(splits)


def _region(region: RegionLike) -> Region | None:
    """
    Raises:
        BadArguments: not four numbers.
    """
    from semblance.core.errors import BadArguments, BadInput
    from semblance.core.imaging.region import Region

    if region is None or isinstance(region, Region):
        return region
    try:
        return Region.parse(region if isinstance(region, str) else ",".join(f"{int(n)}" for n in region))
    except (BadInput, TypeError, ValueError):
        raise BadArguments(
            "The region is not four whole numbers.", "Give (x, y, width, height) in pixels."
        ) from None


def _checked(learner: str, settings: Mapping[str, Value]) -> Mapping[str, Value]:
    from semblance.core.metrics.registry import declared_learner
    from semblance.core.parameters import checked

    checked(learner, declared_learner(learner).parameters, settings)
    return settings


def _with_source(function: Callable[..., Any], source: Path) -> Callable[..., Any]:
    def run(location: LibraryLocation, *, reporter: Reporter, **options: Any) -> Any:
        return function(source, location, reporter=reporter, **options)

    return run


def _first_reason(imported: Mapping[str, Any]) -> str:
    found = [*imported["failed"], *imported["ignored"]]
    return f"{found[0]['path']}: {found[0]['reason']}" if found else ""


def _warn_of_failures(imported: Mapping[str, Any]) -> None:
    _warn(imported["failed"], "path", "could not be read")
    _warn(imported.get("prepared", {}).get("failed", ()), "case_id", "could not be measured")


def _warn(failed: Sequence[Mapping[str, str]], name: str, what: str) -> None:
    if failed:
        first = "; ".join(f"{one[name]}: {one['reason']}" for one in failed[:_WARNED])
        more = "; …" if len(failed) > _WARNED else ""
        _warn_text(f"{len(failed):,} {what}: {first}{more}")


def _warn_text(text: str) -> None:
    import sys
    import warnings

    from semblance.core.language import visible

    # The line of the caller's program, however deep the call lies.
    own, level, frame = Path(__file__).parent, 1, sys._getframe()
    while frame.f_back is not None and Path(frame.f_code.co_filename).parent == own:
        frame, level = frame.f_back, level + 1
    warnings.warn(visible(text), UserWarning, stacklevel=level)
