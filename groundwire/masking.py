"""Secrets of addresses, hidden before anybody reads them."""

import re

# The password of a URL, up to the last "@": an unescaped "@" or "/" in it must not show.
_URL_PASSWORD = re.compile(r"(?<=://)([^\s:@/?#]*):(\S*)(?=@)")
_URL_SECRET_PARAMETER = re.compile(r"(?<=[?&])([a-z_]*(?:password|token|secret)=)[^\s&#]*", re.IGNORECASE)


def mask_secrets(value: str) -> str:
    """Replace the password of a URL, in its authority or its parameters, with "***"."""
    return _URL_SECRET_PARAMETER.sub(r"\1***", _URL_PASSWORD.sub(r"\1:***", value))
