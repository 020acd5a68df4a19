"""List teaching collections, put cases and places into them, and take them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.imaging.region import Box, Region
from semblance.core.language import tr_lazy
from semblance.core.library.collections import Collection, CollectionItem
from semblance.core.library.library import Library
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CaseDetails
from semblance.core.tasks import SILENT, Reporter


@dataclass(frozen=True)
class ListedCollection:
    """A collection with the rows of its cases in the catalogue, and their findings; ``None`` where they are gone.
    ``places``: left, top, right and bottom of the place of each, as shares of the thumbnail; ``None`` without one, and
    where it lies on another slice."""

    collection: Collection
    rows: tuple[int | None, ...]
    findings: tuple[str | None, ...]
    places: tuple[Box | None, ...]
    may_change: bool

    def to_json(self) -> dict[str, Any]:
        """The collection as ``semblance collections --json`` has it."""
        one = self.collection
        return {
            "name": one.name,
            "notes": one.notes,
            "author": one.author,
            "created": one.created,
            "items": [
                {
                    "position": position,
                    "case_id": item.case,
                    "finding": finding,
                    "gone": row is None,
                    "slice": None if item.slice is None else item.slice + 1,
                    "region": None if item.region is None else item.region.to_json(),
                    "notes": item.notes,
                }
                for position, (item, row, finding) in enumerate(
                    zip(one.items, self.rows, self.findings, strict=True), start=1
                )
            ],
        }


def read_collections(
    library: LibraryLocation, *, reporter: Reporter = SILENT
) -> tuple[ListedCollection, ...]:
    """The collections of a library, by name.

    Raises:
        BadInput: not a library, or damaged.
    """
    with open_library(library) as opened:
        found = opened.collections.all()
        cases = opened.catalogue.details_of(item.case for one in found for item in one.items)
        return tuple(_listed(opened, one, cases) for one in found)


def list_collections(library: LibraryLocation) -> list[dict[str, Any]]:
    """The collections of a library as JSON, by name."""
    return [one.to_json() for one in read_collections(library)]


def add_to_collection(
    library: LibraryLocation,
    name: str,
    cases: Sequence[str],
    *,
    notes: str = "",
    region: Region | None = None,
    slice_number: int | None = None,
    reporter: Reporter = SILENT,
) -> dict[str, Any]:
    """Put ``cases`` at the end of the collection ``name``, which is made if there is none; the collection as JSON.
    ``region`` and ``slice_number`` (from 0): the place in the one case.

    Raises:
        BadArguments: no case, or a place in several.
        BadInput: no such case, or a name that a collection cannot have.
        SemblanceError: another person's collection.
    """
    if not cases or (len(cases) > 1 and (region is not None or slice_number is not None)):
        raise BadArguments(
            "A place is in one case." if cases else "No case was given.",
            "Give --case ID, or several without a place.",
        )
    with open_library(library, writable=True) as opened:
        for case in cases:
            opened.catalogue.row_of(case)
        table = opened.collections
        items = [CollectionItem(case, region, slice_number, notes) for case in cases]
        known = {one.name.casefold(): one for one in table.all()}
        found = known.get(" ".join(name.split()).casefold())
        if found is None:
            table.make(name, items)
        else:
            table.add(found.id, items)
        made = table.get(" ".join(name.split()) if found is None else found.name)
        cases_in = opened.catalogue.details_of(item.case for item in made.items)
        return _listed(opened, made, cases_in).to_json()


def remove_from_collection(library: LibraryLocation, name: str, cases: Sequence[str] = ()) -> dict[str, Any]:
    """Take ``cases`` out of the collection ``name``, or delete it without any; how many items went.

    Raises:
        BadArguments: no such collection, or a case that is not in it.
        SemblanceError: another person's collection.
    """
    with open_library(library, writable=True) as opened:
        found = opened.collections.get(name)
        if not cases:
            opened.collections.delete(found.id)
            return {"name": name, "removed": len(found.items), "deleted": True}
        if missing := set(cases) - {item.case for item in found.items}:
            raise BadArguments(
                tr_lazy("'{case}' is not in the collection '{name}'.", case=min(missing), name=name),
                "Nothing was changed.",
            )
        kept = [item for item in found.items if item.case not in cases]
        opened.collections.set_items(found.id, kept)
        return {"name": name, "removed": len(found.items) - len(kept), "deleted": False}


def put_items(
    library: LibraryLocation,
    key: int | None,
    name: str,
    items: Sequence[CollectionItem],
    *,
    reporter: Reporter = SILENT,
) -> int:
    """Put ``items`` at the end of the collection with the id ``key``, or into a new one called ``name``; how many were
    not in it.

    Raises:
        BadArguments, BadInput, SemblanceError: as :class:`semblance.core.library.collections.CollectionTable`.
    """
    with open_library(library, writable=True) as opened:
        if key is not None:
            return opened.collections.add(key, items)
        opened.collections.make(name, items)
        return len(items)


def save_items(
    library: LibraryLocation, key: int, items: Sequence[CollectionItem], *, reporter: Reporter = SILENT
) -> None:
    """Have exactly ``items`` in a collection, in this order; errors as :func:`put_items`."""
    with open_library(library, writable=True) as opened:
        opened.collections.set_items(key, items)


def rename_collection(library: LibraryLocation, key: int, name: str, *, reporter: Reporter = SILENT) -> None:
    """Give a collection another name; errors as :func:`put_items`."""
    with open_library(library, writable=True) as opened:
        opened.collections.rename(key, name)


def duplicate_collection(library: LibraryLocation, key: int, *, reporter: Reporter = SILENT) -> int:
    """The id of a copy, which is the user's; errors as :func:`put_items`."""
    with open_library(library, writable=True) as opened:
        return opened.collections.duplicate(key)


def delete_collection(library: LibraryLocation, key: int, *, reporter: Reporter = SILENT) -> Collection:
    """Delete a collection; what :func:`restore_collection` brings back. Errors as :func:`put_items`."""
    with open_library(library, writable=True) as opened:
        return opened.collections.delete(key)


def restore_collection(library: LibraryLocation, deleted: Collection, *, reporter: Reporter = SILENT) -> int:
    """The id under which a deleted collection is back."""
    with open_library(library, writable=True) as opened:
        return opened.collections.restore(deleted)


def _listed(library: Library, one: Collection, known: Mapping[str, CaseDetails]) -> ListedCollection:
    """``known``: the details of the cases that are there, by their ids."""
    cases = [known.get(item.case) for item in one.items]
    return ListedCollection(
        one,
        tuple(None if case is None else case.row for case in cases),
        tuple(None if case is None else case.finding for case in cases),
        tuple(
            None if case is None else _share(item.place, case)
            for item, case in zip(one.items, cases, strict=True)
        ),
        library.writable and library.catalogue.may_change(one.author),
    )


def _share(region: Region | None, case: CaseDetails) -> Box | None:
    if region is None or not case.width or not case.height:
        return None
    if region.z is not None and case.shown_slice is not None and region.on_slice(case.shown_slice) is None:
        # The thumbnail shows another slice.
        return None
    left, top, right, bottom = region.box
    return left / case.width, top / case.height, right / case.width, bottom / case.height
