"""The view that searches use: swapped whole whenever what is stored has changed, with its vectors or without."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import structlog
from numpy.typing import NDArray

from retrieval_server.corpus.collection.collection_settings import settings_of
from retrieval_server.corpus.collection.encoder_match import open_dense
from retrieval_server.corpus.collection.fusion_text import fusion_from_text, fusion_to_text
from retrieval_server.corpus.collection.held_views import HeldViews
from retrieval_server.corpus.collection.synonym_text import synonyms_from_text, synonyms_to_text
from retrieval_server.corpus.collection.view import CollectionView
from retrieval_server.corpus.database.living_chunks import LivingChunks
from retrieval_server.corpus.database.reader import CorpusReader
from retrieval_server.corpus.database.store import CorpusStore
from retrieval_server.corpus.database.stored_vectors import MisshapenVectors
from retrieval_server.corpus.documents.changes import CommittedChange, EmbeddedWindows
from retrieval_server.corpus.files.layout import COLUMNS, DENSE
from retrieval_server.corpus.lexical.known_terms import KnownTerms, TermMemory
from retrieval_server.corpus.lexical.lexical_follower import LexicalFollower
from retrieval_server.corpus.vectors.dense_segments import DenseSegments
from retrieval_server.corpus.vectors.dense_upkeep import Adopt, Step, next_step
from retrieval_server.engine.lexical.synonyms import SynonymTable
from retrieval_server.model import FusionOverrides, Profile

_log = structlog.get_logger()


class PublishedView:
    """Follows the store and the lexical index of a collection. Read from any thread; changed by the writer's."""

    def __init__(
        self,
        name: str,
        directory: Path,
        store: CorpusStore,
        reader: CorpusReader,
        lexical: LexicalFollower,
        vector_dimension: int | None,
        term_memory: TermMemory,
    ) -> None:
        self._name = name
        self._store = store
        self._reader = reader
        self._lexical = lexical
        self._held = HeldViews()
        self._known_terms = KnownTerms(term_memory)
        self._synonyms = synonyms_from_text(store.meta("synonyms"))
        self._dense: DenseSegments | None = open_dense(store, reader, directory / DENSE, vector_dimension)
        self._living = LivingChunks(reader, directory / COLUMNS, store.generation)
        view = self._read(vector_epoch=int(store.meta("vector_epoch") or 0))
        self._living.store_columns()
        self._newest = self._with_vectors(view)

    @property
    def newest(self) -> CollectionView:
        """The view itself, for counts; who searches holds it."""
        return self._newest

    def hold(self) -> AbstractContextManager[CollectionView]:
        """Hold the newest view; what it can see stays until it is let go. Raises Retired once this is closed."""
        return self._held.hold(lambda: self._newest)

    @property
    def oldest_held_generation(self) -> int:
        """The oldest generation that somebody can see."""
        return self._held.oldest(default=self._newest.generation)

    def follow(self, only_change: CommittedChange | None = None) -> None:
        """Show what is stored; `only_change` is what alone differs from the last view, if that is known."""
        self._publish(self._read(self._newest.vector_epoch, only_change))

    def follow_lexical(self) -> None:
        """Show the lexical index as it is after it was built afresh of the same."""
        self._newest = replace(self._newest, lexical=self._lexical.view())

    def put_synonyms(self, table: SynonymTable) -> None:
        """Replace the synonym table."""
        self._store.set_meta(synonyms=synonyms_to_text(table))
        self._synonyms = table
        self._newest = replace(self._newest, synonyms=table)

    def put_tuned_fusion(self, setting_of: Mapping[Profile, FusionOverrides]) -> None:
        """Replace what was tuned for some profiles; what is kept for others stays."""
        kept = {**self._newest.tuned_fusion, **setting_of}
        self._store.set_meta(tuned_fusion=fusion_to_text(kept))
        self._newest = replace(self._newest, tuned_fusion=fusion_from_text(self._store.meta("tuned_fusion")))

    def known_vectors(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return the stored vectors among `keys`; damaged ones are dropped, see `drop_misshapen_vectors`."""
        if self._dense is None:
            return {}
        try:
            return self._store.known_vectors(keys, self._dense.dimension)
        except MisshapenVectors:
            self.drop_misshapen_vectors()
            return self._store.known_vectors(keys, self._dense.dimension)

    def drop_misshapen_vectors(self) -> None:
        """Drop vectors that are damaged in the database; chunks lack them from now on, and are to be embedded anew."""
        if self.is_retired or self._dense is None:
            return
        self._forget_misshapen_vectors(self._dense)
        if self._newest.generation == self._store.generation:  # else it is shown when the view has caught up
            self.follow()

    def store_vectors(self, windows_by_chunk: Mapping[int, EmbeddedWindows]) -> None:
        """Make vectors durable; searches see all of them once no chunk lacks its own."""
        self._living.count_embedded(self._store.put_vectors(windows_by_chunk))
        self._publish(replace(self._newest, embedded_chunk_count=self._living.counts.embedded_count))

    def vector_step(self) -> Step | None:
        """Return what is worth doing to the vector segments."""
        if self.is_retired or self._dense is None or self._newest.dense is None:
            return None
        return next_step(self._dense, self._newest.table.chunk_ids, self._newest.generation, self.hold)

    def adopt_vectors(self, adopt: Adopt) -> None:
        """Finish such a step; searches see what came of it."""
        if not self.is_retired and adopt():
            self._publish(self._newest)

    @property
    def is_retired(self) -> bool:
        """Tell whether no more views are given out."""
        return self._held.is_retired

    def retire(self) -> None:
        """Give out no more views, and wait until nobody reads those that were given out."""
        self._held.retire()

    def close(self) -> None:
        """Keep what is slow to read again, and forget the rest."""
        self._known_terms.close()
        self._living.store_columns()

    def _read(self, vector_epoch: int, only_change: CommittedChange | None = None) -> CollectionView:
        generation = self._store.generation
        self._living.follow(generation, only_change)
        counts = self._living.counts
        return CollectionView(
            generation=generation,
            vector_epoch=vector_epoch,
            chunk_count=counts.chunk_count,
            embeddable_chunk_count=counts.embeddable_count,
            embedded_chunk_count=counts.embedded_count,
            settings=settings_of(self._store.meta),
            lexical=self._lexical.view(),
            dense=None,
            table=self._living.table,
            reader=self._reader,
            known_terms=self._known_terms,
            synonyms=self._synonyms,
            tuned_fusion=fusion_from_text(self._store.meta("tuned_fusion")),
        )

    def _publish(self, view: CollectionView) -> None:
        """Let searches see a view, with its vectors: full coverage is never seen before the vectors themselves."""
        view = self._with_vectors(view)
        if view.dense is not None:
            view = replace(view, vector_epoch=view.vector_epoch + 1)
            self._store.set_meta(vector_epoch=str(view.vector_epoch))
        self._newest = view

    def _with_vectors(self, view: CollectionView) -> CollectionView:
        """Return a view with its vectors, if it lacks none."""
        if self._dense is None or view.dense_coverage < 1:
            return replace(view, dense=None)
        try:
            return replace(view, dense=self._dense.view(view.table.chunk_ids, view.generation))
        except MisshapenVectors:
            # Counted anew, the view lacks them, and they are computed again.
            self._forget_misshapen_vectors(self._dense)
            return self._read(view.vector_epoch)

    def _forget_misshapen_vectors(self, dense: DenseSegments) -> None:
        if count := self._store.forget_misshapen_vectors(dense.dimension):
            _log.warning("damaged vectors dropped, to be computed anew", collection=self._name, chunk_count=count)
