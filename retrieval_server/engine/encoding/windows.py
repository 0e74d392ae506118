"""What is embedded of a chunk: MiniLM sees at most 256 word pieces and was trained on natural language."""

import re
from collections.abc import Callable, Sequence

from retrieval_server.engine.encoding.skeleton import BRIEF, WHOLE, code_window, skeleton
from retrieval_server.engine.places.source_kinds import SourceKind, source_kinds
from retrieval_server.model import ContentKind

# 256 less [CLS] and [SEP].
MAX_WINDOW_PIECES = 254
_MAX_HEADER_PIECES = 64
_MAX_OVERLAP_PIECES = 48
WINDOWS_VERSION = 10

CountPieces = Callable[[Sequence[str]], list[int]]

# Code within prose is code; a fence that is not closed here was cut by the end of the chunk.
_FENCED = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^[ \t]*+\1[ \t]*+$|\Z)", re.DOTALL | re.MULTILINE)
# A sentence's end, or a line's: what is never cut unless it alone fills a window.
_SENTENCE = re.compile(r"[^\n.!?]*(?:[.!?](?!\s)[^\n.!?]*)*(?:[.!?]+\s+|\n+|\Z)")


def window_texts(
    kind: ContentKind, path: str, breadcrumbs: Sequence[str], text: str, count_pieces: CountPieces
) -> list[str]:
    """Return the texts to embed for one chunk, none for data files.

    Code becomes one window, its comments and its skeleton; prose becomes windows of whole sentences that overlap by
    one, with the skeletons of fenced code between them.
    """
    file_name = path.rsplit("/", 1)[-1]
    if kind is ContentKind.DATA:
        return []
    # Fences and comments end with their lines.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if kind is ContentKind.CODE:
        size = BRIEF if SourceKind.TEST in source_kinds(path) else WHOLE
        window = _fitted(code_window(file_name, breadcrumbs, text, size), count_pieces)
        return [window] if window else []
    text = _FENCED.sub(lambda code: f"\n{skeleton(code.group())}\n", text)
    header = " > ".join((file_name, *breadcrumbs))
    return _prose_windows(header, text, count_pieces)


def _fitted(window: str, count_pieces: CountPieces) -> str:
    """Leave out the last words of what is too large: comments may hold anything."""
    # A word piece is at least one character.
    while len(window) > MAX_WINDOW_PIECES and count_pieces([window])[0] > MAX_WINDOW_PIECES:
        words = window.split()
        window = " ".join(words[: len(words) // 2]) if len(words) > 1 else window[:MAX_WINDOW_PIECES]
    return window


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
