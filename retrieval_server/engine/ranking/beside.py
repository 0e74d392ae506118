"""A part of a search on a thread beside the one that searches."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def beside(threads: Executor | None, function: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Run a function on one of `threads`, or without them when its result is asked for; yields what returns that.

    On leaving, it does not run any more: what it reads may then be let go.
    """
    if threads is None:
        yield function
        return
    running = threads.submit(function)
    try:
        yield running.result
    finally:
        if not running.cancel():
            running.exception()  # waited for, also after an error of the caller
