"""Libraries of every version there ever was open whole, and are then as if made by this one."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.library import schema
from semblance.core.library.library import Library
from semblance.core.workflows.maintenance.verify_library import verify_library
from tests.helpers.libraries import make_library, raw
from tests.helpers.older_libraries import VERSIONS, described, older_library


def test_each_version_has_its_text():
    """Whoever raises the version adds ``tests/helpers/schemas/version_N.sql``."""
    assert tuple(range(1, schema.VERSION + 1)) == VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_it_opens_with_all_it_holds(tmp_path, version):
    path = older_library(tmp_path / "old", version)
    with Library.open(path) as opened:
        cases = {r.case_id: r.finding for r in opened.catalogue.all_cases()}
        assert cases.pop("s/v", "benign") == "benign"
        assert cases == {
            "s/0.png": "benign",
            "s/1.png": "malignant",
            "s/2.png": "benign",
            "s/3.png": "malignant",
        }
        ids, values = opened.features.read(opened.features.get(None))
        assert ids.tolist() == [1, 2, 3, 4]
        np.testing.assert_array_equal(values, np.arange(8, dtype=np.float32).reshape(4, 2))
        assert opened.load_search("mine") == {"query": "s/0.png"}
        assert opened.metric("plain").training.tolist() == [1, 2]
        judged = opened.judgements("mine").read()
        assert [record.case for _, record, _ in judged] == (["s/1.png"] if version >= 4 else [])
        assert [source.identified for source in opened.catalogue.sources()] == [True]
    with raw(path) as connection:
        assert connection.execute("SELECT value FROM meta WHERE key='schema'").fetchone() == (
            str(schema.VERSION),
        )
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.parametrize("version", VERSIONS)
def test_brought_up_to_date_it_is_like_a_new_one(tmp_path, version):
    path = older_library(tmp_path / "old", version)
    Library.open(path).close()
    assert described(path) == described(make_library(tmp_path / "new"))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_check_tells_what_it_lacks_and_that_its_numbers_have_no_sums(tmp_path, version):
    result = verify_library(older_library(tmp_path / "old", version))
    assert [(f.part, f.harm) for f in result.findings] == [
        ("images", True),
        ("features", False),
        ("metric", True),
    ]
