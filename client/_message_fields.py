"""Filling the fields of messages with what a caller gave."""

from collections.abc import Iterator
from contextlib import contextmanager

from client.errors import invalid_field


@contextmanager
def building(field: str) -> Iterator[None]:
    """Turn what protobuf cannot hold (a number that is too large, text that is not Unicode) into InvalidRequest."""
    try:
        yield
    except UnicodeEncodeError:
        raise invalid_field(field, "holds bytes that are not UTF-8 text") from None
    except (ValueError, OverflowError) as error:
        raise invalid_field(field, f"cannot be sent: {error}") from None
