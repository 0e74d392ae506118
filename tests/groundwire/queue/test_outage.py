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
        outage.goes_on(RedisConnectionError("refused"))
    assert [(log["event"], log.get("error")) for log in logs] == [
        ("queue cannot be used", "refused"),
        ("queue cannot be used", "no answer"),
        ("queue can be used again", None),
        ("queue cannot be used", "refused"),
    ]
    assert logs[2]["failure_count"] == 100


def test_a_long_outage_is_told_again_now_and_then(monkeypatch):
    monkeypatch.setattr(outage_module, "REMINDER_INTERVAL_S", 0.0)
    outage = Outage()
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            outage.goes_on(RedisConnectionError("refused"))
    assert [log["failure_count"] for log in logs] == [1, 2, 3]
