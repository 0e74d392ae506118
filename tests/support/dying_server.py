"""The retrieval server, which kills itself when it passes a step of a commit for the nth time.

`python -m tests.support.dying_server STEP COUNT`
"""

import os
import signal
import sys

from retrieval_server.__main__ import main
from retrieval_server.corpus import commit_steps

if __name__ == "__main__":
    step, count = commit_steps.CommitStep(sys.argv[1]), int(sys.argv[2])
    del sys.argv[1:]
    to_pass = iter(range(count - 1))

    def die_at(passed: commit_steps.CommitStep) -> None:
        """Die as SIGKILL lets a process die: at once, with nothing flushed."""
        if passed is step and next(to_pass, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    commit_steps.on_step = die_at
    main()
