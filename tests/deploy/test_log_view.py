"""Logs on the terminal: every line once, through rotation, readable."""

import json
from pathlib import Path

import pytest

from deploy.log_view import LogTail, parse_event, render_line


def test_only_lines_written_later_are_seen_and_each_once(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("old\n", encoding="utf-8")
    tail = LogTail(path)
    with path.open("a", encoding="utf-8") as log:
        log.write("one\ntwo\nhal")
        log.flush()
        assert tail.lines() == ["one", "two"]
        log.write("f\n")
    assert tail.lines() == ["half"]
    assert tail.lines() == []
    tail.close()


def test_a_rotated_file_is_read_to_its_end_and_the_new_one_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    tail = LogTail(path)
    assert tail.lines() == []
    path.write_text("first\n", encoding="utf-8")
    assert tail.lines() == ["first"]
    with path.open("a", encoding="utf-8") as log:
        log.write("last of the old\n")
    path.rename(tmp_path / "server.log.1")
    path.write_text("first of the new\n", encoding="utf-8")
    assert tail.lines() == ["last of the old", "first of the new"]
    tail.close()


def test_an_event_becomes_a_line_for_people() -> None:
    line = '{"event": "rpc", "level": "info", "process": "x", "method": "Retrieve", "ms": 3.14159, "note": "a b"}'
    assert render_line("server", line, coloured=False).split() == [
        *("server", "rpc", "method=Retrieve", "ms=3.142", 'note="a', 'b"')
    ]


def test_warnings_stand_out_and_exceptions_are_one_line() -> None:
    line = (
        '{"event": "rpc failed", "level": "error",'
        ' "exception": [{"exc_type": "ValueError", "exc_value": "no", "frames": []}]}'
    )
    plain = render_line("server", line, coloured=False)
    assert "ERROR rpc failed" in plain
    assert 'exception="ValueError: no"' in plain
    assert render_line("server", line, coloured=True) == f"\033[31m{plain}\033[0m"


def test_what_is_not_json_stays_as_it_is() -> None:
    assert render_line("valkey", "{not json", coloured=True).endswith("valkey  {not json")


@pytest.mark.parametrize("line", [json.dumps({"event": "rpc", "caller": "\x1b[2J\x9b2J\ttab"}), "\x1b[2J\x9b2J\ttab"])
def test_what_a_caller_sent_does_not_drive_the_terminal(line: str) -> None:
    shown = render_line("server", line, coloured=False)
    assert "\\x1b[2J\\x9b2J\ttab" in shown
    assert not {"\x1b", "\x9b"} & set(shown)


def test_a_line_nested_too_deep_is_no_event() -> None:
    assert parse_event('{"event":' * 100_000) is None
