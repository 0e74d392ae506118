"""AnswerService over a real gRPC connection, with the queue in memory."""

import asyncio
import time
from collections.abc import AsyncIterator

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from groundwire.v1 import answer_pb2, answer_service_pb2_grpc, error_pb2, retrieval_service_pb2
from groundwire.v1 import answer_service_pb2 as pb
from retrieval_server.api.answer_servicer import AnswerServicer
from retrieval_server.api.interceptor import RpcInterceptor
from retrieval_server.errors import FieldError, InvalidRequest, Unavailable
from retrieval_server.generation.answering import Answering
from retrieval_server.settings import ServerSettings
from tests.retrieval_server.api.support import MAX_MESSAGE_BYTES
from tests.retrieval_server.generation.answering.support import BAD, GOOD, Corpus
from tests.retrieval_server.generation.fake_queue import FakeQueue

SETTINGS = ServerSettings(max_answers_in_flight=4)
ASKED = retrieval_service_pb2.RetrieveRequest(query="the default request timeout")
Stub = answer_service_pb2_grpc.AnswerServiceStub


@pytest.fixture
def queue() -> FakeQueue:
    return FakeQueue()


@pytest.fixture
def corpus() -> Corpus:
    return Corpus()


@pytest.fixture
async def answering(corpus: Corpus, queue: FakeQueue) -> AsyncIterator[Answering]:
    answering = Answering(corpus.retrieve, queue, SETTINGS)
    yield answering
    await answering.close()


@pytest.fixture
async def stub(answering: Answering) -> AsyncIterator[Stub]:
    server = grpc.aio.server(interceptors=[RpcInterceptor(64, 64, 4, 60.0, MAX_MESSAGE_BYTES)])
    answer_service_pb2_grpc.add_AnswerServiceServicer_to_server(AnswerServicer(answering, SETTINGS), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.enable_http_proxy", 0)]) as channel:
        yield Stub(channel)
    await server.stop(None)


def options(**fields: object) -> pb.AnswerOptions:
    return pb.AnswerOptions(**fields)  # type: ignore[arg-type]


async def failure(call: grpc.aio.UnaryUnaryCall) -> tuple[grpc.StatusCode, str, list[str]]:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    info, violations = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for detail in rpc_status.from_call(raised.value).details:
        detail.Unpack(info)
        detail.Unpack(violations)
    return raised.value.code(), info.reason, [violation.field for violation in violations.field_violations]


async def test_answer_returns_the_whole_answer_with_checked_citations(stub: Stub, queue: FakeQueue) -> None:
    response, _ = await asyncio.gather(stub.Answer(pb.AnswerRequest(retrieve=ASKED)), queue.answer(*GOOD))
    result = response.result
    assert result.state == answer_pb2.ANSWER_STATE_ANSWERED
    assert result.text == "".join(GOOD)
    assert len(result.request_id) == 32
    (citation,) = result.citations
    passage = result.passages[citation.passage_index]
    assert passage.text[citation.start_char : citation.end_char] == citation.text
    assert (citation.path, citation.start_line, citation.end_line) == ("docs/a.md", 3, 3)
    assert [(s.start_char, s.end_char, s.supported, list(s.citation_indexes)) for s in result.sentences] == [
        (0, len(result.text), True, [0])
    ]
    assert result.generator.mode == answer_pb2.ANSWER_MODE_STUFF
    assert (result.status.code, result.index_generation, result.attempt_count) == (0, 7, 1)


async def test_stream_answer_sends_its_events_and_attach_repeats_them(stub: Stub, queue: FakeQueue) -> None:
    request = pb.StreamAnswerRequest(retrieve=ASKED, request_id="a-b_C9")
    working = asyncio.create_task(queue.answer(*BAD))
    events = [response.event async for response in stub.StreamAnswer(request)]
    await working
    assert [event.WhichOneof("event") for event in events] == [
        "retrieved",
        "delta",
        "delta",
        "restarted",
        "delta",
        "terminal",
    ]
    assert events[0].retrieved.request_id == "a-b_C9"
    assert events[-1].terminal.generator.fallback_reason == error_pb2.ERROR_REASON_GENERATION_FAILED
    attach = pb.AttachAnswerRequest(request_id="a-b_C9", after_sequence=events[2].sequence)
    assert [response.event async for response in stub.AttachAnswer(attach)] == events[3:]


@pytest.mark.parametrize(
    ("request_fields", "field"),
    [
        ({"request_id": "a b"}, "request_id"),
        ({"request_id": "a" * 65}, "request_id"),
        ({"request_id": "a\n"}, "request_id"),
        ({"options": options(max_completion_tokens=0)}, "options.max_completion_tokens"),
        ({"options": options(max_completion_tokens=2049)}, "options.max_completion_tokens"),
        ({"options": options(max_completion_tokens=-5)}, "options.max_completion_tokens"),
        ({"options": options(max_prompt_tokens=255)}, "options.max_prompt_tokens"),
        ({"options": options(max_prompt_tokens=8000)}, "options.max_prompt_tokens"),
        ({"options": options(timeout=Duration())}, "options.timeout"),
        ({"options": options(timeout=Duration(seconds=-1))}, "options.timeout"),
        ({"options": options(timeout=Duration(seconds=3601))}, "options.timeout"),
        ({"options": options(mode=99)}, "options.mode"),
        ({"options": options(fallback=99)}, "options.fallback"),
        ({"options": options(on_disconnect=99)}, "options.on_disconnect"),
        ({"retrieve": retrieval_service_pb2.RetrieveRequest(query=" ")}, "retrieve.query"),
        ({"retrieve": retrieval_service_pb2.RetrieveRequest(query="x", k=0)}, "retrieve.k"),
    ],
)
async def test_a_wrong_field_is_named(stub: Stub, queue: FakeQueue, request_fields: dict, field: str) -> None:
    code, _, fields = await failure(stub.Answer(pb.AnswerRequest(**{"retrieve": ASKED, **request_fields})))
    assert (code, fields) == (grpc.StatusCode.INVALID_ARGUMENT, [field])
    assert queue.enqueued_count == 0


async def test_what_the_search_of_a_question_refuses_is_named_from_the_request_on(stub: Stub, corpus: Corpus) -> None:
    corpus.error = InvalidRequest(FieldError("filter.languages", "'pyhton' is no language that is indexed"))
    _, reason, fields = await failure(stub.Answer(pb.AnswerRequest(retrieve=ASKED)))
    assert (reason, fields) == ("INVALID_FIELD", ["retrieve.filter.languages"])
    items = [pb.BatchAnswerRequest(item_index=1, answer=pb.AnswerRequest(retrieve=ASKED))]
    (response,) = [response async for response in stub.BatchAnswer(batch(*items))]
    assert [one.field for one in response.status.field_violations] == ["answer.retrieve.filter.languages"]


async def test_wrong_packing_support_and_history_are_named(stub: Stub) -> None:
    packing = answer_pb2.PackingOptions(order=9, max_per_source=0, focus_chars=7)
    wrong = options(packing=packing, min_supported_share=1.5, closed_book=True, mode=answer_pb2.ANSWER_MODE_EXTRACTIVE)
    _, _, fields = await failure(stub.Answer(pb.AnswerRequest(retrieve=ASKED, options=wrong)))
    assert fields == [
        "options.closed_book",
        "options.min_supported_share",
        "options.packing.order",
        "options.packing.max_per_source",
        "options.packing.focus_chars",
    ]
    blank = answer_pb2.ConversationTurn(question=" ", answer="x" * 20_001)
    _, _, fields = await failure(stub.Answer(pb.AnswerRequest(retrieve=ASKED, history=[blank])))
    assert fields == ["history[0].question", "history[0].answer"]
    turn = answer_pb2.ConversationTurn(question="a?")
    _, _, fields = await failure(stub.Answer(pb.AnswerRequest(retrieve=ASKED, history=[turn] * 51)))
    assert fields == ["history"]


async def test_a_follow_up_is_completed_from_the_conversation_and_shown(stub: Stub) -> None:
    follow_up = retrieval_service_pb2.RetrieveRequest(query="And how is it changed?")
    turn = answer_pb2.ConversationTurn(question="What is the default of request_timeout?", answer="30 s")
    request = pb.RenderPromptRequest(retrieve=follow_up, history=[turn])
    rendered = await stub.RenderPrompt(request)
    assert rendered.standalone_question == "How is request_timeout changed?"
    extractive = options(mode=answer_pb2.ANSWER_MODE_EXTRACTIVE, answer_anyway=True)
    answered = await stub.Answer(pb.AnswerRequest(retrieve=follow_up, history=[turn], options=extractive))
    assert answered.result.standalone_question == "How is request_timeout changed?"


async def test_a_single_question_is_rewritten_when_asked_and_shown(stub: Stub) -> None:
    typed = retrieval_service_pb2.RetrieveRequest(query="Hi! Could you tell me how request_timeout is changed? Thanks")
    as_typed = await stub.RenderPrompt(pb.RenderPromptRequest(retrieve=typed))
    assert as_typed.standalone_question == typed.query
    rewritten = await stub.RenderPrompt(pb.RenderPromptRequest(retrieve=typed, options=options(rewrite_question=True)))
    assert rewritten.standalone_question == "How is request_timeout changed?"


async def test_a_name_that_no_passage_holds_is_a_reason_not_to_answer(stub: Stub) -> None:
    asked = retrieval_service_pb2.RetrieveRequest(query="What is the default of request_timeout_v9 on Kubernetes?")
    result = (await stub.Answer(pb.AnswerRequest(retrieve=asked))).result
    assert result.state == answer_pb2.ANSWER_STATE_SKIPPED
    assert result.answer_skipped_reason == retrieval_service_pb2.ANSWER_SKIPPED_REASON_NOT_IN_PASSAGES
    assert list(result.missing_words) == ["request_timeout_v9", "Kubernetes"]


async def test_a_closed_book_answer_reads_no_passage(stub: Stub, queue: FakeQueue) -> None:
    request = pb.AnswerRequest(retrieve=ASKED, options=options(closed_book=True))
    response, _ = await asyncio.gather(stub.Answer(request), queue.answer("It is ", "9 seconds."))
    result = response.result
    assert (result.text, len(result.passages), len(result.citations)) == ("It is 9 seconds.", 0, 0)
    assert [sentence.supported for sentence in result.sentences] == [False]


async def test_every_wrong_option_is_named_at_once(stub: Stub) -> None:
    wrong = options(max_completion_tokens=0, fallback=9, timeout=Duration())
    _, _, fields = await failure(stub.Answer(pb.AnswerRequest(retrieve=ASKED, options=wrong)))
    assert fields == ["options.fallback", "options.max_completion_tokens", "options.timeout"]


async def test_of_very_many_wrong_fields_as_many_are_named_as_trailers_hold(stub: Stub) -> None:
    turn = answer_pb2.ConversationTurn(question=" ", answer="x" * 20_001)
    code, reason, fields = await failure(stub.Answer(pb.AnswerRequest(retrieve=ASKED, history=[turn] * 50)))
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert 10 < len(fields) < 100
    assert {"history[0].question", "history[0].answer"} <= set(fields)


async def test_without_a_worker_and_without_a_fallback_the_call_says_why(stub: Stub, queue: FakeQueue) -> None:
    queue.worker_is_alive = False
    request = pb.AnswerRequest(retrieve=ASKED, options=options(fallback=answer_pb2.ANSWER_FALLBACK_NONE))
    code, reason, _ = await failure(stub.Answer(request))
    assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "NO_WORKER")


async def test_another_request_under_the_same_id_already_exists(stub: Stub, queue: FakeQueue) -> None:
    await asyncio.gather(stub.Answer(pb.AnswerRequest(retrieve=ASKED, request_id="x")), queue.answer(*GOOD))
    other = pb.AnswerRequest(retrieve=ASKED, request_id="x", options=options(answer_anyway=True))
    code, reason, _ = await failure(stub.Answer(other))
    assert (code, reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_CONFLICT")
    again = await stub.Answer(pb.AnswerRequest(retrieve=ASKED, request_id="x"))
    assert again.result.text == "".join(GOOD)


async def test_cancel_and_attach_know_only_what_was_asked(stub: Stub) -> None:
    code, reason, _ = await failure(stub.CancelAnswer(pb.CancelAnswerRequest(request_id="x")))
    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND")
    code, _, fields = await failure(stub.CancelAnswer(pb.CancelAnswerRequest()))
    assert (code, fields) == (grpc.StatusCode.INVALID_ARGUMENT, ["request_id"])
    with pytest.raises(grpc.aio.AioRpcError, match="no answer has that request_id"):
        await anext(aiter(stub.AttachAnswer(pb.AttachAnswerRequest(request_id="x"))))
    with pytest.raises(grpc.aio.AioRpcError, match="after_sequence"):
        await anext(aiter(stub.AttachAnswer(pb.AttachAnswerRequest(request_id="x", after_sequence=-1))))


async def test_the_job_gets_the_time_asked_for_else_that_of_the_call(stub: Stub, queue: FakeQueue) -> None:
    for timeout, call_timeout_s, expected_s in ((Duration(seconds=20), 50, 20), (None, 50, 50), (None, None, 120)):
        began_s = time.time()
        request = pb.AnswerRequest(retrieve=ASKED, options=options(timeout=timeout))
        await asyncio.gather(stub.Answer(request, timeout=call_timeout_s), queue.answer(*GOOD))
        job = list(queue.jobs.values())[-1]
        assert job.deadline.ToNanoseconds() / 1e9 - began_s == pytest.approx(expected_s, abs=10)


async def batch(*items: pb.BatchAnswerRequest) -> AsyncIterator[pb.BatchAnswerRequest]:
    for item in items:
        yield item


async def test_a_batch_answers_each_item_and_a_bad_one_ends_nothing_but_itself(stub: Stub, queue: FakeQueue) -> None:
    queue.worker_is_alive = False
    items = [pb.BatchAnswerRequest(item_index=i, answer=pb.AnswerRequest(retrieve=ASKED)) for i in range(20)]
    items[3].answer.retrieve.query = ""
    items[7].answer.options.max_completion_tokens = 0
    items[9].answer.request_id = "no good"
    items[11].answer.ClearField("retrieve")
    items[13].answer.retrieve.query = Corpus.broken_query
    responses = {r.item_index: r async for r in stub.BatchAnswer(batch(*items))}
    assert sorted(responses) == list(range(20))
    bad = {index: r for index, r in responses.items() if r.status.code}
    assert sorted(bad) == [3, 7, 9, 11, 13]
    assert bad[13].status.reason == error_pb2.ERROR_REASON_INTERNAL
    assert not any(r.HasField("result") for r in bad.values())
    assert bad[7].status.field_violations[0].field == "answer.options.max_completion_tokens"
    assert bad[9].status.field_violations[0].field == "answer.request_id"
    assert bad[3].status.reason == error_pb2.ERROR_REASON_EMPTY_QUERY
    assert all(responses[i].result.state == answer_pb2.ANSWER_STATE_ANSWERED for i in range(20) if i not in bad)


async def test_rendering_shows_the_prompt_and_generates_nothing(stub: Stub, queue: FakeQueue) -> None:
    response = await stub.RenderPrompt(pb.RenderPromptRequest(retrieve=ASKED))
    text = "".join(segment.text for segment in response.segments)
    assert "[1] docs/a.md:1-" in text
    assert ASKED.query in text
    assert response.segments[0].scaffold
    assert response.estimated_prompt_tokens > 20
    assert queue.enqueued_count == 0
    shown = {index for one in response.packed_passages for index in one.passage_indexes}
    assert shown | set(response.dropped_passage_indexes) == {0, 1}


async def test_no_redis_is_a_clear_reason_or_an_extractive_answer(stub: Stub, queue: FakeQueue) -> None:
    queue.fail_with = Unavailable(error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE, "Redis at 127.0.0.1:6379 does not answer")
    response = await stub.Answer(pb.AnswerRequest(retrieve=ASKED))
    assert response.result.generator.model == "extractive"
    assert response.result.generator.fallback_reason == error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE
    code, reason, _ = await failure(
        stub.Answer(pb.AnswerRequest(retrieve=ASKED, options=options(fallback=answer_pb2.ANSWER_FALLBACK_NONE)))
    )
    assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "QUEUE_UNAVAILABLE")
    code, reason, _ = await failure(stub.CancelAnswer(pb.CancelAnswerRequest(request_id="x")))
    assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "QUEUE_UNAVAILABLE")
