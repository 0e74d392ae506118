"""The Lua scripts of the queue, and calling them."""

import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoScriptError

_FOLDER = resources.files(__package__) / "lua"


class Script:
    """A script that Redis keeps by its hash, and that is sent whole when Redis has forgotten it (restart, FLUSH)."""

    def __init__(self, name: str, *, after: Sequence[str] = ("prelude",)) -> None:
        self.name = name
        self.source = "".join((_FOLDER / f"{part}.lua").read_text("utf-8") for part in (*after, name))
        self.sha1 = hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()

    async def run(self, redis: Redis, keys: Sequence[str], *arguments: str | bytes | int) -> Any:
        """Run it; what it returns is said in its file."""
        try:
            return await redis.evalsha(self.sha1, len(keys), *keys, *arguments)
        except NoScriptError:
            return await redis.eval(self.source, len(keys), *keys, *arguments)


_OF_THE_LINE = ("prelude", "line")

ENQUEUE = Script("enqueue", after=_OF_THE_LINE)
CLAIM = Script("claim", after=_OF_THE_LINE)
RENEW = Script("renew")
APPEND = Script("append")
HAND_BACK = Script("hand_back", after=_OF_THE_LINE)
END = Script("end", after=_OF_THE_LINE)
LOOK = Script("look")
OVERDUE = Script("overdue")
REPLAY = Script("replay", after=_OF_THE_LINE)
ANSWERED = Script("answered")
WAITING_BATCH = Script("waiting_batch", after=_OF_THE_LINE)
PURGE = Script("purge")
NOTE_NEAR = Script("note_near", after=())
FORGET_CONSUMERS = Script("forget_consumers", after=())
WORKER_SEEN = Script("worker_seen", after=())
WORKERS_SEEN = Script("workers_seen", after=())
