"""Secrets of addresses never show."""

import io
import json
import sys

import pytest
import structlog

from groundwire.logs import configure_logs
from groundwire.masking import mask_secrets


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("redis://:pw@h:1/0", "redis://:***@h:1/0"),
        ("rediss://u:p@ss/w:rd@h:1/0?ssl_cert_reqs=none", "rediss://u:***@h:1/0?ssl_cert_reqs=none"),
        ("redis://h/0?username=u&password=pw&db=1", "redis://h/0?username=u&password=***&db=1"),
        ("unix://u:pw@/run/redis.sock", "unix://u:***@/run/redis.sock"),
        ("rediss://h/0?ssl_password=pw&ssl_keyfile=k.pem", "rediss://h/0?ssl_password=***&ssl_keyfile=k.pem"),
        ("redis+sentinel://u:p@a,b/m?sentinel_password=q", "redis+sentinel://u:***@a,b/m?sentinel_password=***"),
        ("cannot reach redis://u:pw@h:1/0 now", "cannot reach redis://u:***@h:1/0 now"),
        ("redis://u:a@h:1,redis://v:b@i:2", "redis://u:***@i:2"),
        ("me@example.org http://h:1/a", "me@example.org http://h:1/a"),
        ("127.0.0.1:50051", "127.0.0.1:50051"),
    ],
)
def test_passwords_of_urls_are_masked(url: str, masked: str) -> None:
    assert mask_secrets(url) == masked


def test_log_lines_hide_them(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    configure_logs("test")
    try:
        structlog.get_logger().warning("queue unreachable", url="rediss://u:pw@h/0?ssl_password=pw", count=1)
    finally:
        structlog.reset_defaults()
    line = json.loads(written.getvalue())
    assert line["url"] == "rediss://u:***@h/0?ssl_password=***"
    assert "pw" not in written.getvalue()


@pytest.mark.timeout(20)
def test_a_long_text_is_read_in_time_that_grows_with_it() -> None:
    assert mask_secrets("://a:" * 100_000) == "://a:" * 100_000
    assert mask_secrets("redis://u:" + "://a:" * 100_000 + "@h ") == "redis://u:***@h "
