"""What a chat completion's stream says, event by event; the other side may say anything."""

import json
from dataclasses import dataclass

_REFUSED = frozenset(("content_filter", "tool_calls", "function_call"))


class ChunkError(Exception):
    """An event that is no part of a chat completion; the message is one line."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One event: more text, why the text ends (None while it goes on), and what it took (None unless told)."""

    text: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def is_refusal(self) -> bool:
        """Whether the text ends because the other side will not write it."""
        return self.finish_reason in _REFUSED


def chunk_of(data: str) -> Chunk:
    """Return what an event says. Thoughts that stand in fields of their own are no text.

    Raises:
        ChunkError: it is no JSON object of this kind, or tells of an error.
    """
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        raise ChunkError("an event is not JSON") from None
    if not isinstance(event, dict):
        raise ChunkError("an event is not a JSON object")
    if event.get("error"):
        raise ChunkError("an event tells of an error")
    usage = event.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    choices = event.get("choices")
    if not isinstance(choices, list):
        raise ChunkError("an event has no list of choices")
    choice = choices[0] if choices else {}
    if not isinstance(choice, dict):
        raise ChunkError("a choice is not a JSON object")
    delta = choice.get("delta")
    text = delta.get("content") if isinstance(delta, dict) else None
    reason = choice.get("finish_reason")
    if reason == "error":
        raise ChunkError("an event tells of an error")
    return Chunk(
        text if isinstance(text, str) else "",
        reason if isinstance(reason, str) and reason else None,  # some say "" while it goes on
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None
