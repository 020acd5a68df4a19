"""Check the data of the open library, and settle what was found, in jobs."""

from __future__ import annotations

from collections.abc import Callable

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.core.language import tr
from semblance.core.library.data_reviews import DataReview
from semblance.core.library.location import LibraryLocation, library_name
from semblance.core.workflows.library import check_data
from semblance.core.workflows.library.data_issues import DataIssue


def check(context: Context, library: LibraryLocation) -> Job:
    """Check all cases of ``library``. The job's result is a ``DataCheck``."""
    title = tr("Checking the data of {name}", name=library_name(library))
    return context.jobs.run(title, check_data.check_data, library, channel="data check")


def settle(
    context: Context,
    library: LibraryLocation,
    issue: DataIssue,
    finding: str | None,
    then: Callable[[], object],
) -> Job:
    """Give all cases of ``issue`` the ``finding``, or keep them as they are (``None``)."""
    job = context.jobs.run(
        tr("Saving the decision"), check_data.settle_issue, library, issue, finding, quiet=True
    )

    def done(_review: DataReview) -> None:
        if finding is not None:
            _read_again(context)
        then()

    return context.follow(job, done)


def undo(context: Context, library: LibraryLocation, then: Callable[[DataReview | None], object]) -> Job:
    """Undo the last decision; ``then`` gets it, or ``None`` where there was none."""
    job = context.jobs.run(tr("Undoing the decision"), check_data.undo_settlement, library, quiet=True)

    def done(review: DataReview | None) -> None:
        _read_again(context)
        then(review)

    return context.follow(job, done)


def _read_again(context: Context) -> None:
    """Read the library again and rank again, because the similar cases may have other findings."""
    library_operations.renew(context, lambda: search_operations.rank(context))
