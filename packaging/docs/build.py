"""Build the documentation site: ``python packaging/docs/build.py [FOLDER] [--strict]``.

The pages are those of the help in the program, read by the same functions, so that each text stands once. To them come
the command line and the Python interface, from the docstrings, and the notebooks. Sphinx builds one site for each
language: English in FOLDER, the others in folders of their code. It works from ``file://``, and needs no network.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from semblance.core.language import ENGLISH, LANGUAGE_VARIABLE, LANGUAGES, current_language

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
OUT = TOP / "build" / "docs"
#: Sources and caches between builds.
WORK = TOP / "build" / "docs-work"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=OUT)
    parser.add_argument("--strict", action="store_true", help="a warning is an error")
    parser.add_argument("--language", choices=LANGUAGES, help="only this language")
    given = parser.parse_args(arguments)
    if given.language:
        if current_language() != given.language:
            raise SystemExit(f"Set {LANGUAGE_VARIABLE}={given.language}: texts are translated on import.")
        return build(given.folder.resolve(), given.strict)
    started = time.monotonic()
    builds = [
        subprocess.Popen(
            [sys.executable, __file__, *arguments, "--language", language],
            env={**os.environ, LANGUAGE_VARIABLE: language, "QT_QPA_PLATFORM": "offscreen"},
        )
        for language in LANGUAGES
    ]
    failed = [one.wait() for one in builds]
    if any(failed):
        return 1
    print(f"Built in {time.monotonic() - started:.0f} s. Open {given.folder / 'index.html'}")
    return 0


def build(folder: Path, strict: bool) -> int:
    """Build the site of the current language."""
    import sources
    from sphinx.application import Sphinx

    language = current_language()
    work = WORK / language
    sources.write_sources(work / "source")
    application = Sphinx(
        srcdir=work / "source",
        confdir=None,
        outdir=folder if language == ENGLISH else folder / language,
        doctreedir=work / "doctrees",
        buildername="html",
        confoverrides=settings(language),
        status=None,
        warningiserror=strict,
    )
    application.connect("autodoc-process-docstring", _escape)
    application.connect("autodoc-skip-member", _skip)
    application.build()
    return int(application.statuscode)


def _escape(
    _app: object, _what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Bars are lengths and absolute values in the docstrings, not the substitutions of reStructuredText."""
    lines[:] = [
        "".join(
            part if part.startswith("``") else part.replace("|", r"\|")
            for part in re.split(r"(``.*?``)", line)
        )
        for line in lines
    ]


def _skip(
    _app: object, _what: str, name: str, value: object, _skipped: object, _options: object
) -> bool | None:
    """Leave out what scikit-learn adds to each learner."""
    is_foreign = str(getattr(value, "__module__", "")).startswith("sklearn")
    return True if is_foreign or re.fullmatch(r"set_\w+_request", name) else None


def settings(language: str) -> dict[str, object]:
    """The configuration of Sphinx."""
    import sources

    from semblance.core.version import program_version, version_with_commit

    return {
        "project": "Semblance",
        "author": "Semblance contributors",
        "copyright": "2026 Semblance contributors",
        "version": program_version(),
        "release": version_with_commit(),
        "language": language,
        "extensions": ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"],
        "html_theme": "furo",
        "html_title": "Semblance",
        "html_static_path": [str(HERE / "theme" / "static")],
        "templates_path": [str(HERE / "theme" / "templates")],
        "html_css_files": ["site.css"],
        "html_favicon": str(TOP / "resources" / "semblance.svg"),
        "html_logo": str(TOP / "resources" / "semblance.svg"),
        "html_copy_source": False,
        "html_show_sphinx": False,
        "html_context": {"is_english": language == ENGLISH, "only_english": sources.ONLY_ENGLISH},
        "html_sidebars": {
            "**": [
                "sidebar/brand.html",
                "sidebar/search.html",
                "languages.html",
                "sidebar/scroll-start.html",
                "sidebar/navigation.html",
                "sidebar/scroll-end.html",
            ]
        },
        "myst_heading_anchors": 4,
        "myst_enable_extensions": ["colon_fence"],
        "autodoc_member_order": "bysource",
        "autodoc_typehints_format": "short",
        "python_use_unqualified_type_names": True,
        "add_module_names": False,
        "napoleon_numpy_docstring": False,
        "pygments_style": "friendly",
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
