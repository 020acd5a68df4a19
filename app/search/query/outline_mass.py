"""Outlining a mass from a click or a rough region, in the background."""

from __future__ import annotations

from pathlib import Path

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.app.viewer import tools
from semblance.app.viewer.image_view import ImageView
from semblance.core.errors import SemblanceError
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Region
from semblance.core.imaging.segmentation import NoOutline
from semblance.core.language import tr
from semblance.core.workflows.imaging import view_images


def outline_mass(
    context: Context,
    view: ImageView,
    library: Path | None,
    what: int | ImageAddress,
    place: int | None,
    where: tuple[int, int] | Region,
) -> Job:
    """Draw the mass at the pixel or in the region ``where`` as the region of ``view``; a later request
    replaces this one, and an image shown in the meantime is not changed.

    Where there is no outline, a message says so and offers the brush.
    """
    shown = view.image
    job = context.jobs.run(
        tr("Outlining"),
        view_images.outline_mass,
        library,
        what,
        place,
        where,
        lane=Lane.SLICE,
        channel="outline",
        quiet=True,
    )

    def draw(region: Region) -> None:
        if view.image is shown and view.editable:
            view.region.draw(region)

    def fail(error: SemblanceError) -> None:
        if not isinstance(error, NoOutline):
            context.messages.error(error)
            return
        if view.image is not shown:
            return
        brush = (tr("Use the brush"), lambda: view.set_tool(tools.BRUSH))
        context.messages.warning(
            tr("No outline was found: {reason}", reason=error.message),
            tr("Click at another place in the mass, or paint the region with the brush."),
            (brush,),
            topic="outline",
        )

    job.done.connect(draw)
    job.failed.connect(fail)
    return job
