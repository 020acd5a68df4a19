"""A library: the folder ``NAME.semblance/`` with its catalogue, feature stores, metrics and thumbnails."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.files import (
    create_folder,
    is_taken,
    move_into_place,
    remove_abandoned,
    remove_unfinished,
    unfinished_name,
)
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.language import tr_lazy
from semblance.core.library.annotations import AnnotationTable, CaseNoteTable
from semblance.core.library.audit import AuditCheck, AuditEntry, AuditHead
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.collections import CollectionTable
from semblance.core.library.concepts import ConceptTable
from semblance.core.library.database import create_tables, disk_is_full, not_writable_error, plain_errors
from semblance.core.library.export_chain import (
    append_exports,
    check_exports,
    counted_exports,
    last_export,
    plain_exports,
)
from semblance.core.library.feature_sets import FeatureSets, features_stamp
from semblance.core.library.findings import RULES_KEY
from semblance.core.library.judgements import JudgementTable
from semblance.core.library.library_files import LibraryFiles
from semblance.core.library.location import LibraryLocation, check_is_library, folder_of
from semblance.core.library.metric_scores import seal_scores, sealed_card
from semblance.core.library.pseudonyms import known_pseudonyms, pseudonyms_of
from semblance.core.library.records import (
    ADMINISTRATOR,
    CATALOGUE,
    DERIVED,
    METRIC_FILE,
    NO_FINDING,
    READER,
    SUFFIX,
    EmbeddingIndex,
    MetricRecord,
)
from semblance.core.library.schema import cases, json_text, metrics, searches
from semblance.core.library.stored_values import store_value, stored_value
from semblance.core.library.thumbnails import ThumbnailStore

#: Keys of stored values: the name of the current metric, the prevalences, what is known of the library's preparation.
CURRENT_METRIC, PREVALENCES, _PREPARATION = "current metric", "prevalences", "preparation"
#: Name of the search that the window showed last.
_LAST = "(last)"

#: The names of the files of metrics, and of what is derived from them.
_NAME_BYTES = 8
_METRIC_NAME = re.compile(f"[0-9a-f]{{{2 * _NAME_BYTES}}}")


class Library:
    """An open library. Use it as a context manager, or call :meth:`close`."""

    location: LibraryLocation

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.location, self.writable = path, writable
        self.catalogue = Catalogue(path / CATALOGUE, writable=writable)
        try:
            self.thumbnails = ThumbnailStore(path / "thumbnails.sqlite", writable=writable)
        except BaseException:
            self.catalogue.close()
            raise
        self._set_up(LibraryFiles(path))

    def _set_up(self, files: LibraryFiles) -> None:
        """Set up what needs the catalogue and the files."""
        self.files = files
        self._identity = self.catalogue.identity()
        self.features = FeatureSets(self.catalogue, files)
        self.concepts = ConceptTable(self.catalogue)
        self.annotations = AnnotationTable(self.catalogue)
        self.notes = CaseNoteTable(self.catalogue)
        self.collections = CollectionTable(self.catalogue)

    @property
    def derived(self) -> Path:
        """The folder of files that can be made again."""
        return self.files.folder / DERIVED

    @property
    def name(self) -> str:
        """The folder's name without its ending."""
        return self.files.folder.name.removesuffix(SUFFIX)

    @classmethod
    def create(cls, location: LibraryLocation) -> Self:
        """Create the library in the folder ``location`` (completely, or not at all) and open it.

        Raises:
            BadInput: it exists and is not a library, or is an address.
            SemblanceError: the folder cannot be written to.
        """
        path = folder_of(location).absolute()
        unfinished = unfinished_name(path)
        with plain_errors(path / CATALOGUE):
            if is_taken(path):
                raise BadInput(
                    tr_lazy("{path} exists and is not a library.", path=path),
                    "Choose another name for the new library.",
                )
            create_folder(path.parent)
            remove_unfinished(path)
            create_folder(unfinished)
            try:
                for folder in ("features", "metrics", DERIVED):
                    create_folder(unfinished / folder)
                create_tables(unfinished / CATALOGUE)
                if path.exists():
                    path.rmdir()
                move_into_place(unfinished, path)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
        return cls(path, writable=True)

    @classmethod
    def open(cls, location: LibraryLocation, *, writable: bool | None = None) -> Self:
        """Open the library in the folder ``location``; read-only where it cannot be written or the disk is full, unless
        ``writable`` says.

        Raises:
            BadInput: not a library, half written, damaged, or from a newer version.
            SemblanceError: ``writable=True`` where it cannot be written to.
        """
        path = folder_of(location).absolute()
        check_is_library(path)
        allowed = os.access(path, os.W_OK) and os.access(path / CATALOGUE, os.W_OK)
        if writable and not allowed:
            raise not_writable_error(path)
        if allowed and writable is not False:
            # Left by a restore or a creation that was killed.
            remove_unfinished(path)
        try:
            return cls(path, writable=allowed if writable is None else writable)
        except SemblanceError:
            # With a full disk a library can still be read.
            if writable is not None or not allowed or not disk_is_full(path):
                raise
            return cls(path, writable=False)

    @classmethod
    def open_or_create(cls, location: LibraryLocation) -> Self:
        """The library ``location`` for writing, created when it does not exist."""
        path = folder_of(location)
        if not (path / CATALOGUE).exists():
            try:
                return cls.create(path)
            except SemblanceError:
                # Another program may have made it in between.
                if not (path / CATALOGUE).exists():
                    raise
        return cls.open(path, writable=True)

    def is_still_at(self, location: LibraryLocation) -> bool:
        """Whether opening ``location``, where this library was, would open the same again."""
        return self.catalogue.identity() == self._identity

    def close(self) -> None:
        """Close the catalogue and the thumbnails."""
        self.thumbnails.close()
        self.catalogue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def right(self) -> str:
        """What the user may do, one of :data:`semblance.core.library.records.RIGHTS`. A folder knows two."""
        return ADMINISTRATOR if self.writable else READER

    @property
    def copied(self) -> str:
        """Of the copy of a library whose server does not answer: when it was the same (UTC); "" otherwise."""
        return ""

    @property
    def can_store_derived(self) -> bool:
        """Whether files can be written to :attr:`derived`."""
        return self.writable

    def embedding_indexes(self) -> Sequence[EmbeddingIndex]:
        """The embeddings of metrics that have an index for candidates; only a library on a server has any."""
        return ()

    def outdated_indexes(self) -> tuple[str, ...]:
        """The names of the metrics whose index is older than their features, so that searches compare all cases."""
        indexes = {index.metric: index for index in self.embedding_indexes()}
        return tuple(
            record.name
            for record in (self.metrics() if indexes else ())
            if (index := indexes.get(record.file.stem)) is not None
            and features_stamp(self.features.chunk_rows(self.features.of_metric(record))) != index.features
        )

    def judgements(self, ledger: str) -> JudgementTable:
        """The judgements of the ledger ``ledger``; none where there is no such ledger."""
        return JudgementTable(self.catalogue, ledger)

    def pseudonyms(self) -> Pseudonyms:
        """See :func:`semblance.core.library.pseudonyms.pseudonyms_of`."""
        return pseudonyms_of(self.catalogue)

    def available_pseudonyms(self) -> Pseudonyms | None:
        """:meth:`pseudonyms`; ``None`` where there is no key and the library can only be read."""
        return self.pseudonyms() if self.writable else known_pseudonyms(self.catalogue)

    # Metrics

    def metrics(self) -> list[MetricRecord]:
        """The metrics in the order they were added."""
        rows = self.catalogue.read(sa.select(metrics).order_by(metrics.c.id))
        self.files.fetch_new([f"metrics/{r.file}" for r in rows if METRIC_FILE.fullmatch(r.file)])
        return [
            MetricRecord(
                r.id,
                r.name,
                r.learner,
                r.feature_set,
                self._metric_file(r.file),
                r.card,
                np.frombuffer(r.training, dtype=np.int64),
                r.scores,
            )
            for r in rows
        ]

    def metric(self, name: str) -> MetricRecord:
        """The metric called ``name``.

        Raises:
            BadArguments: there is none; the message lists those there are.
        """
        found = self.metrics()
        for record in found:
            if record.name == name:
                return record
        names = ", ".join(record.name for record in found) or tr_lazy("none yet")
        raise BadArguments(
            tr_lazy("There is no metric '{name}' in {path}.", name=name, path=self.location.name),
            tr_lazy("There are: {names}.", names=names),
        )

    def _metric_file(self, name: str) -> Path:
        """The metric's file, which is read, replaced and removed: always in the library, whatever the catalogue
        is stored, because a library may come from somebody else."""
        return self.files.folder / "metrics" / (name if METRIC_FILE.fullmatch(name) else "unknown")

    def new_metric_file(self) -> Path:
        """The file for a new metric, to be saved before :meth:`add_metric`."""
        return self.files.folder / "metrics" / f"{secrets.token_hex(_NAME_BYTES)}.metric"

    def add_metric(
        self,
        name: str,
        learner: str,
        feature_set: int,
        file: Path,
        card: Mapping[str, Any],
        training: npt.NDArray[np.int64],
        scores: Mapping[str, Any] | None,
    ) -> None:
        """Add a saved metric to the catalogue; one of the same name is replaced and its file removed.

        Where the catalogue cannot be written, ``file`` is removed.
        """
        known = {record.name: record.file for record in self.metrics()}
        try:
            self._insert_metric(name, learner, feature_set, file, card, training, scores)
        except Exception:
            file.unlink(missing_ok=True)
            raise
        with contextlib.suppress(OSError):
            if name in known:
                self.files.remove(f"metrics/{known[name].name}")
            stored = {record.file.stem for record in self.metrics()}
            folder = self.files.folder / "metrics"
            remove_abandoned(found for found in folder.iterdir() if found.stem not in stored)
            for found in self.derived.iterdir():
                # A temporary file has a dot before its future name. Files of places, slices and cases stay.
                name = found.name.removeprefix(".").partition(".")[0]
                if _METRIC_NAME.fullmatch(name) and name not in stored:
                    found.unlink(missing_ok=True)

    def _insert_metric(
        self,
        name: str,
        learner: str,
        feature_set: int,
        file: Path,
        card: Mapping[str, Any],
        training: npt.NDArray[np.int64],
        scores: Mapping[str, Any] | None,
    ) -> None:
        with self.catalogue.transaction() as connection:
            connection.execute(metrics.delete().where(metrics.c.name == name))
            connection.execute(
                metrics.insert().values(
                    name=name,
                    learner=learner,
                    feature_set=feature_set,
                    file=file.name,
                    card=sealed_card(card, scores),
                    training=training.astype(np.int64).tobytes(),
                    scores=None if scores is None else dict(scores),
                    created=self.catalogue.now(),
                )
            )
            self.files.store(connection, [f"metrics/{file.name}"])

    def set_scores(self, name: str, scores: Mapping[str, Any]) -> None:
        """Record the scores of the metric called ``name``."""
        with self.catalogue.transaction() as connection:
            seal_scores(connection, metrics.c.name == name, scores)

    def add_to_card(self, name: str, entries: Mapping[str, Any]) -> None:
        """Add ``entries`` to the card of the metric called ``name``; those of the same keys are replaced.

        Raises:
            BadArguments: no such metric.
        """
        record = self.metric(name)
        card = sealed_card({**record.card, **entries}, record.scores)
        with self.catalogue.transaction() as connection:
            connection.execute(metrics.update().where(metrics.c.id == record.id).values(card=card))

    @property
    def selected_metric(self) -> str | None:
        """The name that :meth:`set_current_metric` recorded, if the library still has a metric of that name."""
        name = stored_value(self.catalogue, CURRENT_METRIC)
        return name if name in [record.name for record in self.metrics()] else None

    def current_metric(self) -> MetricRecord | None:
        """The metric that searches use where none is named: the recorded one, else the latest; ``None``
        without metrics."""
        found, selected = self.metrics(), self.selected_metric
        return next((record for record in found if record.name == selected), found[-1] if found else None)

    def set_current_metric(self, name: str) -> None:
        """Record ``name`` as the current metric.

        Raises:
            BadArguments: no such metric.
        """
        store_value(self.catalogue, CURRENT_METRIC, self.metric(name).name)

    @property
    def preparation(self) -> Mapping[str, Any]:
        """What :func:`semblance.core.workflows.library.prepare_library.prepare_library` finished so far."""
        found = stored_value(self.catalogue, _PREPARATION)
        return found if isinstance(found, dict) else {}

    def set_preparation(self, finished: Mapping[str, Any]) -> None:
        """Record what a preparation finished, as JSON values."""
        store_value(self.catalogue, _PREPARATION, dict(finished))

    @property
    def prevalences(self) -> dict[str, float]:
        """Finding -> its share, 0 to 1, of the cases where the library is used; empty where none was set."""
        found = stored_value(self.catalogue, PREVALENCES)
        if not isinstance(found, dict):
            return {}
        return {name: float(share) for name, share in found.items() if isinstance(share, float)}

    def set_prevalences(self, shares: Mapping[str, float]) -> None:
        """Record the :attr:`prevalences`."""
        store_value(self.catalogue, PREVALENCES, {name: float(share) for name, share in shares.items()})

    # Searches

    def searches(self) -> list[str]:
        """Names of the saved searches, newest first, including those of the program (in brackets)."""
        rows = self.catalogue.read(sa.select(searches.c.name).order_by(searches.c.saved.desc()))
        return [r.name for r in rows]

    def load_search(self, name: str) -> Mapping[str, Any] | None:
        """The state saved as ``name``, or ``None``."""
        rows = self.catalogue.read(sa.select(searches.c.state).where(searches.c.name == name))
        return rows[0].state if rows else None

    def save_search(self, name: str, state: Mapping[str, Any]) -> None:
        """Save ``state`` as ``name``; an earlier state of this name is replaced."""
        with self.catalogue.transaction() as connection:
            connection.execute(searches.delete().where(searches.c.name == name))
            connection.execute(
                searches.insert().values(name=name, state=dict(state), saved=self.catalogue.now())
            )

    def load_last_search(self) -> Mapping[str, Any] | None:
        """The search that the window showed last, as it was saved; ``None`` without one."""
        return self.load_search(_LAST)

    def save_last_search(self, state: Mapping[str, Any]) -> None:
        """Save the search that the window shows, for its next start."""
        self.save_search(_LAST, state)

    @contextlib.contextmanager
    def removal(self) -> Iterator[sa.Connection]:
        """A write transaction within which nobody changes the library. Where it ends without an error, a library on a
        server is removed; the files of one in a folder are then the caller's to remove."""
        with self.catalogue.transaction() as connection:
            yield connection

    def exports(self, count: int | None = None) -> list[str]:
        """The last ``count`` lines of the log of exports, or all, oldest first.

        Raises:
            OSError: it cannot be read.
        """
        return plain_exports(self.files.folder, count)

    def add_exports(self, connection: sa.Connection, lines: Sequence[str]) -> None:
        """Add lines to the log of exports, within a running transaction.

        Raises:
            OSError: they cannot be written.
        """
        if lines:
            append_exports(connection, self.files.folder, lines)

    def log_event(self, action: str, detail: Mapping[str, Any]) -> None:
        """Log a search or a view, in a library on a server; one in a folder logs exports alone."""

    def audit_entries(self, count: int) -> list[AuditEntry]:
        """The last ``count`` entries of the audit log, oldest first; none in a folder."""
        return []

    def check_audit(self, since: str = "") -> AuditCheck:
        """Check the chain of hashes of the audit log; see :func:`semblance.core.library.audit.check_chain`.

        Raises:
            OSError: it cannot be read.
        """
        with self.catalogue.snapshot() as connection:
            counted = counted_exports(connection)
        return check_exports(self.files.folder, counted, since)

    def audit_head(self) -> AuditHead:
        """The number and the hash of the last entry of the audit log.

        Raises:
            OSError: it cannot be read.
        """
        return last_export(self.files.folder)

    def summary(self) -> dict[str, Any]:
        """Counts, findings and names (no case ids), as ``semblance info`` prints them."""
        counts = self.catalogue.finding_counts()
        (n_patients,) = self.catalogue.read(sa.select(sa.func.count(cases.c.patient.distinct())))[0]
        # One id of several issuers is several patients.
        n_issuers = sa.func.count(json_text(cases.c.attributes, "issuer").distinct())
        of_several = sa.select(n_issuers).where(cases.c.patient.is_not(None)).group_by(cases.c.patient)
        n_patients += sum(n - 1 for (n,) in self.catalogue.read(of_several.having(n_issuers > 1)))
        unknown = counts.pop("", 0)
        findings = dict(sorted(counts.items())) | ({NO_FINDING: unknown} if unknown else {})
        sets = self.features.every()
        rules = self.finding_rules
        return {
            "library": str(self.location),
            "kinds": sorted({source.kind for source in self.catalogue.sources()}),
            "cases": sum(findings.values()),
            "patients": n_patients or None,
            "findings": findings,
            "feature_sets": [one.name for one in sets if not one.part],
            "descriptions": {
                one.name: [part.part for part in sets if part.part_of == one.id]
                for one in sets
                if not one.part
            },
            "metrics": [record.name for record in self.metrics()],
            "searches": [name for name in self.searches() if not name.startswith("(")],
            **({"finding_rules": dict(rules)} if rules else {}),
        }

    @property
    def finding_rules(self) -> Mapping[str, Mapping[str, str]]:
        """Source -> the rule by which its cases with several findings have one, as
        :mod:`semblance.core.library.importers.finding_rules` has it."""
        stored = stored_value(self.catalogue, RULES_KEY)
        return stored if isinstance(stored, dict) else {}
