"""Questions condensed by a model: a small job before the answer's own, and the rules wherever that brings nothing."""

import asyncio
import hashlib
import time
from dataclasses import replace

import structlog
from google.protobuf.timestamp_pb2 import Timestamp

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, error_pb2
from retrieval_server.errors import Expired, GroundwireError, InternalFault
from retrieval_server.generation.answers.answer_model import Priority, Question
from retrieval_server.generation.jobs.answer_jobs import AnswerJobs, condensing_job_id
from retrieval_server.generation.jobs.failures import failure_of
from retrieval_server.generation.jobs.job_messages import PRIORITIES
from retrieval_server.generation.questions.condensed_check import cleaned, fault_in
from retrieval_server.generation.questions.condensing import MAX_TYPED_CHARS, Condensing, CondensingMethod, Conversation

log = structlog.get_logger()

# Enough for one question; a model that goes on has not asked one.
_MAX_COMPLETION_TOKENS = 96
_TIME_SHARE = 0.25
_MIN_REMAINING_S = 0.001


class ModelCondensing:
    """Asks the generator for questions that stand by themselves."""

    def __init__(self, jobs: AnswerJobs, *, timeout_s: float, max_question_bytes: int) -> None:
        """Args: `timeout_s` is the most that a caller waits for it, `max_question_bytes` what a query may be long."""
        self._jobs = jobs
        self._timeout_s = timeout_s
        self._max_question_bytes = max_question_bytes

    async def condensed(self, question: Question) -> Question:
        """Return the question as the model makes it, or by rule with the reason why; nothing that fails is raised.

        The time that it takes is taken from the answer's. The job ends with its last caller, and has an id that follows
        from the request's and what is asked: a call that is sent twice asks the model once.
        """
        if question.for_model is None:
            return question
        started_s = time.monotonic()
        # Nobody sits before a batch: its items wait for their turn like their answers.
        limit_s = question.options.timeout_s * _TIME_SHARE
        if question.options.priority is not Priority.BATCH:
            limit_s = min(limit_s, self._timeout_s)
        query = question.retrieve.query
        try:
            async with asyncio.timeout(limit_s):
                query, model = await self._asked(question, question.for_model, limit_s)
            condensing = Condensing(CondensingMethod.MODEL, model=model)
        except (TimeoutError, Expired):
            reason = error_pb2.ERROR_REASON_DEADLINE_EXCEEDED
            condensing = Condensing(
                fallback_reason=reason, fallback_message=f"The model took more than {limit_s:.3g} s."
            )
        except GroundwireError as error:
            condensing = Condensing(fallback_reason=error.reason, fallback_message=error.message)
        if condensing.fallback_reason is not None:
            reason_name = error_pb2.ErrorReason.Name(condensing.fallback_reason)
            log.info("question condensed by rule", request_id=question.request_id, reason=reason_name)
        remaining_s = max(question.options.timeout_s - (time.monotonic() - started_s), _MIN_REMAINING_S)
        return replace(
            question,
            retrieve=replace(question.retrieve, query=query),
            options=replace(question.options, timeout_s=remaining_s),
            condensing=condensing,
            for_model=None,
        )

    async def _asked(self, question: Question, conversation: Conversation, limit_s: float) -> tuple[str, str]:
        """Return the model's question and the model; raises GroundwireError when there is none that counts."""
        if len(conversation.typed) > MAX_TYPED_CHARS:
            told = f"No model is asked for a question of more than {MAX_TYPED_CHARS:,} characters."
            raise GroundwireError(error_pb2.ERROR_REASON_LIMIT_EXCEEDED, told)
        conversation = conversation.end()
        await self._jobs.require_worker()
        job = _job(question, conversation, limit_s)
        known = job_pb2.JobRetrieved(request_id=question.request_id, question=job.question)
        await self._jobs.enqueue(job, known, _digest(job), cancel_when_alone=True)
        ended = await self._jobs.end_of(job.job_id)
        if ended.outcome != job_pb2.JOB_OUTCOME_FINISHED:
            raise failure_of(ended)
        made = cleaned(ended.text)
        fault = await asyncio.to_thread(fault_in, made, conversation)
        if not fault and len(made.encode()) > self._max_question_bytes:
            fault = f"The model's question is longer than a query may be, {self._max_question_bytes} bytes."
        if fault:
            raise _Rejected(fault)
        return made, ended.generator.model


class _Rejected(InternalFault):
    """The model has not done what it was asked for."""

    def __init__(self, message: str) -> None:
        super().__init__(error_pb2.ERROR_REASON_GENERATION_FAILED, message)


def _job(question: Question, conversation: Conversation, limit_s: float) -> job_pb2.GenerationJob:
    deadline = Timestamp()
    deadline.FromNanoseconds(time.time_ns() + int(limit_s * 1e9))
    turns = (answer_pb2.ConversationTurn(question=one.question, answer=one.answer) for one in conversation.history)
    job = job_pb2.GenerationJob(
        question=conversation.typed,
        mode=answer_pb2.ANSWER_MODE_STUFF,
        max_completion_tokens=_MAX_COMPLETION_TOKENS,
        deadline=deadline,
        caller=question.caller,
        priority=PRIORITIES[question.options.priority],
        stops=["\n"],
        condensing=job_pb2.CondensingTask(history=turns),
    )
    # The same id for the same text alone: a caller may use an id anew after a failure, for another question, too.
    job.job_id = condensing_job_id(question.request_id, _digest(job))
    return job


def _digest(job: job_pb2.GenerationJob) -> bytes:
    asked = job_pb2.GenerationJob(question=job.question, condensing=job.condensing)
    return hashlib.sha256(asked.SerializeToString(deterministic=True)).digest()
