"""The bytes that a document was made of: made again from its text where that is exact, kept where it is not."""

import codecs

from retrieval_server.corpus.documents.decode import DecodedText

_MARK_BY_ENCODING = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


def original_to_keep(decoded: DecodedText, data: bytes) -> bytes | None:
    """Return `data` when the text does not give it back, as that of a PDF; None when nothing needs to be kept."""
    return None if bytes_of(decoded.text, decoded.encoding, had_mark=decoded.had_byte_order_mark) == data else data


def bytes_of(text: str, encoding: str, *, had_mark: bool) -> bytes | None:
    """Return the bytes that were decoded to `text`, None where that cannot be told."""
    try:
        return (_MARK_BY_ENCODING[encoding] if had_mark else b"") + text.encode(encoding)
    except (KeyError, LookupError, UnicodeEncodeError):
        return None
