"""Health of the server by the standard grpc.health.v1 service.

Its two messages have one field each, so they are read and written here: the base install needs no stubs for them.
"""

from enum import StrEnum

import grpc

from client._rpc import Rpc

_CHECK = "/grpc.health.v1.Health/Check"
_STATUS_FIELD = 0x08  # HealthCheckResponse.status: field 1, a varint


class Health(StrEnum):
    """What the server says of itself, or of one of its services."""

    UNKNOWN = "unknown"
    SERVING = "serving"
    NOT_SERVING = "not_serving"
    SERVICE_UNKNOWN = "service_unknown"


async def check_health(rpc: Rpc) -> Health:
    """Return the health of the whole server; raises Unavailable when it cannot be reached."""
    method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = rpc.channel.unary_unary(_CHECK)
    with rpc.call() as metadata:
        response = await method(b"", timeout=rpc.timeouts.call_s, metadata=metadata)
    statuses = list(Health)
    if len(response) == 2 and response[0] == _STATUS_FIELD and response[1] < len(statuses):
        return statuses[response[1]]
    return Health.UNKNOWN
