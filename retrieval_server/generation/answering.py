"""From a question to its answer: condense, retrieve, then skip, extract or generate, and tell the caller as it goes."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import error_pb2
from retrieval_server.errors import InternalFault, Overloaded, Reason, Unavailable, beyond_limit, fields_under
from retrieval_server.generation.answers.answer_model import (
    AnswerMode,
    Event,
    Fallback,
    OnDisconnect,
    Question,
    Result,
    Retrieved,
)
from retrieval_server.generation.answers.answer_modes import PROMPT_A_PASSAGE
from retrieval_server.generation.cache.kept_answers import KeptAnswers
from retrieval_server.generation.checking.reading import missing_words
from retrieval_server.generation.extracting.direct_answers import extractive_events, skipped_events
from retrieval_server.generation.jobs.answer_jobs import AnswerJobs, JobQueue, answer_job_id
from retrieval_server.generation.jobs.job_messages import add_plan, job_message, retrieved_message
from retrieval_server.generation.jobs.job_plan import plan_job
from retrieval_server.generation.model_condensing import ModelCondensing
from retrieval_server.generation.packing.packing import Packing, without
from retrieval_server.generation.packing.prompt_packing import PackedPrompt, pack_passage_prompts, pack_prompt
from retrieval_server.model import RetrieveQuery, RetrieveResult, SkippedReason
from retrieval_server.passage_message import passage_to_pb
from retrieval_server.settings import ServerSettings

# The passages are one part of a message whose rest is the answer with its citations.
_MAX_PASSAGES_SHARE = 0.75


_NOTHING_FOUND = RetrieveResult((), 0, 0, 0.0, 0.0, None, 0.0)


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A prompt as a worker would see it, and what of the passages is in it."""

    prompt: PackedPrompt
    packing: Packing


class Answering:
    """Answers questions. Results that no job made are kept in memory; those of jobs are kept by the queue."""

    def __init__(
        self,
        retrieve: Callable[[RetrieveQuery], Awaitable[RetrieveResult]],
        queue: JobQueue,
        settings: ServerSettings,
    ) -> None:
        self._retrieve = retrieve
        self._queue = queue
        self._settings = settings
        self._kept = KeptAnswers(settings.answer_ttl_s)
        self._jobs = AnswerJobs(queue)
        self._condensing = ModelCondensing(
            self._jobs, timeout_s=settings.condensing_timeout_s, max_question_bytes=settings.max_query_bytes
        )

    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        """Yield the events of an answer: Retrieved first, Result last.

        What ends before there is a job (bad collection, conflict, no worker without a fallback) is raised before the
        first event. When the caller goes away its job is cancelled, unless it asked to keep it or others wait for it.
        """
        events = self._kept.find(question.request_id, question.request_hash)
        known: job_pb2.JobRetrieved | None = None
        if events is None and not await self._is_stored(question):
            question = await self._condensing.condensed(question)
            found = await self._found(question)
            retrieved = Retrieved(question.request_id, found.passages, found.index_generation, question.condensing)
            known = retrieved_message(question, retrieved)
            self._check_size(known.ByteSize())
            events = await self._answer_directly(question, retrieved, found.skipped_reason, known)
        if events is not None:
            for event in events:
                yield event
            return
        job_id = answer_job_id(question.request_id)
        following = self._jobs.follow(job_id, known, cancel_when_alone=_cancel_when_alone(question))
        async with aclosing(following):
            async for event in following:
                yield event

    async def answer(self, question: Question) -> Result:
        """Return the whole answer; raises the error of an answer that failed, expired or was cancelled."""
        result: Result | None = None
        async with aclosing(self.stream(question)) as events:
            async for event in events:
                if isinstance(event.content, Result):
                    result = event.content
        if result is None:
            raise InternalFault(error_pb2.ERROR_REASON_INTERNAL, "the answer ended without a result")
        if result.error is not None:
            raise result.error
        return result

    async def attach(self, request_id: str, after_sequence: int) -> AsyncGenerator[Event]:
        """Yield the events of a known answer that are numbered above `after_sequence`, and the Result in any case.

        Leaving does not cancel the job, but it counts as waiting for it. Raises NotFound.
        """
        kept = self._kept.find(request_id)
        if kept is not None:
            for event in kept:
                if event.sequence > after_sequence or isinstance(event.content, Result):
                    yield event
            return
        async with aclosing(self._jobs.follow(answer_job_id(request_id), None, cancel_when_alone=False)) as events:
            async for event in events:
                if event.sequence > after_sequence or isinstance(event.content, Result):
                    yield event

    async def cancel(self, request_id: str) -> bool:
        """End an answer's job; False when the answer was complete before. Raises NotFound."""
        if self._kept.find(request_id) is not None:
            return False
        return await self._queue.cancel(answer_job_id(request_id))

    async def render_prompt(self, question: Question) -> RenderedPrompt:
        """Return the prompt that the question, condensed by rule, would be answered with; nothing is generated."""
        found = await self._found(question)
        plan = await asyncio.to_thread(plan_job, question, found.passages)
        query, most_tokens = question.retrieve.query, question.options.max_prompt_tokens
        passages = [passage_to_pb(one.passage) for one in plan.packing.packed]
        if question.options.mode in PROMPT_A_PASSAGE:
            prompt = pack_passage_prompts(query, passages, most_tokens, answer_start=plan.answer_start)
        else:
            closed_book = question.options.closed_book
            prompt = pack_prompt(query, passages, most_tokens, answer_start=plan.answer_start, closed_book=closed_book)
        return RenderedPrompt(prompt, without(plan.packing, prompt.dropped_passage_indexes))

    async def _found(self, question: Question) -> RetrieveResult:
        if question.options.closed_book:
            return _NOTHING_FOUND
        with fields_under("retrieve."):
            return await self._retrieve(question.retrieve)

    def let_go(self) -> None:
        """End the streams of callers who wait for jobs; they attach again when the server is back, or elsewhere."""
        self._jobs.let_go()

    async def close(self) -> None:
        """Wait for the cancellations that callers who went away have left behind."""
        await self._jobs.close()

    async def _is_stored(self, question: Question) -> bool:
        if not question.id_is_callers:
            return False
        try:
            return await self._queue.is_stored(answer_job_id(question.request_id), question.request_hash)
        except Unavailable:
            return False  # whether that matters is decided where the queue is needed

    async def _answer_directly(
        self,
        question: Question,
        retrieved: Retrieved,
        skipped_reason: SkippedReason | None,
        known: job_pb2.JobRetrieved,
    ) -> tuple[Event, ...] | None:
        """Return the events of an answer that needs no generator; otherwise enqueue its job and return None."""
        query = question.retrieve.query
        missing: tuple[str, ...] = ()
        if question.options.closed_book:
            skipped_reason = None
        elif not retrieved.passages:
            skipped_reason = skipped_reason or SkippedReason.NO_PASSAGES
        elif question.options.answer_anyway:
            skipped_reason = None
        elif skipped_reason is None:
            missing = await asyncio.to_thread(missing_words, query, retrieved.passages)
            skipped_reason = SkippedReason.NOT_IN_PASSAGES if missing else None
        if skipped_reason is not None:
            events = skipped_events(query, retrieved, skipped_reason, missing)
        else:
            reason = None
            if question.options.mode is not AnswerMode.EXTRACTIVE:
                reason = await self._enqueue_or_reason(question, retrieved, known)
                if reason is None:
                    return None
            events = await asyncio.to_thread(extractive_events, question.retrieve.query, retrieved, reason)
        self._kept.keep(question, events)
        return events

    async def _enqueue_or_reason(
        self, question: Question, retrieved: Retrieved, known: job_pb2.JobRetrieved
    ) -> Reason.ValueType | None:
        """Enqueue the question's job; return why it could not be, if the caller wants a fallback then."""
        try:
            await self._jobs.require_worker()
            job_id = answer_job_id(question.request_id)
            plan = await asyncio.to_thread(plan_job, question, retrieved.passages)
            add_plan(known, plan)
            job = job_message(question, job_id, plan)
            await self._jobs.enqueue(job, known, question.request_hash, cancel_when_alone=_cancel_when_alone(question))
        except (Unavailable, Overloaded) as error:
            if question.options.fallback is Fallback.NONE or question.options.closed_book:
                raise
            return error.reason
        return None

    def _check_size(self, size_bytes: int) -> None:
        limit_bytes = int(self._settings.max_message_bytes * _MAX_PASSAGES_SHARE)
        if size_bytes > limit_bytes:
            description = f"the passages take {size_bytes} bytes of at most {limit_bytes}; ask for fewer"
            raise beyond_limit("retrieve.k", description, limit=limit_bytes, actual=size_bytes)


def _cancel_when_alone(question: Question) -> bool:
    return question.options.on_disconnect is OnDisconnect.CANCEL
