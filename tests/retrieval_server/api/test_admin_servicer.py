"""AdminService: settings without secrets, the queue's counts, its workers."""

import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import grpc
import pytest

import groundwire
from groundwire.queue.liveness import WorkerInfo
from groundwire.v1 import admin_service_pb2 as pb
from groundwire.v1 import admin_service_pb2_grpc, error_pb2
from retrieval_server.api.admin_servicer import AdminServicer
from retrieval_server.api.interceptor import RpcInterceptor
from retrieval_server.errors import Unavailable
from retrieval_server.generation.jobs.queue_counts import QueueStats
from retrieval_server.settings import ServerSettings
from tests.retrieval_server.api.support import MAX_MESSAGE_BYTES


class Queue:
    """Counts and workers as the test sets them."""

    error: Unavailable | None = None
    dead_letters: Any = None

    async def stats(self) -> QueueStats:
        if self.error:
            raise self.error
        return QueueStats(waiting_count=3, running_count=2, dead_letter_count=1, live_worker_count=4)

    async def running_counts(self) -> Counter[str]:
        return Counter({"w-1": 2})

    async def workers(self) -> list[WorkerInfo]:
        now_s = time.time()
        return [WorkerInfo(name, "smollm2", 8192, now_s - 60, now_s - 1, 1.0) for name in ("w-2", "w-1")]


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
async def stub(queue: Queue) -> AsyncIterator[admin_service_pb2_grpc.AdminServiceStub]:
    settings = ServerSettings(redis_url="redis://user:s3cret@redis.internal:6379/0")
    server = grpc.aio.server(interceptors=[RpcInterceptor(8, 8, 2, 60.0, MAX_MESSAGE_BYTES)])
    admin_service_pb2_grpc.add_AdminServiceServicer_to_server(AdminServicer(settings, queue), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.enable_http_proxy", 0)]) as channel:
        yield admin_service_pb2_grpc.AdminServiceStub(channel)
    await server.stop(None)


async def test_settings_are_shown_with_secrets_masked(stub: admin_service_pb2_grpc.AdminServiceStub) -> None:
    response = await stub.GetSettings(pb.GetSettingsRequest())
    assert response.version == groundwire.__version__
    assert response.settings["redis_url"] == "redis://user:***@redis.internal:6379/0"
    assert response.settings["max_k"] == "1000"
    assert response.settings["models_dir"] == ""
    assert set(response.settings) == set(ServerSettings.model_fields)
    assert "s3cret" not in str(response)


async def test_queue_stats_are_those_of_the_queue(stub: admin_service_pb2_grpc.AdminServiceStub) -> None:
    stats = await stub.GetQueueStats(pb.GetQueueStatsRequest())
    assert (stats.waiting_count, stats.running_count, stats.dead_letter_count, stats.live_worker_count) == (3, 2, 1, 4)


async def test_workers_come_by_id_with_their_times(stub: admin_service_pb2_grpc.AdminServiceStub) -> None:
    workers = (await stub.ListWorkers(pb.ListWorkersRequest())).workers
    assert [worker.worker_id for worker in workers] == ["w-1", "w-2"]
    assert workers[0].model == "smollm2"
    assert [worker.running_count for worker in workers] == [2, 0]
    assert workers[0].uptime.ToSeconds() == pytest.approx(60, abs=30)
    assert workers[0].last_seen_time.ToSeconds() == pytest.approx(time.time() - 1, abs=30)


async def test_without_redis_the_queue_is_unavailable_and_settings_are_not(
    stub: admin_service_pb2_grpc.AdminServiceStub, queue: Queue
) -> None:
    queue.error = Unavailable(error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE, "no Redis")
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stub.GetQueueStats(pb.GetQueueStatsRequest())
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
    await stub.GetSettings(pb.GetSettingsRequest())


async def test_a_path_that_is_no_utf_8_is_shown_as_far_as_it_can_be(queue: Queue) -> None:
    servicer = AdminServicer(ServerSettings(data_dir=Path("/data/\udcff")), queue)
    shown = await servicer.GetSettings(pb.GetSettingsRequest(), cast("Any", None))
    assert shown.settings["data_dir"] == "/data/\\udcff"
