"""More than two hundred jobs while workers and Valkey are killed, stopped, drained and flushed.

Every caller is told exactly one end, no answer is made twice for anybody, late tokens are fenced, no key is left.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from groundwire.v1 import answer_service_pb2_grpc
from tests.chaos.queue.callers import Caller, Temper, Told, ask_batch
from tests.chaos.queue.havoc import Havoc
from tests.chaos.queue.ledger import check_one_end, leaked_keys, remaining_keys, unfinished
from tests.support.client import run_client
from tests.support.deadline import wait_until
from tests.support.processes import CHANNEL_OPTIONS, PROJECT_DIR, Server, ServiceProcess, Worker
from tests.support.rpc import wait_for_vectors
from tests.support.valkey import Valkey

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1800)]
SEED = 20
LEASE_S = 2.0
TTL_S = 15.0
IN_FLIGHT = 12
PAUSE_S = 4.0
LOOKS_PER_PAUSE = 10
SINGLE_TEMPERS = {
    Temper.PATIENT: 50,
    Temper.SLOW: 20,
    Temper.UNARY: 20,
    Temper.CANCELLER: 25,
    Temper.HURRIED: 15,
    Temper.VANISHER: 20,
    Temper.KEEPER: 20,
}
TWIN_PAIR_COUNT = 15
BATCH_SIZES = (10, 10)


@pytest.fixture
def storm(
    tmp_path: Path, own_valkey: Valkey, own_process: Callable[[ServiceProcess], ServiceProcess]
) -> tuple[Server, Havoc]:
    """A server and two workers of the default model."""
    lease = {"GROUNDWIRE_LEASE_S": str(LEASE_S)}
    settings = lease | {
        "GROUNDWIRE_ANSWER_TTL_S": str(TTL_S),
        "GROUNDWIRE_ANSWER_CACHE_TTL_S": str(TTL_S),
        "GROUNDWIRE_MAX_DELIVERIES": "8",
    }
    server = Server(tmp_path / "server", redis_url=own_valkey.url, **settings)
    own_process(server).start()
    run_client(server.address, "index", "examples/harbour", cwd=PROJECT_DIR).assert_ok()
    with server.channel() as channel:
        wait_for_vectors(channel, "default")
    workers = [
        Worker(tmp_path / f"worker{number}", redis_url=own_valkey.url, GROUNDWIRE_WORKER_THREADS="1", **lease)
        for number in range(2)
    ]
    for worker in workers:
        own_process(worker).start()
    return server, Havoc(own_valkey, workers, LEASE_S, random.Random(SEED))


async def test_every_caller_is_told_one_end_whatever_happens(storm: tuple[Server, Havoc]) -> None:
    server, havoc = storm
    randomness = random.Random(SEED)
    turns = asyncio.Semaphore(IN_FLIGHT)
    all_told: list[Told] = []
    async with grpc.aio.insecure_channel(server.address, options=CHANNEL_OPTIONS) as channel:
        stub = answer_service_pb2_grpc.AnswerServiceStub(channel)

        async def run(*callers: Caller) -> None:
            async with turns:
                told = await asyncio.gather(*(caller.run() for caller in callers))
            all_told.extend(told)
            if told[0].result is not None:
                await check_one_end(havoc.valkey, told[0].request_id)

        async def run_batch(number: int, size: int) -> None:
            async with turns:
                told = await ask_batch(stub, [f"b{number}-{item}" for item in range(size)])
            all_told.extend(told)

        work = [
            run(Caller(stub, f"{temper.name.lower()}-{number}", temper, random.Random(f"{temper}{number}")))
            for temper, count in SINGLE_TEMPERS.items()
            for number in range(count)
        ]
        work += [
            run(*(Caller(stub, f"twin-{number}", Temper.TWIN, randomness) for _ in range(2)))
            for number in range(TWIN_PAIR_COUNT)
        ]
        randomness.shuffle(work)
        batches = [run_batch(number, size) for number, size in enumerate(BATCH_SIZES)]
        working = asyncio.gather(*batches, *work)
        try:
            await wreak(havoc, working, all_told)
            await working
        finally:
            working.cancel()
    print(f"\nwreaked: {havoc.counts}")  # noqa: T201
    print(f"told: {Counter((one.temper.name, one.state, one.reason) for one in all_told)}")  # noqa: T201
    check_told(all_told, havoc)
    check_fenced(havoc)
    check_nothing_is_left(havoc)


async def wreak(havoc: Havoc, working: "asyncio.Future[list[None]]", all_told: list[Told]) -> None:
    """Do one thing after the other while there is work; flush once two thirds of the answers are out."""
    job_count = sum(SINGLE_TEMPERS.values()) + 2 * TWIN_PAIR_COUNT + sum(BATCH_SIZES)
    while not working.done():
        for deed in (
            havoc.kill_worker,
            havoc.stop_worker_past_its_lease,
            havoc.kill_valkey,
            havoc.kill_worker,
            havoc.drain_worker,
        ):
            for _ in range(LOOKS_PER_PAUSE):
                await asyncio.wait([working], timeout=PAUSE_S / LOOKS_PER_PAUSE)
                if len(all_told) > job_count * 2 / 3 and not havoc.counts["flushed"]:
                    await havoc.flush()
            if working.done():
                return
            await deed()


def check_told(all_told: list[Told], havoc: Havoc) -> None:
    """Each caller's own view."""
    assert len(all_told) == sum(SINGLE_TEMPERS.values()) + 2 * TWIN_PAIR_COUNT + sum(BATCH_SIZES)
    assert len({one.request_id for one in all_told}) >= 200
    for one in all_told:
        if one.temper is Temper.VANISHER and one.left:
            assert "terminal" not in one.kinds, one
            continue
        assert one.kinds.count("terminal") == 1, one
        assert one.kinds[-1] == "terminal", one
        if one.state == "ANSWERED":
            assert one.text == one.result.text, one  # type: ignore[union-attr]
            assert one.text.strip(), one
        allowed = {("ANSWERED", "UNSPECIFIED")}
        if havoc.counts["flushed"]:
            allowed.add(("FAILED", "JOB_LOST"))
        if one.temper is Temper.CANCELLER:
            allowed.add(("CANCELLED", "JOB_CANCELLED"))
        if one.temper is Temper.HURRIED:
            # The second is told when its time is over while Valkey is away.
            allowed |= {("EXPIRED", "DEADLINE_EXCEEDED"), ("FAILED", "QUEUE_UNAVAILABLE")}
        assert (one.state, one.reason) in allowed, one
    twins: dict[str, list[Told]] = {}
    for one in all_told:
        if one.temper is Temper.TWIN:
            twins.setdefault(one.request_id, []).append(one)
    for first, second in twins.values():
        if "JOB_LOST" not in {first.reason, second.reason}:
            assert first.result == second.result
    answered_count = sum(one.state == "ANSWERED" for one in all_told)
    assert answered_count > len(all_told) / 2, answered_count


def check_fenced(havoc: Havoc) -> None:
    """A worker that was stopped past its lease with a job in hand has noticed that it is not its own any more."""
    assert havoc.stopped_while_busy_count, "no worker was stopped with a job in hand"
    assert havoc.counts["killed"] >= 2
    assert havoc.counts["valkey_killed"]
    assert havoc.counts["flushed"] == 1
    given_up = [event for worker in havoc.workers for event in worker.all_events("job given up")]
    assert given_up


def check_nothing_is_left(havoc: Havoc) -> None:
    """When all have their ends nothing waits, nothing runs, and every key but the lasting ones goes."""
    nothing = dict.fromkeys(("waiting", "running", "tickets", "stream", "pending", "lines", "held"), 0)
    wait_until(
        lambda: unfinished(havoc.valkey) == nothing,
        timeout_s=100,
        what=f"nothing unfinished, there is {unfinished(havoc.valkey)}",
    )
    assert leaked_keys(havoc.valkey) == {}
    wait_until(
        lambda: not remaining_keys(havoc.valkey),
        timeout_s=TTL_S + 100,
        what=f"all keys gone, there are {sorted(remaining_keys(havoc.valkey))[:10]}",
    )
