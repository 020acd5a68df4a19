"""Find the texts of the program that are to be translated, and bring the catalogues up to date with them.

``python -m tests.translations`` (``make translations``) adds new texts to every ``semblance.po``, proposes a
translation (marked ``fuzzy``) where a text was reworded, drops what is no longer used, compiles, and lists what a
translator has to do. Babel reads and writes the catalogues; the calls are found in the syntax tree, because Babel's
own extractor does not see those inside f-strings.
"""

from __future__ import annotations

import ast
import re
import runpy
import string
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po

from semblance.core.language import DOMAIN, ENGLISH, LANGUAGES

TOP = Path(__file__).resolve().parent.parent
FOLDER = TOP / "resources" / "translations"
#: Calls whose first argument is a text.
SINGULAR = {"tr", "tr_lazy"}
#: Calls whose first two arguments are one text in singular and plural.
PLURAL = {"tr_n", "tr_lazy_n"}
#: Errors of ``core``, whose message and hint may be bare texts.
ERRORS = {"SemblanceError", "BadInput", "BadArguments", "WorkerEnded", "Away"}

#: A text, or its singular and plural.
Text = str | tuple[str, str]


def texts() -> dict[Text, str]:
    """Everything that is to be translated -> where it is."""
    found: dict[Text, str] = {}
    files = [file for folder in ("app", "core") for file in sorted((TOP / folder).rglob("*.py"))]
    for file in files:
        if file.name != "language.py":
            found |= {text: where for text, where in _in_source(file) if has_words(text)}
    for file in sorted((TOP / "core").rglob("*.html")):
        for match in re.finditer(r'\b_\("([^"]+)"', file.read_text(encoding="utf-8")):
            found[match[1]] = str(file.relative_to(TOP))
    found |= {text: where for text, where in _in_registries() if has_words(text)}
    plurals = {text[0] for text in found if isinstance(text, tuple)}
    return {text: where for text, where in found.items() if text not in plurals}


def _in_source(file: Path) -> Iterator[tuple[Text, str]]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "semblance.core.language"
        for alias in node.names
    }
    in_core = file.is_relative_to(TOP / "core")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        where = f"{file.relative_to(TOP)}:{node.lineno}"
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if isinstance(node.func, ast.Name) and name in imported & (SINGULAR | PLURAL):
            if name in SINGULAR:
                yield _literal(node.args[0], where), where
            else:
                yield (_literal(node.args[0], where), _literal(node.args[1], where)), where
        elif in_core and (name in ERRORS or (name == "progress" and len(node.args) == 3)):
            for text in node.args if name in ERRORS else node.args[2:]:
                assert not isinstance(text, ast.JoinedStr), f"{where}: use tr_lazy() for a text with places"
                if isinstance(text, ast.Constant) and text.value:
                    yield _literal(text, where), where


def _literal(text: ast.expr, where: str) -> str:
    assert isinstance(text, ast.Constant), f"{where}: the text has to stand in the call"
    assert isinstance(text.value, str), where
    return text.value


def _in_registries() -> Iterator[tuple[Text, str]]:
    """What learners, extractors, kinds and protocols say of themselves."""
    from semblance.core.evaluation.protocols.registry import protocols
    from semblance.core.features.lung_texture import DEFINITIONS as LUNG
    from semblance.core.features.mass import FEATURES as MASS
    from semblance.core.features.polyp.extractor import definitions as polyp
    from semblance.core.features.registry import extractors
    from semblance.core.library.importers.registry import importers
    from semblance.core.metrics.registry import learners

    for one in (*learners(), *extractors(), *importers(), *protocols()):
        for text in (one.title, one.summary):
            yield text, one.title
        for parameter in getattr(one, "parameters", ()):
            for text in (parameter.meaning, parameter.title):
                yield text, f"{one.title}, {parameter.name}"
    # Formulas are the same in every language; names of one feature at several scales are one text with a place.
    for feature in (*LUNG, *MASS, *polyp()):
        name = re.sub(", at . mm$", "", feature.name)
        for text in ("" if name.startswith("density") else name, feature.group, feature.unit):
            yield text, feature.name


def has_words(text: Text) -> bool:
    """Whether there is anything to translate beside the places."""
    pieces = string.Formatter().parse(_as_format(text if isinstance(text, str) else text[1]))
    return any(any(map(str.isalpha, piece)) for piece, *_ in pieces if piece)


def fields(text: str) -> set[str]:
    """The places of a text."""
    return {name for _, name, _, _ in string.Formatter().parse(_as_format(text)) if name}


def _as_format(text: str) -> str:
    """A text without places may hold braces that are none."""
    try:
        list(string.Formatter().parse(text))
    except ValueError:
        return text.replace("{", "{{").replace("}", "}}")
    return text


def source_of(language: str) -> Path:
    """The file a translator edits."""
    return FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def read(language: str) -> Catalog:
    with source_of(language).open("rb") as file:
        return read_po(file, locale=language)


def forms(entry: Message) -> tuple[str, ...]:
    """The translations of an entry: one, or one for each plural form."""
    found = entry.string if isinstance(entry.string, tuple) else (entry.string,)
    return tuple(one or "" for one in found)


def translated_texts(language: str) -> dict[str, str]:
    """English -> translation of every text without plural forms."""
    return {entry.id: entry.string for entry in read(language) if entry.id and not entry.pluralizable}


def problems(catalogue: Catalog, source_texts: Iterable[Text]) -> dict[str, list[Text]]:
    """What is wrong with a catalogue -> the texts."""
    source_texts = set(source_texts)
    have: dict[Text, Message] = {}
    for entry in catalogue:
        if entry.id:
            have[tuple(entry.id) if isinstance(entry.id, list | tuple) else entry.id] = entry
    shared = [have[text] for text in have if text in source_texts]
    found = {
        "missing": [text for text in source_texts if text not in have],
        "no longer used": [text for text in have if text not in source_texts],
        "obsolete": [entry.id for entry in catalogue.obsolete.values()],
        "not translated": [entry.id for entry in shared if not all(one.strip() for one in forms(entry))],
        "fuzzy": [entry.id for entry in shared if entry.fuzzy],
        "other plural forms": [
            entry.id
            for entry in shared
            if len(forms(entry)) != (catalogue.num_plurals if entry.pluralizable else 1)
        ],
        "other places": [entry.id for entry in shared if not _places_agree(entry)],
    }
    return {what: sorted(those, key=str) for what, those in found.items() if those}


def _places_agree(entry: Message) -> bool:
    """Every plural form has the places of the plural; the singular may say "one" in words."""
    if isinstance(entry.id, str):
        return fields(entry.id) == fields(forms(entry)[0])
    one, many = map(fields, entry.id)
    first, *rest = map(fields, forms(entry))
    return first in (one, many) and all(form == many for form in rest)


def update(language: str, source_texts: Iterable[Text]) -> Catalog:
    """Bring the catalogue of a language up to date and write it."""
    catalogue, template = read(language), Catalog()
    made = catalogue.creation_date
    for text in source_texts:
        template.add(text)
    catalogue.update(template)
    catalogue.obsolete.clear()
    # A date that changes each time would only make two people's changes collide.
    catalogue.creation_date = made
    write(catalogue, source_of(language))
    return catalogue


def write(catalogue: Catalog, file: Path) -> None:
    """Sorted, a text a line and without line numbers, so that changes of several people merge."""
    for entry in catalogue:
        # Babel takes "10 % done" for a place of the % operator.
        entry.flags.discard("python-format")
    with file.open("wb") as output:
        write_po(output, catalogue, width=0, no_location=True, sort_output=True)


def main() -> int:
    source_texts, status = texts(), 0
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        found = problems(update(language, source_texts), source_texts)
        print(f"{source_of(language).relative_to(TOP)}: {len(source_texts):,} texts")
        for what, those in found.items():
            status = 1
            print(f"{what}: {len(those)}")
            for text in those:
                print(f"  {text!r}  ({source_texts.get(text, '')})")
    runpy.run_path(str(TOP / "packaging" / "build_resources.py"), run_name="__main__")
    return status


if __name__ == "__main__":
    sys.exit(main())
