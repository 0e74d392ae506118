"""A corpus of any size that behaves like a real one where it matters to an index.

Words are as unequal as in English, chunks of one document are alike, and so are documents of one topic. Vectors follow
from names in the texts, so the real path from text to vector can be walked without a model.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.documents.changes import SourceChange
from retrieval_server.corpus.documents.documents import ParsedDocument, ParseLimits, parse_document
from retrieval_server.engine.words.stop_words import STOP_WORDS

DIMENSION = 384
_TOPIC_COUNT = 300
_WORD_COUNT = 60_000
_RANK_SHIFT = 50
_WORDS_PER_CHUNK = 60
_STOP_SHARE = 0.4
_MEAN_DOCUMENT_CHUNKS = 10
_CHUNKS_PER_COMMIT = 5000
# As MiniLM's vectors of a source tree: cosines of 0.3 between any two, 0.5 within a topic, 0.7 within a document; the
# rest is each chunk's own. Variances fall so that they count for about 60 equal dimensions.
_COMMON_SHARE, _TOPIC_SHARE, _DOCUMENT_SHARE, _OWN_SHARE = 0.3, 0.2, 0.2, 0.3
_SPECTRUM_OFFSET = 3
_QUERY_COSINE = 0.75
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_NAME = re.compile(r"topic(\d+)_doc(\d+)_part(\d+)")
_LIMITS = ParseLimits(max_file_bytes=4 * 1024 * 1024, max_line_chars=100_000, max_chunk_chars=2000)


@cache
def _word(rank: int) -> str:
    """Return a word of letters alone, since digits would make parts that all words share."""
    syllables = []
    for _ in range(3):
        rank, syllable = divmod(rank, len(_CONSONANTS) * len(_VOWELS))
        syllables.append(_CONSONANTS[syllable // len(_VOWELS)] + _VOWELS[syllable % len(_VOWELS)])
    return "".join(syllables)


class SyntheticCorpus:
    """Documents of 1 to about 100 chunks, the same for the same seed."""

    def __init__(self, chunk_count: int, seed: int = 1) -> None:
        self.chunk_count = chunk_count
        self._random = np.random.default_rng(seed)
        # Zipf's law as Mandelbrot amended it: the commonest word that tells something is in a tenth of all chunks.
        weights = 1 / np.arange(1 + _RANK_SHIFT, _WORD_COUNT + 1 + _RANK_SHIFT)
        self._word_shares = np.cumsum(weights / weights.sum())
        self._stop_words = sorted(STOP_WORDS)

    def changes(self) -> Iterator[SourceChange]:
        """Yield what brings the whole corpus, a few thousand chunks a commit."""
        documents: list[ParsedDocument] = []
        made, pending = 0, 0
        while made < self.chunk_count:
            count = int(min(self.chunk_count - made, 100, 1 + self._random.exponential(_MEAN_DOCUMENT_CHUNKS)))
            documents.append(self._document(made, count))
            made, pending = made + count, pending + count
            if pending >= _CHUNKS_PER_COMMIT or made >= self.chunk_count:
                yield SourceChange("synthetic", "synthetic", _LIMITS.max_chunk_chars, documents)
                documents, pending = [], 0

    def queries(self, count: int) -> list[str]:
        """Return questions of four function words and four others, one of which is rare."""
        common = iter(self._words(count * 3, share_of_stop_words=0.0))
        rare = self._random.integers(200, _WORD_COUNT, count).tolist()
        return [f"how is the {next(common)} of {next(common)} {_word(r)} for {next(common)}" for r in rare]

    def _document(self, number: int, chunk_count: int) -> ParsedDocument:
        topic = int(self._random.integers(_TOPIC_COUNT))
        words = self._words(chunk_count * _WORDS_PER_CHUNK, _STOP_SHARE)
        sections = (
            f"# Part {part}\n\ntopic{topic}_doc{number}_part{part} "
            + " ".join(words[part * _WORDS_PER_CHUNK : (part + 1) * _WORDS_PER_CHUNK])
            for part in range(chunk_count)
        )
        parsed = parse_document(f"t{topic}/d{number}.md", "\n\n".join(sections).encode(), _LIMITS)
        if not isinstance(parsed, ParsedDocument):
            raise TypeError(parsed.detail)
        return parsed

    def _words(self, count: int, share_of_stop_words: float) -> list[str]:
        ranks = np.searchsorted(self._word_shares, self._random.random(count)).tolist()
        is_stop = (self._random.random(count) < share_of_stop_words).tolist()
        stop_count = len(self._stop_words)
        return [self._stop_words[r % stop_count] if stop else _word(r) for r, stop in zip(ranks, is_stop, strict=True)]


class SyntheticEncoder:
    """Satisfies engine.encoder.Encoder: a text's vector is made of its topic's, its document's and its own."""

    dimension = DIMENSION

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        random = np.random.default_rng(0)
        rotation = np.linalg.qr(random.standard_normal((DIMENSION, DIMENSION)))[0]
        deviations = (np.arange(DIMENSION) + _SPECTRUM_OFFSET) ** -0.5
        self._spread = (deviations[:, np.newaxis] * rotation).astype(np.float32)
        self._common = self._direction(1, 0)
        self._topics = np.stack([self._direction(0, topic) for topic in range(_TOPIC_COUNT)])

    def encode_query(self, text: str, *, is_alone: bool = False) -> NDArray[np.float32]:
        """Return the vector of a text that holds a chunk's name."""
        del is_alone
        return self._vector(text)

    def encode_windows(
        self, texts: Sequence[str], should_stop: Callable[[], bool] | None = None
    ) -> NDArray[np.float32]:
        """Return the texts' vectors, (n_texts, 384) float32, L2-normalised."""
        del should_stop
        vectors: NDArray[np.float32] = np.stack([self._vector(text) for text in texts])
        return vectors

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        """Return how many words each text has."""
        return [len(text.split()) for text in texts]

    def near(self, vectors: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
        """Return what might be asked to find each of (n, 384) vectors."""
        others = np.stack([self._direction(seed, row) for row in range(len(vectors))])
        mixed = vectors * np.float32(_QUERY_COSINE) + others * np.float32((1 - _QUERY_COSINE**2) ** 0.5)
        unit: NDArray[np.float32] = (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _vector(self, text: str) -> NDArray[np.float32]:
        found = _NAME.search(text)
        if found is None:
            return self._direction(1, len(text))
        topic, document, part = map(int, found.groups())
        vector = (
            self._common * np.float32(_COMMON_SHARE**0.5)
            + self._topics[topic] * np.float32(_TOPIC_SHARE**0.5)
            + self._direction(2, document) * np.float32(_DOCUMENT_SHARE**0.5)
            + self._direction(3 + document, part) * np.float32(_OWN_SHARE**0.5)
        )
        unit: NDArray[np.float32] = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit

    def _direction(self, *seed: int) -> NDArray[np.float32]:
        """Return a unit vector that varies as texts do: much in few dimensions."""
        vector = np.random.default_rng(seed).standard_normal(DIMENSION, np.float32) @ self._spread
        unit: NDArray[np.float32] = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit
