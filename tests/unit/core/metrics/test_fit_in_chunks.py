"""Learners fitted on rows that are read in chunks: memmap, zarr, Parquet and Dask give what ``fit`` gives."""

from __future__ import annotations

import errno
import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.metrics import fit_in_chunks, learners, load_metric, make_learner
from semblance.core.metrics.numerics.moments import Moments, fourth_moment
from semblance.core.metrics.training_data.content_order import row_hashes
from semblance.core.tasks import Cancelled
from tests.helpers.learners import Listener

MOMENTS = ("mahalanobis", "rca", "lda", "pca")
SAMPLED = tuple(one.name for one in learners() if any(p.name == "training_cases" for p in one.parameters))
CHUNK = 700


def table(n=5_200, d=7, findings=5):
    """More cases than a shrinkage is chosen on and than the default sample has, far from the origin."""
    rng = np.random.default_rng(3)
    codes = rng.integers(findings, size=n)
    X = 40.0 + rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 1.5 * rng.normal(size=(findings, d))[codes]
    return X, np.array([f"finding {code}" for code in codes])


@pytest.fixture(scope="module")
def rows():
    return table()


def memmap(X, folder):
    X.tofile(folder / "rows.bin")
    return np.memmap(folder / "rows.bin", dtype=X.dtype, mode="r", shape=X.shape)


def zarr_array(X, folder):
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(folder / "rows.zarr", shape=X.shape, chunks=(300, X.shape[1]), dtype=X.dtype)
    stored[:] = X
    return zarr.open_array(folder / "rows.zarr", mode="r")


def dask_array(X, folder=None):
    return pytest.importorskip("dask.array").from_array(X, chunks=(900, 3) if X.ndim == 2 else 1_000)


@pytest.fixture(autouse=True)
def one_thread_of_dask():
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield


def distances(learner, X):
    return learner.metric().distances(X[:40], X[40:90])


@pytest.mark.parametrize("stored", [memmap, zarr_array, dask_array])
@pytest.mark.parametrize("name", MOMENTS)
def test_running_moments_give_what_all_rows_at_once_give(name, stored, rows, tmp_path):
    X, y = rows
    expected = make_learner(name, random_state=1).fit(X, y)
    found = fit_in_chunks(make_learner(name, random_state=1), stored(X, tmp_path), y, chunk_rows=CHUNK)
    np.testing.assert_allclose(distances(found, X), distances(expected, X), rtol=1e-9)
    card, whole = found.metric().card, expected.metric().card
    assert (card.n_cases, card.findings, card.notes) == (whole.n_cases, whole.findings, whole.notes)


@pytest.mark.parametrize("name", MOMENTS)
def test_threads_of_dask_change_nothing(name, rows):
    import dask

    X, y = rows
    with ThreadPoolExecutor(3) as pool, dask.config.set(scheduler="threads", pool=pool):
        found = fit_in_chunks(make_learner(name), dask_array(X), dask_array(y))
    expected = fit_in_chunks(make_learner(name), X, y, chunk_rows=900)
    np.testing.assert_array_equal(distances(found, X), distances(expected, X))


def test_shrinkage_without_findings_and_of_singular_scatter_is_that_of_all_rows(rows):
    X, y = rows
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    for learner in (make_learner("mahalanobis"), make_learner("rca", shrinkage=0.0)):
        findings = y if learner.name == "rca" else None
        expected = type(learner)(**learner.get_params()).fit(X, findings)
        fit_in_chunks(learner, X, findings, chunk_rows=CHUNK)
        assert learner.metric().card.notes == expected.metric().card.notes
        np.testing.assert_allclose(distances(learner, X), distances(expected, X), rtol=1e-9)


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize("patients", [False, True])
def test_a_learner_of_a_sample_draws_from_chunks_what_it_draws_from_all_rows(name, patients, rows, tmp_path):
    X, y = rows[0][:900], rows[1][:900]
    groups = np.array([f"P{row // 3}" for row in range(len(X))]) if patients else None
    settings = {"training_cases": 150, "random_state": 4}
    expected = make_learner(name, **settings).fit(X, y, groups=groups).metric()
    found = make_learner(name, **settings)
    found = fit_in_chunks(found, memmap(X, tmp_path), y, groups=groups, chunk_rows=130).metric()
    assert found.card.content_hash == expected.card.content_hash
    assert found.card.notes == expected.card.notes
    assert found.card.n_patients == expected.card.n_patients


def test_bits_are_learnt_from_the_blocks_of_dask(rows):
    X, y = rows
    expected = make_learner("bdm", rounds=10).fit(X, y).metric()
    found = fit_in_chunks(make_learner("bdm", rounds=10), dask_array(X), y).metric()
    assert found.card.content_hash == expected.card.content_hash
    assert found.card.n_cases == 4_000


def test_the_sample_is_drawn_evenly_and_by_no_order(rows):
    X, _ = rows
    hashes = row_hashes(X, 0)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(row_hashes(X[order], 0), hashes[order])
    assert len(np.unique(hashes)) == len(X)
    # Uniform, and independent of the features: within four standard errors.
    share = hashes / 2.0**64
    assert abs(share.mean() - 0.5) < 4.0 / np.sqrt(12 * len(X))
    assert np.abs([np.corrcoef(share, column)[0, 1] for column in X.T]).max() < 4.0 / np.sqrt(len(X))
    assert not np.array_equal(row_hashes(X, 1), hashes)


def test_passive_aggressive_takes_chunk_after_chunk(rows, tmp_path):
    X, y = rows
    found = fit_in_chunks(make_learner("passive_aggressive"), memmap(X, tmp_path), y, chunk_rows=CHUNK)
    one_by_one = make_learner("passive_aggressive", C=found.C_)
    for start in range(0, len(X), CHUNK):
        one_by_one.partial_fit(X[start : start + CHUNK], y[start : start + CHUNK])
    np.testing.assert_array_equal(distances(found, X), distances(one_by_one, X))
    assert found.metric().card.n_cases == len(X)
    dask = fit_in_chunks(make_learner("passive_aggressive", C=found.C_), dask_array(X), y)
    blocks = fit_in_chunks(make_learner("passive_aggressive", C=found.C_), X, y, chunk_rows=900)
    np.testing.assert_array_equal(distances(dask, X), distances(blocks, X))
    with pytest.raises(ValueError, match=r"rows 1 to 700 nothing can be learnt.*random order"):
        order = np.argsort(y, kind="stable")
        fit_in_chunks(make_learner("passive_aggressive", C=1.0), X[order], y[order], chunk_rows=CHUNK)


@pytest.mark.slow
def test_ccml_in_shares_is_as_good_and_no_order_of_rows_matters(rows, tmp_path):
    X, y = rows
    whole = make_learner("ccml", random_state=0).fit(X, y)
    found = fit_in_chunks(make_learner("ccml", random_state=0), memmap(X, tmp_path), y, chunk_rows=1_000)
    assert found.score(X, y) > whole.score(X, y) - 0.01
    assert found.score(X, y) > make_learner("euclidean").fit(X).score(X, y)
    order = np.argsort(y, kind="stable")
    by_finding = fit_in_chunks(make_learner("ccml", random_state=0), X[order], y[order], chunk_rows=1_000)
    np.testing.assert_allclose(distances(by_finding, X), distances(found, X), rtol=1e-6)
    one = fit_in_chunks(make_learner("ccml", random_state=0), X, y)
    np.testing.assert_array_equal(distances(one, X), distances(whole, X))


class CountedRows:
    """Rows of an array that notes how many were read."""

    def __init__(self, X):
        self._X, self.shape, self.read = X, X.shape, 0

    def __getitem__(self, rows):
        self.read += len(self._X[rows])
        return self._X[rows]


class FullDisk(io.BytesIO):
    def write(self, content):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_ccml_reads_the_rows_three_times_and_says_when_they_cannot_be_stored(rows, monkeypatch):
    X, y = rows
    source = CountedRows(X)
    learner = fit_in_chunks(make_learner("ccml"), source, y, chunk_rows=1_000)
    assert source.read == 3 * len(X)
    before = learner.L_
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: FullDisk())
    with pytest.raises(BadInput, match="has no space for"):
        fit_in_chunks(learner, X, y, chunk_rows=1_000)
    assert learner.L_ is before


def test_parquet_files_name_their_columns(rows, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X, y = rows
    names = [f"f{column}" for column in range(X.shape[1])]
    patients = [f"P{row // 2}" for row in range(len(X))]
    columns = {"finding": y, **dict(zip(names, X.T, strict=True)), "patient": patients}
    whole = pyarrow.table(columns)
    parquet.write_table(whole.slice(0, 3_000), tmp_path / "part-0.parquet", row_group_size=500)
    parquet.write_table(whole.slice(3_000), tmp_path / "part-1.parquet")
    expected = make_learner("lda").fit(X, y, groups=np.array(patients))
    found = fit_in_chunks(make_learner("lda"), tmp_path, "finding", groups="patient", chunk_rows=CHUNK)
    np.testing.assert_allclose(distances(found, X), distances(expected, X), rtol=1e-9)
    assert list(found.feature_names_in_) == names
    assert found.metric().card.n_patients == expected.metric().card.n_patients
    found.metric().save(tmp_path / "metric.zip")
    assert load_metric(tmp_path / "metric.zip").feature_groups == tuple(names)
    some = fit_in_chunks(make_learner("pca", components=2), tmp_path, columns=["f3", "f1"])
    np.testing.assert_allclose(
        some.metric().distances(X[:9, [3, 1]], X[:9, [3, 1]]),
        make_learner("pca", components=2).fit(X[:, [3, 1]]).metric().distances(X[:9, [3, 1]], X[:9, [3, 1]]),
        rtol=1e-9,
        atol=1e-9,
    )
    with pytest.raises(BadInput, match="column patient is not of numbers"):
        fit_in_chunks(make_learner("pca"), tmp_path, "finding")
    with pytest.raises(BadInput, match="has no column diagnosis"):
        fit_in_chunks(make_learner("lda"), tmp_path, "diagnosis")


def test_unusable_data_give_the_errors_of_fit(rows, tmp_path):
    X, y = rows
    missing = X.copy()
    missing[4_000, 2] = np.nan
    learner = make_learner("lda").fit(X, y)
    before = learner.L_
    for wrong, labels, message in (
        (missing, y, "missing values"),
        (X, y[:-1], "5200 cases but 5199 findings"),
        (X, None, "learns from findings"),
        (np.ones_like(X), y, "same features"),
    ):
        with pytest.raises(ValueError, match=message):
            fit_in_chunks(learner, wrong, labels, chunk_rows=CHUNK)
    with pytest.raises(BadArguments, match="source of rows"):
        fit_in_chunks(learner, X[0], y)
    with pytest.raises(BadInput, match="no Parquet file"):
        fit_in_chunks(learner, tmp_path / "nothing", "y")
    with pytest.raises(Cancelled):
        fit_in_chunks(learner, X, y, chunk_rows=CHUNK, reporter=Listener(cancel_at=3))
    assert learner.L_ is before


def test_moments_of_parts_add_up_to_those_of_the_plain_loop():
    rng = np.random.default_rng(0)
    X, codes = 1e3 + rng.normal(size=(60, 3)), rng.integers(-1, 3, size=60)
    found = (
        Moments.of(X[:23], codes[:23], 3)
        + Moments.of(X[23:24], codes[23:24], 3)
        + Moments.of(X[24:], codes[24:], 3)
    )
    scatter, fourth = np.zeros((3, 3)), 0.0
    for code in range(3):
        own = X[codes == code]
        np.testing.assert_allclose(found.means[code], own.mean(axis=0), rtol=1e-14)
        for x in own:
            z = x - own.mean(axis=0)
            scatter += np.outer(z, z)
            fourth += float(z @ z) ** 2
    np.testing.assert_allclose(found.scatter, scatter, rtol=1e-11, atol=1e-11)
    assert fourth_moment(X, codes, found.means) == pytest.approx(fourth, rel=1e-10)
    np.testing.assert_allclose(found.mean, X[codes >= 0].mean(axis=0), rtol=1e-14)
