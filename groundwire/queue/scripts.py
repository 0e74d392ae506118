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

    def __init__(self, name: str, *, of_job: bool = True) -> None:
        prelude = (_FOLDER / "prelude.lua").read_text("utf-8") if of_job else ""
        self.name = name
        self.source = prelude + (_FOLDER / f"{name}.lua").read_text("utf-8")
        self.sha1 = hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()

    async def run(self, redis: Redis, keys: Sequence[str], *arguments: str | bytes | int) -> Any:
        """Run it; what it returns is said in its file."""
        try:
            return await redis.evalsha(self.sha1, len(keys), *keys, *arguments)
        except NoScriptError:
            return await redis.eval(self.source, len(keys), *keys, *arguments)


ENQUEUE = Script("enqueue")
CLAIM = Script("claim")
RENEW = Script("renew")
APPEND = Script("append")
HAND_BACK = Script("hand_back")
END = Script("end")
FORGET_CONSUMERS = Script("forget_consumers", of_job=False)
WORKER_SEEN = Script("worker_seen", of_job=False)
