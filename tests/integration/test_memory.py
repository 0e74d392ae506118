"""What indexing takes in memory follows from how much is held at a time, and not from how large the tree is."""

import os
import random
import string
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support.processes import BIN, ServiceProcess, SmallServer, process_environment

MIB = 1024 * 1024
# The server holds 4 MiB of parsed files at a time, see `tests/support/small_server.py`.
TREES_BYTES = (8 * MIB, 16 * MIB)
MAX_SERVER_GROWTH_BYTES = 40 * MIB
FILE_BYTES = 100_000


def write_tree(folder: Path, size_bytes: int) -> None:
    """Files of data, which are not embedded: that is done a few chunks at a time, and takes long."""
    folder.mkdir()
    chance = random.Random(size_bytes)
    words = ["".join(chance.choices(string.ascii_lowercase, k=8)) for _ in range(2000)]
    for number in range(size_bytes // FILE_BYTES):
        lines = (f"key{i}: {' '.join(chance.choices(words, k=10))}\n" for i in range(FILE_BYTES // 97))
        (folder / f"{number}.yaml").write_text("".join(lines), encoding="utf-8")


def peak_bytes(pid: int) -> int:
    """The most that a running process had in memory so far."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024


def client_peak_bytes(server: SmallServer, folder: Path) -> int:
    """Index a folder; return the most that the client had in memory."""
    command = [BIN / "client", "--server", server.address, "index", folder.name]
    client = subprocess.Popen(
        command, cwd=folder.parent, env=process_environment({}), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(client.pid, 0)
    client.returncode = os.waitstatus_to_exitcode(status)
    assert client.returncode == 0
    return usage.ru_maxrss * 1024


def test_twice_the_tree_does_not_take_twice_the_memory(
    tmp_path: Path, own_process: Callable[[ServiceProcess], ServiceProcess]
) -> None:
    server = SmallServer(tmp_path / "server", redis_url="redis://127.0.0.1:1/0", GROUNDWIRE_ENCODER="hashing")
    own_process(server).start()
    server_peaks, client_peaks = [], []
    for size_bytes in TREES_BYTES:
        folder = tmp_path / f"tree{size_bytes}"
        write_tree(folder, size_bytes)
        client_peaks.append(client_peak_bytes(server, folder))
        server_peaks.append(peak_bytes(server.pid))
    # The index terms of what was indexed are kept as well, up to a bound of their own.
    assert server_peaks[1] - server_peaks[0] <= MAX_SERVER_GROWTH_BYTES, server_peaks
    # The client keeps what it has read, up to a bound, so that it reads it once.
    assert client_peaks[1] - client_peaks[0] <= TREES_BYTES[1] - TREES_BYTES[0] + 8 * MIB, client_peaks
    assert server.stop() == 0
