"""The BM25 list: chunks in Tantivy.

Path, breadcrumbs, defined names and body are indexed as one field, the path twice. Kept apart and summed, each field
has an idf of its own, and a word as common as "how" becomes decisive where it is rare, in paths; together they share
idf and saturation, as in BM25F (Robertson, Zaragoza & Taylor 2004, https://doi.org/10.1145/1031171.1031181).
Tantivy's k1 = 1.2 and b = 0.75 are fixed.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tantivy

from retrieval_server.engine.places.filters import Allowed
from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.engine.words.definitions import wanted_definitions
from retrieval_server.engine.words.stop_words import STOP_TERMS

_TEXT, _CHUNK_ID, _DOCUMENT_ROW = "text", "chunk_id", "document_row"
_STOP_TERM_WEIGHT = 0.3
MAX_QUERY_TERMS = 256
_WRITER_HEAP_BYTES = 64 * 1024 * 1024
# Scores are summed in float32 in an order that depends on segments; beyond these digits equal is equal.
_SCORE_DECIMALS = 3
# Read past the pool, and more where it is not enough, so that chunks of equal score at its end are chosen by place and
# not by segment. Of more copies than the most, those that came first are taken.
_TIE_MARGIN_COUNT = 16
_MAX_TIE_MARGIN_COUNT = 4096
# So many documents cost about as much to look up as hits to pass over: 5 ms of 300,000 chunks for 1,000 of 50,000.
_MAX_LISTED_DOCUMENTS = 1000
# Beyond so many hits passed over, listing all documents is cheaper, however many there are.
_MAX_PASSED_OVER = 20_000
# From so many chunks on function words are asked for only where other words find too little. Tantivy passes over blocks
# of chunks that cannot be among the best, but not where a word is in most of them: of a million chunks a question takes
# 0.6 ms without, 5 ms with them. In 341,000 chunks of real trees 441 questions found the same: Recall@5 by words alone
# was 74.4 % without, 74.6 % with them.
_MANY_CHUNKS = 100_000
_FIRST_MARGIN = 1.5
# From so many segments of one size on, Tantivy merges them into one.
_MERGED_SEGMENTS = 8
_GROWTH = 4


@dataclass(frozen=True, slots=True)
class LexicalEntry:
    """One chunk as it is indexed: `terms` comes from `index_terms`."""

    chunk_id: int
    document_row: int
    terms: str


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """Distinct index terms of a query with their weights."""

    weight_by_term: dict[str, float]


def lexical_query(query: str) -> LexicalQuery:
    """Return the terms of `query`; function words count little, unless there is nothing else."""
    terms = dict.fromkeys(analyse_terms(query))
    if all(term in STOP_TERMS for term in terms):
        weights = dict.fromkeys(terms, 1.0)
    else:
        weights = {term: _STOP_TERM_WEIGHT if term in STOP_TERMS else 1.0 for term in terms}
    heaviest = sorted(weights.items(), key=lambda item: -item[1])[:MAX_QUERY_TERMS]
    return LexicalQuery(dict(heaviest))


class LexicalView:
    """An immutable view of the index as of one commit. Thread-safe."""

    def __init__(self, schema: tantivy.Schema, searcher: tantivy.Searcher) -> None:
        self._schema = schema
        self._searcher = searcher
        self.chunk_count = int(searcher.num_docs)
        """Chunks that can be found."""

    def search(self, query: LexicalQuery, limit: int, allowed: Allowed | None = None) -> list[tuple[int, float]]:
        """Return about `limit` (chunk id, BM25 score), best first; more where chunks tie with the last of them.

        Only chunks in `allowed` are returned, and as many as are wanted if so many match; scores are those of the whole
        collection. The query is built from terms: user text never meets Tantivy's query parser, which deep nesting can
        kill.
        """
        if (
            not query.weight_by_term
            or limit < 1
            or self.chunk_count == 0
            or (allowed is not None and not allowed.chunks)
        ):
            return []
        margin = _TIE_MARGIN_COUNT
        while True:
            wanted = min(limit + margin, self.chunk_count)
            hits = self._best(query, wanted, allowed)
            is_all = len(hits) < wanted or wanted == self.chunk_count or margin >= _MAX_TIE_MARGIN_COUNT
            if is_all or hits[-1][1] < hits[limit - 1][1]:
                return hits
            margin *= _GROWTH

    def _best(self, query: LexicalQuery, wanted: int, allowed: Allowed | None) -> list[tuple[int, float]]:
        if self.chunk_count >= _MANY_CHUNKS:
            telling = {term: weight for term, weight in query.weight_by_term.items() if term not in STOP_TERMS}
            hits = self._any_of(telling, wanted, allowed)
            if len(hits) >= wanted:
                return hits
        return self._any_of(query.weight_by_term, wanted, allowed)

    def _any_of(
        self, weight_by_term: Mapping[str, float], wanted: int, allowed: Allowed | None
    ) -> list[tuple[int, float]]:
        """Return the best hits of any of the terms, `wanted` if there are so many."""
        parts = [
            (tantivy.Occur.Should, tantivy.Query.boost_query(self._term(term), weight))
            for term, weight in weight_by_term.items()
        ]
        made = tantivy.Query.boolean_query(parts)
        return self._hits(made, wanted) if allowed is None else self._hits_within(allowed, made, wanted)

    def _hits(self, query: tantivy.Query, limit: int) -> list[tuple[int, float]]:
        found = self._searcher.search(query, limit, count=False).hits
        ids = self._searcher.fast_field_values(_CHUNK_ID, [address for _, address in found])
        return [(int(i or 0), round(float(score), _SCORE_DECIMALS)) for i, (score, _) in zip(ids, found, strict=True)]

    def _hits_within(self, allowed: Allowed, query: tantivy.Query, wanted: int) -> list[tuple[int, float]]:
        """Few documents are named to the index; of many, enough hits are read for `wanted` to be among the allowed."""
        is_listed = len(allowed.document_rows) <= _MAX_LISTED_DOCUMENTS
        reach = allowed.document_chunk_count if is_listed else self.chunk_count
        looked_at = math.ceil(wanted * _FIRST_MARGIN * reach / len(allowed.chunks))
        asked = self._of_documents(allowed, query) if is_listed else query
        while True:
            looked_at = min(looked_at, self.chunk_count)
            hits = self._hits(asked, looked_at)
            mask = allowed.chunks.mask(np.fromiter((i for i, _ in hits), np.int64, len(hits)))
            inside = [hit for hit, is_inside in zip(hits, mask.tolist(), strict=True) if is_inside]
            if len(inside) >= wanted or len(hits) < looked_at or looked_at == self.chunk_count:
                return inside[:wanted]
            looked_at *= _GROWTH
            if looked_at > _MAX_PASSED_OVER and not is_listed:
                is_listed, asked = True, self._of_documents(allowed, query)
                looked_at = math.ceil(wanted * _FIRST_MARGIN * allowed.document_chunk_count / len(allowed.chunks))

    def _of_documents(self, allowed: Allowed, query: tantivy.Query) -> tantivy.Query:
        rows = tantivy.Query.term_set_query(self._schema, _DOCUMENT_ROW, allowed.document_rows.tolist())
        only = tantivy.Query.const_score_query(rows, 0.0)
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, only)])

    def chunk_count_of(self, term: str) -> int:
        """Return how many chunks hold a term; until the index is built afresh, deleted ones among them."""
        return int(self._searcher.doc_freq(_TEXT, term))

    def is_defined(self, name: str) -> bool:
        """Tell whether some chunk defines a case-folded name."""
        return any(self.chunk_count_of(term) for term in wanted_definitions([name]))

    def idf(self, term: str) -> float:
        """Return ln(1 + (N - n + 0.5) / (n + 0.5)), the idf of BM25; largest for a term that no chunk has."""
        total, having = self.chunk_count, self.chunk_count_of(term)
        return math.log(1 + (max(total, having) - having + 0.5) / (having + 0.5))

    def _term(self, term: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, _TEXT, term, "freq")


class LexicalIndex:
    """The index on disk. One writer; a commit is visible in views taken after it."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        builder = tantivy.SchemaBuilder()
        builder.add_text_field(_TEXT, tokenizer_name="whitespace", index_option="freq")
        builder.add_integer_field(_CHUNK_ID, fast=True)
        builder.add_integer_field(_DOCUMENT_ROW, indexed=True)
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema, path=str(directory))
        # One thread: segments, and with them the order of equal scores, then follow from the input alone.
        self._writer = self._index.writer(_WRITER_HEAP_BYTES, 1)
        self._may_lack_merges = True
        self._has_staged = False

    def view(self) -> LexicalView:
        """Return a view of the last commit."""
        self._index.reload()
        return LexicalView(self._schema, self._index.searcher())

    def stage(self, entry: LexicalEntry) -> None:
        """Begin to index a chunk, beside whatever else is done, for the next `commit`; `unstage` forgets it."""
        self._has_staged = True
        document = tantivy.Document()
        document.add_text(_TEXT, entry.terms)
        document.add_integer(_CHUNK_ID, entry.chunk_id)
        document.add_integer(_DOCUMENT_ROW, entry.document_row)
        self._writer.add_document(document)

    def unstage(self) -> None:
        """Forget what was staged. After an error it is there yet, and must be forgotten before the next `commit`."""
        if self._has_staged:
            self._writer.rollback()
            self._has_staged = False

    def commit(self, deleted_document_rows: Iterable[int]) -> None:
        """Remove all chunks of some documents and add what was staged.

        An error before the commit changes nothing, and what was staged is forgotten.
        """
        with self._commit():
            for row in deleted_document_rows:
                self._writer.delete_documents_by_term(_DOCUMENT_ROW, row)

    def rebuild(self, entries: Iterable[LexicalEntry]) -> None:
        """Replace everything in one commit, what was staged too.

        Rows that were deleted no longer weigh on BM25's statistics.
        """
        self.unstage()
        with self._commit():
            self._writer.delete_all_documents()
            for entry in entries:
                self.stage(entry)

    @contextmanager
    def _commit(self) -> Iterator[None]:
        self._has_staged = True  # what is deleted is to be forgotten after an error, too
        try:
            yield
            self._writer.commit()
            self._has_staged = False
            self._writer.garbage_collect_files()
        except BaseException:
            with suppress(OSError, ValueError):  # rather than hide why it failed
                self.unstage()
            raise

    def resume_merges(self) -> None:
        """Let merges that a close gave up go on, beside whatever comes; a second time does nothing.

        Tantivy looks for what to merge with each commit.
        """
        if self._may_lack_merges and self._index.searcher().num_segments >= _MERGED_SEGMENTS:
            self.unstage()  # should it have failed before
            self._writer.commit()
        self._may_lack_merges = False

    def close(self, *, waits_for_merges: bool = True) -> None:
        """Release the directory's lock, once merges have ended or, without waiting for them, at once.

        A merge of a large index takes a minute. One that is given up leaves the index as the last commit made it, but
        its thread goes on, and writes files into the directory, until it ends or the process does.
        """
        if waits_for_merges:
            self._writer.wait_merging_threads()
        del self._writer
