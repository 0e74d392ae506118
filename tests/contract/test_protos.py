"""The contract lints clean, and the stubs in the tree are those that it makes."""

import subprocess
import sys
from pathlib import Path

import pytest


def run(command: list[str], project_dir: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=project_dir, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize("arguments", [["lint", "proto"], ["format", "--diff", "--exit-code", "proto"]])
def test_buf_has_no_complaint(project_dir: Path, arguments: list[str]) -> None:
    buf = Path(sys.executable).parent / "buf"
    done = run([str(buf), *arguments], project_dir)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_generating_the_stubs_again_changes_nothing(project_dir: Path) -> None:
    done = run([sys.executable, "proto/generate.py", "--check"], project_dir)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
