"""Workers die in mid-answer: another takes over, and the caller is told exactly what happened."""

import time

import pytest

from groundwire.v1 import answer_pb2
from tests.chaos.cluster import LEASE_S, Cluster, assert_one_terminal_with_the_final_text

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
# Far more than a lease, on a machine that does other things as well, and far less than the time of an answer.
SOON_S = LEASE_S + 30


def test_a_killed_worker_is_replaced_once_its_lease_has_ended(cluster: Cluster) -> None:
    events = []
    killed_at_s = restarted_after_s = 0.0
    with cluster.server.channel() as channel:
        for event in cluster.answer(channel, "kill-one"):
            events.append(event)
            kind = event.WhichOneof("event")
            if kind == "delta" and not killed_at_s:
                cluster.holder_of("kill-one").kill()
                killed_at_s = time.monotonic()
            # What is written may be replaced once more, when it fails its check.
            if kind == "restarted" and not restarted_after_s:
                restarted_after_s = time.monotonic() - killed_at_s
    assert killed_at_s, "the answer ended before its worker could be killed"
    assert 0 < restarted_after_s <= SOON_S
    result = assert_one_terminal_with_the_final_text(events)
    assert result.state == answer_pb2.ANSWER_STATE_ANSWERED
    assert result.attempt_count in {2, 3}


@pytest.mark.parametrize("mode", [answer_pb2.ANSWER_MODE_RAG_SEQUENCE, answer_pb2.ANSWER_MODE_RAG_TOKEN])
def test_an_answer_with_a_prompt_a_passage_is_taken_over_too(
    cluster: Cluster, mode: answer_pb2.AnswerMode.ValueType
) -> None:
    events = []
    killed = False
    query = "How many rounds does the night watch make?"  # begins to be answered before any token is there
    with cluster.server.channel() as channel:
        for event in cluster.answer(channel, "kill-many", mode=mode, query=query):
            events.append(event)
            if event.WhichOneof("event") == "delta" and not killed:
                killed = True
                cluster.holder_of("kill-many").kill()
    result = assert_one_terminal_with_the_final_text(events)
    assert "restarted" in [event.WhichOneof("event") for event in events]
    assert result.state == answer_pb2.ANSWER_STATE_ANSWERED
    assert result.attempt_count in {2, 3}
    assert result.generator.mode == mode
    assert len(result.generator.passage_weights) > 1


def test_a_caller_gets_its_end_although_every_worker_is_dead(cluster: Cluster) -> None:
    events = []
    with cluster.server.channel() as channel:
        started_s = time.monotonic()
        for event in cluster.answer(channel, "kill-all", timeout_s=20):
            events.append(event)
            if event.WhichOneof("event") == "delta":
                for worker in cluster.workers:
                    if worker.is_alive():
                        worker.kill()
    assert time.monotonic() - started_s < 20 + SOON_S
    assert not any(worker.is_alive() for worker in cluster.workers), "the answer ended before they could be killed"
    assert [event.WhichOneof("event") for event in events].count("terminal") == 1
    assert events[-1].terminal.state in {answer_pb2.ANSWER_STATE_EXPIRED, answer_pb2.ANSWER_STATE_FAILED}
    assert events[-1].terminal.status.message


def test_with_every_worker_dead_the_fallback_answers_long_before_the_deadline(cluster: Cluster) -> None:
    events = []
    killed_at_s = 0.0
    with cluster.server.channel() as channel:
        for event in cluster.answer(channel, "fall-back", fallback=answer_pb2.ANSWER_FALLBACK_EXTRACTIVE):
            events.append(event)
            if event.WhichOneof("event") == "delta" and not killed_at_s:
                killed_at_s = time.monotonic()
                for worker in cluster.workers:
                    worker.kill()
    assert killed_at_s, "the answer ended before its workers could be killed"
    assert time.monotonic() - killed_at_s < SOON_S
    result = assert_one_terminal_with_the_final_text(events)
    assert result.state == answer_pb2.ANSWER_STATE_ANSWERED
    assert result.generator.mode == answer_pb2.ANSWER_MODE_EXTRACTIVE
    assert result.citations


def test_a_worker_that_is_told_to_stop_leaves_nothing_undone(cluster: Cluster) -> None:
    events = []
    stopped = False
    with cluster.server.channel() as channel:
        for event in cluster.answer(channel, "drain"):
            events.append(event)
            if event.WhichOneof("event") == "delta" and not stopped:
                stopped = True
                assert cluster.holder_of("drain").stop() == 0
    result = assert_one_terminal_with_the_final_text(events)
    assert result.state == answer_pb2.ANSWER_STATE_ANSWERED
