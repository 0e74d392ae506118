"""The command line as a process of its own: signals, pipes, encodings."""

import os
import signal
import subprocess
import sys

from tests.client.support import answer_events, wait_until


def start(server, *arguments: str | bytes, **variables: str) -> subprocess.Popen:
    environment = os.environ | {"GROUNDWIRE_SERVER": server.address} | variables
    return subprocess.Popen(
        [sys.executable, "-m", "client", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )


def test_ctrl_c_ends_the_answer_on_the_server_and_exits_130(server):
    server.state.events = answer_events("one", "<hold>", "two")
    process = start(server, "answer", "how?")
    wait_until(lambda: server.state.request_ids)
    process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told.split()) == (130, [b"id:", b"job-1"])
    wait_until(server.state.answer_stream_ended.is_set)


def test_a_reader_that_leaves_is_no_error(server):
    server.state.documents["a.txt"] = "line\n" * 200_000
    process = start(server, "show", "a.txt")
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) == 1
    assert process.stderr.read() == b""
    process.stderr.close()


def test_bytes_that_are_not_utf8_are_one_line(server):
    process = start(server, "search", b"caf\xe9")
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (2, b"client: argument 2 holds bytes that are not UTF-8 text\n")


def test_a_server_in_the_environment_that_is_not_utf8_is_one_line(server):
    process = start(server, "status", GROUNDWIRE_SERVER=os.fsdecode(b"h\xff:50051"))
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told.split(b";")[0]) == (2, b"client: server: holds bytes that are not UTF-8 text")


def test_an_output_that_cannot_show_a_letter_does_not_fail(server):
    server.state.documents["a.txt"] = "日本\n"
    process = start(server, "show", "a.txt", PYTHONIOENCODING="latin-1")
    shown, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, b"")
    assert b"\\u65e5" in shown
