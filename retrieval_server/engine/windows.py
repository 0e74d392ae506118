"""What is embedded of a chunk: MiniLM sees at most 256 word pieces and was trained on natural language."""

import re
from collections.abc import Callable, Sequence
from itertools import islice

from retrieval_server.engine.analyser import identifier_parts
from retrieval_server.engine.stop_words import STOP_WORDS
from retrieval_server.model import ContentKind

# 256 less [CLS] and [SEP].
MAX_WINDOW_PIECES = 254
_MAX_HEADER_PIECES = 64
_MAX_OVERLAP_PIECES = 48
# The first parts name what a chunk is about; the last of a long one mostly cost time.
_MAX_SKELETON_PARTS = 48
WINDOWS_VERSION = 6

CountPieces = Callable[[Sequence[str]], list[int]]

# Code within prose is code; a fence that is not closed here was cut by the end of the chunk.
_FENCED = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^[ \t]*+\1[ \t]*+$|\Z)", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"[^\W\d]\w*")
# A sentence's end, or a line's: what is never cut unless it alone fills a window.
_SENTENCE = re.compile(r"[^\n.!?]*(?:[.!?](?!\s)[^\n.!?]*)*(?:[.!?]+\s+|\n+|\Z)")
_KEYWORDS_TEXT = """
    and as assert async auto await bool break case catch char class const constexpr continue def default del delete
    do double elif else end enum except export extends extern false final finally float fn for from func function if
    impl implements import in include inline int interface is lambda let long mut namespace new nil none nonlocal not
    null or package pass private protected pub public raise return self short signed sizeof static str struct super
    switch template this throw throws true try type typedef typename union unsigned use using var virtual void
    while with yield"""
_LEFT_OUT = STOP_WORDS.union(_KEYWORDS_TEXT.split())


def window_texts(
    kind: ContentKind, path: str, breadcrumbs: Sequence[str], text: str, count_pieces: CountPieces
) -> list[str]:
    """Return the texts to embed for one chunk, none for data files.

    Code becomes one window, its skeleton; prose becomes windows of whole sentences that overlap by one, with the
    skeletons of fenced code between them.
    """
    file_name = path.rsplit("/", 1)[-1]
    if kind is ContentKind.DATA:
        return []
    if kind is ContentKind.CODE:
        skeleton = _skeleton(" ".join((file_name, *breadcrumbs, text)))
        return [skeleton] if skeleton else []
    text = _FENCED.sub(lambda code: f"\n{_skeleton(code.group())}\n", text)
    header = " > ".join((file_name, *breadcrumbs))
    return _prose_windows(header, text, count_pieces)


def _skeleton(text: str) -> str:
    """Identifiers and words in parts, each once, by first appearance, without what says little."""
    words = _WORD.findall(text)
    parts = (part for word in words for part in identifier_parts(word))
    telling = (part for part in parts if part not in _LEFT_OUT and len(part) > 1 and not part.isdecimal())
    return " ".join(islice(dict.fromkeys(telling), _MAX_SKELETON_PARTS))


def _prose_windows(header: str, text: str, count_pieces: CountPieces) -> list[str]:
    header_pieces = count_pieces([header])[0]
    if header_pieces > _MAX_HEADER_PIECES:
        header, header_pieces = "", 0
    room = MAX_WINDOW_PIECES - header_pieces
    windows: list[str] = []
    current: list[str] = []
    sizes: list[int] = []
    for sentence, size in _sentences(text, room, count_pieces):
        if current and sum(sizes) + size > room:
            windows.append(_joined(header, current))
            keeps_last = sizes[-1] <= min(_MAX_OVERLAP_PIECES, room - size) and len(current) > 1
            current, sizes = (current[-1:], sizes[-1:]) if keeps_last else ([], [])
        current.append(sentence)
        sizes.append(size)
    if current:
        windows.append(_joined(header, current))
    return windows


def _joined(header: str, sentences: Sequence[str]) -> str:
    return "\n".join(part for part in (header, " ".join(sentences)) if part)


def _sentences(text: str, room: int, count_pieces: CountPieces) -> list[tuple[str, int]]:
    sentences = [match.group().strip() for match in _SENTENCE.finditer(text)]
    sentences = [sentence for sentence in sentences if sentence]
    sized: list[tuple[str, int]] = []
    for sentence, size in zip(sentences, count_pieces(sentences), strict=True):
        if size <= room:
            sized.append((sentence, size))
            continue
        # A word piece is at least one character, so a slice of `room` characters always fits.
        slices = [sentence[i : i + room] for i in range(0, len(sentence), room)]
        sized.extend(zip(slices, count_pieces(slices), strict=True))
    return sized
