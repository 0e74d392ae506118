"""A server in a bad place: it says in one line what is wrong and what to do, or serves what it still can."""

import os
import socket
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from groundwire.models.locate import default_models_dir
from groundwire.v1 import answer_pb2, answer_service_pb2, answer_service_pb2_grpc, retrieval_service_pb2
from tests.support.client import run_client
from tests.support.processes import (
    BIN,
    PROJECT_DIR,
    START_TIMEOUT_S,
    Server,
    ServiceProcess,
    process_environment,
    unprivileged_command,
)
from tests.support.rpc import corpus_stats, refused, retrieve

NO_REDIS = "redis://127.0.0.1:1/0"
ANSWER_TIMEOUT_S = 60.0
Own = Callable[[ServiceProcess], ServiceProcess]


def start_refused(
    script: str, cwd: Path, *, unprivileged: bool = False, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Start a process that must refuse: one line on standard error, exit code 2."""
    command = [os.fspath(BIN / script)]
    done = subprocess.run(
        unprivileged_command(command) if unprivileged else command,
        cwd=cwd,
        env=process_environment({"GROUNDWIRE_LISTEN": "127.0.0.1:0", "GROUNDWIRE_REDIS_URL": NO_REDIS} | settings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    assert done.returncode == 2, done.stderr
    assert len(said) == 1, done.stderr
    assert said[0].startswith(f"{script}: "), done.stderr
    return done


def answer(
    channel: grpc.Channel, collection: str, fallback: answer_pb2.AnswerFallback.ValueType
) -> answer_pb2.AnswerResult:
    request = answer_service_pb2.AnswerRequest(
        retrieve=retrieval_service_pb2.RetrieveRequest(
            query="How long may a visiting boat stay at the guest pontoon?", collection=collection, k=3
        ),
        options=answer_service_pb2.AnswerOptions(fallback=fallback),
    )
    return answer_service_pb2_grpc.AnswerServiceStub(channel).Answer(request, timeout=ANSWER_TIMEOUT_S).result


@pytest.fixture
def lone_server(tmp_path: Path, own_process: Own) -> Server:
    """A server without Redis that holds the example corpus."""
    server = Server(tmp_path / "lone", redis_url=NO_REDIS)
    own_process(server).start()
    run_client(server.address, "index", "examples/harbour", cwd=PROJECT_DIR).assert_ok()
    return server


def test_without_redis_retrieval_works_and_answers_say_why_they_do_not(lone_server: Server) -> None:
    with lone_server.channel() as channel:
        assert retrieve(channel, "tide gate", collection="default", k=2).passages
        refusal = refused(lambda: answer(channel, "default", answer_pb2.ANSWER_FALLBACK_NONE))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "QUEUE_UNAVAILABLE")
        assert refusal.retry_after_s is not None
        extractive = answer(channel, "default", answer_pb2.ANSWER_FALLBACK_EXTRACTIVE)
        assert extractive.state == answer_pb2.ANSWER_STATE_ANSWERED
        assert extractive.generator.mode == answer_pb2.ANSWER_MODE_EXTRACTIVE
        assert extractive.citations
    shown = run_client(lone_server.address, "answer", "What do three red lamps mean?", cwd=PROJECT_DIR).assert_ok()
    assert "extractive" in shown.stdout + shown.stderr
    run_client(lone_server.address, "status", cwd=PROJECT_DIR).assert_ok()


def test_a_restarted_server_has_everything_that_was_acknowledged(lone_server: Server) -> None:
    with lone_server.channel() as channel:
        before = corpus_stats(channel, "default").stats
    lone_server.kill()
    lone_server.start()
    with lone_server.channel() as channel:
        after = corpus_stats(channel, "default").stats
        assert (after.document_count, after.chunk_count) == (before.document_count, before.chunk_count)
        assert retrieve(channel, "tide gate", collection="default", k=2).passages


def test_a_server_without_its_model_says_so_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    for script in ("retrieval-server", "generation-worker"):
        done = start_refused(script, tmp_path, GROUNDWIRE_MODELS_DIR=os.fspath(tmp_path / "models"))
        assert "make models" in done.stderr
        assert "GROUNDWIRE_MODELS_DIR" in done.stderr


def test_a_wrong_model_file_is_named(tmp_path: Path) -> None:
    real = Path(os.environ.get("GROUNDWIRE_MODELS_DIR") or default_models_dir())
    wrong = tmp_path / "models"
    for path in real.rglob("*"):
        if path.is_file():
            copy = wrong / path.relative_to(real)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(path)
    spoiled = [path for path in wrong.rglob("*") if path.suffix in {".onnx", ".gguf"}]
    assert spoiled
    for path in spoiled:
        path.unlink()
        path.write_bytes(b"not a model")
    for script in ("retrieval-server", "generation-worker"):
        done = start_refused(script, tmp_path, GROUNDWIRE_MODELS_DIR=os.fspath(wrong))
        assert "make models" in done.stderr


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = start_refused("retrieval-server", tmp_path, GROUNDWIRE_LISTEN=address)
    assert address in done.stderr
    assert "GROUNDWIRE_LISTEN" in done.stderr


def test_a_second_server_on_one_data_directory_is_refused(lone_server: Server, tmp_path: Path) -> None:
    done = start_refused("retrieval-server", tmp_path, GROUNDWIRE_DATA_DIR=os.fspath(lone_server.data_dir))
    assert os.fspath(lone_server.data_dir) in done.stderr


@pytest.mark.parametrize("listen", ["nonsense", "127.0.0.1:99999", "127.0.0.1:x", ":::"])
def test_an_impossible_address_names_the_setting(tmp_path: Path, listen: str) -> None:
    done = start_refused("retrieval-server", tmp_path, GROUNDWIRE_LISTEN=listen)
    assert "GROUNDWIRE_LISTEN" in done.stderr


def test_listening_off_loopback_is_refused_unless_told_in_so_many_words(tmp_path: Path) -> None:
    done = start_refused("retrieval-server", tmp_path, GROUNDWIRE_LISTEN="0.0.0.0:0")
    assert "GROUNDWIRE_ALLOW_INSECURE_LISTEN" in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [("GROUNDWIRE_MAX_K", "many"), ("GROUNDWIRE_ENCODER_THREADS", "0"), ("GROUNDWIRE_LEASE_S", "0.1")],
)
def test_an_impossible_setting_is_named(tmp_path: Path, name: str, value: str) -> None:
    assert name in start_refused("retrieval-server", tmp_path, **{name: value}).stderr


def test_a_data_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o555)
    done = start_refused("retrieval-server", tmp_path, unprivileged=True, GROUNDWIRE_DATA_DIR=os.fspath(data))
    assert os.fspath(data) in done.stderr


def test_a_data_directory_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder", encoding="utf-8")
    done = start_refused("retrieval-server", tmp_path, GROUNDWIRE_DATA_DIR=os.fspath(tmp_path / "data"))
    assert os.fspath(tmp_path / "data") in done.stderr


def test_a_newer_schema_is_refused_and_left_alone(lone_server: Server) -> None:
    lone_server.stop()
    (stored,) = lone_server.data_dir.rglob("corpus.sqlite")
    with sqlite3.connect(stored) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = stored.read_bytes()
    lone_server.launch()
    if _ends_by_itself(lone_server):
        assert "999" in lone_server.log_text() or "newer" in lone_server.log_text()
    else:
        with lone_server.channel() as channel:
            refusal = refused(lambda: retrieve(channel, "gate", collection="default"))
        assert refusal.code is grpc.StatusCode.FAILED_PRECONDITION
        lone_server.stop()
    assert "Traceback" not in lone_server.log_text()
    assert stored.read_bytes() == before


def _ends_by_itself(server: Server) -> bool:
    try:
        server.wait_for_event("server ready", timeout_s=START_TIMEOUT_S)
    except AssertionError:
        assert server.wait_for_exit() == 2, server.log_text()
        return True
    return False


@pytest.mark.parametrize(
    "url", ["nonsense", "redis://:s3cret@h:1/notadb", "rediss://h?ssl_password=s3cret&ssl_nonsense=1"]
)
def test_a_wrong_redis_url_is_named(tmp_path: Path, url: str) -> None:
    for script in ("retrieval-server", "generation-worker"):
        refusal = start_refused(script, tmp_path, GROUNDWIRE_REDIS_URL=url).stderr
        assert "GROUNDWIRE_REDIS_URL" in refusal
        assert "s3cret" not in refusal
