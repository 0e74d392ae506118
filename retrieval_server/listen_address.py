"""What address the server may listen on: without TLS and tokens, only one that other machines cannot reach."""

import ipaddress


class UnsafeAddress(Exception):
    """The address is refused; the message says how to allow it."""


def check_listen_address(listen: str, *, allow_insecure: bool, setting: str = "GROUNDWIRE_LISTEN") -> None:
    """Raise UnsafeAddress for a malformed address, or for one off loopback unless `allow_insecure`."""
    host, separator, port = listen.rpartition(":")
    if not separator or not (port.isascii() and port.isdecimal()) or not 0 <= int(port) <= 65535:
        raise UnsafeAddress(f"{setting} must be HOST:PORT, not {listen!r}")
    if allow_insecure or _is_loopback(host.strip("[]")):
        return
    raise UnsafeAddress(
        f"refusing to listen on {listen}: this version has neither TLS nor tokens, so anybody who reaches it may "
        "read and change everything; use a loopback address, or set GROUNDWIRE_ALLOW_INSECURE_LISTEN=true"
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
