"""Valkey dies with everything running: server and workers come back by themselves."""

import threading

import pytest

from groundwire.v1 import answer_pb2, answer_service_pb2, error_pb2
from tests.chaos.cluster import Cluster, assert_one_terminal_with_the_final_text
from tests.support.rpc import retrieve

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


def test_a_waiting_caller_gets_its_answer_after_valkey_was_killed(cluster: Cluster) -> None:
    pids = [cluster.server.pid, *(worker.pid for worker in cluster.workers)]
    events: list[answer_service_pb2.AnswerEvent] = []
    writing = threading.Event()

    def follow() -> None:
        with cluster.server.channel() as channel:
            for event in cluster.answer(channel, "no-valkey"):
                events.append(event)
                if event.WhichOneof("event") == "delta":
                    writing.set()

    caller = threading.Thread(target=follow)
    caller.start()
    assert writing.wait(150)
    cluster.valkey.kill()
    with cluster.server.channel() as channel:
        assert retrieve(channel, "tide gate", collection="default", k=1).passages
    cluster.valkey.start()
    caller.join(timeout=250)
    assert not caller.is_alive()
    assert [event.WhichOneof("event") for event in events].count("terminal") == 1
    assert events[-1].terminal.state == answer_pb2.ANSWER_STATE_ANSWERED, events[-1].terminal.status

    with cluster.server.channel() as channel:
        again = list(cluster.answer(channel, "after"))
    assert assert_one_terminal_with_the_final_text(again).state == answer_pb2.ANSWER_STATE_ANSWERED
    assert [cluster.server.pid, *(worker.pid for worker in cluster.workers)] == pids
    assert cluster.server.is_alive()
    assert all(worker.is_alive() for worker in cluster.workers)


def test_a_caller_whose_job_was_flushed_is_told_so(cluster: Cluster) -> None:
    events = []
    flushed = False
    with cluster.server.channel() as channel:
        for event in cluster.answer(channel, "flushed"):
            events.append(event)
            if event.WhichOneof("event") == "delta" and not flushed:
                flushed = True
                client = cluster.valkey.client()
                client.flushall()
                client.close()
        assert [event.WhichOneof("event") for event in events].count("terminal") == 1
        assert flushed
        assert events[-1].terminal.status.reason == error_pb2.ERROR_REASON_JOB_LOST
        after = list(cluster.answer(channel, "after-flush"))
    assert assert_one_terminal_with_the_final_text(after).state == answer_pb2.ANSWER_STATE_ANSWERED
