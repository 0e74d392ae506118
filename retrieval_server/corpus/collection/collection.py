"""One collection: the store, the indexes that follow it, and the view that searches use.

A change is committed to SQLite first and is then the truth; the lexical index follows, then the view is swapped whole.
Whatever lags when a collection is opened is brought up from SQLite, so a process may die between any two steps.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.collection import integrity
from retrieval_server.corpus.collection.collection_settings import settings_of
from retrieval_server.corpus.collection.encoder_match import forget_vectors_of_another, open_dense
from retrieval_server.corpus.collection.fusion_text import fusion_from_text, fusion_to_text
from retrieval_server.corpus.collection.held_views import HeldViews
from retrieval_server.corpus.collection.synonym_text import synonyms_from_text, synonyms_to_text
from retrieval_server.corpus.collection.view import CollectionView
from retrieval_server.corpus.database.living_chunks import LivingChunks
from retrieval_server.corpus.database.reader import CorpusReader, MisshapenVectors
from retrieval_server.corpus.database.request_log import RequestClaim
from retrieval_server.corpus.database.store import Answered, CorpusStore
from retrieval_server.corpus.documents.changes import (
    ChunkToEmbed,
    CommittedChange,
    EmbeddedWindows,
    Removal,
    SourceChange,
)
from retrieval_server.corpus.files.commit_steps import CommitStep, passed
from retrieval_server.corpus.files.layout import COLUMNS, DATABASE, DENSE
from retrieval_server.corpus.lexical.known_terms import KnownTerms, TermMemory
from retrieval_server.corpus.lexical.lexical_follower import LexicalFollower
from retrieval_server.corpus.snapshots.snapshot_files import frozen_database, link_dense, link_lexical
from retrieval_server.corpus.vectors.dense_upkeep import Adopt, Step, next_step
from retrieval_server.engine.chunkers import CHUNKER_VERSION
from retrieval_server.engine.lexical.synonyms import SynonymTable
from retrieval_server.model import FusionOverrides, PassageFilter, Profile

# Up to this size an index built afresh costs a few seconds, off the request path.
_ALWAYS_COMPACTED_CHUNKS = 50_000
_COMPACTED_DEAD_SHARE = 0.05


class Collection:
    """A collection that is open. Reads from any thread; writes from one thread at a time."""

    def __init__(
        self,
        name: str,
        directory: Path,
        encoder_fingerprint: str,
        vector_dimension: int | None,
        term_memory: TermMemory | None = None,
    ) -> None:
        self.name = name
        self.directory = directory
        self._is_closed = False
        directory.mkdir(parents=True, exist_ok=True)
        integrity.check_writable(directory)
        integrity.check_database_is_there(directory)
        self._store = CorpusStore(directory / DATABASE)
        self.create_time_unix_ms = self._store.create_time_unix_ms()
        self._stale_chunk_count = self._store.dead_chunk_count
        self.reader = CorpusReader(directory / DATABASE)
        forget_vectors_of_another(self._store, encoder_fingerprint)
        integrity.check_nothing_was_lost(directory, self._store.generation)
        self._lexical = LexicalFollower(directory)
        self._held = HeldViews()
        self._known_terms = KnownTerms(term_memory or TermMemory())
        self._synonyms = synonyms_from_text(self._store.meta("synonyms"))
        if self._lexical.generation != self._store.generation:
            self._rebuild_lexical()
        self._dense = open_dense(self._store, self.reader, directory / DENSE, vector_dimension)
        self._outdated_document_count = self.reader.outdated_document_count()
        self._living = LivingChunks(self.reader, directory / COLUMNS, self._store.generation)
        view = self._current(vector_epoch=int(self._store.meta("vector_epoch") or 0))
        self._living.store_columns()
        self._view = self._with_vectors(view)

    def view(self) -> AbstractContextManager[CollectionView]:
        """Hold the current view; what it can see stays until it is let go. Raises Retired once this is closed."""
        return self._held.hold(lambda: self._view)

    @property
    def current_view(self) -> CollectionView:
        """The newest view, for counts; searches use `view()`."""
        return self._view

    @property
    def problem(self) -> str:
        """What ought to be done about it; "" when all is well."""
        count = self._outdated_document_count
        remedy = f"`client rebuild --collection {self.name}` brings them up to date"
        return f"{count:,} documents were split into passages by another version; {remedy}" if count else ""

    @property
    def stale_chunk_count(self) -> int:
        """Deleted chunks that still weigh on BM25's statistics until the lexical index is built afresh."""
        return self._stale_chunk_count

    def apply(self, change: SourceChange | Removal) -> int:
        """Commit `change` and make it visible; return its generation. Raises what `apply_answered` does."""
        return self._apply(change, None)[0].generation

    def apply_answered(self, change: SourceChange | Removal, answered: Answered) -> bytes:
        """Commit `change`, make it visible and return its response.

        Raises GroundwireError OUTCOME_UNKNOWN when it is durable but could not be made visible: repeating it is safe,
        and `catch_up` makes it visible. ETAG_MISMATCH when another version is there than the change expects,
        PATH_TAKEN when another source shows a document at a path that was not to be shared.
        """
        # Asked here, too: an equal request may have been carried out while this one was prepared.
        earlier = self.earlier_response(answered.claim) if answered.claim is not None else None
        return self._apply(change, answered)[1] if earlier is None else earlier

    def earlier_response(self, claim: RequestClaim) -> bytes | None:
        """Return the response to a request that was carried out before, once what it did is visible."""
        response = self._store.earlier_response(claim)
        if response is not None:
            self.catch_up()
        return response

    def remove_matching(self, wanted: PassageFilter, answered: Answered) -> bytes:
        """Remove the documents that a filter means, in one commit, as `apply_answered`."""
        if answered.claim is not None and (earlier := self.earlier_response(answered.claim)) is not None:
            return earlier
        return self.apply_answered(Removal(self.reader.document_ids_matching(wanted)), answered)

    def _apply(self, change: SourceChange | Removal, answered: Answered | None) -> tuple[CommittedChange, bytes]:
        with self._lexical.staging() as stage:
            committed, response = self._store.commit(change, answered, stage)
            with integrity.outcome_unknown("the change is stored but not yet searchable"):
                self._stale_chunk_count = self._store.dead_chunk_count
                if not self._lexical.follow(committed):
                    self._rebuild_lexical()
                self._publish(self._current(self._view.vector_epoch, None if committed.is_moved else committed))
                passed(CommitStep.PUBLISHED)
        return committed, response

    def rebuild_documents(self, change: SourceChange, kept_rows: Sequence[int]) -> None:
        """Commit documents that were parsed anew; the chunks of those that cannot be are accepted as they are."""
        if change.documents:
            self.apply(change)
        if kept_rows:
            self._store.accept_chunks(kept_rows, CHUNKER_VERSION)
        self._outdated_document_count = self.reader.outdated_document_count()

    def freeze(self, target: Path) -> tuple[int, sqlite3.Connection]:
        """Link both indexes into `target`; return the generation and a connection that sees just that."""
        self.catch_up()
        link_lexical(self.directory, target)
        link_dense(self.directory, target)
        return self._store.generation, frozen_database(self.directory / DATABASE)

    def put_synonyms(self, table: SynonymTable) -> None:
        """Replace the synonym table; searches use it at once."""
        self._store.set_meta(synonyms=synonyms_to_text(table))
        self._synonyms = table
        self._view = replace(self._view, synonyms=table)

    def put_tuned_fusion(self, setting_of: Mapping[Profile, FusionOverrides]) -> None:
        """Replace what was tuned for some profiles, or drop it where the setting sets nothing; searches use it at once.

        What is kept for other profiles stays.
        """
        kept = {**self._view.tuned_fusion, **setting_of}
        self._store.set_meta(tuned_fusion=fusion_to_text(kept))
        self._view = replace(self._view, tuned_fusion=fusion_from_text(self._store.meta("tuned_fusion")))

    def is_behind(self) -> bool:
        """Tell whether searches do not see the last committed change, since its indexing failed."""
        return self._view.generation != self._store.generation

    def catch_up(self) -> None:
        """Make the last committed change visible after a failure."""
        if not self.is_behind():
            return
        with integrity.outcome_unknown("what is stored is not yet searchable"):
            if self._lexical.generation != self._store.generation:  # the rest may be what failed
                self._rebuild_lexical()
            self._publish(self._current(self._view.vector_epoch))

    def chunks_to_embed(self, after_chunk_id: int, limit: int) -> list[ChunkToEmbed]:
        """Return living chunks without vectors, by chunk id."""
        return self._store.chunks_to_embed(after_chunk_id, limit)

    def known_vectors(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return the stored vectors among `keys`."""
        return self._store.known_vectors(keys)

    def store_vectors(self, windows_by_chunk: Mapping[int, EmbeddedWindows]) -> None:
        """Make vectors durable; searches see all of them once no chunk lacks its own."""
        self._living.count_embedded(self._store.put_vectors(windows_by_chunk))
        self._publish(replace(self._view, embedded_chunk_count=self._living.counts.embedded_count))

    def needs_compaction(self) -> bool:
        """Tell whether deleted chunks still weigh on BM25's statistics and are worth an index built afresh."""
        dead, living = self._stale_chunk_count, self._view.chunk_count
        return dead > 0 and (living <= _ALWAYS_COMPACTED_CHUNKS or dead >= living * _COMPACTED_DEAD_SHARE)

    def compact(self) -> bool:
        """Build the lexical index afresh in one commit, so that one reached by edits equals a fresh one.

        Returns False when `stop_upkeep` ends it; nothing but `close` may follow then.
        """
        self.catch_up()
        if not self._lexical.refresh(self._store.lexical_entries()):
            return False
        self._view = replace(self._view, lexical=self._lexical.view())
        self._store.purge_dead(self._held.oldest(default=self._view.generation))
        self._stale_chunk_count = 0
        return True

    def stop_upkeep(self) -> None:
        """Let what is long and can be done another time end soon; from any thread."""
        self._lexical.stop_refreshing()

    def resume_merges(self) -> None:
        """Merge what was left unmerged when this was closed."""
        self._lexical.resume_merges()

    def vector_step(self) -> Step | None:
        """Return what is worth doing to the vector segments; `corpus.vector_upkeep` carries it out."""
        if self.is_closed or self._dense is None or self._view.dense is None:
            return None
        return next_step(self._dense, self._view.table.chunk_ids, self._view.generation, self.view)

    def adopt_vectors(self, adopt: Adopt) -> None:
        """Finish such a step; searches see what came of it."""
        if not self.is_closed and adopt():
            self._publish(self._view)

    @property
    def is_closed(self) -> bool:
        """Tell whether the files are released, or about to be."""
        return self._held.is_retired

    def retire(self) -> None:
        """Give out no more views, and wait until nobody reads those that were given out."""
        self._held.retire()

    def close(self, *, waits_for_merges: bool = True) -> None:
        """Release the files once nobody reads them, see LexicalIndex for merges; a second time does nothing."""
        self.retire()
        if self._is_closed:
            return
        self._is_closed = True
        self._known_terms.close()
        self._living.store_columns()
        self._lexical.close(waits_for_merges=waits_for_merges)
        self.reader.close()
        self._store.close()

    def _current(self, vector_epoch: int, only_change: CommittedChange | None = None) -> CollectionView:
        """Return a view of what is stored; `only_change` is what alone differs from the last view, if that is known."""
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
            reader=self.reader,
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
        self._view = view

    def _with_vectors(self, view: CollectionView) -> CollectionView:
        """Return a view with its vectors, if it lacks none."""
        if self._dense is None or view.dense_coverage < 1:
            return replace(view, dense=None)
        try:
            return replace(view, dense=self._dense.view(view.table.chunk_ids, view.generation))
        except MisshapenVectors:
            # Counted anew, the view lacks them, and they are computed again.
            self._store.forget_misshapen_vectors(self._dense.dimension)
            return self._current(view.vector_epoch)

    def _rebuild_lexical(self) -> None:
        self._lexical.rebuild(self._store.generation, self._store.lexical_entries())
