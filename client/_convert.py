"""The boundary for what comes back: protobuf to this library's dataclasses, field by field."""

from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from google.protobuf import timestamp_pb2

from client import _answer_types as answers
from client import _corpus_types as corpus
from client import _passage_types as passages
from client import _queue_types as queue
from client._translate import from_item_status, reason_name
from client.errors import ServerFault
from groundwire.v1 import (
    admin_service_pb2,
    answer_pb2,
    answer_service_pb2,
    passage_pb2,
    retrieval_service_pb2,
)

_E = TypeVar("_E", bound=StrEnum)
_N = TypeVar("_N", bound=int)


def enum_of(ours: type[_E], name_of: Callable[[_N], str], prefix: str, number: _N) -> _E:
    """Return our member for a protobuf value; UNKNOWN for one that a newer server has and we have not."""
    try:
        return ours(name_of(number).removeprefix(prefix).lower())
    except ValueError:
        return ours("unknown")


def time_of(stamp: timestamp_pb2.Timestamp, *, is_set: bool) -> datetime | None:
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
        span_kind=enum_of(passages.SpanKind, passage_pb2.SpanKind.Name, "SPAN_KIND_", pb.span_kind),
        breadcrumbs=tuple(pb.breadcrumbs),
        language=pb.language,
        kind=enum_of(passages.ContentKind, passage_pb2.ContentKind.Name, "CONTENT_KIND_", pb.kind),
        score=pb.score,
        list_scores=tuple(
            passages.ListScore(one.list, one.rank, one.raw_score, one.contribution, tuple(one.matched_terms))
            for one in pb.list_scores
        ),
        priors=tuple(passages.Prior(one.name, one.factor) for one in pb.priors),
        hop=pb.hop,
        origin_text=pb.origin_text,
    )


def _skipped_reason(number: retrieval_service_pb2.AnswerSkippedReason.ValueType) -> passages.AnswerSkippedReason:
    return enum_of(
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
        profile_used=enum_of(
            passages.RetrievalProfile,
            retrieval_service_pb2.RetrievalProfile.Name,
            "RETRIEVAL_PROFILE_",
            pb.profile_used,
        ),
        profile_explanation=pb.profile_explanation,
        elapsed_s=pb.elapsed.ToNanoseconds() / 1e9,
        second_hop=(
            passages.SecondHop(pb.second_hop.query, tuple(pb.second_hop.introduced_terms))
            if pb.HasField("second_hop")
            else None
        ),
    )


# --- answers ----------------------------------------------------------------------------------------------------------


def _mode(number: answer_pb2.AnswerMode.ValueType) -> answers.AnswerMode:
    return enum_of(answers.AnswerMode, answer_pb2.AnswerMode.Name, "ANSWER_MODE_", number)


def answer_result(pb: answer_pb2.AnswerResult) -> answers.AnswerResult:
    """Return our answer."""
    return answers.AnswerResult(
        request_id=pb.request_id,
        state=enum_of(answers.AnswerState, answer_pb2.AnswerState.Name, "ANSWER_STATE_", pb.state),
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
            from_cache=pb.generator.from_cache,
            passage_weights=tuple(
                answers.PassageWeight(one.packed_index, one.prior, one.posterior, one.wrote_answer)
                for one in pb.generator.passage_weights
            ),
            backend=pb.generator.backend,
        ),
        answer_skipped_reason=_skipped_reason(pb.answer_skipped_reason),
        error=from_item_status(pb.status),
        passages=tuple(passage(one) for one in pb.passages),
        index_generation=pb.index_generation,
        attempt_count=pb.attempt_count,
        standalone_question=pb.standalone_question,
        missing_words=tuple(pb.missing_words),
        packed_passages=tuple(
            answers.PackedPassage(one.path, one.start_char, one.end_char, tuple(one.passage_indexes))
            for one in pb.packed_passages
        ),
        dropped_passages=tuple(
            answers.DroppedPassage(
                one.passage_index,
                enum_of(
                    answers.PassageDropReason,
                    answer_pb2.PassageDropReason.Name,
                    "PASSAGE_DROP_REASON_",
                    one.reason,
                ),
            )
            for one in pb.dropped_passages
        ),
        condensing=answers.QuestionCondensing(
            method=enum_of(
                answers.CondensingMethod,
                answer_pb2.CondensingMethod.Name,
                "CONDENSING_METHOD_",
                pb.condensing.method,
            ),
            fallback_reason=reason_name(pb.condensing.fallback_reason),
            fallback_message=pb.condensing.fallback_message,
            model=pb.condensing.model,
        ),
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


# --- operations -------------------------------------------------------------------------------------------------------


def queue_stats(pb: admin_service_pb2.GetQueueStatsResponse) -> queue.QueueStats:
    """Return our counts."""
    return queue.QueueStats(
        waiting_count=pb.waiting_count,
        running_count=pb.running_count,
        dead_letter_count=pb.dead_letter_count,
        live_worker_count=pb.live_worker_count,
        slot_count=pb.slot_count,
        waiting_batch_count=pb.waiting_batch_count,
        accepting_worker_count=pb.accepting_worker_count,
    )


def worker(pb: admin_service_pb2.Worker) -> queue.Worker:
    """Return our worker."""
    return queue.Worker(
        worker_id=pb.worker_id,
        model=pb.model,
        last_seen_time=time_of(pb.last_seen_time, is_set=pb.HasField("last_seen_time")),
        uptime_s=pb.uptime.ToNanoseconds() / 1e9,
        slot_count=pb.slot_count,
        running_count=pb.running_count,
        version=pb.version,
        context_tokens=pb.context_tokens,
        not_accepting_reason=pb.not_accepting_reason,
    )


def dead_letter(pb: admin_service_pb2.DeadLetter) -> queue.DeadLetter:
    """Return our dead letter."""
    return queue.DeadLetter(
        request_id=pb.request_id,
        reason=reason_name(pb.reason),
        time=time_of(pb.time, is_set=pb.HasField("time")),
        crash_count=pb.crash_count,
        worker_id=pb.worker_id,
        question=pb.question,
        replayable=pb.replayable,
    )


def server_settings(pb: admin_service_pb2.GetSettingsResponse) -> corpus.ServerSettings:
    """Return the settings."""
    return corpus.ServerSettings(version=pb.version, settings=dict(pb.settings))
