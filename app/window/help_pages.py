"""The help pages: files under ``resources/help``, and pages about the entries of the registries.

A page about a learner, extractor, kind of source or protocol starts with the facts of its registry, so that they
are never out of date, and continues with the file of its name: when to use it, and its limits.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from semblance import resources
from semblance.app.shell.actions import COMMANDS, MENUS, Actions
from semblance.app.shell.keys import native
from semblance.app.window import help_files
from semblance.core.language import tr, tr_name
from semblance.core.parameters import Parameter
from semblance.core.plugins import origin_text

#: Shown instead of a page that does not exist.
FALLBACK = "glossary"
#: Panels whose help page has another name than the panel.
PAGE_OF_PANEL = {
    "ranking": "similar_cases",
    "why": "explanation",
    "case": "explanation",
    "notes": "explanation",
    "large": "full_size",
    "hanging": "full_size",
    "two_metrics": "compare_metrics",
    "concepts": "examples_and_concepts",
}
#: Pages of the contents by group, in the order of work; those of registries follow.
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        tr("Get started"),
        ("getting_started", "tutorial", "intended_purpose", "keyboard", "glossary", help_files.WHATS_NEW),
    ),
    (
        tr("Import and view"),
        ("import_images", "privacy", "library", "edits", "query", "full_size", "measure", "compare"),
    ),
    (
        tr("Search and refine"),
        (
            "similar_cases",
            "search_by_place",
            "trust",
            "reliability",
            "explanation",
            "refine",
            "ask_next",
            "examples_and_concepts",
            "compare_metrics",
            "searches",
            "collections",
        ),
    ),
    (
        tr("Train and evaluate"),
        (
            "train",
            "evaluation",
            "scores",
            "map",
            "experiments",
            "yardstick",
            "papers",
            "vault",
            "outcomes",
            "reader_study",
            "agreement",
            "changes",
            "benchmarks",
        ),
    ),
    (
        tr("Report and maintain"),
        (
            "reports",
            "deidentification",
            "pacs",
            "conformance",
            "serve",
            "server",
            "data_check",
            "maintenance",
            "installation",
            "settings",
        ),
    ),
    (
        tr("Reference"),
        (
            "mass_features",
            "polyps_and_lung",
            "visual_words",
            "own_encoder",
            "own_features",
            "python",
            "plugins",
            "which_learner",
            "metric_learn",
        ),
    ),
)
_REGISTRIES = (
    ("learners", tr("Learners")),
    ("extractors", tr("Features")),
    ("kinds", tr("Kinds of sources")),
    ("protocols", tr("Protocols")),
)
#: Characters on each side of a search hit.
_EXCERPT = 60


@dataclass(frozen=True)
class HelpEntry:
    """A page in the contents."""

    page: str
    title: str


@dataclass(frozen=True)
class SearchHit:
    """A page with all search terms; ``excerpt``: the text around the first of them."""

    page: str
    title: str
    excerpt: str


def text_of(page: str) -> str:
    """The Markdown of ``page``, or of :data:`FALLBACK` if there is no such page."""
    known = {entry.page for _, entries in contents() for entry in entries}
    return _text(page if page in known else FALLBACK)


def with_keys(text: str, actions: Actions) -> str:
    """``text`` with the keys that the commands have now: ``[KEYS](key:COMMAND)`` in it becomes the keys of COMMAND, or
    KEYS if the user did not change them."""

    def present(match: re.Match[str]) -> str:
        written, command = match.groups()
        if not actions.keys.is_changed(command):
            return written
        return ", ".join(native(key) for key in actions.keys.of(command)) or tr("no key")

    return re.sub(r"\[([^\]]+)\]\(key:(\w+)\)", present, text)


def commands_table(actions: Actions) -> str:
    """A section of Markdown with all commands that have a key."""
    rows = [
        f"| {_cell(', '.join(native(key) for key in keys))} | {_cell(command.text)} | {MENUS[command.menu]} |"
        for command in COMMANDS
        if (keys := actions.keys.of(command.id))
    ]
    head = f"| {tr('key')} | {tr('command')} | {tr('menu')} |"
    return "\n".join([f"## {tr('Keys of all commands')}", "", head, "| --- | --- | --- |", *rows, ""])


def target(page: str, link: str) -> str:
    """The page that ``link`` on ``page`` refers to."""
    existing = posixpath.join(posixpath.dirname(page), link.partition("#")[0])
    return posixpath.normpath(existing).removesuffix(".md")


def has(page: str) -> bool:
    return any(entry.page == page for _, entries in contents() for entry in entries)


@lru_cache(maxsize=1)
def contents() -> tuple[tuple[str, tuple[HelpEntry, ...]], ...]:
    """All pages by group. A file in no group is in the last one."""
    files = {help_files.WHATS_NEW} | {file.stem for file in resources.path("help").glob("*.md")}
    named = {page for _, pages in GROUPS for page in pages}
    out = []
    for title, pages in GROUPS:
        existing = [page for page in pages if page in files]
        if title == GROUPS[-1][0]:
            existing += sorted(files - named)
        out.append((title, tuple(HelpEntry(page, _title(_text(page))) for page in existing)))
    for folder, title in _REGISTRIES:
        entries = tuple(HelpEntry(f"{folder}/{name}", shown) for name, shown, _ in _registry(folder))
        out.append((title, entries))
    return tuple(out)


def find(query: str) -> list[SearchHit]:
    """The pages that have every one of ``query``, in whole or at their beginning: those with it in their
    title first, then in a heading, then most often. The page with what changed is the last."""
    terms = [word for word in query.casefold().split() if word]
    if not terms:
        return []
    ranked: list[tuple[bool, int, int, int, int, SearchHit]] = []
    for _, entries in contents():
        for entry in entries:
            text = _text(entry.page)
            plain = _plain(text)
            headings = " ".join(re.findall(r"^##+ (.*)$", text, re.MULTILINE))
            counts = [_count_hits(word, plain) for word in terms]
            if all(counts):
                in_title = sum(word in entry.title.casefold() for word in terms)
                in_headings = sum(_count_hits(word, headings) > 0 for word in terms)
                found = SearchHit(entry.page, entry.title, _excerpt(plain, terms[0]))
                is_news = entry.page == help_files.WHATS_NEW and not in_title
                ranked.append((is_news, -in_title, -in_headings, -sum(counts), len(ranked), found))
    return [found for *_, found in sorted(ranked)]


def _count_hits(word: str, text: str) -> int:
    return len(re.findall(rf"\b{re.escape(word)}", text.casefold()))


@lru_cache(maxsize=256)
def _text(page: str) -> str:
    folder, slash, name = page.rpartition("/")
    prose = help_files.text_of(page)
    if not slash:
        return prose
    head = next(head for known, _, head in _registry(folder) if known == name)
    return f"{head}\n{prose}{_to_cite(name) if folder == 'learners' else ''}"


def _to_cite(learner: str) -> str:
    """The last section of the page of a learner; empty where it has no paper."""
    from semblance.core.metrics.citations import bibtex
    from semblance.core.metrics.registry import declared_learner

    entries = bibtex(declared_learner(learner))
    return f"\n## {tr('Cite')}\n\n```bibtex\n{entries}\n```\n" if entries else ""


@lru_cache(maxsize=4)
def _registry(folder: str) -> tuple[tuple[str, str, str], ...]:
    """(name, title, first part of the page) of everything a registry has."""
    return tuple(
        {
            "learners": _learners,
            "extractors": _extractors,
            "kinds": _kinds,
            "protocols": _protocols,
        }[folder]()
    )


def _learners() -> Iterator[tuple[str, str, str]]:
    from semblance.core.metrics.registry import learners

    for one in learners():
        accepts = ", ".join(sorted(one.accepts)) or tr("no findings or pairs")
        facts = [(tr("Name"), f"`{one.name}`"), (tr("Learns from"), accepts), (tr("Paper"), one.paper)]
        if one.needs:
            facts.append((tr("Needs"), tr("the extra `{name}`", name=one.needs)))
        facts.append((tr("From"), origin_text("learner", one.name)))
        yield (
            one.name,
            tr_name(one.title),
            _facts_text(tr_name(one.title), tr_name(one.summary), facts, one.parameters),
        )


def _extractors() -> Iterator[tuple[str, str, str]]:
    from semblance.core.features.registry import extractors

    for one in extractors():
        facts = [(tr("Name"), f"`{one.name}`"), (tr("Version"), str(one.version))]
        facts.append((tr("From"), origin_text("extractor", one.name)))
        yield (
            one.name,
            tr_name(one.title),
            _facts_text(tr_name(one.title), tr_name(one.summary), facts, one.parameters),
        )


def _kinds() -> Iterator[tuple[str, str, str]]:
    from semblance.core.library.importers.registry import importers

    for one in importers():
        headers = tr("yes, replaced by codes unless you choose otherwise") if one.reads_headers else tr("no")
        facts = [(tr("Name"), f"`{one.kind}`"), (tr("Reads patients from file headers"), headers)]
        facts.append((tr("From"), origin_text("importer", one.kind)))
        yield one.kind, tr_name(one.title), _facts_text(tr_name(one.title), tr_name(one.summary), facts, ())


def _protocols() -> Iterator[tuple[str, str, str]]:
    from semblance.core.evaluation.protocols.registry import protocols

    for one in protocols():
        facts = [
            (tr("Name"), f"`{one.name}`"),
            (tr("Paper"), one.paper),
            (tr("Repeats"), str(one.repeats)),
            (tr("Judged by"), ", ".join(f"`{score}`" for score in one.compared)),
            (tr("From"), origin_text("protocol", one.name)),
        ]
        yield (
            one.name,
            tr_name(one.title),
            _facts_text(tr_name(one.title), tr_name(one.summary), facts, one.parameters),
        )


def _facts_text(
    title: str, summary: str, facts: Sequence[tuple[str, str]], parameters: Sequence[Parameter]
) -> str:
    lines = [f"# {title}", "", summary, ""]
    lines += [f"- **{label}:** {value}" for label, value in facts if value]
    if parameters:
        headings = (tr("parameter"), tr("default"), tr("meaning"))
        lines += ["", f"## {tr('Parameters')}", "", f"| {' | '.join(headings)} |", "| --- | --- | --- |"]
        lines += [
            f"| {_cell(tr_name(p.title))} (`{p.name}`) | {_value(p)} | {_cell(tr_name(p.meaning))} |"
            for p in parameters
        ]
    return "\n".join([*lines, ""])


def _value(parameter: Parameter) -> str:
    shown = "–" if parameter.default in (None, "") else str(parameter.default)
    same = parameter.paper in (None, parameter.default)
    return _cell(shown if same else tr("{value} (paper {paper})", value=shown, paper=parameter.paper))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ").strip()


def _plain(text: str) -> str:
    """The text of Markdown without most of its marks, for the search."""
    without_links = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(re.sub(r"[#*`|>]|-{3,}", " ", without_links).split())


def _excerpt(plain: str, word: str) -> str:
    found = re.search(rf"\b{re.escape(word)}", plain, re.IGNORECASE)
    place = found.start() if found else 0
    start, end = max(0, place - _EXCERPT), place + _EXCERPT
    return f"{'…' if start else ''}{plain[start:end].strip()}{'…' if end < len(plain) else ''}"
