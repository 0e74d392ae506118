"""An outage is told, and does not fill a disk with being told."""

import structlog
from redis.exceptions import ConnectionError as RedisConnectionError

from groundwire.queue import outage as outage_module
from groundwire.queue.outage import Outage


def test_each_reason_is_told_once_and_so_is_the_end():
    outage = Outage()
    with structlog.testing.capture_logs() as logs:
        outage.is_over()
        for _ in range(50):
            outage.goes_on(RedisConnectionError("refused"))
            outage.goes_on(RedisConnectionError("no answer"))
        outage.is_over()
        outage.is_over()
    assert [(log["event"], log.get("error")) for log in logs] == [
        ("queue cannot be used", "refused"),
        ("queue cannot be used", "no answer"),
        ("queue can be used again", None),
    ]
    assert logs[2]["failure_count"] == 100


def test_a_long_outage_is_told_again_now_and_then(monkeypatch):
    monkeypatch.setattr(outage_module, "REMINDER_INTERVAL_S", 0.0)
    outage = Outage()
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            outage.goes_on(RedisConnectionError("refused"))
    assert [log["failure_count"] for log in logs] == [1, 2, 3]


def test_a_queue_that_fails_every_second_time_is_told_once_an_interval(monkeypatch):
    now_s = 0.0
    monkeypatch.setattr(outage_module.time, "monotonic", lambda: now_s)
    outage = Outage()
    with structlog.testing.capture_logs() as logs:
        for second in range(700):
            now_s = float(second)
            outage.goes_on(RedisConnectionError("refused"))
            outage.is_over()
    assert [(log["event"], log["failure_count"]) for log in logs] == [
        ("queue cannot be used", 1),
        ("queue can be used again", 1),
        ("queue cannot be used", 600),
        ("queue can be used again", 600),
    ]


def test_an_outage_after_a_quiet_while_is_another_one(monkeypatch):
    now_s = 1000.0
    monkeypatch.setattr(outage_module.time, "monotonic", lambda: now_s)
    outage = Outage()
    with structlog.testing.capture_logs() as logs:
        for moment_s in (1000.0, 1001.0, 1040.0):
            now_s = moment_s
            outage.goes_on(RedisConnectionError("refused"))
            outage.is_over()
    assert [log["event"] for log in logs] == ["queue cannot be used", "queue can be used again"] * 2


def test_problems_that_are_worded_anew_each_time_fill_neither_disk_nor_memory():
    outage = Outage()
    with structlog.testing.capture_logs() as logs:
        for number in range(1000):
            outage.goes_on(RedisConnectionError(f"refused to port {number}"))
    assert len(logs) == len(outage._said_s) == outage_module.MOST_PROBLEMS
