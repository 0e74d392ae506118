"""Files that `client docs put` is given and that are none: one line, at once, and nothing is sent."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

TIMEOUT_S = 60
MIB = 1024 * 1024


def put(directory: Path, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    # Nothing listens there: what is read comes to nothing, and is told apart by its error.
    command = [sys.executable, "-m", "client", "--server", "127.0.0.1:1", "docs", "put", *arguments]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(
        command,
        cwd=directory,
        env=environment,
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def told(run: subprocess.CompletedProcess[str]) -> str:
    assert run.returncode in {1, 2}
    assert run.stdout == ""
    (line,) = run.stderr.splitlines()
    return line.removeprefix("client: ")


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("fifo")
    (tmp_path / "loop").symlink_to("loop")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(8 * MIB + 1)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tmp_path / "socket"))
    return tmp_path


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("fifo", "not a regular file"),
        ("folder", "cannot be read: is a directory"),
        ("link", "not a regular file"),
        ("socket", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("/dev/tty", "not a regular file"),
        ("huge", "larger than 8 MiB"),
        ("loop", "cannot be read: too many levels of symbolic links"),
        ("nothing", "cannot be read: no such file or directory"),
        ("huge/below", "cannot be read: not a directory"),
        ("n" * 300, "cannot be read: file name too long"),
        ("", "cannot be read: no such file or directory"),
    ],
)
def test_what_is_no_file_is_refused_in_one_line_without_waiting(odd: Path, file: str, problem: str):
    assert told(put(odd, file, "--path", "a.md")) == f"{file}: {problem}"


@pytest.mark.parametrize("file", ["/etc/hostname", "../a.md", "folder/../../a.md"])
def test_a_file_from_elsewhere_needs_a_path_of_its_own(odd: Path, file: str):
    assert "--path" in told(put(odd, file))


def test_standard_input_without_end_is_refused(odd: Path):
    with Path("/dev/zero").open("rb") as zeros:
        assert told(put(odd, "-", "--path", "a.md", stdin=zeros.fileno())) == "standard input: larger than 8 MiB"


def test_a_pipe_that_comes_in_pieces_is_read_to_its_end(odd: Path):
    writes = "import os\nfor _ in range(100):\n    os.write(1, b'some text\\n' * 100)"
    with subprocess.Popen([sys.executable, "-c", writes], stdout=subprocess.PIPE) as writing:
        assert writing.stdout is not None
        assert "127.0.0.1:1" in told(put(odd, "-", "--path", "a.md", stdin=writing.stdout.fileno()))
