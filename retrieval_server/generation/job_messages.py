"""The messages that put a question into the queue, and what they say."""

import time
from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2
from retrieval_server.generation.answer_model import Fallback, Question, Retrieved
from retrieval_server.model import Passage
from retrieval_server.passage_message import passage_from_pb, passage_to_pb

# A job carries the best passages up to this many characters: more than any generator's context holds, so that the
# worker, which can count tokens, is the one who packs. A constant, because a replay must find the same passages.
MAX_JOB_CHARS = 262_144

_FALLBACKS = {
    Fallback.EXTRACTIVE: answer_pb2.ANSWER_FALLBACK_EXTRACTIVE,
    Fallback.NONE: answer_pb2.ANSWER_FALLBACK_NONE,
}
_FALLBACKS_BACK = {number: fallback for fallback, number in _FALLBACKS.items()}


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
        max_prompt_tokens=question.options.max_prompt_tokens,
        deadline=deadline,
    )


def retrieved_message(question: Question, retrieved: Retrieved) -> job_pb2.JobRetrieved:
    """Return the first event of a job: all that is needed to check and to replay its answer."""
    return job_pb2.JobRetrieved(
        request_id=retrieved.request_id,
        passages=map(passage_to_pb, retrieved.passages),
        index_generation=retrieved.index_generation,
        fallback=_FALLBACKS[question.options.fallback],
        question=question.retrieve.query,
    )


def retrieved_from_message(message: job_pb2.JobRetrieved) -> Retrieved:
    """Return what was retrieved for a job."""
    passages = tuple(passage_from_pb(passage) for passage in message.passages)
    return Retrieved(message.request_id, passages, message.index_generation)


def fallback_from_message(message: job_pb2.JobRetrieved) -> Fallback:
    """Return what the caller of a job wants when it cannot be answered by a generator."""
    return _FALLBACKS_BACK.get(message.fallback, Fallback.EXTRACTIVE)
