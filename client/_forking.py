"""What becomes of the library in a forked process: gRPC's threads do not come along, and a call would wait for ever."""

import os

from client.errors import ClientError


class ForkGuard:
    """Knows the process that used the library first."""

    _user_pid: int | None = None

    @classmethod
    def check(cls) -> None:
        """Note that this process uses the library. Raises ClientError in one that was forked from such a process."""
        if cls._user_pid is None:
            cls._user_pid = os.getpid()
        if cls.is_forked():
            raise ClientError(
                "this process was forked from one that had made a client, which gRPC does not survive: make the first"
                ' client after the fork, or start processes with multiprocessing\'s "spawn" or "forkserver"'
            )

    @classmethod
    def is_forked(cls) -> bool:
        """Tell whether this process was forked from one that used the library."""
        return cls._user_pid not in {None, os.getpid()}
