"""Run a program for which file permissions count, although the tests run as root.

Another user id would do where it can reach the interpreter, but a home folder may be closed to others. So root stays
root and gives up the capabilities that let it ignore permissions; they don't come back with exec.

`python -m tests.support.unprivileged PROGRAM ARGUMENTS…`
"""

import ctypes
import os
import sys

_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE = 1
_CAP_DAC_READ_SEARCH = 2


def main(command: list[str]) -> None:
    """Give up what is beyond an ordinary user, then become `command`."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "cannot give up a capability")
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
