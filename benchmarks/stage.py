"""Where it is measured: a copy of the corpus that may be edited, the questions, and fresh processes."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.client import ClientRun, run_client
from tests.support.processes import PROJECT_DIR, Server, Worker
from tests.support.valkey import Valkey

TREE = "data/raw/vllm-0.10.1"
SHARED_DIR = PROJECT_DIR.parent / "shared"
INDEX_TIMEOUT_S = 600.0


class CannotMeasureError(Exception):
    """What is missing, in one line."""


@dataclass
class Stage:
    """One server with its own data; Valkey and workers join for the answers."""

    home: Path
    questions: tuple[str, ...]
    valkey: Valkey
    server: Server

    def client(self, *arguments: str | Path) -> ClientRun:
        """Run the client in `home`, which must succeed."""
        return run_client(self.server.address, *arguments, cwd=self.home, timeout_s=INDEX_TIMEOUT_S).assert_ok()

    def worker(self, name: str, **settings: str) -> Worker:
        """A new worker, not started."""
        return Worker(self.home / name, redis_url=self.valkey.url, **settings)


def fetch_vllm(corpora_dir: Path) -> None:
    """Fetch the corpus once, so that it lies at TREE below `corpora_dir`. Raises CannotMeasureError."""
    fetch = SHARED_DIR / "corpora" / "fetch_vllm.py"
    if not fetch.is_file():
        raise CannotMeasureError(
            f"no {SHARED_DIR}: the source tree and the questions that are measured come from there"
        )
    corpora_dir.mkdir(parents=True, exist_ok=True)
    fetched = subprocess.run(
        [sys.executable, str(fetch), "data/raw"],
        cwd=corpora_dir,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if fetched.returncode != 0:
        raise CannotMeasureError(f"the source tree could not be fetched: {fetched.stderr.strip()[-300:]}")


def make_stage(home: Path, corpora_dir: Path) -> Stage:
    """Fetch the corpus once into `corpora_dir`, copy it, write all public questions as one set; nothing is started."""
    fetch_vllm(corpora_dir)
    shutil.copytree(corpora_dir / TREE, home / TREE, symlinks=True)
    asked = []
    for path in sorted((SHARED_DIR / "datasets" / "vllm-0.10.1" / "UnansweredQuestions").glob("*.json")):
        asked += json.loads(path.read_text(encoding="utf-8"))["rag_questions"]
    (home / "questions.json").write_text(json.dumps({"rag_questions": asked}), encoding="utf-8")
    valkey = Valkey(home / "valkey")
    # What is asked again has to be worked out again, or it would not be measured.
    server = Server(home / "server", redis_url=valkey.url, GROUNDWIRE_REMEMBER_QUERIES="false")
    return Stage(home, tuple(question["question"] for question in asked), valkey, server)
