"""How much of what was freed the C library keeps; does nothing where that is not glibc.

It keeps memory for each thread that ever allocated much, and a server has many threads: a process that indexed large
trees would stay as large as the sum of what its threads held at their fullest.
"""

import ctypes
import os
import sys

_M_ARENA_MAX = -8
_ARENA_COUNT = 2


def bound_arenas() -> None:
    """Let threads share few arenas; to be called before there are any. An operator's MALLOC_ARENA_MAX goes first."""
    set_option = _libc_function("mallopt")
    if set_option is not None and "MALLOC_ARENA_MAX" not in os.environ:
        set_option(_M_ARENA_MAX, _ARENA_COUNT)


def give_back_freed_memory() -> None:
    """Return freed pages to the system, which takes some hundredths of a second."""
    trim = _libc_function("malloc_trim")
    if trim is not None:
        trim(0)


def _libc_function(name: str) -> "ctypes._NamedFuncPointer | None":
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
