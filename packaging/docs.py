"""Write the documentation of the learner library as static HTML: ``python packaging/docs.py [FOLDER]``.

The API reference comes from the docstrings, by pdoc: it reads them as they are and needs no files of its own beside
them. The user guide is those pages of the help that are about the learners in Python.
"""

from __future__ import annotations

import html
import importlib
import pkgutil
import re
import shutil
import sys
import warnings
from pathlib import Path

import markdown2
import pdoc

from semblance import resources
from semblance.app.window import help_files
from semblance.core.metrics.registry import declared_learner

#: The packages of core that people use from Python.
PACKAGES = ("metrics", "features", "retrieval", "evaluation")
#: Pages of the help, in the order of the index.
GUIDE = (
    "python",
    "which_learner",
    "metric_learn",
    "benchmarks",
    "experiments",
    "glossary",
)
OUT = Path(__file__).resolve().parent.parent / "build" / "docs"

_STYLE = """body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
pre, code { font-family: ui-monospace, monospace; font-size: 0.9em; background: #f3f3f3 }
pre { padding: 0.7rem; overflow-x: auto } table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { border: 1px solid #bbb; padding: 0.2rem 0.6rem; text-align: left }
img { max-width: 100% } nav { margin-bottom: 1.5rem }"""


def main(arguments: list[str]) -> int:
    out = Path(arguments[0]) if arguments else OUT
    build(out)
    print(f"Open {out / 'index.html'}")
    return 0


def build(out: Path, packages: tuple[str, ...] = PACKAGES) -> None:
    """Replace the folder ``out``: ``index.html``, ``guide/`` and ``api/``."""
    shutil.rmtree(out, ignore_errors=True)
    pdoc.render.configure(docformat="google", search=True, show_source=False, footer_text="Semblance")
    with warnings.catch_warnings():
        # Types of the fields of named tuples and data classes, which pdoc then shows as they are written.
        warnings.filterwarnings("ignore", message="Error parsing type annotation", category=UserWarning)
        # pdoc finds most of the modules a second time through their packages.
        warnings.filterwarnings("ignore", message=".* has already been added", category=UserWarning)
        pdoc.pdoc(*modules(packages), output_directory=out / "api")
    help_folder = resources.path("help")
    pages = {name: help_folder / f"{name}.md" for name in GUIDE}
    learners = {f"learners/{file.stem}": file for file in sorted((help_folder / "learners").glob("*.md"))}
    shutil.copytree(help_folder / "benchmarks", out / "guide" / "benchmarks")
    titles = {}
    for name, file in (pages | learners).items():
        text = file.read_text(encoding="utf-8")
        heading = re.match(r"# (.*)", text)
        titles[name] = heading.group(1) if heading else declared_learner(file.stem).title
        page = out / "guide" / f"{name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(
            _page(titles[name], _body(help_files.with_tables(text)), "../" * (1 + name.count("/"))),
            encoding="utf-8",
        )
    page_list = "".join(
        f'<li><a href="guide/{name}.html">{html.escape(titles[name])}</a></li>' for name in pages
    )
    learner_list = "".join(
        f'<li><a href="guide/{name}.html">{html.escape(titles[name])}</a></li>' for name in learners
    )
    api_list = "".join(
        f'<li><a href="api/semblance/core/{name}.html"><code>semblance.core.{name}</code></a></li>'
        for name in packages
    )
    body = (
        f"<h1>Semblance in Python</h1><h2>Guide</h2><ul>{page_list}</ul><h2>API reference</h2><ul>{api_list}</ul>"
        f"<h2>Learners</h2><ul>{learner_list}</ul>"
    )
    (out / "index.html").write_text(_page("Semblance in Python", body, ""), encoding="utf-8")


def modules(packages: tuple[str, ...] = PACKAGES) -> list[str]:
    """The packages and all modules in them: pdoc alone passes over those that ``__all__`` does not name."""
    found = []
    for name in packages:
        package = importlib.import_module(f"semblance.core.{name}")
        below = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        found += [package.__name__, *(one.name for one in below if "._" not in one.name)]
    return found


def _body(text: str) -> str:
    """HTML of a help page; links to pages that are not part of the guide, and keys, are kept as text."""

    def link(found: re.Match[str]) -> str:
        name = found.group(2).removesuffix(".md")
        return (
            f"[{found.group(1)}]({name}.html)"
            if name in GUIDE or name.startswith("learners/")
            else found.group(1)
        )

    text = re.sub(r"(?<!!)\[([^\]]+)\]\(([\w/]+\.md|key:\w+)(?:#[\w-]*)?\)", link, text)
    return str(
        markdown2.markdown(text, extras=["tables", "fenced-code-blocks", "header-ids", "cuddled-lists"])
    )


def _page(title: str, body: str, top: str) -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f'<nav><a href="{top}index.html">Semblance in Python</a></nav>{body}</html>\n'
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
