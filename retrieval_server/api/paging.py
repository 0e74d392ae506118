"""Pages of a sorted list, by tokens that hold where the next page begins, so that entries may come and go between."""

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from google.protobuf.message import Message

from retrieval_server.api.message_size import fitting_count
from retrieval_server.errors import FieldError, InvalidRequest
from retrieval_server.settings import ServerSettings

AnyMessage = TypeVar("AnyMessage", bound=Message)

_DEFAULT_PAGE_SIZE = 100
_MAX_PAGE_SIZE = 1000
_CHECK_BYTES = 12
# More than any path with its prefix takes, escaped.
_MAX_TOKEN_CHARS = 128 * 1024


def checked_page_size(page_size: int) -> int:
    """Return how many entries a page may have. Raises InvalidRequest for a negative size."""
    if page_size < 0:
        raise InvalidRequest(FieldError("page_size", "must not be negative"))
    return min(page_size or _DEFAULT_PAGE_SIZE, _MAX_PAGE_SIZE)


class Listing:
    """What is listed: a token of one list means nothing in another one, and is refused there."""

    def __init__(self, request: Message, *also: object) -> None:
        """Take the request, whose page and token may differ, and what else the list depends on."""
        asked = type(request)()
        asked.CopyFrom(request)
        asked.ClearField("page_size")
        asked.ClearField("page_token")
        self._name = repr((request.DESCRIPTOR.full_name, asked.SerializeToString(deterministic=True), also)).encode()

    def token(self, *place: str) -> str:
        """Return the token of the page that begins behind a place."""
        body = json.dumps(place).encode()
        return base64.urlsafe_b64encode(self._check(body) + body).decode()

    def place(self, page_token: str) -> tuple[str, ...]:
        """Return the place in a token of this list, () without one. Raises InvalidRequest for any other token."""
        if not page_token:
            return ()
        try:
            is_short = len(page_token) <= _MAX_TOKEN_CHARS
            decoded = base64.b64decode(page_token, altchars=b"-_", validate=True) if is_short else b""
        except ValueError:
            decoded = b""
        check, body = decoded[:_CHECK_BYTES], decoded[_CHECK_BYTES:]
        if check != self._check(body):
            raise InvalidRequest(
                FieldError("page_token", "is damaged, or of another list, collection or filter; begin without one")
            )
        return tuple(json.loads(body))

    def _check(self, body: bytes) -> bytes:
        return hashlib.blake2b(body, key=hashlib.sha256(self._name).digest(), digest_size=_CHECK_BYTES).digest()


def page_of(
    names: Sequence[str],
    page_size: int,
    page_token: str,
    listing: Listing,
    message_of: Callable[[str], AnyMessage],
    settings: ServerSettings,
) -> tuple[Sequence[AnyMessage], str]:
    """Return a page of the sorted `names`, as messages, and the token of the next one, empty on the last.

    It is cut short where it would not fit into a response.
    """
    size = checked_page_size(page_size)
    after = "".join(listing.place(page_token))
    rest = [name for name in names if name > after]
    page = list(map(message_of, rest[:size]))
    count = fitting_count(page, settings)
    return page[:count], listing.token(rest[count - 1]) if count < len(rest) else ""
