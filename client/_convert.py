"""The boundary for what comes back: protobuf to this library's dataclasses, field by field."""

from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from google.protobuf import timestamp_pb2

from client import _answer_types as answers
from client import _corpus_types as corpus
from client import _passage_types as passages
from client._translate import from_item_status, reason_name
from client.errors import ServerFault
from groundwire.v1 import (
    admin_service_pb2,
    answer_pb2,
    answer_service_pb2,
    collection_pb2,
    document_pb2,
    passage_pb2,
    retrieval_service_pb2,
    sync_pb2,
)

_E = TypeVar("_E", bound=StrEnum)
_N = TypeVar("_N", bound=int)


def _enum(ours: type[_E], name_of: Callable[[_N], str], prefix: str, number: _N) -> _E:
    """Return our member for a protobuf value; UNKNOWN for one that a newer server has and we have not."""
    try:
        return ours(name_of(number).removeprefix(prefix).lower())
    except ValueError:
        return ours("unknown")


def _time(stamp: timestamp_pb2.Timestamp, *, is_set: bool) -> datetime | None:
    return stamp.ToDatetime(tzinfo=UTC) if is_set else None


# --- passages ---------------------------------------------------------------------------------------------------------


def passage(pb: passage_pb2.Passage) -> passages.Passage:
    """Return our passage."""
    return passages.Passage(
        passage_id=pb.passage_id,
        document_id=pb.document_id,
        path=pb.path,
        start_char=pb.start_char,
        end_char=pb.end_char,
        start_line=pb.start_line,
        end_line=pb.end_line,
        text=pb.text,
        span_kind=_enum(passages.SpanKind, passage_pb2.SpanKind.Name, "SPAN_KIND_", pb.span_kind),
        breadcrumbs=tuple(pb.breadcrumbs),
        language=pb.language,
        kind=_enum(passages.ContentKind, passage_pb2.ContentKind.Name, "CONTENT_KIND_", pb.kind),
        score=pb.score,
        list_scores=tuple(
            passages.ListScore(one.list, one.rank, one.raw_score, one.contribution, tuple(one.matched_terms))
            for one in pb.list_scores
        ),
        priors=tuple(passages.Prior(one.name, one.factor) for one in pb.priors),
    )


def _skipped_reason(number: retrieval_service_pb2.AnswerSkippedReason.ValueType) -> passages.AnswerSkippedReason:
    return _enum(
        passages.AnswerSkippedReason, retrieval_service_pb2.AnswerSkippedReason.Name, "ANSWER_SKIPPED_REASON_", number
    )


def retrieve_result(pb: retrieval_service_pb2.RetrieveResponse) -> passages.RetrieveResult:
    """Return our result."""
    return passages.RetrieveResult(
        passages=tuple(passage(one) for one in pb.passages),
        index_generation=pb.index_generation,
        vector_epoch=pb.vector_epoch,
        dense_coverage=pb.dense_coverage,
        answerability=pb.answerability,
        answer_skipped_reason=_skipped_reason(pb.answer_skipped_reason),
        profile_used=_enum(
            passages.RetrievalProfile,
            retrieval_service_pb2.RetrievalProfile.Name,
            "RETRIEVAL_PROFILE_",
            pb.profile_used,
        ),
        profile_explanation=pb.profile_explanation,
        elapsed_s=pb.elapsed.ToNanoseconds() / 1e9,
    )


# --- answers ----------------------------------------------------------------------------------------------------------


def _mode(number: answer_pb2.AnswerMode.ValueType) -> answers.AnswerMode:
    return _enum(answers.AnswerMode, answer_pb2.AnswerMode.Name, "ANSWER_MODE_", number)


def answer_result(pb: answer_pb2.AnswerResult) -> answers.AnswerResult:
    """Return our answer."""
    return answers.AnswerResult(
        request_id=pb.request_id,
        state=_enum(answers.AnswerState, answer_pb2.AnswerState.Name, "ANSWER_STATE_", pb.state),
        text=pb.text,
        citations=tuple(
            answers.Citation(
                one.path, one.start_char, one.end_char, one.start_line, one.end_line, one.text, one.passage_index
            )
            for one in pb.citations
        ),
        sentences=tuple(
            answers.SentenceSupport(one.start_char, one.end_char, one.supported, tuple(one.citation_indexes))
            for one in pb.sentences
        ),
        generator=answers.GeneratorInfo(
            model=pb.generator.model,
            mode=_mode(pb.generator.mode),
            fallback_reason=reason_name(pb.generator.fallback_reason),
            prompt_tokens=pb.generator.prompt_tokens,
            completion_tokens=pb.generator.completion_tokens,
            dropped_passage_indexes=tuple(pb.generator.dropped_passage_indexes),
        ),
        answer_skipped_reason=_skipped_reason(pb.answer_skipped_reason),
        error=from_item_status(pb.status),
        passages=tuple(passage(one) for one in pb.passages),
        index_generation=pb.index_generation,
        attempt_count=pb.attempt_count,
    )


def answer_event(pb: answer_service_pb2.AnswerEvent) -> answers.AnswerEvent:
    """Return our event."""
    match pb.WhichOneof("event"):
        case "retrieved":
            return answers.AnswerRetrieved(
                sequence=pb.sequence,
                request_id=pb.retrieved.request_id,
                passages=tuple(passage(one) for one in pb.retrieved.passages),
                index_generation=pb.retrieved.index_generation,
            )
        case "delta":
            return answers.AnswerDelta(sequence=pb.sequence, text=pb.delta.text)
        case "restarted":
            return answers.AnswerRestarted(
                sequence=pb.sequence, attempt=pb.restarted.attempt, reason=reason_name(pb.restarted.reason)
            )
        case "terminal":
            return answers.AnswerFinished(sequence=pb.sequence, result=answer_result(pb.terminal))
        case _:
            raise ServerFault("the server sent an event that this client does not know", reason="PROTOCOL_ORDER")


# --- corpus -----------------------------------------------------------------------------------------------------------


def collection(pb: collection_pb2.Collection) -> corpus.Collection:
    """Return our collection."""
    return corpus.Collection(
        name=pb.name,
        create_time=_time(pb.create_time, is_set=pb.HasField("create_time")),
        index_generation=pb.index_generation,
        max_chunk_size_chars=pb.max_chunk_size_chars,
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
        kind=_enum(passages.ContentKind, passage_pb2.ContentKind.Name, "CONTENT_KIND_", pb.kind),
        content_sha256=pb.content_sha256,
        char_count=pb.char_count,
        line_count=pb.line_count,
        encoding=pb.encoding,
        had_byte_order_mark=pb.had_byte_order_mark,
        text=pb.text,
        update_time=_time(pb.update_time, is_set=pb.HasField("update_time")),
        metadata=dict(pb.metadata),
    )


def sync_progress(pb: sync_pb2.SyncProgress) -> corpus.SyncProgress:
    """Return our progress."""
    phase = _enum(corpus.SyncPhase, sync_pb2.SyncPhase.Name, "SYNC_PHASE_", pb.phase)
    return corpus.SyncProgress(phase, pb.done_count, pb.total_count)


def synced_file(pb: sync_pb2.SyncFileStatus) -> corpus.SyncedFile:
    """Return what happened to one file."""
    outcome = _enum(corpus.SyncFileOutcome, sync_pb2.SyncFileOutcome.Name, "SYNC_FILE_OUTCOME_", pb.outcome)
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


# --- operations -------------------------------------------------------------------------------------------------------


def queue_stats(pb: admin_service_pb2.GetQueueStatsResponse) -> corpus.QueueStats:
    """Return our counts."""
    return corpus.QueueStats(
        waiting_count=pb.waiting_count,
        running_count=pb.running_count,
        dead_letter_count=pb.dead_letter_count,
        live_worker_count=pb.live_worker_count,
    )


def worker(pb: admin_service_pb2.Worker) -> corpus.Worker:
    """Return our worker."""
    return corpus.Worker(
        worker_id=pb.worker_id,
        model=pb.model,
        last_seen_time=_time(pb.last_seen_time, is_set=pb.HasField("last_seen_time")),
        uptime_s=pb.uptime.ToNanoseconds() / 1e9,
    )


def server_settings(pb: admin_service_pb2.GetSettingsResponse) -> corpus.ServerSettings:
    """Return the settings."""
    return corpus.ServerSettings(version=pb.version, settings=dict(pb.settings))
