"""The asynchronous client: the one implementation. `client/_sync.py` runs it for callers without an event loop."""

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Self

from client import _answer_types as answers
from client import _convert, _requests
from client import _corpus_types as corpus
from client import _passage_types as passages
from client._answer_stream import DEADLINE_GRACE_S, MAX_ANSWER_S, follow_answer
from client._batch import MAX_WINDOW_COUNT, make_items, run_batch
from client._channel import DEFAULT_SERVER, Timeouts
from client._health import Health, check_health
from client._rpc import Rpc, check_size
from client._translate import from_item_status
from client.errors import NotServed, ServerFault, Unavailable
from groundwire.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    answer_service_pb2,
    answer_service_pb2_grpc,
    corpus_service_pb2,
    corpus_service_pb2_grpc,
    retrieval_service_pb2,
    retrieval_service_pb2_grpc,
)

DEFAULT_COLLECTION = "default"
_NO_OPTIONS = answers.AnswerOptions()


class AsyncClient:
    """A groundwire server at HOST:PORT, for use within one event loop.

    Every method raises a `ClientError`. The connection is made by the first call; `close()`, or leaving the `async
    with` block, ends it.
    """

    def __init__(self, server: str = DEFAULT_SERVER, *, timeouts: Timeouts | None = None) -> None:
        self._rpc = Rpc(server, timeouts or Timeouts())

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
    ) -> passages.RetrieveResult:
        """Return the passages that best match `query`, best first. What is None is left to the server."""
        request = _requests.retrieve_request(
            query, collection=collection, k=k, explain=explain, max_per_file=max_per_file, fusion=fusion
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
    ) -> AsyncGenerator[passages.RetrieveOutcome, None]:
        """Yield one outcome for each query, as they finish; a bad query has an error and never ends the others."""

        def make(index: int, query: str) -> retrieval_service_pb2.BatchRetrieveRequest:
            retrieve = _requests.retrieve_request(
                query, collection=collection, k=k, explain=explain, max_per_file=max_per_file, fusion=fusion
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
    ) -> answers.AnswerResult:
        """Return the whole answer. How it ended is in its `state`: that there is none is no error."""
        request = self._ask(query, k, collection, options, request_id)
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
    ) -> AsyncGenerator[answers.AnswerEvent, None]:
        """Yield what was found, then the text as it is made, then one AnswerFinished."""
        whole = self._ask(query, k, collection, options, request_id)
        request = answer_service_pb2.StreamAnswerRequest(
            retrieve=whole.retrieve, options=whole.options, request_id=whole.request_id
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
        with _requests.building("request_id"):
            request = answer_service_pb2.AttachAnswerRequest(request_id=request_id)
        with _requests.building("after_sequence"):
            request.after_sequence = after_sequence
        async with aclosing(follow_answer(self._rpc, request, timeout_s=MAX_ANSWER_S)) as events:
            async for event in events:
                yield event

    async def cancel_answer(self, request_id: str) -> bool:
        """End a job; False when it had ended before."""
        with _requests.building("request_id"):
            request = answer_service_pb2.CancelAnswerRequest(request_id=request_id)
        stub = answer_service_pb2_grpc.AnswerServiceStub(self._rpc.channel)
        return (await self._rpc.unary(stub.CancelAnswer, request)).cancelled

    def _ask(
        self, query: str, k: int | None, collection: str, options: answers.AnswerOptions, request_id: str | None
    ) -> answer_service_pb2.AnswerRequest:
        timeout_s = self._answer_timeout_s(options)
        return _requests.answer_request(query, collection, k, options, timeout_s=timeout_s, request_id=request_id)

    async def _answer_window_count(self) -> int:
        """Return how many answers to ask for at a time: enough to keep the workers busy, and no more.

        The time that an answer may take runs from its place in the queue, so a long queue would expire there.
        """
        try:
            worker_count = (await self.queue_stats()).live_worker_count
        except (NotServed, Unavailable):
            worker_count = 0  # then nothing is queued either
        return min(MAX_WINDOW_COUNT, 2 * worker_count) or MAX_WINDOW_COUNT

    def _answer_timeout_s(self, options: answers.AnswerOptions) -> float:
        return self._rpc.timeouts.answer_s if options.timeout_s is None else options.timeout_s

    async def index(
        self,
        path: str,
        *,
        collection: str = DEFAULT_COLLECTION,
        source: str | None = None,
        max_chunk_size_chars: int | None = None,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        prune: bool = False,
        dry_run: bool = False,
        on_progress: Callable[[corpus.SyncProgress], None] = lambda _: None,
    ) -> corpus.SyncSummary:
        """Bring the collection up to date with a folder or a file; return when all is durable and searchable.

        Only changed content travels. `prune` removes what an earlier run brought from the same root and is not there
        any more; it is withheld when part of the root cannot be read. `dry_run` changes nothing. `on_progress` is
        called from another thread than the caller's of the synchronous client.
        """
        from client._ignore import PathFilter
        from client._index import index_tree

        return await index_tree(
            self._rpc,
            path,
            collection=collection,
            source=source,
            max_chunk_size_chars=max_chunk_size_chars,
            path_filter=PathFilter(include, exclude),
            prune=prune,
            dry_run=dry_run,
            on_progress=on_progress,
        )

    async def corpus_stats(self, collection: str = DEFAULT_COLLECTION) -> corpus.CorpusStats:
        """Return the counts of a collection."""
        with _requests.building("collection"):
            request = corpus_service_pb2.GetCorpusStatsRequest(collection=collection)
        stub = corpus_service_pb2_grpc.CorpusServiceStub(self._rpc.channel)
        return _convert.corpus_stats((await self._rpc.unary(stub.GetCorpusStats, request)).stats)

    async def get_document(
        self, path: str, *, collection: str = DEFAULT_COLLECTION, include_text: bool = True
    ) -> corpus.Document:
        """Return the document with that display path."""
        with _requests.building("path"):
            request = corpus_service_pb2.GetDocumentRequest(path=path, include_text=include_text)
        with _requests.building("collection"):
            request.collection = collection
        stub = corpus_service_pb2_grpc.CorpusServiceStub(self._rpc.channel)
        return _convert.document((await self._rpc.unary(stub.GetDocument, request)).document)

    async def collections(self) -> tuple[corpus.Collection, ...]:
        """Return all collections, by name."""
        stub = corpus_service_pb2_grpc.CorpusServiceStub(self._rpc.channel)
        found: list[corpus.Collection] = []
        token = ""
        while True:
            request = corpus_service_pb2.ListCollectionsRequest(page_token=token)
            page = await self._rpc.unary(stub.ListCollections, request)
            found += [_convert.collection(one) for one in page.collections]
            if not page.next_page_token:
                return tuple(found)
            if page.next_page_token == token:
                raise ServerFault("the server's list of collections has no end")
            token = page.next_page_token

    async def health(self) -> Health:
        """Return the health of the server as a whole."""
        return await check_health(self._rpc)

    async def queue_stats(self) -> corpus.QueueStats:
        """Return the counts of the answer queue."""
        stub = admin_service_pb2_grpc.AdminServiceStub(self._rpc.channel)
        request = admin_service_pb2.GetQueueStatsRequest()
        return _convert.queue_stats(await self._rpc.unary(stub.GetQueueStats, request))

    async def workers(self) -> tuple[corpus.Worker, ...]:
        """Return the generation workers that showed a sign of life."""
        stub = admin_service_pb2_grpc.AdminServiceStub(self._rpc.channel)
        response = await self._rpc.unary(stub.ListWorkers, admin_service_pb2.ListWorkersRequest())
        return tuple(_convert.worker(one) for one in response.workers)

    async def server_settings(self) -> corpus.ServerSettings:
        """Return the server's version and effective settings."""
        stub = admin_service_pb2_grpc.AdminServiceStub(self._rpc.channel)
        return _convert.server_settings(await self._rpc.unary(stub.GetSettings, admin_service_pb2.GetSettingsRequest()))
