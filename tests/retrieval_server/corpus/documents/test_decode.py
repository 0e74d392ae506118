"""Bytes to text."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.corpus.documents.decode import DecodedText, decode


def test_newlines_stay_as_they_were():
    assert decode(b"a\r\nb\rc\n") == DecodedText("a\r\nb\rc\n", "utf-8", had_byte_order_mark=False)


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_and_is_dropped(mark: bytes, encoding: str):
    assert decode(mark + "tür 東京".encode(encoding)) == DecodedText("tür 東京", encoding, had_byte_order_mark=True)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Die Größe der Schlüssel überschreitet für gewöhnlich keine Bedürfnisse.", "latin-1"),
        ("Crème brûlée, s'il vous plaît, et ça aussi.", "latin-1"),
        ("“Smart quotes” – and a dash… cost 5 €.", "cp1252"),
        ("naïve", "latin-1"),
        ("Привет, как дела? Сегодня мы проверяем, что старая кодировка прочитана верно и без потерь.", "cp1251"),
        ("日本語の文章は古い文字コードでも正しく読めなければならない。これは長めの文です。", "shift_jis"),
    ],
)
def test_old_encodings_are_read_as_they_were_written(text: str, encoding: str):
    assert decode(text.encode(encoding)).text == text


def test_a_nul_means_binary():
    assert decode(b"PK\x03\x04\x00\x00") is None
    assert decode(bytes(range(256)) * 8) is None


@given(st.binary(max_size=300))
def test_any_bytes_are_decoded_or_refused_without_surrogates(data: bytes):
    decoded = decode(data)
    if decoded is not None:
        decoded.text.encode()
        assert "\0" not in decoded.text
