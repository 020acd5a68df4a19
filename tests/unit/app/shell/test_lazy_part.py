from __future__ import annotations

from semblance.app.shell.lazy_part import lazy_part


class Owner:
    def __init__(self) -> None:
        self.made: list[str] = []

    @lazy_part
    def part(self) -> str:
        self.made.append("part")
        return "built"


def test_a_part_is_built_once_and_only_on_request():
    owner, other = Owner(), Owner()
    assert Owner.part.built(owner) is None
    assert owner.made == []
    assert owner.part == owner.part == "built"
    assert Owner.part.built(owner) == "built"
    assert owner.made == ["part"]
    assert Owner.part.built(other) is None
