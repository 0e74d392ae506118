"""One collection: the store, the indexes that follow it, and the view that searches use.

A change is committed to SQLite first and is then the truth; the lexical index follows, then the view is swapped whole.
Whatever lags when a collection is opened is brought up from SQLite, so a process may die between any two steps.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.collection import integrity
from retrieval_server.corpus.collection.encoder_match import forget_vectors_of_another
from retrieval_server.corpus.collection.published_view import PublishedView
from retrieval_server.corpus.collection.view import CollectionView
from retrieval_server.corpus.database.reader import CorpusReader
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
from retrieval_server.corpus.files.layout import DATABASE
from retrieval_server.corpus.lexical.known_terms import TermMemory
from retrieval_server.corpus.lexical.lexical_follower import LexicalFollower
from retrieval_server.corpus.snapshots.snapshot_files import frozen_database, link_dense, link_lexical
from retrieval_server.corpus.vectors.dense_upkeep import Adopt, Step
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
        self._index_problem = ""
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
        if self._lexical.generation != self._store.generation:
            self._rebuild_lexical()
        self._outdated_document_count = self.reader.outdated_document_count()
        self._published = PublishedView(
            name, directory, self._store, self.reader, self._lexical, vector_dimension, term_memory or TermMemory()
        )

    def view(self) -> AbstractContextManager[CollectionView]:
        """Hold the current view; what it can see stays until it is let go. Raises Retired once this is closed."""
        return self._published.hold()

    @property
    def current_view(self) -> CollectionView:
        """The newest view, for counts; searches use `view()`."""
        return self._published.newest

    @property
    def problem(self) -> str:
        """What ought to be done about it; "" when all is well."""
        if self._index_problem:
            return self._index_problem
        count = self._outdated_document_count
        remedy = f"`client rebuild --collection {self.name}` brings them up to date"
        return f"{count:,} documents were split into passages by another version; {remedy}" if count else ""

    def note_index_problem(self, problem: str) -> None:
        """Tell from now on, until the lexical index is built afresh, that a search could not read it; any thread."""
        self._index_problem = problem

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
                self._published.follow(None if committed.is_moved else committed)
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
        self._published.put_synonyms(table)

    def put_tuned_fusion(self, setting_of: Mapping[Profile, FusionOverrides]) -> None:
        """Replace what was tuned for some profiles, or drop it where the setting sets nothing; searches use it at once.

        What is kept for other profiles stays.
        """
        self._published.put_tuned_fusion(setting_of)

    def is_behind(self) -> bool:
        """Tell whether searches do not see the last committed change, since its indexing failed."""
        return self.current_view.generation != self._store.generation

    def catch_up(self) -> None:
        """Make the last committed change visible after a failure."""
        if not self.is_behind():
            return
        with integrity.outcome_unknown("what is stored is not yet searchable"):
            if self._lexical.generation != self._store.generation:  # the rest may be what failed
                self._rebuild_lexical()
            self._published.follow()

    def chunks_to_embed(self, after_chunk_id: int, limit: int) -> list[ChunkToEmbed]:
        """Return living chunks without vectors, by chunk id."""
        return self._store.chunks_to_embed(after_chunk_id, limit)

    def known_vectors(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return the stored vectors among `keys`; damaged ones are dropped, see `drop_misshapen_vectors`."""
        return self._published.known_vectors(keys)

    def drop_misshapen_vectors(self) -> None:
        """Drop vectors that are damaged in the database; chunks lack them from now on, and are to be embedded anew."""
        self._published.drop_misshapen_vectors()

    def store_vectors(self, windows_by_chunk: Mapping[int, EmbeddedWindows]) -> None:
        """Make vectors durable; searches see all of them once no chunk lacks its own."""
        self._published.store_vectors(windows_by_chunk)

    def needs_compaction(self) -> bool:
        """Tell whether deleted chunks still weigh on BM25's statistics and are worth an index built afresh."""
        dead, living = self._stale_chunk_count, self.current_view.chunk_count
        return dead > 0 and (living <= _ALWAYS_COMPACTED_CHUNKS or dead >= living * _COMPACTED_DEAD_SHARE)

    def compact(self) -> bool:
        """Build the lexical index afresh in one commit, so that one reached by edits equals a fresh one.

        Returns False when `stop_upkeep` ends it; nothing but `close` may follow then.
        """
        self.catch_up()
        if not self._lexical.refresh(self._store.lexical_entries()):
            return False
        self._published.follow_lexical()
        self._index_problem = ""
        self._store.purge_dead(self._published.oldest_held_generation)
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
        return self._published.vector_step()

    def adopt_vectors(self, adopt: Adopt) -> None:
        """Finish such a step; searches see what came of it."""
        self._published.adopt_vectors(adopt)

    @property
    def is_closed(self) -> bool:
        """Tell whether the files are released, or about to be."""
        return self._published.is_retired

    def retire(self) -> None:
        """Give out no more views, and wait until nobody reads those that were given out."""
        self._published.retire()

    def close(self, *, waits_for_merges: bool = True) -> None:
        """Release the files once nobody reads them, see LexicalIndex for merges; a second time does nothing."""
        self.retire()
        if self._is_closed:
            return
        self._is_closed = True
        self._published.close()
        self._lexical.close(waits_for_merges=waits_for_merges)
        self.reader.close()
        self._store.close()

    def _rebuild_lexical(self) -> None:
        self._lexical.rebuild(self._store.generation, self._store.lexical_entries())
        self._index_problem = ""
