from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from semblance.core.library.file_stems import file_stems
from semblance.core.library.packed_texts import Texts


def stem(case_id: str) -> str:
    file, mark, number = case_id.rpartition("/")[2].rpartition("#")
    name, end = (file, mark + number) if file and number.isdigit() else (file + mark + number, "")
    dot = name.rfind(".")
    return (name[:dot] if 0 < dot < len(name) - 1 else name) + end


@given(st.lists(st.text(alphabet="a/.#12ü\n", max_size=9), unique=True, max_size=20))
@example(["s/1.png", "s/2.png", "s/10.png"])
@example(["s/1.png", "s/1.dcm", "t/1.png", "t/2.png"])
def test_a_stem_is_the_file_without_folders_and_ending_and_its_first_case_is_known(ids: list[str]) -> None:
    stems, is_first = file_stems(Texts.of(ids))
    expected = [stem(case_id) for case_id in ids]
    assert (list(stems), len(stems)) == (expected, len(ids))
    assert is_first.tolist() == [expected.index(name) == place for place, name in enumerate(expected)]
