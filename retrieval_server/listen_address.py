"""What address the server may listen on: without TLS and tokens, only one that other machines cannot reach."""

import ipaddress

_MAX_PORT_DIGITS = 5


class UnsafeAddress(Exception):
    """The address is refused; the message says how to allow it."""


def check_listen_address(listen: str, *, allow_insecure: bool, setting: str = "GROUNDWIRE_LISTEN") -> None:
    """Raise UnsafeAddress for a malformed address, or for one off loopback unless `allow_insecure`."""
    host, separator, port = listen.rpartition(":")
    is_number = port.isascii() and port.isdecimal() and len(port) <= _MAX_PORT_DIGITS
    if not separator or not is_number or int(port) > 65535 or not _is_host(host):
        raise UnsafeAddress(f"{setting} must be HOST:PORT, an IPv6 address in brackets, not {listen!r}")
    if allow_insecure or _is_loopback(host.strip("[]")):
        return
    raise UnsafeAddress(
        f"refusing to listen on {listen}: this version has neither TLS nor tokens, so anybody who reaches it may "
        "read and change everything; use a loopback address, or set GROUNDWIRE_ALLOW_INSECURE_LISTEN=true"
    )


def _is_host(host: str) -> bool:
    # What is no UTF-8 in the environment comes as surrogates, which nothing can listen on.
    is_text = host.isprintable()
    return is_text and (":" not in host or (host.startswith("[") and host.endswith("]")))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
