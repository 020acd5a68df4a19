"""Build the documentation site: ``python packaging/docs/build.py [FOLDER] [--strict]``.

The pages are those of the help in the program, read by the same functions, so that each text stands once. To them come
the command line and the Python interface, from the docstrings, and the notebooks. Sphinx builds one site for each
language: English in FOLDER, the others in folders of their code. It works from ``file://``, and needs no network.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import sources

from semblance.core.language import ENGLISH, LANGUAGE_VARIABLE, LANGUAGES, current_language
from semblance.core.version import program_version, version_with_commit

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
    parser.add_argument(
        "--notebooks", action="store_true", help="run the notebooks first, which takes minutes"
    )
    given = parser.parse_args(arguments)
    if given.language:
        if current_language() != given.language:
            raise SystemExit(f"Set {LANGUAGE_VARIABLE}={given.language}: texts are translated on import.")
        return build(given.folder.resolve(), given.strict)
    started = time.monotonic()
    if given.notebooks:
        run_notebooks()
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


def run_notebooks() -> None:
    """Run the notebooks, unless neither they nor the program changed since."""
    script = TOP / "packaging" / "notebooks.py"
    digest = hashlib.sha256()
    for folder in ("resources/help/notebooks", "packaging", "core"):
        for file in sorted((TOP / folder).rglob("*.py")):
            digest.update(file.read_bytes())
    stamp = sources.NOTEBOOKS / "digest"
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        return
    shutil.rmtree(sources.NOTEBOOKS, ignore_errors=True)
    command = [sys.executable, str(script), str(sources.NOTEBOOKS)]
    subprocess.run(command, check=True)
    stamp.write_text(digest.hexdigest())


def build(folder: Path, strict: bool) -> int:
    """Build the site of the current language."""
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
    # Before Furo, which would compute the whole tree for each page: that took half of the time.
    application.connect("html-page-context", _add_navigation, priority=400)
    application.build()
    if language == ENGLISH:
        for image in sources.NOTEBOOKS.glob("*.png"):
            shutil.copy(image, folder / "notebooks")
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


def _add_navigation(app: Any, page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Give the page its ``site_navigation``: the contents, with the entries below the part that is open."""
    context.pop("toctree", None)
    titles, below = app.env.titles, app.env.toctree_includes

    def entry(document: str, level: int) -> str:
        is_current, children = document == page, below.get(document, ())
        is_open = is_current or page in children
        states = (" current" if is_open else "") + (" current-page" if is_current else "")
        link = html.escape(app.builder.get_relative_uri(page, document)) or "#"
        title = html.escape(titles[document].astext())
        current = ' aria-current="page"' if is_current else ""
        inner = "".join(entry(child, level + 1) for child in children) if is_open else ""
        return (
            f'<li class="toctree-l{level}{states}"><a class="reference internal" href="{link}"{current}>{title}</a>'
            f"{f'<ul>{inner}</ul>' if inner else ''}</li>"
        )

    context["site_navigation"] = "".join(
        f'<p class="caption" role="heading" aria-level="2"><span class="caption-text">{html.escape(title)}</span></p>'
        f"<ul>{''.join(entry(document, 1) for document in documents)}</ul>"
        for title, documents in sources.parts()
    )


def settings(language: str) -> dict[str, object]:
    """The configuration of Sphinx."""
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
        # Shown under file:// too, where a page cannot read the others for an excerpt.
        "html_show_search_summary": False,
        "html_permalinks_icon": "#",
        "html_favicon": str(TOP / "resources" / "semblance.svg"),
        "html_copy_source": False,
        "html_show_sphinx": False,
        "html_context": {"is_english": language == ENGLISH, "only_english": sources.ONLY_ENGLISH},
        "html_sidebars": {
            "**": [
                "brand.html",
                "sidebar/search.html",
                "languages.html",
                "sidebar/scroll-start.html",
                "navigation.html",
                "sidebar/scroll-end.html",
            ]
        },
        "myst_heading_anchors": 4,
        "myst_enable_extensions": ["colon_fence"],
        # Two classes are a Metric, the one of the interface and its inner one: Sphinx then links to neither.
        "suppress_warnings": ["ref.python"],
        "autodoc_member_order": "bysource",
        "autodoc_typehints_format": "short",
        "python_use_unqualified_type_names": True,
        "add_module_names": False,
        "napoleon_numpy_docstring": False,
        "pygments_style": "friendly",
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
