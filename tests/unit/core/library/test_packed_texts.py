from __future__ import annotations

import pickle

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from semblance.core.library.natural_key import natural_key
from semblance.core.library.packed_texts import PackedTexts, natural_order

#: Names that begin alike, with numbers in them, and some that no library should have.
NAMES = st.lists(
    st.one_of(
        st.text(alphabet="aB/_.09123ü", max_size=90),
        st.builds(lambda n, m: f"Set 007/Scan_{n}-{m}.png", st.integers(0, 2000), st.integers(0, 10**15)),
        st.text(max_size=5).filter(lambda text: text.isprintable()),
    ),
    max_size=60,
)


@given(NAMES)
@example(["x" * 70 + str(n) for n in (10, 9, 1, 1)] + ["x" * 70])
@example(["a12", "a1", "a12b", "a012"])
@example(["a\0b", "a", "b١٢", "b3"])
@example(["a10b2", "a9b10", "a9b3", "A09b3"])
@example(["1a", "a1", "a01"])
@example(["\n\n", ""])
@example([f"a{10**12}", f"a{10**13}", "a2"])
def test_names_are_ordered_by_their_natural_keys(names: list[str]) -> None:
    expected = sorted(range(len(names)), key=lambda at: natural_key(names[at]))
    assert natural_order(PackedTexts.of(names).casefolded()).tolist() == expected


def test_names_of_several_parts_are_ordered_together() -> None:
    # More than are compared at once.
    names = [f"case {n * 7919 % 70_001}" for n in range(70_001)]
    assert [names[at] for at in natural_order(PackedTexts.of(names).casefolded())] == [
        f"case {n}" for n in range(70_001)
    ]


@given(NAMES)
@example(["a\nb", "", "Straße", "STRASSE"])
def test_texts_are_what_they_were_made_of(names: list[str]) -> None:
    texts = pickle.loads(pickle.dumps(PackedTexts.of(names)))
    assert (list(texts), len(texts), texts[1:3]) == (names, len(names), tuple(names[1:3]))
    assert list(texts.casefolded()) == [name.casefold() for name in names]
    for word in ("1", "ss", "ü", "scan_1", "no such word" * 9):
        assert texts.containing(word).tolist() == [word in name for name in names]


def test_texts_without_capitals_are_not_copied() -> None:
    texts = PackedTexts.of(["a/1", "b/2"])
    assert texts.casefolded() is texts
    assert texts != PackedTexts.of(["a/1b", "/2"])
    np.testing.assert_array_equal(texts.ends, [4, 8])


def test_few_and_many_are_chosen_alike():
    texts = PackedTexts.of(["é\n", "", *map(str, range(98))])
    places = np.random.default_rng(0).permutation(100)
    for many in (1, 5, 6, 7, 100):
        assert texts.chosen(places[:many]) == [texts[int(place)] for place in places[:many]]


@given(st.lists(st.text("aAé\n ", max_size=4), max_size=8), st.text("aAé\n ", max_size=3))
def test_what_starts_with_a_text_and_what_is_it_are_found(texts, sought):
    packed = PackedTexts.of(texts)
    assert packed.starting_with(sought).tolist() == [
        k for k, one in enumerate(texts) if one.startswith(sought)
    ]
    assert packed.equal_to(sought).tolist() == [k for k, one in enumerate(texts) if one == sought]
