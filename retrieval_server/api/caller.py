"""Who asks: the name that a call gives itself, or else its connection."""

from typing import Any

import grpc.aio

from retrieval_server.errors import FieldError, InvalidRequest

CALLER_KEY = "x-groundwire-caller"
MAX_CALLER_CHARS = 128


def caller_of(context: grpc.aio.ServicerContext[Any, Any]) -> str:
    """Return whom a call's turns in the queue are counted to.

    A name is taken as it is: it decides whose turn it is among callers, and opens nothing. Raises InvalidRequest.
    """
    names = [value for key, value in context.invocation_metadata() or () if key == CALLER_KEY]
    if not names:
        return f"peer {context.peer()}"
    name = names[-1]
    if not isinstance(name, str) or not 1 <= len(name.strip()) <= MAX_CALLER_CHARS:
        raise InvalidRequest(FieldError(f"metadata {CALLER_KEY}", f"must have 1 to {MAX_CALLER_CHARS} characters"))
    return f"name {name.strip()}"
