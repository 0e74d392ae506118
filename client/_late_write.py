"""Keeping the status that the server sent when a message comes too late for the call.

grpc.aio puts its own INTERNAL in the place of the status when a write fails because the call has ended
(github.com/grpc/grpc/issues/36066), so "no such collection" would be shown as a fault. It does so through one method
of the object below its call; that method is stood in for here.
"""

import asyncio
from typing import Any

_GRACE_S = 1.0


class _StatusKeeper:
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def set_internal_error(self, details: str) -> None:
        """Wait for the status of the server; without one, the call would never end, so then take grpc.aio's."""

        def set_unless_ended() -> None:
            if not self._inner.done():
                self._inner.set_internal_error(details)

        asyncio.get_running_loop().call_later(_GRACE_S, set_unless_ended)


def keep_status(call: Any) -> None:
    """Make a call that sends a stream report the status that the server sent."""
    inner = getattr(call, "_cython_call", None)
    if hasattr(inner, "set_internal_error"):
        call._cython_call = _StatusKeeper(inner)  # noqa: SLF001 - there is no public way
