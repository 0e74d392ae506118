"""What a collection is told when it is made, and keeps in its database."""

from collections.abc import Callable
from dataclasses import dataclass

from retrieval_server.corpus.documents.documents import ParseLimits
from retrieval_server.engine.chunkers import DEFAULT_MAX_CHUNK_CHARS
from retrieval_server.engine.dense import Similarity


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """How documents are cut and vectors compared; `sentences_per_chunk` None leaves cutting prose to its format."""

    max_chunk_chars: int = DEFAULT_MAX_CHUNK_CHARS
    similarity: Similarity = Similarity.COSINE
    sentences_per_chunk: int | None = None

    def limits(self, *, max_file_bytes: int, max_line_chars: int) -> ParseLimits:
        """Return what parsing a file for the collection needs to know."""
        return ParseLimits(max_file_bytes, max_line_chars, self.max_chunk_chars, self.sentences_per_chunk)

    def to_meta(self) -> dict[str, str]:
        """Return the settings as they are stored."""
        return {
            "max_chunk_chars": str(self.max_chunk_chars),
            "similarity": self.similarity.value,
            "sentences_per_chunk": str(self.sentences_per_chunk or ""),
        }


def settings_of(meta: Callable[[str], str | None]) -> CollectionSettings:
    """Return the settings that are stored; a collection that was told nothing has the defaults."""
    sentences = meta("sentences_per_chunk")
    return CollectionSettings(
        max_chunk_chars=int(meta("max_chunk_chars") or DEFAULT_MAX_CHUNK_CHARS),
        similarity=Similarity(meta("similarity") or Similarity.COSINE.value),
        sentences_per_chunk=int(sentences) if sentences else None,
    )
