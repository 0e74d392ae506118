"""Whoever installs the library has its types: mypy takes a package without its marker for one that has none."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """\
from typing import assert_type

from client import AnswerEvent, AsyncClient, Client, Document, RetrieveResult, Stream
from groundwire.v1 import retrieval_service_pb2


def ask(groundwire: Client) -> None:
    assert_type(groundwire.retrieve("q", k=5), RetrieveResult)
    assert_type(groundwire.list_documents(), Stream[Document])
    for event in groundwire.stream_answer("q"):
        assert_type(event, AnswerEvent)


async def ask_in_a_loop(groundwire: AsyncClient) -> None:
    assert_type(await groundwire.retrieve("q"), RetrieveResult)


assert_type(retrieval_service_pb2.RetrieveRequest(query="q").query, str)
"""


def test_a_strict_program_of_a_user_is_checked_against_the_installed_package(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=cache", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
