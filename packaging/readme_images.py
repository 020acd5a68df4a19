"""Makes the images of the README, of each workspace and of Compare: ``readme_images.py DEMO FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from semblance.app.application import make_application
from semblance.app.screenshot import image_of_window
from semblance.core.searches.query import Query
from semblance.core.workflows.demo import demo_query, make_demo


def make_images(library: Path, folder: Path) -> list[Path]:
    """Save an image of the window on the demo ``library`` in each workspace, and of Compare, into ``folder``.

    Raises:
        SemblanceError: The window did not become idle, or a file cannot be written.
    """
    make_application()
    # Modules with texts come after the language is chosen.
    from semblance.app.window.workspaces import WORKSPACES

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for workspace in WORKSPACES:
        files.append(folder / f"{workspace}.png")
        image_of_window(library, Query(case=demo_query(library)), files[-1], workspace=workspace)
    files.append(folder / "compare.png")
    image_of_window(library, Query(case=demo_query(library)), files[-1], command="compare")
    return files


if __name__ == "__main__":
    for image in make_images(make_demo(Path(sys.argv[1])), Path(sys.argv[2])):
        sys.stdout.write(f"{image}\n")
