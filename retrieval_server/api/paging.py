"""Pages of a sorted list of names."""

import base64
import binascii
from collections.abc import Sequence

from retrieval_server.errors import FieldError, InvalidRequest

_DEFAULT_PAGE_SIZE = 100
_MAX_PAGE_SIZE = 1000


def page_of(names: Sequence[str], page_size: int, page_token: str) -> tuple[Sequence[str], str]:
    """Return a page of the sorted `names` and the token of the next one, empty on the last.

    The token holds the last name of the page before, so that names may come and go between pages.
    """
    if page_size < 0:
        raise InvalidRequest(FieldError("page_size", "must not be negative"))
    size = min(page_size or _DEFAULT_PAGE_SIZE, _MAX_PAGE_SIZE)
    try:
        after = base64.b64decode(page_token, altchars=b"-_", validate=True).decode("utf-8")
    except (ValueError, binascii.Error):
        raise InvalidRequest(FieldError("page_token", "not a token of this server")) from None
    rest = [name for name in names if name > after]
    page = rest[:size]
    token = base64.urlsafe_b64encode(page[-1].encode()).decode() if len(rest) > size else ""
    return page, token
