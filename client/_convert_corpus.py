"""The boundary for what comes back about a corpus: protobuf to this library's dataclasses, field by field."""

from datetime import UTC

from client import _corpus_types as corpus
from client import _passage_types as passages
from client._convert import enum_of, time_of
from client._translate import from_item_status
from groundwire.v1 import (
    collection_pb2,
    document_pb2,
    metadata_pb2,
    passage_pb2,
    snapshot_pb2,
    sync_pb2,
)


def collection(pb: collection_pb2.Collection) -> corpus.Collection:
    """Return our collection."""
    return corpus.Collection(
        name=pb.name,
        create_time=time_of(pb.create_time, is_set=pb.HasField("create_time")),
        index_generation=pb.index_generation,
        max_chunk_size_chars=pb.max_chunk_size_chars,
        problem=pb.problem,
        state=enum_of(corpus.CollectionState, collection_pb2.CollectionState.Name, "COLLECTION_STATE_", pb.state),
        similarity=enum_of(corpus.Similarity, collection_pb2.Similarity.Name, "SIMILARITY_", pb.similarity),
        sentences_per_chunk=pb.sentences_per_chunk if pb.HasField("sentences_per_chunk") else None,
    )


def corpus_stats(pb: collection_pb2.CorpusStats) -> corpus.CorpusStats:
    """Return our statistics."""
    return corpus.CorpusStats(
        collection=collection(pb.collection),
        document_count=pb.document_count,
        chunk_count=pb.chunk_count,
        embeddable_chunk_count=pb.embeddable_chunk_count,
        embedded_chunk_count=pb.embedded_chunk_count,
        dense_coverage=pb.dense_coverage,
        text_bytes=pb.text_bytes,
        disk_bytes=pb.disk_bytes,
        vector_epoch=pb.vector_epoch,
        encoder=pb.encoder,
        sources=tuple(corpus.SourceStats(one.source, one.display_prefix, one.document_count) for one in pb.sources),
        encoder_problem=pb.encoder_problem,
        stale_chunk_count=pb.stale_chunk_count,
    )


def document(pb: document_pb2.Document) -> corpus.Document:
    """Return our document."""
    return corpus.Document(
        document_id=pb.document_id,
        key=corpus.DocumentKey(pb.key.source, pb.key.relative_path),
        path=pb.path,
        language=pb.language,
        kind=enum_of(passages.ContentKind, passage_pb2.ContentKind.Name, "CONTENT_KIND_", pb.kind),
        content_sha256=pb.content_sha256,
        char_count=pb.char_count,
        line_count=pb.line_count,
        encoding=pb.encoding,
        had_byte_order_mark=pb.had_byte_order_mark,
        text=pb.text,
        create_time=time_of(pb.create_time, is_set=pb.HasField("create_time")),
        update_time=time_of(pb.update_time, is_set=pb.HasField("update_time")),
        title=pb.title,
        source_url=pb.source_url,
        media_type=pb.media_type,
        metadata={key: _metadata_value(pb.metadata[key]) for key in sorted(pb.metadata)},
        etag=pb.etag,
        original_bytes=pb.original_bytes,
    )


def _metadata_value(pb: metadata_pb2.MetadataValue) -> corpus.MetadataValue:
    match pb.WhichOneof("value"):
        case "number":
            return pb.number
        case "time":
            return pb.time.ToDatetime(tzinfo=UTC)
        case "list":
            return tuple(pb.list.texts)
        case _:
            return pb.text


def sync_progress(pb: sync_pb2.SyncProgress) -> corpus.SyncProgress:
    """Return our progress."""
    phase = enum_of(corpus.SyncPhase, sync_pb2.SyncPhase.Name, "SYNC_PHASE_", pb.phase)
    return corpus.SyncProgress(phase, pb.done_count, pb.total_count, tuple(map(synced_file, pb.files)))


def synced_file(pb: sync_pb2.SyncFileStatus) -> corpus.SyncedFile:
    """Return what happened to one file."""
    outcome = enum_of(corpus.SyncFileOutcome, sync_pb2.SyncFileOutcome.Name, "SYNC_FILE_OUTCOME_", pb.outcome)
    return corpus.SyncedFile(pb.relative_path, outcome, pb.detail)


def sync_summary(pb: sync_pb2.SyncSummary) -> corpus.SyncSummary:
    """Return what the server did; raise its error when the whole failed."""
    error = from_item_status(pb.status)
    if error is not None:
        raise error
    return corpus.SyncSummary(
        added_count=pb.added_count,
        updated_count=pb.updated_count,
        unchanged_count=pb.unchanged_count,
        removed_count=pb.removed_count,
        skipped_count=pb.skipped_count,
        chunk_count=pb.chunk_count,
        index_generation=pb.index_generation,
        dense_coverage=pb.dense_coverage,
        elapsed_s=pb.elapsed.ToNanoseconds() / 1e9,
    )


def rebuild_progress(pb: collection_pb2.RebuildCollectionResponse) -> corpus.RebuildProgress:
    """Return our progress of a rebuild."""
    return corpus.RebuildProgress(
        done_count=pb.done_count,
        total_count=pb.total_count,
        kept_count=pb.kept_count,
        index_generation=pb.index_generation,
        finished=pb.finished,
    )


def snapshot(pb: snapshot_pb2.Snapshot) -> corpus.Snapshot:
    """Return our snapshot."""
    return corpus.Snapshot(
        snapshot_id=pb.snapshot_id,
        collection=pb.collection,
        index_generation=pb.index_generation,
        create_time=time_of(pb.create_time, is_set=pb.HasField("create_time")),
        size_bytes=pb.size_bytes,
    )
