"""Answers that no job made, kept for a while so that their `request_id` replays and attaches as a job's does."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from groundwire.v1 import error_pb2
from retrieval_server.errors import Conflict
from retrieval_server.generation.answers.answer_model import Event, Question, Result

# Beyond this the oldest answers go first: they can be computed again.
_MAX_KEPT_CHARS = 16_000_000
# An answer, or a passage, without its text takes about as much memory as so many characters.
_OVERHEAD_CHARS = 500


@dataclass(frozen=True, slots=True)
class _Kept:
    request_hash: bytes
    events: tuple[Event, ...]
    char_count: int
    expires_s: float


class KeptAnswers:
    """Finished answers by request id, in this process's memory: a restart forgets them."""

    def __init__(self, ttl_s: float, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._ttl_s = ttl_s
        self._monotonic_s = monotonic_s
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._char_count = 0

    def keep(self, question: Question, events: tuple[Event, ...]) -> None:
        """Keep the events of a finished answer."""
        self._forget(question.request_id)
        char_count = sum(_char_count(event.content) for event in events if isinstance(event.content, Result))
        expires_s = self._monotonic_s() + self._ttl_s
        self._kept[question.request_id] = _Kept(question.request_hash, events, char_count, expires_s)
        self._char_count += char_count
        while self._kept:
            oldest_id, oldest = next(iter(self._kept.items()))
            if self._char_count <= _MAX_KEPT_CHARS and not self._is_expired(oldest):
                break
            self._forget(oldest_id)

    def find(self, request_id: str, request_hash: bytes | None = None) -> tuple[Event, ...] | None:
        """Return the events kept under an id, if any.

        Raises Conflict when they answer another request than `request_hash`; None stands for any request.
        """
        kept = self._kept.get(request_id)
        if kept is None or self._is_expired(kept):
            return None
        if request_hash is not None and kept.request_hash != request_hash:
            raise request_id_conflict(request_id)
        return kept.events

    def _is_expired(self, kept: _Kept) -> bool:
        return kept.expires_s <= self._monotonic_s()

    def _forget(self, request_id: str) -> None:
        if forgotten := self._kept.pop(request_id, None):
            self._char_count -= forgotten.char_count


def _char_count(result: Result) -> int:
    texts = [result.question, result.text, *(citation.text for citation in result.citations)]
    for passage in result.retrieved.passages:
        texts += (passage.text, passage.origin_text)
    return sum(map(len, texts)) + _OVERHEAD_CHARS * (1 + len(result.retrieved.passages))


def request_id_conflict(request_id: str) -> Conflict:
    """Return the error for an id that was used with another request."""
    return Conflict(
        error_pb2.ERROR_REASON_REQUEST_ID_CONFLICT,
        f'request_id "{request_id}" was used with another request; choose another id',
        metadata={"request_id": request_id},
    )
