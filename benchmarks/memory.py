"""What several processes together hold in memory, while something runs."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

_INTERVAL_S = 0.2


def resident_mb(pid: int, field: str = "VmRSS") -> float:
    """A process's resident memory, or its peak for the field VmHWM; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:")), 0.0)


class PeakMemory:
    """Within its `with` block, the largest sum of what the processes that `pids` names hold, looked at now and then.

    Pages that processes share are counted for each of them: it is an upper bound.
    """

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self.peak_mb = 0.0
        self._pids = pids
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ending.wait(_INTERVAL_S):
            self.peak_mb = max(self.peak_mb, sum(map(resident_mb, self._pids())))
