"""A refresh that is stopped while it is read, and one that is stopped when only the index is still at work."""

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from retrieval_server.corpus.lexical.refreshing import Refreshing
from retrieval_server.engine.lexical.bm25 import LexicalEntry

ENTRIES = [LexicalEntry(number, number, "lease") for number in range(3)]
TIMEOUT_S = 60.0


class SlowIndex:
    """Reads what it is given, then is at work until it is let go on, as a commit of a large index is."""

    def __init__(self, error: Exception | None = None) -> None:
        self.read: list[LexicalEntry] = []
        self.is_at_work, self.goes_on, self.closed = threading.Event(), threading.Event(), threading.Event()
        self.error = error

    def rebuild(self, entries: Iterable[LexicalEntry]) -> None:
        try:
            for entry in entries:
                self.read.append(entry)
        finally:
            self.is_at_work.set()
            assert self.goes_on.wait(TIMEOUT_S)
        if self.error is not None:
            raise self.error

    def close(self, *, waits_for_merges: bool) -> None:
        assert not waits_for_merges
        self.closed.set()


@pytest.fixture
def writer() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_all_is_built_and_the_index_stays_open(writer: ThreadPoolExecutor):
    index = SlowIndex()
    refreshing = Refreshing(index)
    built = writer.submit(refreshing.run, ENTRIES)
    index.goes_on.set()
    assert built.result(TIMEOUT_S)
    assert index.read == ENTRIES
    assert not refreshing.is_abandoned
    assert not index.closed.is_set()


def test_what_fails_is_raised_to_whoever_waits(writer: ThreadPoolExecutor):
    index = SlowIndex(OSError("no space left on device"))
    index.goes_on.set()
    with pytest.raises(OSError, match="no space left"):
        writer.submit(Refreshing(index).run, ENTRIES).result(TIMEOUT_S)


def test_a_stop_does_not_wait_for_the_index_which_closes_itself_when_it_is_through(writer: ThreadPoolExecutor):
    index = SlowIndex()
    refreshing = Refreshing(index)
    built = writer.submit(refreshing.run, ENTRIES)
    assert index.is_at_work.wait(TIMEOUT_S)
    refreshing.stop()
    assert not built.result(TIMEOUT_S)
    assert refreshing.is_abandoned
    assert not index.closed.is_set()
    index.goes_on.set()
    assert index.closed.wait(TIMEOUT_S)


def test_a_stop_ends_the_reading_and_from_then_on_nothing_is_built(writer: ThreadPoolExecutor):
    index = SlowIndex()
    refreshing = Refreshing(index)
    taken = threading.Event()

    def without_end() -> Iterator[LexicalEntry]:
        while True:
            yield ENTRIES[0]
            taken.set()

    built = writer.submit(refreshing.run, without_end())
    assert taken.wait(TIMEOUT_S)
    refreshing.stop()
    assert not built.result(TIMEOUT_S)
    index.goes_on.set()
    assert index.closed.wait(TIMEOUT_S)
    later = SlowIndex()
    later.goes_on.set()
    refreshing = Refreshing(later)
    refreshing.stop()
    assert not writer.submit(refreshing.run, ENTRIES).result(TIMEOUT_S)
    assert later.read == []
