"""The retrieval server with limits so small that a few documents reach what otherwise takes a large corpus.

`python -m tests.support.small_server [STEP COUNT]`; with a step it kills itself when it passes that for the nth time.
"""

import os
import signal
import sys

from retrieval_server.__main__ import main
from retrieval_server.corpus.collection import open_collection
from retrieval_server.corpus.database import chunk_columns
from retrieval_server.corpus.files import commit_steps
from retrieval_server.corpus.vectors import dense_segments, dense_upkeep
from retrieval_server.corpus.writing import sync

if __name__ == "__main__":
    chunk_columns._WORTHWHILE_CHUNKS = 3
    dense_segments._MAX_CHUNKS_IN_MEMORY = 3
    dense_upkeep._MAX_SEGMENTS = 2
    dense_upkeep.GRAPH_MIN_WINDOWS = 6
    open_collection.EMBEDDED_AT_ONCE_WINDOWS = 2
    sync._COMMIT_BYTES = 4 * 1024 * 1024
    step_and_count = sys.argv[1:]
    del sys.argv[1:]

    if step_and_count:
        step, count = commit_steps.CommitStep(step_and_count[0]), int(step_and_count[1])
        to_pass = iter(range(count - 1))

        def die_at(passed: commit_steps.CommitStep) -> None:
            """Die as SIGKILL lets a process die: at once, with nothing flushed."""
            if passed is step and next(to_pass, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        commit_steps.on_step = die_at
    main()
