"""Small files that are there whole or not at all, whenever the process or the machine stops."""

import json
import os
from pathlib import Path

from retrieval_server.corpus.files.commit_steps import CommitStep, passed


def write_json(path: Path, content: object) -> None:
    """Replace a file by `content`, once that is on the disk."""
    temporary = path.with_suffix(".tmp")
    with temporary.open("w") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    passed(CommitStep.RECORD_WRITTEN)
    temporary.replace(path)
