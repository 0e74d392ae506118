"""Callers of all tempers over the real wire, and what each was told in the end."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum

import grpc

from groundwire.v1 import (
    answer_pb2,
    answer_service_pb2,
    answer_service_pb2_grpc,
    error_pb2,
    retrieval_service_pb2,
)

PATIENCE_S = 240
CALL_PATIENCE_S = PATIENCE_S + 30
HURRY_S = (0.3, 6.0)
_RETRY_S = 0.3
_RETRYABLE = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED}
Event = answer_service_pb2.AnswerEvent
Stub = answer_service_pb2_grpc.AnswerServiceStub


class Temper(Enum):
    """How a caller behaves."""

    PATIENT = "waits for its stream's end"
    SLOW = "reads its stream slowly"
    UNARY = "asks for the whole answer"
    TWIN = "asks the same as another caller at the same time"
    CANCELLER = "cancels while it is answered"
    HURRIED = "gives very little time"
    VANISHER = "leaves, and wants the job cancelled"
    KEEPER = "leaves, wants the job kept and attaches later"
    BATCH = "asks on a batch stream"


@dataclass
class Told:
    """What one caller saw."""

    request_id: str
    temper: Temper
    kinds: list[str] = field(default_factory=list)
    text: str = ""
    attempts: int = 1
    result: answer_pb2.AnswerResult | None = None
    left: bool = False
    retry_count: int = 0

    def take(self, event: Event) -> None:
        kind = event.WhichOneof("event") or ""
        self.kinds.append(kind)
        if kind == "restarted":
            self.text = ""
            self.attempts = event.restarted.attempt
        elif kind == "delta":
            self.text += event.delta.text
        elif kind == "terminal":
            self.result = event.terminal

    @property
    def reason(self) -> str:
        if self.result is None:
            return ""
        return error_pb2.ErrorReason.Name(self.result.status.reason).removeprefix("ERROR_REASON_")

    @property
    def state(self) -> str:
        if self.result is None:
            return "LEFT" if self.left else "NOTHING"
        return answer_pb2.AnswerState.Name(self.result.state).removeprefix("ANSWER_STATE_")


def request(request_id: str, temper: Temper) -> answer_service_pb2.AnswerRequest:
    """A short answer from the model itself: no fallback that would hide how its job ended."""
    kept = answer_pb2.DISCONNECT_POLICY_KEEP if temper is Temper.KEEPER else answer_pb2.DISCONNECT_POLICY_CANCEL
    options = answer_service_pb2.AnswerOptions(
        fallback=answer_pb2.ANSWER_FALLBACK_NONE,
        on_disconnect=kept,
        answer_anyway=True,
        max_completion_tokens=6,
        max_prompt_tokens=256,
    )
    # The same for the same id, or it would be another request.
    hurry_s = random.Random(request_id).uniform(*HURRY_S)
    options.timeout.FromMilliseconds(round((hurry_s if temper is Temper.HURRIED else PATIENCE_S) * 1000))
    retrieve = retrieval_service_pb2.RetrieveRequest(query=f"What is done about storm number {request_id}?", k=1)
    return answer_service_pb2.AnswerRequest(retrieve=retrieve, options=options, request_id=request_id)


class Caller:
    """One question of one temper, asked until it is told an end."""

    def __init__(self, stub: Stub, request_id: str, temper: Temper, randomness: random.Random) -> None:
        self.stub = stub
        self.told = Told(request_id, temper)
        self._random = randomness

    async def run(self) -> Told:
        """Ask; what was told is complete when this returns."""
        match self.told.temper:
            case Temper.UNARY:
                await self._until_told(self._ask_whole)
            case Temper.VANISHER:
                await self._until_told(self._leave_early)
            case Temper.KEEPER:
                await self._until_told(self._leave_early)
                await asyncio.sleep(self._random.uniform(0.0, 3.0))
                self.told.kinds.clear()
                self.told.text = ""
                await self._until_told(self._attach)
            case Temper.CANCELLER:
                cancelling = asyncio.create_task(self._cancel_at_some_time())
                await self._until_told(self._stream)
                cancelling.cancel()
                await asyncio.gather(cancelling, return_exceptions=True)
            case _:
                await self._until_told(self._stream)
        return self.told

    async def _until_told(self, ask: Callable[[], Awaitable[None]]) -> None:
        """As the client library does it: the same id again while the way there is down."""
        while True:
            try:
                await ask()
            except grpc.aio.AioRpcError as error:
                if error.code() not in _RETRYABLE:
                    raise
                self.told.retry_count += 1
                self.told.kinds.clear()
                self.told.text = ""
                await asyncio.sleep(_RETRY_S)
            else:
                return

    async def _stream(self) -> None:
        async for event in self._events():
            self.told.take(event)
            if self.told.temper is Temper.SLOW:
                await asyncio.sleep(self._random.uniform(0.05, 0.6))

    async def _ask_whole(self) -> None:
        try:
            response = await self.stub.Answer(
                request(self.told.request_id, self.told.temper), timeout=CALL_PATIENCE_S, wait_for_ready=True
            )
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE and "JOB_LOST" in str(error.trailing_metadata()):
                lost = error_pb2.ItemStatus(reason=error_pb2.ERROR_REASON_JOB_LOST)
                self.told.result = answer_pb2.AnswerResult(state=answer_pb2.ANSWER_STATE_FAILED, status=lost)
                self.told.kinds.append("terminal")
                return
            raise
        self.told.kinds.append("terminal")
        self.told.result = response.result
        self.told.text = response.result.text

    async def _leave_early(self) -> None:
        call = self.stub.StreamAnswer(self._stream_request(), timeout=CALL_PATIENCE_S, wait_for_ready=True)
        event_count = self._random.randint(1, 4)
        async for response in call:
            self.told.take(response.event)
            event_count -= 1
            if event_count == 0:
                break
        call.cancel()
        self.told.left = self.told.result is None

    async def _attach(self) -> None:
        attach = answer_service_pb2.AttachAnswerRequest(request_id=self.told.request_id)
        self.told.result = None
        try:
            async for response in self.stub.AttachAnswer(attach, timeout=CALL_PATIENCE_S, wait_for_ready=True):
                self.told.take(response.event)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise
            # Flushed while nobody was there to be told.
            lost = error_pb2.ItemStatus(reason=error_pb2.ERROR_REASON_JOB_LOST)
            self.told.result = answer_pb2.AnswerResult(state=answer_pb2.ANSWER_STATE_FAILED, status=lost)
            self.told.kinds = ["terminal"]

    async def _cancel_at_some_time(self) -> None:
        await asyncio.sleep(self._random.uniform(0.0, 10.0))
        with suppress(grpc.aio.AioRpcError):
            await self.stub.CancelAnswer(answer_service_pb2.CancelAnswerRequest(request_id=self.told.request_id))

    async def _events(self) -> AsyncIterator[Event]:
        async for response in self.stub.StreamAnswer(
            self._stream_request(), timeout=CALL_PATIENCE_S, wait_for_ready=True
        ):
            yield response.event

    def _stream_request(self) -> answer_service_pb2.StreamAnswerRequest:
        whole = request(self.told.request_id, self.told.temper)
        return answer_service_pb2.StreamAnswerRequest(
            retrieve=whole.retrieve, options=whole.options, request_id=whole.request_id
        )


async def ask_batch(stub: Stub, request_ids: list[str]) -> list[Told]:
    """Ask all on one batch stream; what is unanswered when it breaks is sent again on a new one."""
    open_ids = dict(enumerate(request_ids))
    told = {index: Told(request_id, Temper.BATCH) for index, request_id in open_ids.items()}
    while open_ids:
        items = [
            answer_service_pb2.BatchAnswerRequest(item_index=index, answer=request(request_id, Temper.BATCH))
            for index, request_id in open_ids.items()
        ]
        try:
            async for response in stub.BatchAnswer(iter(items), timeout=CALL_PATIENCE_S, wait_for_ready=True):
                status = response.status
                retryable = status.code in {one.value[0] for one in _RETRYABLE}
                if retryable and status.reason != error_pb2.ERROR_REASON_JOB_LOST:
                    told[response.item_index].retry_count += 1
                    continue
                one = told[response.item_index]
                one.kinds.append("terminal")
                one.result = response.result
                if status.code:
                    one.result = answer_pb2.AnswerResult(state=answer_pb2.ANSWER_STATE_FAILED, status=status)
                one.text = one.result.text
                del open_ids[response.item_index]
        except grpc.aio.AioRpcError as error:
            if error.code() not in _RETRYABLE:
                raise
        await asyncio.sleep(_RETRY_S)
    return list(told.values())
