"""Searching: a query goes to the search process, and its ranking comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from PySide6.QtGui import QImage

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.messages import FAILED_SEARCH
from semblance.core.errors import SemblanceError
from semblance.core.imaging.formats import IMAGE_SUFFIXES
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume_files import VOLUME_SUFFIXES
from semblance.core.language import tr, translate
from semblance.core.library.case_columns import ImageAvailability
from semblance.core.searches.feedback.ledger import LedgerEntry
from semblance.core.searches.query import Query
from semblance.core.searches.search import new_ledger
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.searches import explain_distance, open_metrics, rank_cases, saved_searches
from semblance.core.workflows.searches.query_features import save_pasted_image
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.saved_searches import ReopenedSearch

#: Channel of the preparation in the search process while it is idle. It continues where it was cancelled.
PRELOAD = "preload"
#: Channel of the most different group of features beside each distance.
DIFFERENCES = "differences"
#: Topic of the message that places are not measured.
PLACES = "places"
_RANKING = "ask"
#: Channel of the check that a file can be read before it becomes the query.
_CHECK = "query file"
_TRAINING_WITHOUT = "training without a patient"
#: Suffixes of query images. DICOM files often have none and are under "All files".
SUFFIXES = sorted(IMAGE_SUFFIXES | {".dcm", ".dicom", ".ima", *VOLUME_SUFFIXES})
FILE_FILTER = ";;".join(
    (
        tr("Images and DICOM ({endings})", endings=" ".join(f"*{ending}" for ending in SUFFIXES)),
        tr("All files (*)"),
    )
)


def submit_query(context: Context, query: Query, *, match: str | None = None) -> None:
    """Make ``query`` the query and rank the library by it, by ``match`` or as before. A file is read first: if it
    cannot be read, the search stays as it is."""
    context.jobs.cancel_channel(_CHECK)
    state = context.state
    library, before = state.location, state.query
    if query.image is None or (before is not None and before.image == query.image):
        _set_query(context, query, match)
        return

    def begin(_none: None) -> None:
        if (state.location, state.query) == (library, before):
            _set_query(context, query, match)

    try:
        job = context.jobs.run(
            tr("Opening the image"),
            view_images.check_file,
            query.image,
            pool=WorkerPool.READ,
            channel=_CHECK,
            quiet=True,
        )
    except SemblanceError as error:
        context.messages.error(error, topic=FAILED_SEARCH)
        return
    job.done.connect(begin)
    job.failed.connect(lambda error: context.messages.error(error, topic=FAILED_SEARCH))


def _set_query(context: Context, query: Query, match: str | None) -> None:
    context.jobs.cancel_channel(_TRAINING_WITHOUT)
    context.state.set_query(query, match)
    if query.region is not None:
        offer_places(context)
    rank(context)


def submit_case(context: Context, case_row: int) -> None:
    """Search with a case of the library, unless it is the query already, perhaps with a region."""
    columns, query = context.state.columns, context.state.query
    index = columns.index_of_row(case_row)
    if index >= 0 and (query is None or query.case != columns.ids[index]):
        submit_query(context, Query(case=columns.ids[index]))


def submit_past_query(context: Context, place: int) -> None:
    """Search again with the query at ``place`` in the history, unless it is the present one."""
    state = context.state
    is_present = state.query is not None and place == state.history.place
    if is_present or not 0 <= place < len(state.history.entries):
        return
    context.jobs.cancel_channel(_CHECK)
    context.jobs.cancel_channel(_TRAINING_WITHOUT)
    if state.go_to_query(place):
        copy_ledger(context)
    rank(context)


def step_in_history(context: Context, steps: int) -> None:
    """Search again with the query before (-1) or after (1) the present one."""
    submit_past_query(context, context.state.history.place + steps)


def submit_first_query(context: Context) -> None:
    """Without a query, search with the first case that the metric was not trained on, or with the first of all."""
    state = context.state
    columns, library = state.columns, state.library
    if library is None or state.query is not None or not len(columns):
        return
    rows = columns.case_row[columns.by_id]
    is_shown = columns.state[columns.by_id] == ImageAvailability.OK
    if state.metric is not None:
        is_held_out = ~np.isin(rows, state.metric.training) & ~np.isin(rows, library.sealed)
        # argmax: the first place with an image and held out, else held out, else with an image, else the first.
        worth = 2 * is_held_out + is_shown
    else:
        worth = is_shown.astype(np.int64)
    index = int(columns.by_id[int(np.argmax(worth))])
    submit_query(context, Query(case=columns.ids[index]))


def submit_pasted_image(context: Context, image: QImage) -> None:
    """Save an image from the clipboard in the library and search with it."""
    if context.state.location is None or image.isNull():
        return
    grey = image.allGray()
    kind = QImage.Format.Format_Grayscale8 if grey else QImage.Format.Format_RGB888
    plain, depth = image.convertToFormat(kind), 1 if grey else 3
    lines = np.frombuffer(plain.constBits(), np.uint8).reshape(plain.height(), plain.bytesPerLine())
    shape = (plain.height(), plain.width()) if grey else (plain.height(), plain.width(), depth)
    pixels = lines[:, : plain.width() * depth].reshape(shape).copy()
    job = context.jobs.run(
        tr("Reading the clipboard"),
        save_pasted_image,
        context.state.location,
        pixels,
        pool=WorkerPool.READ,
        # What is searched with later is the query, in this library or another one.
        channel=_CHECK,
        quiet=True,
    )
    context.follow(job, lambda path: submit_query(context, Query(image=path)))


def submit_region(
    context: Context, region: Region | None, *, match: str | None = None, slices: str = ""
) -> None:
    """Search with the part of the same query inside ``region``, or with its ``slices``, by ``match`` or as before."""
    state = context.state
    before = state.query
    if before is None or (before.region, before.slices, state.match) == (
        region,
        slices,
        state.match_of(match),
    ):
        return
    state.set_region(region, match, slices)
    if region is not None:
        offer_places(context)
    rank(context)


def offer_places(context: Context) -> None:
    """Say once that a region cannot be found inside other images yet, and offer to measure what is missing."""
    state, library = context.state, context.state.library
    if library is None or state.has_places or not library.can_have_places:
        return
    if state.places_offered_in == library.location:
        return
    state.places_offered_in = library.location
    actions = [(tr("Measure places"), context.actions["measure_places"].trigger)] if state.can_edit else []
    context.messages.info(
        tr("The places of the images in this library are not measured yet."),
        tr(
            "Until then the region is compared, cut out, with whole images. After measuring them once, a region is "
            "found inside other images, and every result shows where."
        ),
        actions,
        topic=PLACES,
    )


def set_options(context: Context, **options: Any) -> None:
    """Set what is hidden, grouped, diverse or counts as no close match, and rank again if that changes something."""
    before = context.state.options
    context.state.change_search(**options)
    if context.state.options != before:
        rank(context)


def set_text(context: Context, text: str) -> None:
    """Order by the words of ``text`` too, "" by the query alone, and rank again."""
    if text != context.state.text:
        context.state.change_search(text=text)
        rank(context)


def rank(context: Context) -> None:
    """Rank again after the query, metric or options changed. A ranking that is under way is cancelled."""
    state = context.state
    if state.location is None or state.query is None:
        return
    if state.search is None:
        state.set_ranked_search(None)
        return
    context.jobs.cancel_channel(PRELOAD)
    job = context.jobs.run(
        tr("Searching"),
        rank_cases.rank_cases,
        state.location,
        state.search,
        k=context.settings.similar_cases,
        pool=WorkerPool.SEARCH,
        channel=_RANKING,
        quiet=True,
    )

    def show(ranked: RankedSearch) -> None:
        context.messages.close(FAILED_SEARCH)
        state.set_ranked_search(ranked)

    def fail(error: SemblanceError) -> None:
        state.set_ranked_search(None)
        context.messages.error(error, topic=FAILED_SEARCH)

    job.done.connect(show)
    job.failed.connect(fail)
    state.request_ranking()


def show_present_marks(context: Context) -> None:
    """Show the marks that others made in the present search. The order stays until the user searches again."""
    state, shown = context.state, context.state.ranked_search
    if state.location is None or shown is None:
        return
    job = context.jobs.run(
        "",
        rank_cases.present_judgements,
        state.location,
        shown.search.ledger,
        pool=WorkerPool.READ,
        channel="marks",
        quiet=True,
    )

    def show(found: tuple[tuple[LedgerEntry, ...], float]) -> None:
        entries, trust = found
        if state.ranked_search is shown and entries != shown.entries:
            state.set_ranked_search(replace(shown, entries=entries, trust=trust))

    context.follow(job, show)


def rank_without_patient(context: Context, *, on: bool) -> Job | None:
    """Rank by the metric trained again without the query's patient, or by the metric itself.

    It is trained by the job that is returned. Until then the ranking stays as it is.
    """
    state = context.state
    search, library = state.search, state.library
    if search is None or library is None:
        return None
    request = (library.location, search.metric, search.query)

    def rank_so() -> None:
        if state.search is not None and (state.location, state.search.metric, state.search.query) == request:
            state.change_search(without_patient=on)
            rank(context)

    context.jobs.cancel_channel(_TRAINING_WITHOUT)
    if not on or not library.writable:
        # In a library that cannot be written to, the process that searches trains it for itself.
        rank_so()
        return None
    job = context.jobs.run(
        tr("Training without this patient"),
        open_metrics.train_without_patient,
        library.location,
        search,
        channel=_TRAINING_WITHOUT,
    )
    return context.follow(job, lambda _none: rank_so())


def cancel_ranking(context: Context) -> None:
    """Cancel the ranking that is under way."""
    context.jobs.cancel_channel(_RANKING)


def cancel_file_query(context: Context) -> None:
    """Cancel what reads the file that would become the query."""
    context.jobs.cancel_channel(_CHECK)


def cancel_query(context: Context) -> None:
    """Cancel what would become the query or its ranking, because the library is closed."""
    cancel_file_query(context)
    cancel_ranking(context)


def rank_after_scoring(context: Context, metric: str) -> None:
    """Rank again if the ranking is by ``metric``, which now has scores that make its vote an estimate."""
    search = context.state.search
    if search is not None and search.metric == metric:
        rank(context)


def find_differences(context: Context, cases: Sequence[str], then: Callable[[list[str]], None]) -> None:
    """Find the feature group in which each of ``cases`` differs most from the query, and call ``then``.

    Errors are not shown, because this is only a hint beside a distance.
    """
    ranked, path = context.state.ranked_search, context.state.location
    if path is None or ranked is None or not cases:
        return
    job = context.jobs.run(
        tr("Finding differences"),
        explain_distance.most_different_groups,
        path,
        ranked.search,
        list(cases),
        pool=WorkerPool.SEARCH,
        channel=DIFFERENCES,
        quiet=True,
    )
    job.done.connect(then)


def show_last_search(context: Context, found: ReopenedSearch) -> None:
    """Show the last search of the library and rank it if it has no stored ranking."""
    restore_search(context, found)
    if found.ranked_search is not None:
        context.state.set_ranked_search(found.ranked_search)
    context.state.restore_view(found.view)
    if context.state.query is None:
        submit_first_query(context)
    elif found.ranked_search is None:
        rank(context)
    if found.notes:
        context.messages.warning(
            tr("'{name}' was opened in part.", name=found.name)
            if found.name
            else tr("The last search was opened in part."),
            " ".join(map(translate, found.notes)),
        )


def restore_search(context: Context, found: ReopenedSearch) -> None:
    """Make a reopened search the present one."""
    context.state.restore_search(found.search)
    if found.is_complete:
        context.state.set_search_name(found.name)
    elif found.name:
        # The saved search stays as it was: the present one continues with a copy of its judgements.
        copy_ledger(context)


def copy_ledger(context: Context) -> None:
    """Continue the present search with a copy of its judgements."""
    state, ledger = context.state, new_ledger()
    job = context.jobs.run(
        tr("Searches"),
        saved_searches.split_ledger,
        state.location,
        state.ledger,
        ledger,
        pool=WorkerPool.SEARCH,
        quiet=True,
    )
    job.failed.connect(context.messages.error)
    state.change_search(ledger=ledger)
