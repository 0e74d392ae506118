"""Secrets of addresses, hidden before anybody reads them."""

import re

_RUN = re.compile(r"\S+")
_URL_USER = re.compile(r"://[^:@/?#]*:")
_URL_SECRET_PARAMETER = re.compile(r"(?<=[?&])([a-z_]*(?:password|token|secret)=)[^\s&#]*", re.IGNORECASE)


def mask_secrets(value: str) -> str:
    """Replace the password of a URL, in its authority or its parameters, with "***"."""
    return _URL_SECRET_PARAMETER.sub(r"\1***", _RUN.sub(_without_password, value))


def _without_password(run: "re.Match[str]") -> str:
    """Hide all up to the last "@", found from the end: an unescaped "@" or "/" in a password must not show."""
    text = run.group()
    end = text.rfind("@")
    user = _URL_USER.search(text, 0, end) if end >= 0 else None
    return f"{text[: user.end()]}***{text[end:]}" if user else text
