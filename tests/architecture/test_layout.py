"""The shape of the project: its top level, the size of its files, and what no file may name."""

import re
from pathlib import Path

import pytest

from tests.support.project_files import project_files

TOP_LEVEL = {
    ".ci",
    ".gitignore",
    "Makefile",
    "README.md",
    "benchmarks",
    "client",
    "deploy",
    "examples",
    "generation_worker",
    "groundwire",
    "proto",
    "pyproject.toml",
    "requirements.lock",
    "retrieval_server",
    "tests",
}
MAX_LINE_COUNT = 300
# Taken apart so that this file does not name what it forbids.
INDEX_HOST = re.compile(
    "|".join((r"pypi\." + "org", "pythonhosted" + r"\.org", r"npmjs\." + "com", "debian" + r"\.org"))
)
MACHINE_PATH = re.compile(r"(?<![\w.~/*-])/(?:work|root|home|Users|opt)" + r"/\w")


def test_top_level_is_the_one_that_was_agreed(project_dir: Path) -> None:
    present = {path.relative_to(project_dir).parts[0] for path in project_files(project_dir)}
    assert present == TOP_LEVEL


def test_no_source_file_is_longer_than_a_reader_can_hold(project_dir: Path) -> None:
    line_counts = {
        path.relative_to(project_dir).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in project_files(project_dir)
        if path.suffix == ".py" and "_pb2" not in path.name
    }
    assert line_counts
    assert {name: count for name, count in line_counts.items() if count > MAX_LINE_COUNT} == {}


@pytest.mark.parametrize(("forbidden", "what"), [(INDEX_HOST, "index host"), (MACHINE_PATH, "path of one machine")])
def test_no_file_names_an_index_host_or_a_path_of_one_machine(
    project_dir: Path, forbidden: re.Pattern[str], what: str
) -> None:
    found = [
        f"{path.relative_to(project_dir)}:{number}: {match[0]} ({what})"
        for path in project_files(project_dir)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if (match := forbidden.search(line))
    ]
    assert found == []
