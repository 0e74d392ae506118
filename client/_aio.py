"""The asynchronous client: the one implementation. `client/_sync.py` runs it for callers without an event loop."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import Self

from client import _answer_types as answers
from client import _convert, _requests
from client import _corpus_types as corpus
from client import _passage_types as passages
from client._answer_stream import DEADLINE_GRACE_S, MAX_ANSWER_S, follow_answer
from client._batch import MAX_WINDOW_COUNT, make_items, run_batch
from client._channel import DEFAULT_COLLECTION, DEFAULT_SERVER, MAX_WAIT_S, Timeouts
from client._corpus_calls import CorpusCalls
from client._evaluation_calls import EvaluationCalls
from client._filter_types import PassageFilter
from client._health import Health, check_health
from client._message_fields import building
from client._queue_calls import QueueCalls
from client._rpc import Rpc, check_size
from client._synonym_calls import SynonymCalls
from client._translate import from_item_status
from client._upkeep_calls import UpkeepCalls
from client.errors import NotServed, Unavailable
from groundwire.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    answer_service_pb2,
    answer_service_pb2_grpc,
    retrieval_service_pb2,
    retrieval_service_pb2_grpc,
)

_NO_OPTIONS = answers.AnswerOptions()
_MAX_ANSWER_WINDOW_COUNT = 256


class AsyncClient(CorpusCalls, UpkeepCalls, QueueCalls, SynonymCalls, EvaluationCalls):
    """A groundwire server at HOST:PORT, for use within one event loop.

    Every method raises a `ClientError`. The connection is made by the first call; `close()`, or leaving the `async
    with` block, ends it.

    `caller` names whom the answers are for: callers take turns in the queue. Without it each connection is one.
    """

    def __init__(
        self, server: str = DEFAULT_SERVER, *, timeouts: Timeouts | None = None, caller: str | None = None
    ) -> None:
        self._rpc = Rpc(server, timeouts or Timeouts(), caller=caller)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def server(self) -> str:
        """The address as HOST:PORT."""
        return self._rpc.server

    async def close(self) -> None:
        """Close the connection and end its calls."""
        await self._rpc.close()

    async def retrieve(
        self,
        query: str,
        *,
        k: int | None = None,
        collection: str = DEFAULT_COLLECTION,
        explain: bool = False,
        max_per_file: int | None = None,
        fusion: passages.FusionOverrides | None = None,
        profile: passages.RetrievalProfile | None = None,
        filter: PassageFilter | None = None,  # noqa: A002  the field's name in the contract
        hops: int | None = None,
        balance: bool = False,
        rerank: bool | None = None,
    ) -> passages.RetrieveResult:
        """Return the passages that best match `query`, best first. What is None is left to the server.

        `hops=2` retrieves again with names that the first passages introduced; `balance` takes docs and code in turn;
        `rerank` says whether the server's cross-encoder orders the first candidates.
        """
        request = _requests.retrieve_request(
            query,
            collection=collection,
            k=k,
            explain=explain,
            max_per_file=max_per_file,
            fusion=fusion,
            profile=profile,
            filter=filter,
            hops=hops,
            balance=balance,
            rerank=rerank,
        )
        stub = retrieval_service_pb2_grpc.RetrievalServiceStub(self._rpc.channel)
        return _convert.retrieve_result(await self._rpc.unary(stub.Retrieve, request))

    async def retrieve_many(
        self,
        queries: Iterable[str],
        *,
        k: int | None = None,
        collection: str = DEFAULT_COLLECTION,
        explain: bool = False,
        max_per_file: int | None = None,
        fusion: passages.FusionOverrides | None = None,
        profile: passages.RetrievalProfile | None = None,
        filter: PassageFilter | None = None,  # noqa: A002  the field's name in the contract
        hops: int | None = None,
        balance: bool = False,
        rerank: bool | None = None,
    ) -> AsyncGenerator[passages.RetrieveOutcome, None]:
        """Yield one outcome for each query, as they finish; a bad query has an error and never ends the others."""

        def make(index: int, query: str) -> retrieval_service_pb2.BatchRetrieveRequest:
            retrieve = _requests.retrieve_request(
                query,
                collection=collection,
                k=k,
                explain=explain,
                max_per_file=max_per_file,
                fusion=fusion,
                profile=profile,
                filter=filter,
                hops=hops,
                balance=balance,
                rerank=rerank,
            )
            item = retrieval_service_pb2.BatchRetrieveItem(item_index=index, retrieve=retrieve)
            return retrieval_service_pb2.BatchRetrieveRequest(item=item)

        requests, refused = make_items(queries, make)
        for index, error in refused.items():
            yield passages.RetrieveOutcome(index, None, error)
        opening = retrieval_service_pb2.BatchRetrieveRequest(
            config=retrieval_service_pb2.BatchRetrieveConfig(order=retrieval_service_pb2.BATCH_ORDER_AS_FINISHED)
        )
        stub = retrieval_service_pb2_grpc.RetrievalServiceStub(self._rpc.channel)
        responses: AsyncGenerator[retrieval_service_pb2.BatchRetrieveResponse, None] = run_batch(
            self._rpc, lambda metadata: stub.BatchRetrieve(metadata=metadata), requests, opening=(opening,)
        )
        async with aclosing(responses):
            async for response in responses:
                failure = from_item_status(response.status)
                result = None if failure else _convert.retrieve_result(response.retrieve)
                yield passages.RetrieveOutcome(response.item_index, result, failure)

    async def answer(
        self,
        query: str,
        *,
        k: int | None = None,
        collection: str = DEFAULT_COLLECTION,
        options: answers.AnswerOptions = _NO_OPTIONS,
        request_id: str | None = None,
        history: Sequence[answers.ConversationTurn] = (),
    ) -> answers.AnswerResult:
        """Return the whole answer. How it ended is in its `state`: that there is none is no error.

        `history` is the conversation so far, oldest first; follow-ups are completed from it.
        """
        request = self._ask(query, k, collection, options, request_id, history)
        stub = answer_service_pb2_grpc.AnswerServiceStub(self._rpc.channel)
        timeout_s = self._answer_timeout_s(options) + DEADLINE_GRACE_S
        response = await self._rpc.unary(stub.Answer, request, timeout_s=timeout_s)
        return _convert.answer_result(response.result)

    async def stream_answer(
        self,
        query: str,
        *,
        k: int | None = None,
        collection: str = DEFAULT_COLLECTION,
        options: answers.AnswerOptions = _NO_OPTIONS,
        request_id: str | None = None,
        history: Sequence[answers.ConversationTurn] = (),
    ) -> AsyncGenerator[answers.AnswerEvent, None]:
        """Yield what was found, then the text as it is made, then one AnswerFinished; `history` as in `answer`."""
        whole = self._ask(query, k, collection, options, request_id, history)
        request = answer_service_pb2.StreamAnswerRequest(
            retrieve=whole.retrieve, options=whole.options, request_id=whole.request_id, history=whole.history
        )
        check_size(request)
        async with aclosing(follow_answer(self._rpc, request, timeout_s=self._answer_timeout_s(options))) as events:
            async for event in events:
                yield event

    async def answer_many(
        self,
        queries: Iterable[str],
        *,
        k: int | None = None,
        collection: str = DEFAULT_COLLECTION,
        options: answers.AnswerOptions = _NO_OPTIONS,
    ) -> AsyncGenerator[answers.AnswerOutcome, None]:
        """Yield one outcome for each question, as they finish; a bad question never ends the others."""

        def make(index: int, query: str) -> answer_service_pb2.BatchAnswerRequest:
            answer = self._ask(query, k, collection, options, None)
            return answer_service_pb2.BatchAnswerRequest(item_index=index, answer=answer)

        requests, refused = make_items(queries, make)
        for index, error in refused.items():
            yield answers.AnswerOutcome(index, None, error)
        stub = answer_service_pb2_grpc.AnswerServiceStub(self._rpc.channel)
        responses: AsyncGenerator[answer_service_pb2.BatchAnswerResponse, None] = run_batch(
            self._rpc,
            lambda metadata: stub.BatchAnswer(metadata=metadata),
            requests,
            window_count=await self._answer_window_count(),
        )
        async with aclosing(responses):
            async for response in responses:
                failure = from_item_status(response.status)
                result = None if failure else _convert.answer_result(response.result)
                yield answers.AnswerOutcome(response.item_index, result, failure)

    async def attach_answer(
        self, request_id: str, *, after_sequence: int = 0
    ) -> AsyncGenerator[answers.AnswerEvent, None]:
        """Yield the events of a running or finished answer that come after number `after_sequence`."""
        with building("request_id"):
            request = answer_service_pb2.AttachAnswerRequest(request_id=request_id)
        with building("after_sequence"):
            request.after_sequence = after_sequence
        async with aclosing(follow_answer(self._rpc, request, timeout_s=MAX_ANSWER_S)) as events:
            async for event in events:
                yield event

    async def cancel_answer(self, request_id: str) -> bool:
        """End a job; False when it had ended before."""
        with building("request_id"):
            request = answer_service_pb2.CancelAnswerRequest(request_id=request_id)
        stub = answer_service_pb2_grpc.AnswerServiceStub(self._rpc.channel)
        return (await self._rpc.unary(stub.CancelAnswer, request)).cancelled

    def _ask(
        self,
        query: str,
        k: int | None,
        collection: str,
        options: answers.AnswerOptions,
        request_id: str | None,
        history: Sequence[answers.ConversationTurn] = (),
    ) -> answer_service_pb2.AnswerRequest:
        timeout_s = self._answer_timeout_s(options)
        return _requests.answer_request(
            query, collection, k, options, timeout_s=timeout_s, request_id=request_id, history=history
        )

    async def _answer_window_count(self) -> int:
        """Return how many answers to ask for at a time: enough to keep the workers busy, and no more.

        The time that an answer may take runs from its place in the queue, so a long queue would expire there.
        """
        try:
            slot_count = (await self.queue_stats()).slot_count
        except (NotServed, Unavailable):
            slot_count = 0  # then nothing is queued either
        return min(_MAX_ANSWER_WINDOW_COUNT, 2 * slot_count) or MAX_WINDOW_COUNT

    def _answer_timeout_s(self, options: answers.AnswerOptions) -> float:
        # One that is longer than any answer may take is the server's to refuse, and the call waits for that.
        return self._rpc.timeouts.answer_s if options.timeout_s is None else min(options.timeout_s, MAX_WAIT_S)

    async def health(self) -> Health:
        """Return the health of the server as a whole."""
        return await check_health(self._rpc)

    async def server_settings(self) -> corpus.ServerSettings:
        """Return the server's version and effective settings."""
        stub = admin_service_pb2_grpc.AdminServiceStub(self._rpc.channel)
        return _convert.server_settings(await self._rpc.unary(stub.GetSettings, admin_service_pb2.GetSettingsRequest()))
