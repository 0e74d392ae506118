"""Requests that were carried out: with its id, a repetition is told the same and changes nothing."""

import sqlite3
import time
from dataclasses import dataclass

from groundwire.v1 import error_pb2
from retrieval_server.errors import Conflict


@dataclass(frozen=True, slots=True)
class RequestClaim:
    """A caller's id for a request, and what it asks for; remembered for `ttl_s`."""

    rpc: str
    request_id: str
    request_sha256: bytes
    ttl_s: float


def earlier_response(connection: sqlite3.Connection, claim: RequestClaim) -> bytes | None:
    """Return the response to an equal request with that id. Raises Conflict when it was another request."""
    row = connection.execute(
        "SELECT request_sha256, response FROM requests WHERE rpc = ? AND request_id = ? AND time_unix_ms >= ?",
        (claim.rpc, claim.request_id, _now_unix_ms() - round(claim.ttl_s * 1000)),
    ).fetchone()
    if row is None:
        return None
    if row[0] != claim.request_sha256:
        raise Conflict(
            error_pb2.ERROR_REASON_REQUEST_ID_CONFLICT,
            f"request_id {claim.request_id!r} was used for another request; choose a new one",
            metadata={"request_id": claim.request_id},
        )
    return bytes(row[1])


def remember_response(connection: sqlite3.Connection, claim: RequestClaim, response: bytes) -> None:
    """Remember a response, in the transaction that did what it says, and forget those whose time is over."""
    now = _now_unix_ms()
    connection.execute("DELETE FROM requests WHERE time_unix_ms < ?", (now - round(claim.ttl_s * 1000),))
    connection.execute(
        "INSERT OR REPLACE INTO requests VALUES (?, ?, ?, ?, ?)",
        (claim.rpc, claim.request_id, claim.request_sha256, response, now),
    )


def _now_unix_ms() -> int:
    return time.time_ns() // 1_000_000
