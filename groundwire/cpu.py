"""How many threads this process may use."""

import math
import os
from pathlib import Path

_CPU_MAX_V2 = Path("/sys/fs/cgroup/cpu.max")
_QUOTA_V1 = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
_PERIOD_V1 = Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")


def usable_core_count() -> int:
    """Return the cores that the scheduler and the cgroup's CPU quota leave to this process, at least 1.

    Native libraries size their pools by the machine and not by the quota, so every pool here is sized by this.
    """
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    quota = _cgroup_quota_cores()
    return max(1, affinity if quota is None else min(affinity, math.ceil(quota)))


def _cgroup_quota_cores() -> float | None:
    try:
        quota, period = _CPU_MAX_V2.read_text().split()[:2]
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        quota_us, period_us = int(_QUOTA_V1.read_text()), int(_PERIOD_V1.read_text())
    except (OSError, ValueError):
        return None
    return quota_us / period_us if quota_us > 0 else None
