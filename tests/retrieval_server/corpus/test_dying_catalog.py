"""Making, removing and putting back collections, whenever the process dies in it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.retrieval_server.corpus.dying_catalog import NAME
from tests.support.processes import PROJECT_DIR

_TIMEOUT_S = 250.0


def deaths_of(work: str, directory: Path, at_least: int) -> list[dict[str, Any]]:
    run = subprocess.run(
        [sys.executable, "-m", "tests.retrieval_server.corpus.dying_catalog", work, str(directory)],
        cwd=PROJECT_DIR,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    deaths = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(deaths) >= at_least
    for death in deaths:
        assert not any(death["problems"])
        assert len(death["left"]) == len(death["found"]), "what was begun is swept away"
    return deaths


def test_a_collection_that_is_made_is_there_as_it_was_asked_for_or_not_at_all(tmp_path: Path):
    deaths = deaths_of("create", tmp_path, at_least=10)
    assert all(death["is_old"] for death in deaths)
    found = [death["found"] for death in deaths]
    assert found == sorted(found)
    assert {tuple(one) for one in found} == {(), (NAME,)}


def test_a_collection_that_is_removed_is_whole_or_gone(tmp_path: Path):
    deaths = deaths_of("remove", tmp_path, at_least=4)
    assert all(death["is_old"] for death in deaths)
    found = [death["found"] for death in deaths]
    assert found == sorted(found, reverse=True)
    assert found[0] == [NAME]


def test_a_collection_that_is_put_back_is_the_old_one_or_the_new_one(tmp_path: Path):
    deaths = deaths_of("put_back", tmp_path, at_least=5)
    assert all(death["found"] == [NAME] for death in deaths)
    assert all(death["is_old"] != death["is_new"] for death in deaths)
    is_new = [death["is_new"] for death in deaths]
    assert is_new == sorted(is_new)
    assert set(is_new) == {False, True}
