from __future__ import annotations

from semblance.core.workflows.library.recent_libraries import preview_images
from tests.helpers.striped_library import striped_library


def test_previews_are_spread_over_the_library_and_write_nothing(tmp_path):
    library = striped_library(tmp_path, n=12)
    before = {path: path.stat().st_mtime_ns for path in library.rglob("*")}
    found = preview_images([library, tmp_path / "gone.semblance"], 3, 20)
    assert [max(image.shape) for image in found[library]] == [20, 20, 20]
    assert found[tmp_path / "gone.semblance"] == []
    assert len(preview_images([library], 50, 20)[library]) == 12
    assert {path: path.stat().st_mtime_ns for path in library.rglob("*")} == before


def test_a_damaged_file_of_thumbnails_gives_no_previews(tmp_path):
    library = striped_library(tmp_path, n=4)
    (library / "thumbnails.sqlite").write_bytes(b"damaged" * 100)
    assert preview_images([library], 3, 20) == {library: []}
