"""Where a library lies, and that a password travels with an address without being shown."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.location import (
    ServerAddress,
    library_location,
    library_name,
    local_folder,
    server_address,
)

GIVEN = "postgres://a%40b:s3cret%2F@db.example.org:5433/chest?sslpassword=t0ken&sslmode=require&project=one"
SHOWN = "postgresql://a%40b@db.example.org:5433/chest?project=one&sslmode=require"


def test_a_text_is_a_folder_or_a_server_and_is_read_again_as_the_same():
    for text in ("lib.semblance", "/x/lib.semblance", "C:/lib.semblance"):
        assert library_location(text) == Path(text)
    for text, shown in (
        (GIVEN, SHOWN),
        ("postgresql://h/d", "postgresql://h/d"),
        ("postgresql:/h/d", "postgresql://h/d"),
        ("postgresql:///d", "postgresql://@/d"),
        ("postgresql://h/?dbname=d%20e", "postgresql://h/d%20e"),
    ):
        address = library_location(text)
        assert isinstance(address, ServerAddress) and str(address) == shown, text
        assert library_location(str(address)) == address
    address = server_address(GIVEN)
    assert (address.name, address.host, address.user) == ("chest", "db.example.org:5433", "a@b")
    assert (address.project, library_name(address)) == ("one", "chest · one")
    assert library_name(Path("/x/lib.semblance")) == "lib"
    for wrong, error in (("mysql://h/d", BadInput), ("postgresql://h", BadArguments)):
        with pytest.raises(error):
            library_location(wrong)


def test_a_password_goes_along_and_is_shown_nowhere():
    address = server_address(GIVEN)
    assert address.secrets.values == {"password": "s3cret/", "sslpassword": "t0ken"}
    for text in (str(address), repr(address), f"{address}", repr(asdict(address)), repr(address.secrets)):
        assert "s3cret" not in text and "t0ken" not in text
    with pytest.raises(TypeError):
        json.dumps(asdict(address))
    for same in (pickle.loads(pickle.dumps(address)), copy.deepcopy(address)):
        assert same == address and same.secrets.values == address.secrets.values
    assert address.with_project("two").password == "s3cret/" and address.with_project("").project == ""
    assert address.with_user("other").secrets.values == {}
    assert address.with_password("").secrets.values == {"sslpassword": "t0ken"}


def test_neither_the_password_nor_an_answer_of_the_server_makes_another_library():
    address = server_address(GIVEN)
    others = (address.with_password("x"), replace(address, is_away=True))
    assert {address, *others} == {address}
    assert {local_folder(one) for one in others} == {local_folder(address)}
    assert address.with_project("") != address != address.with_user("other")
