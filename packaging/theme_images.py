"""Write the coloured images of the style sheet (check marks, arrows) from the icons and the theme.

Run it after changing a colour or one of these icons: ``PYTHONPATH=. python packaging/theme_images.py``.
"""

from __future__ import annotations

from pathlib import Path

from semblance import resources
from semblance.app.shell.icons import coloured_svg
from semblance.app.shell.theme import THEMES, Theme

IMAGES = {
    "check": ("check", "text"),
    "check-off": ("check", "disabled"),
    "dash": ("dash", "text"),
    "dot": ("dot", "text"),
    "down": ("chevron-down", "second"),
    "down-off": ("chevron-down", "disabled"),
    "up": ("chevron-up", "second"),
    "up-off": ("chevron-up", "disabled"),
    "right": ("chevron-right", "second"),
    "close": ("close", "second"),
    "pop-out": ("pop-out", "second"),
}


def images(theme: Theme) -> dict[Path, str]:
    """Path and text of every image of one theme."""
    return {
        resources.path("theme") / theme.name / f"{name}.svg": coloured_svg(icon, getattr(theme, token))
        for name, (icon, token) in IMAGES.items()
    }


def main() -> None:
    for theme in THEMES.values():
        for path, text in images(theme).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
