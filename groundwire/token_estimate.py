"""How many tokens a text has, where no tokenizer is at hand."""

from math import ceil

# Byte-level vocabularies take 3 to 4 characters of English or code a token; other scripts up to a token a byte.
_ASCII_CHARS_PER_TOKEN = 2.5


def estimate_tokens(text: str) -> int:
    """Return an estimate of the tokens of `text` that is rather too high than too low."""
    byte_count = len(text.encode("utf-8", "surrogatepass"))
    ascii_count = byte_count if text.isascii() else sum(character < "\x80" for character in text)
    return ceil(ascii_count / _ASCII_CHARS_PER_TOKEN) + byte_count - ascii_count
