"""Put on PYTHONPATH, this has each process of a run write down which files below a folder it opens, and how often.

Set OPEN_AUDIT_TREE to the folder, and OPEN_AUDIT_LOG to the file to append to: `process id <tab> path` a line, "." when
a process begins to be watched.
"""

import os
import sys

_TREE = os.path.realpath(os.environ["OPEN_AUDIT_TREE"])
_LOG = os.open(os.environ["OPEN_AUDIT_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    path = os.path.realpath(os.fsdecode(arguments[0]))
    if path.startswith(f"{_TREE}{os.sep}"):
        os.write(_LOG, f"{os.getpid()}\t{os.path.relpath(path, _TREE)}\n".encode())


sys.addaudithook(_note)
os.write(_LOG, f"{os.getpid()}\t.\n".encode())
