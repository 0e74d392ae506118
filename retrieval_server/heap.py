"""How the C library holds memory: in which pages, and how much of what was freed. Does nothing where it is not glibc.

It keeps memory for each thread that ever allocated much, and a server has many threads: a process that indexed large
trees would stay as large as the sum of what its threads held at their fullest.
"""

import ctypes
import os
import sys
from pathlib import Path

_M_ARENA_MAX = -8
_ARENA_COUNT = 2
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_TUNABLES = "GLIBC_TUNABLES"
_HUGE_PAGES_TUNABLE = "glibc.malloc.hugetlb"
_STARTED_ANEW = "_GROUNDWIRE_STARTED_ANEW"


def use_huge_pages() -> None:
    """Start this program anew with a heap in huge pages, where the kernel gives them to those who ask for them.

    A query walks through more memory, the encoder's weights and Python's objects, than a processor knows the places of
    in small pages. The C library reads this wish when a process starts and at no other time; so this is to be called
    first of all. An operator's own wish is left as it is.
    """
    told = os.environ.get(_TUNABLES, "")
    if os.environ.pop(_STARTED_ANEW, None):  # once is enough, whatever has come of it
        return
    if _HUGE_PAGES_TUNABLE in told or not sys.executable or _libc_function("gnu_get_libc_version") is None:
        return
    try:
        is_for_who_asks = "[madvise]" in _HUGE_PAGES.read_text(encoding="ascii")
    except OSError:
        return
    if is_for_who_asks:
        os.environ[_STARTED_ANEW] = "1"
        os.environ[_TUNABLES] = ":".join(filter(None, (told, f"{_HUGE_PAGES_TUNABLE}=1")))
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - it is this very program


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
