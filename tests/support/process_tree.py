"""Which processes another one started, and whether they still run."""

from pathlib import Path


def _stat_fields(stat: Path) -> list[str] | None:
    """State, parent, … of one process, None when it is gone; the name before them may hold anything."""
    try:
        return stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def is_running(pid: int) -> bool:
    """Whether it runs; one that has ended and that nobody has reaped does not."""
    fields = _stat_fields(Path(f"/proc/{pid}/stat"))
    return fields is not None and fields[0] not in {"Z", "X"}


def child_pids(pid: int) -> list[int]:
    """All running processes below this one."""
    parents = {
        int(stat.parent.name): int(fields[1])
        for stat in Path("/proc").glob("[0-9]*/stat")
        if (fields := _stat_fields(stat)) is not None
    }
    found, waiting = [], [pid]
    while waiting:
        above = waiting.pop()
        below = [child for child, parent in parents.items() if parent == above]
        found += below
        waiting += below
    return [child for child in found if is_running(child)]
