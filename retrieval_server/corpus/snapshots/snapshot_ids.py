"""Ids of snapshots, which are the names of their directories: <collection>-YYYYMMDD-HHMMSS-<hex>, the time in UTC."""

import re
import secrets
import time

from retrieval_server.corpus.files.collection_directories import NAME

ID = re.compile(rf"(?P<collection>{NAME.pattern})-(?P<second>[0-9]{{8}}-[0-9]{{6}})-[0-9a-f]{{8}}")


def new_id(collection: str, create_time_unix_ms: int) -> str:
    """Return an id for a snapshot of a collection."""
    return f"{collection}-{second_of(create_time_unix_ms)}-{secrets.token_hex(4)}"


def second_of(time_unix_ms: int) -> str:
    """Return a time as it stands in ids; the later of two is the greater."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(time_unix_ms / 1000))


def newest_of(collection: str, names: list[str], *, not_before_unix_ms: int = 0) -> str | None:
    """Return which of the names of directories is that of a collection's newest snapshot, to the second."""
    matches = [match for name in names if (match := ID.fullmatch(name)) and match["collection"] == collection]
    newest = max(matches, key=lambda match: match["second"], default=None)
    return newest[0] if newest and newest["second"] >= second_of(not_before_unix_ms) else None
