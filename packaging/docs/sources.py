"""The source tree of the site: help pages, the command line, the Python interface, notebooks and their contents.

Nothing here is a text of its own except the first page and the names of the parts. The order of the pages within a
part is that of the contents of the help.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import runpy
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance import resources
from semblance.app.window import help_files, help_pages
from semblance.core.features.registry import extractors
from semblance.core.language import ENGLISH, current_language
from semblance.core.metrics.registry import estimator_class, learners

TOP = Path(__file__).resolve().parent.parent.parent
#: Where the notebooks are that were run.
NOTEBOOKS = TOP / "build" / "docs-work" / "notebooks"
#: Pages to learn from, facts, and backgrounds. All others are how-to guides, in the groups of the help.
TUTORIALS = ("getting_started", "tutorial")
REFERENCE = ("scores", "glossary", "keyboard", "benchmarks", "conformance", help_files.WHATS_NEW)
EXPLANATION = (
    "intended_purpose",
    "trust",
    "reliability",
    "privacy",
    "which_learner",
    "yardstick",
    "papers",
    "visual_words",
    "mass_features",
    "polyps_and_lung",
)
#: Starts of the names of documents that are in no other language.
ONLY_ENGLISH = ("command_line", "api/", "notebooks/", "genindex", "py-modindex")
#: The modules of the interface, and package of core -> its modules that people use from Python. Learners and extractors
#: are added from their registries.
INTERFACE = ("library", "features", "metric", "ranking", "scores", "figures", "progress", "testing")
MODULES = {
    "metrics": "registry learner linear_learner metric pipeline card citations declarations",
    "metrics.distances": "linear bits city_block mixtures stumps refined",
    "metrics.steps": "sequence step scaling pca mrmr codebook levels excluded_groups per_set",
    "features": "registry extractor places slice_descriptions",
    "retrieval": "index ranking feedback place_index slice_index place_comparison slice_alignment",
    "evaluation": "data splits scores roc intervals calibration significance friedman agreement choose_learner",
    "evaluation.protocols": "registry protocol full papers pairs matching medmnist region feedback",
}


@dataclass(frozen=True)
class Texts:
    """The texts of the site that are in no help page."""

    lead: str
    tutorials: str
    tutorials_for: str
    how_to: str
    how_to_for: str
    python: str
    reference: str
    reference_for: str
    explanation: str
    explanation_for: str
    questions: str
    picture: str
    #: Before the links to the pages that are only in the tree of English; empty there.
    only_english: str
    command_line: str


TEXTS = {
    "en": Texts(
        "Semblance finds medical cases that look alike and have the same meaning. It is a desktop program, a command "
        "line and a Python package.",
        "Tutorials",
        "Learn it from the start, on a library that you can break.",
        "How-to guides",
        "Steps for a task.",
        "Python and own features",
        "Reference",
        "Facts to look up.",
        "Background",
        "Why it works as it does, and how far to trust it.",
        "Asked often",
        "A query and its similar cases",
        "",
        "Command line",
    ),
    "de": Texts(
        "Semblance findet medizinische Fälle, die ähnlich aussehen und dieselbe Bedeutung haben. Es ist ein Programm "
        "mit Fenster, eine Kommandozeile und ein Python-Paket.",
        "Tutorials",
        "Von Anfang an lernen, mit einer Bibliothek zum Ausprobieren.",
        "Anleitungen",
        "Schritte für eine Aufgabe.",
        "Python und eigene Merkmale",
        "Nachschlagen",
        "Fakten.",
        "Hintergrund",
        "Warum es so arbeitet, und wie weit man ihm trauen kann.",
        "Häufig gefragt",
        "Eine Anfrage und ihre ähnlichen Fälle",
        "Nur auf Englisch",
        "Kommandozeile",
    ),
}
#: Pages that answer what is asked most, and the question in each language.
QUESTIONS = {
    "scores": {"en": "How is accuracy@k defined?", "de": "Wie ist accuracy@k definiert?"},
    "trust": {"en": "How far can I trust an estimate?", "de": "Wie weit kann ich einer Schätzung trauen?"},
    "which_learner": {"en": "Which learner for my data?", "de": "Welches Lernverfahren für meine Daten?"},
    "import_images": {"en": "Which files can I import?", "de": "Welche Dateien kann ich importieren?"},
    "python": {"en": "How do I use it from Python?", "de": "Wie nutze ich es mit Python?"},
}


def write_sources(folder: Path) -> None:
    """Write the tree of the current language. Files that did not change stay as they are, so that Sphinx reads only the
    others again."""
    files = dict(source_files())
    for old in [path for path in folder.rglob("*") if path.is_file()]:
        if old.relative_to(folder).as_posix() not in files:
            old.unlink()
    for name, content in files.items():
        target = folder / name
        data = content.encode() if isinstance(content, str) else content
        if not target.exists() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)


def notebook_names() -> list[str]:
    """The notebooks that were run, in the order of a reader."""
    script = TOP / "packaging" / "notebooks.py"
    names = runpy.run_path(str(script))["NAMES"] if script.is_file() else ()
    return [name for name in names if (NOTEBOOKS / f"{name}.md").is_file()]


def _notebook(name: str) -> Iterator[tuple[str, str | bytes]]:
    """The page of a notebook that was run, and the files that it offers."""
    page = (NOTEBOOKS / f"{name}.md").read_text(encoding="utf-8")
    title, _, rest = page.partition("\n")
    offered = f"[Python]({name}.py) · [Jupyter]({name}.ipynb)"
    yield f"notebooks/{name}.md", f"{title}\n\nDownload: {offered}\n{rest}"
    yield f"notebooks/{name}.py", (TOP / "resources" / "help" / "notebooks" / f"{name}.py").read_bytes()
    yield f"notebooks/{name}.ipynb", (NOTEBOOKS / f"{name}.ipynb").read_bytes()


def source_files() -> Iterator[tuple[str, str | bytes]]:
    """Path in the tree -> content."""
    help_folder = resources.path("help")
    for folder in ("images", "benchmarks"):
        for file in sorted((help_folder / folder).iterdir()):
            yield f"{folder}/{file.name}", file.read_bytes()
    for _, entries in help_pages.contents():
        for entry in entries:
            yield f"{entry.page}.md", page_source(entry.page)
    yield from _contents()
    if current_language() == ENGLISH:
        yield "command_line.md", command_line()
        for name in notebook_names():
            yield from _notebook(name)
        yield from _api()


def page_source(page: str) -> str:
    """A help page in the Markdown of the site: keys are shown as keys."""
    text = help_pages.text_of(page)
    return re.sub(r"\[([^\]]+)\]\(key:\w+\)", r"{kbd}`\1`", text)


# --- contents ------------------------------------------------------------------------------------------


def how_to_groups() -> list[tuple[str, str, list[str]]]:
    """(document, title, pages) of the how-to guides, by the groups of the help."""
    elsewhere = {*TUTORIALS, *REFERENCE, *EXPLANATION}
    groups = []
    for title, entries in help_pages.contents()[: len(help_pages.GROUPS)]:
        pages = [entry.page for entry in entries if entry.page not in elsewhere]
        if pages:
            # The last group is called Reference in the help, and another part is called so here.
            shown = TEXTS[current_language()].python if title == help_pages.GROUPS[-1][0] else title
            groups.append((f"how_to/{_slug(pages[0])}", shown, pages))
    return groups


@functools.cache
def parts() -> list[tuple[str, list[str]]]:
    """(title, documents) of the four parts of the site."""
    text = TEXTS[current_language()]
    lists = [f"{entries[0].page.partition('/')[0]}/index" for _, entries in _registries()]
    is_english = current_language() == ENGLISH
    english_only = ["command_line", "api/index"] if is_english else []
    notebooks = [f"notebooks/{name}" for name in notebook_names()] if is_english else []
    return [
        (text.tutorials, [*TUTORIALS, *notebooks]),
        (text.how_to, [document for document, *_ in how_to_groups()]),
        (text.reference, [REFERENCE[0], *english_only, *lists, *REFERENCE[1:]]),
        (text.explanation, list(EXPLANATION)),
    ]


def _registries() -> tuple[tuple[str, tuple[help_pages.HelpEntry, ...]], ...]:
    return help_pages.contents()[len(help_pages.GROUPS) :]


def _contents() -> Iterator[tuple[str, str]]:
    """The first page, and a page for each group and registry."""
    text, language = TEXTS[current_language()], current_language()
    for document, title, pages in how_to_groups():
        yield f"{document}.md", f"# {title}\n\n{_toctree(f'/{page}' for page in pages)}"
    for title, entries in _registries():
        folder = entries[0].page.partition("/")[0]
        yield f"{folder}/index.md", f"# {title}\n\n{_toctree(f'/{entry.page}' for entry in entries)}"
    meanings = (text.tutorials_for, text.how_to_for, text.reference_for, text.explanation_for)
    cards = "".join(
        f'<div><h3><a href="{documents[0]}.html">{title}</a></h3><p>{meaning}</p></div>'
        for (title, documents), meaning in zip(parts(), meanings, strict=True)
    )
    questions = "\n".join(f"- [{asked[language]}]({page}.md)" for page, asked in QUESTIONS.items())
    english = f"\n{text.only_english}: {_english_links()}.\n" if text.only_english else ""
    yield (
        "index.md",
        f'# Semblance\n\n{text.lead}\n\n<div class="parts">{cards}</div>\n\n'
        f"## {text.questions}\n\n{questions}\n{english}\n"
        f"![{text.picture}](images/asked.png)\n\n"
        + "\n".join(_toctree(pages, title) for title, pages in parts()),
    )


def _english_links() -> str:
    """Raw HTML: links from the first page of another language into the tree of English, to pages that are there."""
    notebooks = [(f"notebooks/{name}", "Notebooks") for name in notebook_names()[:1]]
    links = [("api/index", "Python"), ("command_line", TEXTS[current_language()].command_line), *notebooks]
    return ", ".join(f'<a href="../{document}.html">{title}</a>' for document, title in links)


def _toctree(pages: Iterator[str] | list[str], caption: str = "") -> str:
    options = f":caption: {caption}\n:hidden:\n" if caption else ""
    return "\n".join(["```{toctree}", f"{options}:maxdepth: 1", "", *pages, "```", ""])


def _slug(text: str) -> str:
    return re.sub(r"\W+", "_", text.casefold()).strip("_")


# --- the command line ----------------------------------------------------------------------------------


def command_line() -> str:
    """All commands with their arguments and options, as ``--help`` prints them."""

    import typer.main

    from semblance.app.cli.main import cli

    root = typer.main.get_command(cli)
    lines = ["# Command line", "", root.help or "", ""]
    for name, command in _commands(root, "semblance"):
        context = typer.Context(command, info_name=name)
        lines += [f"## {name}", "", *textwrap.dedent(command.help or "").splitlines(), ""]
        lines += ["```text", f"{name} {' '.join(command.collect_usage_pieces(context))}", "```", ""]
        records = [record for one in command.get_params(context) if (record := one.get_help_record(context))]
        rows = [
            f"| `{_cell(option)}` | {_cell(meaning)} |" for option, meaning in records if option != "--help"
        ]
        if rows:
            lines += ["| argument or option | meaning |", "| --- | --- |", *rows, ""]
    return "\n".join(lines)


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """(name with those of its groups, command) of every command that does something itself."""
    below = getattr(command, "commands", None)
    if below is None:
        yield name, command
        return
    for one in below.values():
        yield from _commands(one, f"{name} {one.name}")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


# --- the Python interface ------------------------------------------------------------------------------


def api_pages() -> dict[str, list[str]]:
    """Page -> the modules and classes on it."""
    interface = [f"semblance.{name}" for name in INTERFACE]
    pages = {name: [name] for name in interface if importlib.util.find_spec(name)}
    for package, modules in MODULES.items():
        pages[f"semblance.core.{package}"] = [
            f"semblance.core.{package}.{module}" for module in modules.split()
        ]
    pages["semblance.core.metrics.estimators"] = _class_names(estimator_class(one) for one in learners())
    pages["semblance.core.features.extractors"] = _class_names(extractors())
    return dict(sorted(pages.items(), key=lambda page: (page[0].startswith("semblance.core"), page[0])))


def _class_names(classes: Iterable[type]) -> list[str]:
    return [f"{one.__module__}.{one.__name__}" for one in classes]


def _api() -> Iterator[tuple[str, str]]:
    pages = api_pages()
    listed = "\n".join(f"   {page}" for page in pages)
    yield (
        "api/index.rst",
        f"{_heading('Python interface')}.. automodule:: semblance\n\n.. toctree::\n   :maxdepth: 1\n\n{listed}\n",
    )
    for page, names in pages.items():
        text = _heading(page)
        for name in names:
            directive = "autoclass" if name.rpartition(".")[2][0].isupper() else "automodule"
            if names != [page]:
                text += _heading(name.rpartition(".")[2], "-")
            text += f".. {directive}:: {name}\n   :members:\n   :show-inheritance:\n\n"
        yield f"api/{page}.rst", text


def _heading(title: str, line: str = "=") -> str:
    return f"{title}\n{line * len(title)}\n\n"
