"""AnswerService over the wire."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any

import grpc.aio
import structlog

from groundwire.v1 import answer_service_pb2 as pb
from groundwire.v1 import answer_service_pb2_grpc, error_pb2
from retrieval_server.api.caller import caller_of
from retrieval_server.api.convert_answer import check_request_id, event_to_pb, question_from_pb, result_to_pb
from retrieval_server.api.in_flight import worked_on
from retrieval_server.api.status import item_status
from retrieval_server.errors import FieldError, GroundwireError, InternalFault, InvalidRequest, fields_under
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.answers.answer_model import Priority, Question
from retrieval_server.generation.jobs.job_messages import dropped_to_pb, packed_to_pb
from retrieval_server.generation.questions.condensing_message import condensing_to_pb
from retrieval_server.settings import ServerSettings

Context = grpc.aio.ServicerContext[Any, Any]
_log = structlog.get_logger()


class AnswerServicer(answer_service_pb2_grpc.AnswerServiceServicer):
    """Converts and delegates; every failure is raised as a GroundwireError."""

    def __init__(self, answering: Answering, settings: ServerSettings) -> None:
        self._answering = answering
        self._settings = settings

    async def Answer(self, request: pb.AnswerRequest, context: Context) -> pb.AnswerResponse:
        """Return the whole answer."""
        question = await self._question(request, context)
        return pb.AnswerResponse(result=result_to_pb(await self._answering.answer(question)))

    async def StreamAnswer(
        self, request: pb.StreamAnswerRequest, context: Context
    ) -> AsyncGenerator[pb.StreamAnswerResponse]:
        """Yield the events of one answer."""
        question = await self._question(request, context)
        async with aclosing(self._answering.stream(question)) as events:
            async for event in events:
                yield pb.StreamAnswerResponse(event=event_to_pb(event))

    async def BatchAnswer(
        self, request_iterator: AsyncIterator[pb.BatchAnswerRequest], context: Context
    ) -> AsyncGenerator[pb.BatchAnswerResponse]:
        """Yield the outcome of each question as it is there; a bad one ends nothing but itself."""

        async def answer(request: pb.BatchAnswerRequest) -> pb.BatchAnswerResponse:
            return await self._batch_item(request, context)

        in_flight = self._settings.max_answers_in_flight
        async with aclosing(worked_on(request_iterator, answer, in_flight)) as responses:
            async for response in responses:
                yield response

    async def CancelAnswer(self, request: pb.CancelAnswerRequest, context: Context) -> pb.CancelAnswerResponse:
        """End a job."""
        check_request_id(request.request_id)
        return pb.CancelAnswerResponse(cancelled=await self._answering.cancel(request.request_id))

    async def AttachAnswer(
        self, request: pb.AttachAnswerRequest, context: Context
    ) -> AsyncGenerator[pb.AttachAnswerResponse]:
        """Yield the events of a known answer, those after a number and the last one in any case."""
        check_request_id(request.request_id)
        if request.after_sequence < 0:
            raise InvalidRequest(FieldError("after_sequence", f"must be 0 or more, not {request.after_sequence}"))
        async with aclosing(self._answering.attach(request.request_id, request.after_sequence)) as events:
            async for event in events:
                yield pb.AttachAnswerResponse(event=event_to_pb(event))

    async def RenderPrompt(self, request: pb.RenderPromptRequest, context: Context) -> pb.RenderPromptResponse:
        """Return the prompt that would be sent to a generator."""
        question = await self._question(request, context)
        rendered = await self._answering.render_prompt(question)
        segments = rendered.prompt.segments
        return pb.RenderPromptResponse(
            segments=(pb.PromptSegment(text=segment.text, scaffold=segment.scaffold) for segment in segments),
            estimated_prompt_tokens=rendered.prompt.estimated_tokens,
            dropped_passage_indexes=(one.passage_index for one in rendered.packing.dropped),
            packed_passages=map(packed_to_pb, rendered.packing.packed),
            dropped_passages=map(dropped_to_pb, rendered.packing.dropped),
            standalone_question=question.retrieve.query,
            condensing=condensing_to_pb(question.condensing),
        )

    async def _question(
        self,
        request: pb.AnswerRequest | pb.StreamAnswerRequest | pb.RenderPromptRequest,
        context: Context,
        *,
        field_prefix: str = "",
        default_priority: Priority = Priority.INTERACTIVE,
    ) -> Question:
        read = partial(
            question_from_pb,
            request,
            self._settings,
            call_remaining_s=context.time_remaining(),
            field_prefix=field_prefix,
            caller=caller_of(context),
            default_priority=default_priority,
        )
        # A long conversation takes tenths of a second, for which no other call may have to wait.
        return await asyncio.to_thread(read) if request.history else read()

    async def _batch_item(self, request: pb.BatchAnswerRequest, context: Context) -> pb.BatchAnswerResponse:
        response = pb.BatchAnswerResponse(item_index=request.item_index)
        try:
            question = await self._question(
                request.answer, context, field_prefix="answer.", default_priority=Priority.BATCH
            )
            with fields_under("answer."):
                response.result.CopyFrom(result_to_pb(await self._answering.answer(question)))
            response.status.SetInParent()
        except GroundwireError as error:
            if error.reason == error_pb2.ERROR_REASON_SHUTTING_DOWN:
                raise  # the whole stream ends, so that its caller sends what is unanswered to the next server
            response.status.CopyFrom(item_status(error))
        except Exception:
            _log.exception("batch item fault", item_index=request.item_index)
            fault = InternalFault(error_pb2.ERROR_REASON_INTERNAL, "a fault of the server; its log has the details")
            response.status.CopyFrom(item_status(fault))
        return response
