"""Bytes to the one stored text of a document."""

import codecs
import re
import string
from dataclasses import dataclass

import charset_normalizer

_SNIFFED_BYTES = 64 * 1024
_FIRST_NON_ASCII = 0x80
_ASCII_LETTERS = string.ascii_letters.encode()
_WESTERN_SHARE = 0.25
_SURROGATE = re.compile("[\ud800-\udfff]")
_WITHOUT_CONTROLS = {code: None for code in range(0x20) if chr(code) not in "\t\n\r"}
_BYTE_ORDER_MARKS = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text, its newlines as they were, and how it was decoded."""

    text: str
    encoding: str
    had_byte_order_mark: bool


def decode(data: bytes) -> DecodedText | None:
    """Return the text of `data`, or None when it is binary.

    A byte order mark decides; then UTF-8; then Windows-1252 for mostly ASCII, and what charset-normalizer finds likely
    for the rest; at last Latin-1, which always fits.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            try:
                text = data[len(mark) :].decode(encoding)
            except UnicodeDecodeError:
                break
            return None if "\0" in text else DecodedText(text, encoding, had_byte_order_mark=True)
    if b"\0" in data:
        return None
    try:
        return DecodedText(data.decode("utf-8"), "utf-8", had_byte_order_mark=False)
    except UnicodeDecodeError:
        pass
    for encoding in _likely_encodings(data):
        try:
            text = data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
        return None if _looks_binary(text) else DecodedText(text, encoding, had_byte_order_mark=False)
    return None


def _likely_encodings(data: bytes) -> tuple[str, ...]:
    """Return what to try, in order.

    Western text is mostly ASCII with a few accents, too few for statistics to tell code pages apart; it is taken for
    what nearly all of it is. Other scripts have enough letters above ASCII to be recognised by.
    """
    sample = data[:_SNIFFED_BYTES]
    above_ascii = sum(byte >= _FIRST_NON_ASCII for byte in sample)
    letters = above_ascii + sum(sample.count(byte) for byte in _ASCII_LETTERS)
    if above_ascii <= letters * _WESTERN_SHARE:
        return ("cp1252", "latin-1")
    best = charset_normalizer.from_bytes(sample).best()
    return (best.encoding, "latin-1") if best else ("cp1252", "latin-1")


def _looks_binary(text: str) -> bool:
    """Control characters beyond a trace mean that some binary happened to decode."""
    sample = text[:_SNIFFED_BYTES]
    controls = sum(1 for char in sample if char < " " and char not in "\t\n\r\f\x0b\x1b")
    return controls > len(sample) // 200


def storable(text: str) -> str:
    """Return `text` without what no database and no index takes: control characters and halves of surrogate pairs."""
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.translate(_WITHOUT_CONTROLS)
