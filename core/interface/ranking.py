"""The ranked cases of one search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from semblance.core.library.location import LibraryLocation
    from semblance.core.reports.plot import ThemeName
    from semblance.core.searches.search import Search
    from semblance.core.searches.similar_cases import MatchedPlace, RankedCase, Vote
    from semblance.core.workflows.searches.rank_cases import RankedSearch
    from semblance.display import Shown

#: Lines of a printed ranking.
_LINES = 20


@dataclass(frozen=True)
class RankedResult:
    """One case of a ranking.

    ``distance``: the squared distance of the metric, without a unit. ``finding``: ``None`` where the case has none.
    ``path``: its image file, "" for the row of a table. ``place``: where a search by place found the query: ``x``,
    ``y``, ``width``, ``height`` in pixels of the case's image, ``slice`` of a volume from 1, ``similarity`` at most 1.
    ``near_duplicates``: how many cases of the same lesion, or copies, are grouped under it. ``near_liked`` and
    ``near_disliked``: the ids of the marked cases that it is nearest to, where marks order the ranking.
    """

    rank: int
    case_id: str
    distance: float
    finding: str | None
    path: str
    place: MatchedPlace | None = None
    near_duplicates: int = 0
    near_liked: str | None = None
    near_disliked: str | None = None

    @classmethod
    def _of(cls, case: RankedCase) -> RankedResult:
        return cls(
            int(case.rank),
            case.case_id,
            case.distance,
            case.finding,
            case.path,
            case.place,
            case.near_duplicates,
            case.near_liked,
            case.near_disliked,
        )


@dataclass(frozen=True)
class Question:
    """Which of the cases ``first`` and ``second`` is like ``query``? Case ids. In a notebook it shows the three images
    without their findings."""

    location: LibraryLocation = field(repr=False)
    query: str
    first: str
    second: str

    def _repr_html_(self) -> str:
        from semblance.display import question_html

        return question_html(self.location, self.query, self.first, self.second)


class Ranking(Sequence[RankedResult]):
    """Cases in the order of their distance to a query, nearest first; a sequence that does not change.

    ``ranking[0]`` is the nearest case. Cases of the query's patient are left out, and cases of one lesion are grouped,
    as in the window.
    """

    def __init__(
        self, location: LibraryLocation, searched: RankedSearch, k: int, *, progress: bool = True
    ) -> None:
        """The program makes it: see :meth:`semblance.Library.search`."""
        self._location, self._searched, self._k, self._progress = location, searched, k, progress
        self.results = tuple(RankedResult._of(case) for case in searched.result.ranked)

    @property
    def search(self) -> Search:
        """The query with the metric and all options."""
        return self._searched.search

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return self.search.metric

    @property
    def case_ids(self) -> tuple[str, ...]:
        """The ids of the ranked cases, nearest first."""
        return tuple(one.case_id for one in self.results)

    @property
    def estimate(self) -> Vote:
        """The findings of the nearest cases: ``counts``, and where it was calibrated on held-out patients ``finding``,
        ``probability`` and ``interval`` (95 %); else ``why_not`` says why there is no estimate. Marks do not change
        it."""
        return self._searched.result.vote

    @property
    def no_good_match(self) -> bool:
        """Whether the query is further from its nearest cases than nearly all of the library's own cases are."""
        return self._searched.result.no_close_match

    @property
    def hidden(self) -> dict[str, int]:
        """How many nearer cases are not ranked: ``same_patient``, ``near_duplicates``."""
        result = self._searched.result
        return {"same_patient": result.same_patient, "near_duplicates": result.near_duplicates}

    @property
    def notes(self) -> tuple[str, ...]:
        """What makes the ranking doubtful, and marks that could not be used, in sentences."""
        refused = (str(self._searched.refused),) if self._searched.refused else ()
        return (*map(str, self._searched.result.warnings), *refused, *map(str, self._searched.left_out))

    def mark(
        self,
        like: str | RankedResult | Iterable[str | RankedResult] = (),
        unlike: str | RankedResult | Iterable[str | RankedResult] = (),
    ) -> Ranking:
        """The same search with cases marked as more like (``like``) or less like (``unlike``) what is searched.

        Returns a new ranking; this one stays. Marks are added to those of this ranking, and a case that was marked
        otherwise changes sides. Cases marked ``unlike`` come last. Nothing is written to the library.

        >>> better = ranking.mark(like=["017"], unlike=ranking[3])  # doctest: +SKIP

        Raises:
            BadInput: no such case, the query itself, or one without the metric's features.
        """
        from dataclasses import replace

        from semblance.core.workflows.searches.rank_cases import marked_search
        from semblance.progress import run

        liked, disliked = case_ids(like), case_ids(unlike)
        before = self.search
        search = replace(
            before, like=_joined(before.like, liked, disliked), unlike=_joined(before.unlike, disliked, liked)
        )
        found = run(marked_search, self._location, search, k=self._k, shown=self._progress)
        return Ranking(self._location, found, self._k, progress=self._progress)

    def question(self, skipped: Iterable[str] = ()) -> Question | None:
        """Two cases to look at: which of them is like the query? The answer, given to :meth:`mark`, improves the order
        most; ``None`` if every case was judged.

        Only cases are asked about that the metric was trained on, so that the others can still be scored. ``skipped``:
        cases not to ask about.

        >>> q = ranking.question()  # doctest: +SKIP
        >>> ranking = ranking.mark(like=q.first, unlike=q.second)  # doctest: +SKIP

        Raises:
            BadInput: the query is no whole case of the library, or marks cannot refine the metric.
        """
        from semblance.core.workflows.searches.feedback.next_question import next_question
        from semblance.progress import run

        found = run(next_question, self._location, self.search, tuple(skipped), shown=self._progress)
        return None if found is None else Question(self._location, found.query, found.first, found.second)

    def to_frame(self) -> Any:
        """A data frame with a row for each case: rank, case_id, distance, finding, path; of a search by place also x,
        y, width, height (pixels), slice and similarity; with marks also near_liked and near_disliked.

        It is a pandas data frame where pandas is installed, else :class:`semblance.frame.Columns`.
        """
        from semblance.frame import data_frame

        names = ["rank", "case_id", "distance", "finding", "path"]
        if self._searched.result.marks:
            names += ["near_liked", "near_disliked"]
        columns = {name: [getattr(one, name) for one in self.results] for name in names}
        if any(one.place is not None for one in self.results):
            for name in ("x", "y", "width", "height", "slice", "similarity"):
                columns[name] = [
                    None if one.place is None else getattr(one.place, name) for one in self.results
                ]
        return data_frame(columns)

    def plot(self, *, columns: int = 6, theme: ThemeName = "light") -> Figure:
        """The query and the ranked cases as images in a grid of ``columns``, with frames where a search by place found
        the query; of a table, the distances as bars. A figure of Matplotlib that names no case.

        ``theme``: "light", "dark" or "print".

        >>> ranking.plot().savefig("ranking.pdf")  # doctest: +SKIP
        """
        from semblance.display import shown_ranking
        from semblance.figures import ranking_figure

        return ranking_figure(shown_ranking(self._location, self._searched), columns=columns, theme=theme)

    def show(self, *, identified: bool = False) -> Shown:
        """The ranking as a notebook shows it; ``identified``: with the ids of cases and patients."""
        from semblance.display import Shown, ranking_html, shown_ranking

        return Shown(ranking_html(shown_ranking(self._location, self._searched, identified=identified)))

    def _repr_html_(self) -> str:
        return self.show().html

    def to_json(self) -> dict[str, Any]:
        """The document that ``semblance search --json`` prints, without ``reason`` and ``parts``."""
        return self._searched.result.to_json()

    def report(self, out: str | Path, *, identified: bool = False) -> Path:
        """Write the report of the search: a .pdf, .html, .csv, .json or .dcm file; returns ``out``.

        De-identified unless ``identified``, as ``semblance report`` writes it.

        Raises:
            BadArguments: another ending.
            SemblanceError: the file cannot be written.
        """
        from semblance.core.reports.options import ReportOptions
        from semblance.core.workflows.reports.write_reports import write_search_report
        from semblance.progress import run

        options = ReportOptions(identified=identified)
        written: Path = run(
            write_search_report, self._location, self.search, Path(out), options, shown=self._progress
        )
        return written

    @overload
    def __getitem__(self, index: int) -> RankedResult: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[RankedResult]: ...

    def __getitem__(self, index: int | slice) -> RankedResult | Sequence[RankedResult]:
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[RankedResult]:
        return iter(self.results)

    def __repr__(self) -> str:
        from semblance.core.language import visible
        from semblance.frame import Columns

        query = self.search.query
        name = query.case or ("a vector" if query.image is None else query.image.name)
        by = {"place": "place", "both": f"place and {self.metric}"}.get(
            self._searched.result.compared_by, self.metric
        )
        lines = [f"Ranking of {len(self):,} cases for {visible(name)} by {visible(by)}"]
        names = ("rank", "case_id", "distance", "finding")
        lines.append(repr(Columns({name: [getattr(one, name) for one in self[:_LINES]] for name in names})))
        hidden = self.hidden
        lines.append(
            f"hidden: {hidden['same_patient']} of the same patient, "
            f"{hidden['near_duplicates']} of the same lesion or copies"
        )
        vote = self.estimate
        if vote.probability is not None and vote.interval is not None:
            low, high = vote.interval
            lines.append(
                f"estimate for {visible(str(vote.finding))}: {vote.probability:.2f} ({low:.2f}–{high:.2f})"
            )
        elif vote.counts:
            counts = ", ".join(f"{n} {visible(finding)}" for finding, n in vote.counts.items())
            lines.append(f"of the {vote.n_voters} nearest: {counts}")
        if self.no_good_match:
            lines.append("No close match in this library.")
        return "\n".join([*lines, *map(visible, self.notes)])


def case_ids(cases: str | RankedResult | Iterable[str | RankedResult]) -> tuple[str, ...]:
    """The ids of one or several cases, each once.

    Raises:
        BadArguments: something else.
    """
    from semblance.core.errors import BadArguments
    from semblance.core.language import tr_lazy

    listed: Iterable[str | RankedResult] = [cases] if isinstance(cases, str | RankedResult) else cases
    if not isinstance(listed, Iterable):
        raise BadArguments(
            tr_lazy("{value} is no case.", value=repr(cases)),
            "Give the id of a case, a result of a ranking, or a list of them.",
        )
    return tuple(dict.fromkeys(one.case_id if isinstance(one, RankedResult) else str(one) for one in listed))


def _joined(before: tuple[str, ...], added: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*(case for case in before if case not in others), *added]))
