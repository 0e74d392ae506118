"""Prose by sentences: chunks of n sentences each, whatever their lengths. A choice of a collection, not of a format."""

import itertools
import re

from retrieval_server.engine.chunkers.lines import LineIndex, with_line_feeds
from retrieval_server.engine.chunkers.pieces import Chunk, Piece, chunks_of

# A full stop and what closes after it, then white space; in Chinese and Japanese without. Every repetition is
# possessive, and none is tried again from its midst, so the scan is linear in the text.
_SENTENCE_END = re.compile(r"(?:(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？]++[」』”’）]*+)\s*+")
# Atomic, or CRLF would be taken for CR and the LF of an empty line.
_PARAGRAPH_END = re.compile(r"(?>\r\n|\r|\n)(?:[ \t]*+(?>\r\n|\r|\n))++\s*+")
# "e.g. this", "Dr. Ito", "fig. 3" and initials go on.
_GOES_ON = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|figs?|dr|mrs?|ms|st|prof|approx|resp|ver|vol|eq|sec|no)|\b[A-Z])\.\s*+$",
    re.IGNORECASE,
)
_LOOK_BACK_CHARS = 12
MAX_SENTENCES = 100


def sentence_chunks(text: str, lines: LineIndex, sentences_per_chunk: int, max_chunk_chars: int) -> list[Chunk]:
    """Return chunks of `sentences_per_chunk` (1 to MAX_SENTENCES) sentences, in order; the last may have fewer.

    They cover all of the text that is not blank; a blank line ends a sentence; what is longer than `max_chunk_chars`
    is split as in any other chunker.
    """
    text = with_line_feeds(text)
    starts = [0, *_sentence_ends(text)]
    if starts[-1] < len(text):
        starts.append(len(text))
    borders = [*starts[:-1:sentences_per_chunk], starts[-1]]
    # Equal breadcrumbs would let short neighbours share a chunk, so each piece is handed over by itself.
    return [
        chunk
        for start, end in itertools.pairwise(borders)
        for chunk in chunks_of(text, lines, [Piece(start, end)], max_chunk_chars)
    ]


def _sentence_ends(text: str) -> list[int]:
    ends = {match.end() for match in _PARAGRAPH_END.finditer(text)}
    for match in _SENTENCE_END.finditer(text):
        before = text[max(0, match.start() - _LOOK_BACK_CHARS) : match.end()]
        if not _GOES_ON.search(before):
            ends.add(match.end())
    # White space before the first sentence is no sentence.
    first = len(text) - len(text.lstrip())
    return sorted(end for end in ends if end > first)
