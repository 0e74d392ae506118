"""Which generations are being read: what they can see must stay, and files stay open as long as anybody reads."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from retrieval_server.corpus.collection.view import CollectionView


class Retired(Exception):
    """The collection that was asked for a view has been closed, or another has taken its place."""


class HeldViews:
    """Counts who holds views, by generation. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count_by_generation: Counter[int] = Counter()
        self._is_retired = False

    @contextmanager
    def hold(self, current: Callable[[], CollectionView]) -> Iterator[CollectionView]:
        """Hold the view that `current` returns. Raises Retired after `retire`."""
        with self._changed:
            if self._is_retired:
                raise Retired
            view = current()
            self._count_by_generation[view.generation] += 1
        try:
            yield view
        finally:
            with self._changed:
                self._count_by_generation[view.generation] -= 1
                self._changed.notify_all()

    def oldest(self, default: int) -> int:
        """Return the oldest generation that somebody holds."""
        with self._changed:
            self._count_by_generation = +self._count_by_generation
            return min(self._count_by_generation, default=default)

    @property
    def is_retired(self) -> bool:
        """Tell whether no more views are given out."""
        return self._is_retired

    def retire(self) -> None:
        """Give out no more views and wait until all are let go."""
        with self._changed:
            self._is_retired = True
            self._changed.wait_for(lambda: not self._count_by_generation.total())
