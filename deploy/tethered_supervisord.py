"""supervisord in a process that ends, in order, when the one that started it dies, even by SIGKILL.

`python -m deploy.tethered_supervisord CONFIG PARENT_PID`
"""

import ctypes
import os
import shutil
import signal
import sys
from pathlib import Path

from supervisor import supervisord  # type: ignore[import-untyped]

_PR_SET_PDEATHSIG = 1


def main(config: str, parent_pid: int) -> None:
    """Tie this process to its parent where the kernel offers it (Linux), then be supervisord."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent_pid:  # it died before it could be watched
            return
    supervisord.main(["-n", "-c", config])
    if os.getppid() != parent_pid:  # nobody else is left to tidy up
        shutil.rmtree(Path(config).parent, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
