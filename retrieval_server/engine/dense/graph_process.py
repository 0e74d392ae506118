"""Builds a graph in a process of its own: `python -m retrieval_server.engine.dense.graph_process ROWS COUNT DIM GRAPH`.

Within the server usearch would hold the interpreter between any two rows, and requests would wait for it.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from retrieval_server.engine.dense.graph import GraphStopped, build_graph

_NICENESS = 10
_POLL_S = 0.2


def build_graph_apart(
    rows_path: Path, row_count: int, dimension: int, path: Path, should_stop: Callable[[], bool]
) -> None:
    """Write the graph over the (row_count, dimension) int8 rows of a file to `path`; see `build_graph`.

    Raises:
        GraphStopped: `should_stop`, asked several times a second, returned true.
        OSError: the process failed, for example because the disk is full.
    """
    arguments = [str(rows_path), str(row_count), str(dimension), str(path), str(os.getpid())]
    process = subprocess.Popen([sys.executable, "-m", __name__, *arguments], stdin=subprocess.DEVNULL)
    try:
        while True:
            try:
                code = process.wait(_POLL_S)
                break
            except subprocess.TimeoutExpired:
                if should_stop():
                    raise GraphStopped from None
    finally:
        if process.returncode is None:
            process.kill()
            process.wait()
    if code != 0:
        raise OSError(f"building {path.name} ended with code {code}")


def _main(rows_path: str, row_count: str, dimension: str, path: str, server_pid: str) -> None:
    if sys.platform != "win32":
        os.nice(_NICENESS)
    rows = np.memmap(rows_path, dtype=np.int8, mode="r", shape=(int(row_count), int(dimension)))
    # An orphan would go on for minutes for nobody.
    build_graph(np.asarray(rows), Path(path), lambda: os.getppid() != int(server_pid))


if __name__ == "__main__":
    _main(*sys.argv[1:])
