"""What a search sees of a collection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.collection.collection_settings import CollectionSettings
from retrieval_server.corpus.collection.result_cache import ResultCache
from retrieval_server.corpus.database.reader import CorpusReader
from retrieval_server.corpus.lexical.known_terms import KnownTerms
from retrieval_server.engine.dense import DenseView
from retrieval_server.engine.lexical.bm25 import LexicalView
from retrieval_server.engine.lexical.synonyms import NO_SYNONYMS, SynonymTable
from retrieval_server.engine.places.chunk_table import ChunkTable, Place
from retrieval_server.engine.ranking.proximity import TermKeys
from retrieval_server.model import FusionOverrides, Passage, Profile


@dataclass(frozen=True)
class CollectionView:
    """What a search sees: immutable, as of one generation; satisfies engine.candidates.IndexView."""

    generation: int
    vector_epoch: int
    chunk_count: int
    embeddable_chunk_count: int
    embedded_chunk_count: int
    settings: CollectionSettings
    lexical: LexicalView
    dense: DenseView | None
    table: ChunkTable
    reader: CorpusReader
    known_terms: KnownTerms
    synonyms: SynonymTable = NO_SYNONYMS
    tuned_fusion: Mapping[Profile, FusionOverrides] = field(default_factory=dict)
    # Every view has its own, so a result is never older than what it was found in.
    results: ResultCache = field(default_factory=ResultCache, init=False, compare=False)

    @property
    def max_chunk_chars(self) -> int:
        """Largest chunk in code points, of what is to come."""
        return self.settings.max_chunk_chars

    @property
    def dense_coverage(self) -> float:
        """Embeddable chunks that have their vectors, 0 to 1; 1 when there are none to embed."""
        return self.embedded_chunk_count / self.embeddable_chunk_count if self.embeddable_chunk_count else 1.0

    def places(self, chunk_ids: Sequence[int]) -> Mapping[int, Place]:
        """Return where each chunk stands."""
        return self.table.places(chunk_ids)

    def passages(self, chunk_ids: Sequence[int]) -> Mapping[int, Passage]:
        """Return each chunk as an unscored passage."""
        return self.reader.passages(self.table.places(chunk_ids))

    def term_keys(self, chunk_ids: Sequence[int]) -> Mapping[int, TermKeys]:
        """Return the keys of the index terms of each chunk's text, in order."""
        keys = self.known_terms.known(chunk_ids)
        missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in keys]
        if missing:
            texts = self.reader.texts(missing)
            keys |= self.known_terms.learn({chunk_id: texts.get(chunk_id, "") for chunk_id in missing})
        return keys

    def chunks_containing(self, texts: Sequence[str], among: NDArray[np.int64]) -> list[int]:
        """Return the chunks among (n,) ids whose texts contain all of `texts`."""
        return self.reader.chunks_containing(texts, among.tolist())
