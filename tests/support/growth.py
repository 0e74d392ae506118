"""Whether time grows with the size of an input and no faster."""

import gc
import time
from collections.abc import Callable

import pytest

_TRIES = 5
_GROWTH = 8
_SLACK_S = 0.02


def assert_linear(work: Callable[[str], object], text_of: Callable[[int], str], size: int = 10_000) -> None:
    """Fail for time that is quadratic in the length: eight times as long a text would take 64 times as long."""
    short, long = text_of(size), text_of(_GROWTH * size)
    short_s = long_s = float("inf")
    for _ in range(_TRIES):  # a busy machine only ever slows one down, and is no reason to fail
        short_s, long_s = min(short_s, _cpu_s(work, short)), min(long_s, _cpu_s(work, long))
        if long_s < 3 * _GROWTH * short_s + _SLACK_S:
            return
    pytest.fail(f"{len(short):,} characters took {short_s:.3f} s, {len(long):,} took {long_s:.3f} s")


def _cpu_s(work: Callable[[str], object], text: str) -> float:
    """Without the collector, which many objects call, and whose time grows with all that the process holds."""
    gc.disable()
    try:
        started_s = time.process_time()
        work(text)
        return time.process_time() - started_s
    finally:
        gc.enable()
