"""Passages as the queue's messages carry them, and the message that puts a question into the queue."""

import time
from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, passage_pb2
from retrieval_server.generation.answer_model import Fallback, Question, Retrieved
from retrieval_server.model import ContentKind, ListScore, Passage, Prior

# A job carries the best passages up to this many characters: more than any generator's context holds, so that the
# worker, which can count tokens, is the one who packs. A constant, because a replay must find the same passages.
MAX_JOB_CHARS = 262_144

_KINDS = {
    ContentKind.CODE: passage_pb2.CONTENT_KIND_CODE,
    ContentKind.DOCS: passage_pb2.CONTENT_KIND_DOCS,
    ContentKind.DATA: passage_pb2.CONTENT_KIND_DATA,
}
_KINDS_BACK = {number: kind for kind, number in _KINDS.items()}
_FALLBACKS = {
    Fallback.EXTRACTIVE: answer_pb2.ANSWER_FALLBACK_EXTRACTIVE,
    Fallback.NONE: answer_pb2.ANSWER_FALLBACK_NONE,
}
_FALLBACKS_BACK = {number: fallback for fallback, number in _FALLBACKS.items()}


def passage_message(passage: Passage) -> passage_pb2.Passage:
    """Return the message of a passage."""
    return passage_pb2.Passage(
        passage_id=passage.passage_id,
        document_id=passage.document_id,
        path=passage.path,
        start_char=passage.start_char,
        end_char=passage.end_char,
        start_line=passage.start_line,
        end_line=passage.end_line,
        text=passage.text,
        span_kind=passage_pb2.SPAN_KIND_VERBATIM,
        breadcrumbs=passage.breadcrumbs,
        language=passage.language,
        kind=_KINDS[passage.kind],
        score=passage.score,
        list_scores=(
            passage_pb2.ListScore(
                list=score.list_name,
                rank=score.rank,
                raw_score=score.raw_score,
                contribution=score.contribution,
                matched_terms=score.matched_terms,
            )
            for score in passage.list_scores
        ),
        priors=(passage_pb2.Prior(name=prior.name, factor=prior.factor) for prior in passage.priors),
    )


def passage_from_message(message: passage_pb2.Passage) -> Passage:
    """Return the passage of a message that `passage_message` made."""
    return Passage(
        passage_id=message.passage_id,
        document_id=message.document_id,
        path=message.path,
        start_char=message.start_char,
        end_char=message.end_char,
        start_line=message.start_line,
        end_line=message.end_line,
        text=message.text,
        breadcrumbs=tuple(message.breadcrumbs),
        language=message.language,
        kind=_KINDS_BACK.get(message.kind, ContentKind.DOCS),
        score=message.score,
        list_scores=tuple(
            ListScore(s.list, s.rank, s.raw_score, s.contribution, tuple(s.matched_terms)) for s in message.list_scores
        ),
        priors=tuple(Prior(prior.name, prior.factor) for prior in message.priors),
    )


def job_passage_count(passages: Sequence[Passage]) -> int:
    """Return how many of `passages`, from the best, a job carries; at least one if there is any."""
    char_count = 0
    for count, passage in enumerate(passages):
        char_count += len(passage.text)
        if char_count > MAX_JOB_CHARS:
            return max(count, 1)
    return len(passages)


def job_message(
    question: Question, job_id: str, retrieved: job_pb2.JobRetrieved, passage_count: int
) -> job_pb2.GenerationJob:
    """Return the job that answers `question` from the first `passage_count` of the retrieved passages."""
    deadline = Timestamp()
    deadline.FromNanoseconds(time.time_ns() + int(question.options.timeout_s * 1e9))
    return job_pb2.GenerationJob(
        job_id=job_id,
        question=question.retrieve.query,
        passages=retrieved.passages[:passage_count],
        mode=answer_pb2.ANSWER_MODE_STUFF,
        max_completion_tokens=question.options.max_completion_tokens,
        max_prompt_tokens=question.options.max_prompt_tokens or 0,
        deadline=deadline,
    )


def retrieved_message(question: Question, retrieved: Retrieved) -> job_pb2.JobRetrieved:
    """Return the first event of a job: all that is needed to check and to replay its answer."""
    return job_pb2.JobRetrieved(
        request_id=retrieved.request_id,
        passages=map(passage_message, retrieved.passages),
        index_generation=retrieved.index_generation,
        fallback=_FALLBACKS[question.options.fallback],
        question=question.retrieve.query,
    )


def retrieved_from_message(message: job_pb2.JobRetrieved) -> Retrieved:
    """Return what was retrieved for a job."""
    passages = tuple(passage_from_message(passage) for passage in message.passages)
    return Retrieved(message.request_id, passages, message.index_generation)


def fallback_from_message(message: job_pb2.JobRetrieved) -> Fallback:
    """Return what the caller of a job wants when it cannot be answered by a generator."""
    return _FALLBACKS_BACK.get(message.fallback, Fallback.EXTRACTIVE)
