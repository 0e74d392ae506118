"""Starting the worker: what is wrong is said in one line, before Redis is touched."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def start(**settings: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GROUNDWIRE_")}
    return subprocess.run(
        [sys.executable, "-m", "generation_worker"],
        env=environment | settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def assert_refused(run: subprocess.CompletedProcess[str], *fragments: str) -> None:
    assert run.returncode == 2, run.stderr
    [line] = run.stderr.strip().splitlines()
    assert line.startswith("generation-worker: ")
    for fragment in fragments:
        assert fragment in line


def test_without_a_model_it_says_how_to_get_one(tmp_path: Path):
    assert_refused(start(GROUNDWIRE_MODELS_DIR=str(tmp_path)), "make models", "GROUNDWIRE_MODELS_DIR")


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        (None, "No such file"),
        (b"", "not a GGUF"),
        (b"<html>not found</html>", "not a GGUF"),
        (b"GGUF" + b"\x03\0\0\0" + b"\0" * 200, "cannot be loaded"),
    ],
)
def test_a_file_that_is_no_model_is_named(tmp_path: Path, content: bytes | None, fragment: str):
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    assert_refused(start(GROUNDWIRE_GENERATOR_PATH=str(path)), str(path), fragment, "GROUNDWIRE_GENERATOR_PATH")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GROUNDWIRE_LEASE_S", "soon"),
        ("GROUNDWIRE_LEASE_S", "0"),
        ("GROUNDWIRE_WORKER_THREADS", "0"),
        ("GROUNDWIRE_WORKER_CONTEXT_TOKENS", "-1"),
        ("GROUNDWIRE_LOG_LEVEL", "loud"),
        ("GROUNDWIRE_OPENAI_URL", "http://user:hidden@host/v1"),
        ("GROUNDWIRE_OPENAI_EXTRA", "{hidden"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str):
    run = start(**{name: value})
    assert_refused(run, name)
    assert "hid" not in run.stderr


def test_a_remote_backend_needs_an_address_and_a_model():
    run = start(GROUNDWIRE_BACKENDS="openai, llama", GROUNDWIRE_OPENAI_URL="http://127.0.0.1:1/v1")
    assert_refused(run, "GROUNDWIRE_OPENAI_MODEL")


def test_a_wrong_redis_address_is_named():
    assert_refused(start(GROUNDWIRE_REDIS_URL="http://user:secret@host"), "GROUNDWIRE_REDIS_URL")
