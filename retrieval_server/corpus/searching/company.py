"""Whether a search has the machine to itself: then it need not share it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

# Company tends to come back: callers ask again as soon as they are answered.
_EXPECTED_AGAIN_S = 0.1


class Company:
    """Those who search at the same time, on one event loop."""

    def __init__(self) -> None:
        self._count = 0
        self._last_seen_s = -_EXPECTED_AGAIN_S

    @asynccontextmanager
    async def join(self) -> AsyncIterator[bool]:
        """Count a search in until it leaves; yields whether it is alone and has been for a while."""
        self._count += 1
        try:
            if not self._is_expected():
                await asyncio.sleep(0)  # whoever arrived with it joins meanwhile
            yield not self._is_expected()
        finally:
            self._count -= 1

    def _is_expected(self) -> bool:
        now_s = time.monotonic()
        if self._count > 1:
            self._last_seen_s = now_s
        return now_s - self._last_seen_s < _EXPECTED_AGAIN_S
