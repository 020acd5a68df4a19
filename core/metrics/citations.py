"""What to cite: BibTeX and references of the papers of a learner, and of the program."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from semblance import resources
from semblance.core.metrics.declarations import LearnerDeclaration
from semblance.core.version import DISTRIBUTION, version_with_commit

#: Of the program, as in CITATION.cff: a test compares them.
AUTHORS = "Semblance contributors"
TITLE = "Semblance: interactive medical image retrieval"
YEAR = "2026"
_ENTRY = re.compile(r"^@(\w+)\{([^,\s]+),(.*?)^\}", re.MULTILINE | re.DOTALL)
#: A field: text in braces, which may hold braces once more.
_FIELD = re.compile(r"(\w+)\s*=\s*\{((?:[^{}]|\{[^{}]*\})*)\}")


@dataclass(frozen=True)
class Citation:
    """An entry of BibTeX: its ``key``, its ``text``, and its ``fields`` without the outer braces."""

    key: str
    text: str
    fields: dict[str, str]

    @property
    def reference(self) -> str:
        """The entry as a line of plain text: "Im DJ, Taylor GW. Learning a metric ... 2016. arXiv:1607.03050."."""
        fields = {name: value.replace("{", "").replace("}", "") for name, value in self.fields.items()}
        names = ", ".join(_short_name(name) for name in self.fields.get("author", "").split(" and ") if name)
        where = fields.get("journal") or fields.get("booktitle", "")
        number = f"({fields['number']})" if "number" in fields else ""
        volume = f" {fields['volume']}{number}" if "volume" in fields else ""
        pages = fields.get("pages", "").replace("--", "–")
        pages = f"{':' if volume else ', '}{pages}" if pages else ""
        published = f"{where}{volume}{pages}, {fields.get('year', '')}".strip(", ")
        links = [f"doi:{fields['doi']}" if "doi" in fields else "", fields.get("url", "")]
        if "eprint" in fields:
            links.append(f"{fields.get('archiveprefix', 'arXiv')}:{fields['eprint']}")
        version = f"Version {fields['version']}" if "version" in fields else ""
        parts = (names, fields.get("title", ""), version, published, *links)
        return " ".join(f"{part}." for part in parts if part)


def citations(declarations: Iterable[type[LearnerDeclaration]]) -> tuple[Citation, ...]:
    """The papers of learners, each once, in the order in which the learners name them."""
    found: dict[str, Citation] = {}
    for declaration in declarations:
        for name in declaration.citations:
            entries = read_bibtex(name) if name.lstrip().startswith("@") else (_papers()[name],)
            found |= {one.key: one for one in entries if one.key not in found}
    return tuple(found.values())


def bibtex(*declarations: type[LearnerDeclaration]) -> str:
    """The BibTeX of the papers of the learners; empty where they have none."""
    return "\n\n".join(one.text for one in citations(declarations))


def program_citation() -> Citation:
    """The entry of the program in its present version."""
    fields = {
        "author": f"{{{AUTHORS}}}",
        "title": TITLE,
        "version": version_with_commit(),
        "year": YEAR,
        "note": f"Python package {DISTRIBUTION}",
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return Citation("semblance", f"@software{{semblance,\n{lines}}}", fields)


def read_bibtex(text: str) -> tuple[Citation, ...]:
    """The entries of ``text``, whose closing brace each stands at the start of a line."""
    return tuple(
        Citation(key, found[0], {name.casefold(): value for name, value in _FIELD.findall(body)})
        for found in _ENTRY.finditer(text)
        for _kind, key, body in [found.groups()]
    )


@functools.cache
def _papers() -> dict[str, Citation]:
    text = resources.path("papers.bib").read_text(encoding="utf-8")
    return {one.key: one for one in read_bibtex(text)}


def _short_name(name: str) -> str:
    """ "Hoi, Steven C. H." as "Hoi SCH"; a name in braces stays whole."""
    family, _, given = name.replace("{", "").replace("}", "").partition(", ")
    return f"{family} {''.join(part[0] for part in given.split())}".strip()
