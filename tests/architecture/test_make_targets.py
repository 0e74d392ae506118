"""Every command that a developer needs is a Make target that `make help` lists."""

import subprocess
from pathlib import Path

import pytest

TARGETS = [
    "setup",
    "models",
    "gen",
    "lint",
    "type",
    "test",
    "quality",
    "chaos",
    "chaos-corpus",
    "chaos-queue",
    "bench",
    "bench-scale",
    "up",
    "demo",
    "clean",
    "lock",
]


@pytest.fixture(scope="module")
def help_text(project_dir: Path) -> str:
    """What a bare `make help` prints."""
    done = subprocess.run(["make", "help"], cwd=project_dir, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("target", TARGETS)
def test_help_lists_the_target_with_a_line_about_it(help_text: str, target: str) -> None:
    described = dict(line.split(maxsplit=1) for line in help_text.splitlines())
    assert len(described[target]) > 10


def test_ci_runs_the_readmes_test_command_first(project_dir: Path) -> None:
    commands = [
        line
        for line in (project_dir / ".ci" / "run").read_text(encoding="utf-8").splitlines()
        if line.startswith("make ")
    ]
    assert commands[0] == "make test"
    assert "make test" in (project_dir / "README.md").read_text(encoding="utf-8")
