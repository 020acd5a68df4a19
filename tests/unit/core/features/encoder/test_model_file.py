"""The converted encoder in the user's cache: made once, made again when damaged, never left half."""

from __future__ import annotations

import shutil

import pytest

from semblance.core.errors import BadInput
from semblance.core.features.encoder import efficientnet, model_file


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache, where the encoder has to be converted."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return model_file.cache_folder()


def test_it_is_converted_once_and_again_when_damaged(cache):
    file = model_file.model_file()
    assert [file] == list(cache.iterdir())
    made = file.stat()
    assert model_file.model_file() == file
    assert file.stat().st_mtime_ns == made.st_mtime_ns
    good = file.read_bytes()
    file.write_bytes(good[:5000] + bytes(8) + good[5008:])
    assert model_file.model_file() == file
    assert file.read_bytes() == good


def test_a_ready_made_file_is_used(cache, monkeypatch, tmp_path):
    shipped = tmp_path / "shipped"
    file = model_file.convert(shipped)
    monkeypatch.setattr(model_file, "SHIPPED", shipped)
    monkeypatch.setattr(model_file, "installed_weights", None)
    assert model_file.model_file() == file
    assert not cache.exists()


def test_a_file_with_wrong_numbers_gets_no_name(cache, monkeypatch):
    monkeypatch.setattr(efficientnet, "PADDING", "SAME_LOWER")
    with pytest.raises(BadInput, match="wrong numbers"):
        model_file.model_file()
    assert list(cache.iterdir()) == []


def test_damaged_weights_are_refused_by_name(cache, monkeypatch, tmp_path):
    package = tmp_path / model_file.PACKAGE
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").touch()
    damaged = shutil.copy(model_file.installed_weights(), package / "models")
    with open(damaged, "r+b") as file:  # noqa: PTH123
        file.seek(1_000_000)
        file.write(b"\0\0\0\0\1")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match="are damaged") as caught:
        model_file.model_file()
    assert str(package) in caught.value.message
    assert "pip install" in caught.value.hint


def test_a_cache_that_cannot_be_written_is_reported(cache, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(BadInput, match="cannot be written") as caught:
        model_file.model_file()
    assert str(cache) in caught.value.message
