"""Dead letters over the wire: listed in pages, replayed, purged; from a real queue."""

from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from redis.asyncio import Redis

from generation_worker.consumer import Consumer
from groundwire.internal.v1 import job_pb2
from groundwire.queue.ending import Ending
from groundwire.queue.keys import PartitionKeys
from groundwire.v1 import admin_service_pb2 as pb
from groundwire.v1 import admin_service_pb2_grpc, error_pb2
from retrieval_server.api.admin_servicer import AdminServicer
from retrieval_server.api.interceptor import RpcInterceptor
from retrieval_server.generation.jobs.answer_jobs import answer_job_id, condensing_job_id
from retrieval_server.generation.jobs.answer_queue import AnswerQueue
from retrieval_server.settings import ServerSettings
from tests.generation_worker.harness import end_of, make_job, next_job, put
from tests.generation_worker.queue_fixtures import make_consumer, queue, redis
from tests.retrieval_server.api.support import MAX_MESSAGE_BYTES

__all__ = ["make_consumer", "queue", "redis"]

FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED)
KEYS = PartitionKeys(0)
Stub = admin_service_pb2_grpc.AdminServiceStub


@pytest.fixture
async def stub(queue: AnswerQueue) -> AsyncIterator[Stub]:
    server = grpc.aio.server(interceptors=[RpcInterceptor(8, 8, 2, 60.0, MAX_MESSAGE_BYTES)])
    admin_service_pb2_grpc.add_AdminServiceServicer_to_server(AdminServicer(ServerSettings(), queue), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.enable_http_proxy", 0)]) as channel:
        yield Stub(channel)
    await server.stop(None)


async def give_up(queue: AnswerQueue, redis: Redis, *request_ids: str) -> None:
    """Make dead letters of new jobs, each a minute older than the one before."""
    for age_min, request_id in enumerate(request_ids):
        job_id = answer_job_id(request_id)
        await put(queue, job_id, f"what of {request_id}?")
        await queue._end(job_id, Ending(job_pb2.JOB_OUTCOME_DEAD_LETTER, error_pb2.ERROR_REASON_JOB_DEAD_LETTERED))
        await redis.zincrby(KEYS.dead, -60_000.0 * age_min, job_id)


async def listed(stub: Stub, page_size: int = 0) -> list[str]:
    found: list[str] = []
    token = ""
    while True:
        page = await stub.ListDeadLetters(pb.ListDeadLettersRequest(page_size=page_size, page_token=token))
        assert len(page.dead_letters) <= (page_size or 100)
        found += [one.request_id for one in page.dead_letters]
        token = page.next_page_token
        if not token:
            return found


async def test_they_are_listed_newest_first_in_pages(stub: Stub, queue: AnswerQueue, redis: Redis) -> None:
    assert await listed(stub) == []
    names = [f"q{number}" for number in range(5)]
    await give_up(queue, redis, *names)
    same_ms = await redis.zscore(KEYS.dead, answer_job_id("q2"))
    await redis.zadd(KEYS.dead, {answer_job_id("q3"): same_ms})  # a tie is told apart by the id
    for page_size in (0, 1, 2, 5):
        assert await listed(stub, page_size) == ["q0", "q1", "q3", "q2", "q4"]
    [first, *_] = (await stub.ListDeadLetters(pb.ListDeadLettersRequest())).dead_letters
    assert (first.question, first.replayable, first.crash_count) == ("what of q0?", True, 1)
    assert first.reason == error_pb2.ERROR_REASON_JOB_DEAD_LETTERED


async def test_a_page_is_cut_short_where_a_message_ends(queue: AnswerQueue) -> None:
    servicer = AdminServicer(ServerSettings(max_message_bytes=64 * 1024), queue)
    for number in range(12):
        job_id = answer_job_id(f"q{number}")
        await put(queue, job_id, "long " * 2000)
        await queue._end(job_id, Ending(job_pb2.JOB_OUTCOME_DEAD_LETTER, error_pb2.ERROR_REASON_JOB_DEAD_LETTERED))
    found: list[str] = []
    page = await servicer.ListDeadLetters(pb.ListDeadLettersRequest(), cast("Any", None))
    while page.next_page_token:
        assert page.ByteSize() < 64 * 1024
        found += [one.request_id for one in page.dead_letters]
        request = pb.ListDeadLettersRequest(page_token=page.next_page_token)
        page = await servicer.ListDeadLetters(request, cast("Any", None))
    assert sorted([*found, *(one.request_id for one in page.dead_letters)]) == sorted(f"q{n}" for n in range(12))


async def test_a_replayed_job_is_done_alone_and_is_no_dead_letter_any_more(
    stub: Stub, queue: AnswerQueue, redis: Redis, make_consumer: Callable[..., Consumer]
) -> None:
    await give_up(queue, redis, "again")
    await stub.ReplayDeadLetter(pb.ReplayDeadLetterRequest(request_id="again"))
    assert await listed(stub) == []
    job = await next_job(make_consumer())
    assert (job.job.job_id, job.attempt, job.alone) == (answer_job_id("again"), 1, True)
    await job.delta("at last")
    await job.end(FINISHED)
    assert (await end_of(queue, answer_job_id("again"))).text == "at last"
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stub.ReplayDeadLetter(pb.ReplayDeadLetterRequest(request_id="again"))
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND


async def test_they_are_purged_by_age_by_id_or_all_and_leave_no_key(
    stub: Stub, queue: AnswerQueue, redis: Redis
) -> None:
    await give_up(queue, redis, *(f"q{number}" for number in range(6)))

    async def purge(**request: object) -> int:
        return (await stub.PurgeDeadLetters(pb.PurgeDeadLettersRequest(**request))).purged_count  # type: ignore[arg-type]

    assert await purge(older_than=Duration(seconds=210)) == 2
    assert await listed(stub) == ["q0", "q1", "q2", "q3"]
    assert await purge(request_ids=["q1", "q5", "never"]) == 1
    assert await purge(request_ids=["q0"], older_than=Duration(seconds=60)) == 0
    assert await purge() == 3
    assert await listed(stub) == []
    left = {key async for key in redis.scan_iter("gw:*")}
    assert left == {KEYS.jobs.encode(), b"gw:{0}:counters"}


async def test_one_that_condensed_a_question_can_be_purged_by_its_id_but_not_replayed(
    stub: Stub, queue: AnswerQueue
) -> None:
    job_id = condensing_job_id("q-1", b"what was asked")
    job = make_job(job_id, "and that?")
    job.condensing.SetInParent()
    await queue.enqueue(job, job_pb2.JobRetrieved(request_id="q-1"), b"h")
    await queue._end(job_id, Ending(job_pb2.JOB_OUTCOME_DEAD_LETTER, error_pb2.ERROR_REASON_JOB_DEAD_LETTERED))
    [letter] = (await stub.ListDeadLetters(pb.ListDeadLettersRequest())).dead_letters
    assert (letter.question, letter.replayable) == ("and that?", False)
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stub.ReplayDeadLetter(pb.ReplayDeadLetterRequest(request_id=letter.request_id))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    purged = await stub.PurgeDeadLetters(pb.PurgeDeadLettersRequest(request_ids=[letter.request_id]))
    assert purged.purged_count == 1
    assert await listed(stub) == []


@pytest.mark.parametrize(
    ("call", "request_message", "field"),
    [
        ("ListDeadLetters", pb.ListDeadLettersRequest(page_size=-1), "page_size"),
        ("ListDeadLetters", pb.ListDeadLettersRequest(page_token="!"), "page_token"),
        ("ListDeadLetters", pb.ListDeadLettersRequest(page_token="eDp5"), "page_token"),
        ("ReplayDeadLetter", pb.ReplayDeadLetterRequest(request_id="a b"), "request_id"),
        ("PurgeDeadLetters", pb.PurgeDeadLettersRequest(request_ids=["ok", ""]), "request_ids[1]"),
        ("PurgeDeadLetters", pb.PurgeDeadLettersRequest(request_ids=["x"] * 1001), "request_ids"),
        ("PurgeDeadLetters", pb.PurgeDeadLettersRequest(older_than=Duration(seconds=-1)), "older_than"),
    ],
)
async def test_wrong_requests_name_the_field(stub: Stub, call: str, request_message: object, field: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await getattr(stub, call)(request_message)
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (raised.value.details() or "").startswith(field)
