"""Lists in any encoding are read as what they say, or the option that is proposed reads them."""

from __future__ import annotations

import codecs
import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semblance.core.errors import BadInput
from semblance.core.library.importers.csv_text import header_of, read_csv
from semblance.core.library.importers.encodings import ENCODINGS, encoding_of, whole_lines
from semblance.core.normal_text import composed

#: (codec of Python, mark at the start)
UNICODE = [
    ("utf-8", b""),
    ("utf-8", codecs.BOM_UTF8),
    ("utf-16-le", b""),
    ("utf-16-be", b""),
    ("utf-16-le", codecs.BOM_UTF16_LE),
    ("utf-16-be", codecs.BOM_UTF16_BE),
    ("utf-32-le", b""),
    ("utf-32-be", b""),
    ("utf-32-le", codecs.BOM_UTF32_LE),
    ("utf-32-be", codecs.BOM_UTF32_BE),
]
WORDS = st.text(st.characters(categories=["L", "Nd"], max_codepoint=0x30FF), min_size=1, max_size=12)


def rows_of(data: bytes, encoding: str | None = None) -> list[list[str]]:
    text = read_csv(data, "labels.csv", encoding)
    return [text.header, *text.rows]


@settings(max_examples=150, deadline=None)
@given(
    findings=st.lists(WORDS, min_size=1, max_size=20),
    delimiter=st.sampled_from(",;\t"),
    ending=st.sampled_from(["\n", "\r\n"]),
    written=st.sampled_from(UNICODE),
)
def test_a_list_in_an_encoding_of_unicode_is_read_with_and_without_its_mark(
    findings, delimiter, ending, written
):
    codec, mark = written
    rows = [["file", "finding"], *([f"{i}.png", finding] for i, finding in enumerate(findings))]
    data = mark + "".join(delimiter.join(row) + ending for row in rows).encode(codec)
    assert rows_of(data) == [[composed(cell) for cell in row] for row in rows]
    assert header_of(data) == rows[0]
    assert rows_of(data, codec[:6].rstrip("-")) == rows_of(data)
    assert whole_lines(data + "unfinished".encode(codec)) == data


#: What such files say: findings in the languages that are written with the encoding.
SAMPLES = {
    "windows-1252": "Läsion;gutartig bösartig übrig Größe lésion bénigne tumeur élevée lesión «benigno» 5 € Köln",
    "windows-1250": "nádor zhoubný žádný nezhoubný děložní čípek łagodny złośliwy guz piersi",
    "windows-1251": "доброкачественная злокачественная киста нет",
    "koi8-r": "доброкачественная злокачественная киста нет",
    "mac-roman": "Läsion gutartig bösartig übrig Größe nodule bénin",
    "cp850": "Läsion gutartig bösartig übrig Größe nodule bénin",
    "shift_jis": "良性腫瘍 悪性 のうほう",
    "gb18030": "良性肿瘤 恶性 囊肿 正常",
    "euc-kr": "양성 악성 낭종 정상",
    "big5": "良性腫瘤 惡性 囊腫",
}


@pytest.mark.parametrize("encoding", SAMPLES)
def test_another_encoding_is_recognised_or_the_proposed_option_reads_the_file(encoding):
    rows = [["file", "finding"], *([f"{i}.png", word] for i, word in enumerate(SAMPLES[encoding].split()))]
    data = "".join("\t".join(row) + "\r\n" for row in rows).encode(encoding)
    assert rows_of(data, encoding) == rows
    if encoding == "windows-1252":
        assert rows_of(data) == rows
        assert "windows-1252" in read_csv(data, "labels.csv").note
        return
    with pytest.raises(BadInput, match="not written in UTF-8") as error:
        rows_of(data)
    (proposed,) = re.findall(r"--set encoding=([\w-]+)", error.value.hint)
    # The two Chinese encodings share most of their bytes.
    assert encoding in (proposed, "big5")
    assert len(rows_of(data, proposed)) == len(rows)


def test_an_option_that_cannot_be_right_is_refused_with_one_that_is():
    text = "file,finding\na.png,Läsion\n"
    for codec, chosen, proposed in (
        ("utf-16", "utf-8", "utf-16"),
        ("utf-16", "windows-1252", "utf-16"),
        ("utf-8-sig", "cp850", "utf-8"),
        ("windows-1252", "utf-8", "windows-1252"),
    ):
        with pytest.raises(BadInput, match="written in") as error:
            rows_of(text.encode(codec), chosen)
        assert f"--set encoding={proposed}" in error.value.hint
        assert rows_of(text.encode(codec), proposed)[1] == ["a.png", "Läsion"]


def test_bytes_that_are_no_text_are_refused():
    for data in (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"PK\x03\x04\x14\0\0\0", bytes(range(256)) * 9):
        with pytest.raises(BadInput):
            encoding_of(io.BytesIO(data), "labels.csv", None, 1 << 20)
    assert set(SAMPLES) | {"utf-8", "utf-16", "utf-32"} == set(ENCODINGS)
