"""The cases of a library in a metric's coordinates: embedded block by block and stored in the folder of derived
data."""

from __future__ import annotations

import contextlib
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.feature_sets import features_stamp
from semblance.core.library.records import FeatureSet, MetricRecord
from semblance.core.metrics.metric import Metric
from semblance.core.retrieval.index import Index, PreparedRows, index_for
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.derived_arrays import EMBEDDING_SUFFIX, load_arrays, save_arrays
from semblance.core.workflows.metrics.train_request import PROVISIONAL

if TYPE_CHECKING:
    from semblance.core.library.library import Library


#: Number of sampled cases that describe the distribution of each group of features; samples of more bytes are not
#: stored.
DRAWN, DRAWN_BYTES = 48, 8 << 20
#: Of fewer cases only the embedding is stored: what else a search needs is computed as fast.
FEWEST_KEPT = 20_000


class CachedEmbedding(NamedTuple):
    """Case rows (n,), their embedding (n, m) and the rows that break its ties (n, d; d = 0: none needed); ``drawn``:
    the extracted features (s, d) of a sample, empty if they are too large to store; ``prepared`` and
    ``prepared_ties``: what an index derives from the embedding and the ties, if it is stored."""

    rows: npt.NDArray[np.int64]
    embedding: npt.NDArray[np.float64]
    ties: npt.NDArray[np.float64]
    drawn: npt.NDArray[np.generic]
    prepared: PreparedRows | None = None
    prepared_ties: PreparedRows | None = None

    @property
    def breaks_ties(self) -> npt.NDArray[np.float64] | None:
        """The rows that break ties; ``None`` if none are needed."""
        return self.ties if self.ties.shape[1] else None


#: The names of the arrays in a file.
_PLAIN = CachedEmbedding._fields[:4]
_PREPARED = {
    field: tuple(f"{field}_{name}" for name in PreparedRows._fields) for field in CachedEmbedding._fields[4:]
}


def sample_positions(n: int) -> npt.NDArray[np.int64]:
    """(s,) positions among ``n`` cases, the same at every call."""
    return np.random.default_rng(0).choice(n, min(DRAWN, n), replace=False).astype(np.int64)


def load_embedding(file: Path) -> CachedEmbedding | None:
    """The data that :func:`save_embedding` wrote; ``None`` if there is nothing usable, because derived data is made
    again."""
    arrays = load_arrays(file)
    # The file may be damaged, or of another version of the program.
    if arrays is None or not set(_PLAIN) <= arrays.keys() <= set(chain(_PLAIN, *_PREPARED.values())):
        return None
    rows, embedding, ties, drawn = (arrays[name] for name in _PLAIN)
    fits = (
        rows.dtype == np.int64 and embedding.dtype == ties.dtype == np.float64 and drawn.dtype.kind in "fiub"
    )
    fits = fits and rows.ndim == 1 and embedding.ndim == ties.ndim == drawn.ndim == 2
    fits = fits and len(rows) == len(embedding) == len(ties)
    fits = fits and len(drawn) in (0, min(DRAWN, len(rows)))
    if not fits:
        return None
    # The index checks whether they fit.
    prepared = (
        PreparedRows(*(arrays[name] for name in names)) if arrays.keys() >= set(names) else None
        for names in _PREPARED.values()
    )
    return CachedEmbedding(rows, embedding, ties, drawn, *prepared)


def is_readable(file: Path) -> bool:
    """Whether the stored data of a prepared metric can be used."""
    return load_embedding(file) is not None


def save_embedding(file: Path, prepared: CachedEmbedding) -> None:
    """Write ``prepared`` and remove the earlier data of the same metric."""
    stem = file.name.partition(".")[0]
    older = [found for found in file.parent.glob(f"{stem}.*{EMBEDDING_SUFFIX}") if found != file]
    arrays: dict[str, npt.NDArray[Any]] = {name: getattr(prepared, name) for name in _PLAIN}
    for field, names in _PREPARED.items():
        arrays |= zip(names, getattr(prepared, field) or (), strict=False)
    save_arrays(file, arrays)
    for found in older:
        with contextlib.suppress(OSError):
            found.unlink(missing_ok=True)


def embed_cases(
    library: Library,
    record: MetricRecord,
    metric: Metric,
    feature_set: FeatureSet,
    reporter: Reporter = SILENT,
) -> tuple[CachedEmbedding, str]:
    """The cases that have ``feature_set``, stored by an earlier run, or embedded and stored now; and a text that
    changes whenever their features do.

    Raises:
        BadInput: no case has the features.
    """
    chunks = library.features.chunk_rows(feature_set)
    stamp = features_stamp(chunks)
    file = library.derived / f"{record.file.stem}.{stamp}{EMBEDDING_SUFFIX}"
    embedding = load_embedding(file)
    if embedding is None:
        known = np.concatenate([np.empty(0, dtype=np.int64), *chunks.values()])
        embedding = _embedded(library, record.name, metric, feature_set, known, reporter)
        # That of a provisional metric is soon out of date.
        if library.can_store_derived and PROVISIONAL not in record.card:
            save_embedding(file, _with_index(embedding, metric))
            # What was written is mapped and takes no memory of its own.
            embedding = load_embedding(file) or embedding
    return embedding, stamp


def _with_index(embedding: CachedEmbedding, metric: Metric) -> CachedEmbedding:
    """``embedding`` with what an index derives from it, for many cases."""
    if len(embedding.rows) < FEWEST_KEPT or not metric.distance.embeds:
        return embedding
    index = index_for(metric.distance, embedding.embedding, embedding.breaks_ties)
    assert isinstance(index, Index)
    return embedding._replace(prepared=index.prepared, prepared_ties=index.prepared_ties)


def _embedded(
    library: Library,
    name: str,
    metric: Metric,
    feature_set: FeatureSet,
    known: npt.NDArray[np.int64],
    reporter: Reporter,
) -> CachedEmbedding:
    known = np.sort(known[known >= 0]).astype(np.int64)
    sampled = known[sample_positions(len(known))]
    sample: dict[int, npt.NDArray[np.generic]] = {}
    ids, parts, ties = [], [], []
    for done, (rows, numbers) in enumerate(library.features.blocks(feature_set)):
        reporter.check_cancelled()
        reporter.progress(done, None, tr_lazy("Preparing {record}", record=name))
        wide = numbers.astype(np.float64)
        tie = metric.tie_break(wide)
        ids.append(rows)
        if numbers[:1].nbytes * len(sampled) <= DRAWN_BYTES:
            sample |= {int(rows[at]): numbers[at].copy() for at in np.flatnonzero(np.isin(rows, sampled))}
        parts.append(metric.coordinates(wide))
        ties.append(np.empty((len(rows), 0)) if tie is None else tie)
    if not ids:
        raise BadInput(
            tr_lazy(
                "No case of {library} has the features '{feature_set}'.",
                library=library.location.name,
                feature_set=feature_set.name,
            ),
            "Extract them first.",
        )
    rows = np.concatenate(ids)
    order = np.argsort(rows)
    # Only a sample of exactly these cases; another program may have added some meanwhile.
    whole = np.array_equal(rows[order], known) and all(int(row) in sample for row in sampled)
    return CachedEmbedding(
        rows[order],
        np.concatenate(parts)[order],
        np.concatenate(ties)[order],
        np.stack([sample[int(row)] for row in sampled]) if whole else np.empty((0, 0)),
    )
