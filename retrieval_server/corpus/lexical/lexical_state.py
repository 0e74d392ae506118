"""Which generation the lexical index reflects: a small file beside it, written whole after the index's commit."""

import json
from pathlib import Path

from retrieval_server.corpus.files.durable_json import write_json
from retrieval_server.engine.words.analyser import ANALYSER_VERSION


class LexicalState:
    """The file at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> int | None:
        """Return the generation, None when it is not known or another analyser's."""
        try:
            state = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return None
        if not isinstance(state, dict) or state.get("analyser_version") != ANALYSER_VERSION:
            return None
        generation = state.get("generation")
        return generation if isinstance(generation, int) else None

    def record(self, generation: int) -> None:
        """Write the generation durably."""
        write_json(self._path, {"generation": generation, "analyser_version": ANALYSER_VERSION})

    def forget(self) -> None:
        """Say that nothing is known of the index."""
        self._path.unlink(missing_ok=True)
