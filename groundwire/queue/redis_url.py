"""Understanding the address of Redis: whatever could never work is refused before anything is started.

    redis://[USER:PASSWORD@]HOST[:PORT][/DB]           one server
    rediss://…                                         the same over TLS
    unix://[USER:PASSWORD@]PATH[?db=DB]                a socket of this machine
    redis+sentinel://…HOST[:PORT][,HOST…]/SERVICE[/DB] the master that Sentinels name (rediss+sentinel:// over TLS)
    redis+cluster://…HOST[:PORT][,HOST…]               a cluster (rediss+cluster:// over TLS)

Parameters after `?` are redis-py's names for TLS (`ssl_ca_certs`, `ssl_certfile`, `ssl_keyfile`, `ssl_password`,
`ssl_cert_reqs`, `ssl_check_hostname`), `username`, `password`, `db`, `client_name`, and `sentinel_username` and
`sentinel_password` for Sentinels with a login of their own.
"""

import ssl
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

DEFAULT_PORT = 6379
DEFAULT_SENTINEL_PORT = 26379
_PLAIN = frozenset({"username", "password", "client_name"})
_TLS = frozenset({"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_password", "ssl_cert_reqs", "ssl_check_hostname"})
_SENTINEL = frozenset({"sentinel_username", "sentinel_password"})
_CERT_REQS = frozenset({"none", "optional", "required"})
_MAX_DATABASE_DIGITS = 9  # of the server's int
_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")


class RedisUrlError(ValueError):
    """A Redis address that can never work; the message is one line and does not show it, as it may hold a password."""

    def __init__(self, what: str) -> None:
        super().__init__(f"GROUNDWIRE_REDIS_URL {what}")


class Topology(Enum):
    """What stands behind an address."""

    SERVER = ""
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """A checked address. `options` and `sentinel_options` are redis-py's arguments of a connection."""

    topology: Topology
    nodes: tuple[tuple[str, int], ...] = ()
    unix_path: str = ""
    tls: bool = False
    service: str = ""
    options: dict[str, Any] = field(default_factory=dict, repr=False)
    sentinel_options: dict[str, Any] = field(default_factory=dict, repr=False)


def parse_redis_url(url: str) -> RedisAddress:
    """Return the address that `url` names.

    Raises:
        RedisUrlError: it can never work; says why without showing it.
    """
    scheme, separator, rest = url.strip().partition("://")
    base, _, suffix = scheme.lower().partition("+")
    if not separator or base not in {"redis", "rediss", "unix"} or suffix not in {one.value for one in Topology}:
        raise RedisUrlError(
            "is not a Redis address: redis://HOST:PORT/DB, rediss://…, unix://PATH, redis+sentinel://HOST:PORT/SERVICE "
            "or redis+cluster://HOST:PORT"
        )
    topology = Topology(suffix)
    if base == "unix" and topology is not Topology.SERVER:
        raise RedisUrlError("asks for a Sentinel or cluster at a socket; they have hosts")
    # The rest is told apart by hand: a list of hosts is no URL of the standard.
    place, _, query = rest.partition("?")
    login, at, place = place.rpartition("@")
    hosts, _, path = place.partition("/")
    tls = base == "rediss"
    options, sentinel_options = _parameters(query, tls=tls, topology=topology)
    if at:
        user, colon, password = login.partition(":")
        if user:
            options["username"] = unquote(user)
        if colon:
            options["password"] = unquote(password)
    if base == "unix":
        options["db"] = _database(options.pop("db", ""))
        if not path:
            raise RedisUrlError("names no socket: unix:///PATH")
        return RedisAddress(topology, unix_path=unquote(f"{hosts}/{path}"), options=options)
    nodes = _nodes(hosts, DEFAULT_SENTINEL_PORT if topology is Topology.SENTINEL else DEFAULT_PORT)
    service = ""
    if topology is Topology.SENTINEL:
        service, _, path = path.partition("/")
        if not service:
            raise RedisUrlError("names no service: redis+sentinel://HOST:PORT/SERVICE")
    elif topology is Topology.SERVER and len(nodes) > 1:
        raise RedisUrlError("names several hosts; only redis+sentinel:// and redis+cluster:// have them")
    database = _database(path.rstrip("/") or options.pop("db", ""))
    options.pop("db", None)
    if topology is not Topology.CLUSTER:
        options["db"] = database
    elif database:
        raise RedisUrlError("names a database; a cluster has none but 0")
    return RedisAddress(
        topology,
        nodes,
        tls=tls,
        service=unquote(service),
        options=options,
        sentinel_options=sentinel_options,
    )


def _nodes(hosts: str, default_port: int) -> tuple[tuple[str, int], ...]:
    nodes = []
    for one in hosts.split(","):
        try:
            split = urlsplit(f"//{one}")
            host, port = split.hostname, split.port
            unquote(host or "").encode("idna")  # what names are looked up by
        except ValueError:  # UnicodeError is one
            raise RedisUrlError("has a host or port that is none: HOST:PORT, the port a number up to 65535") from None
        if not host:
            raise RedisUrlError("names no host")
        nodes.append((unquote(host), default_port if port is None else port))
    return tuple(nodes)


def _database(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DATABASE_DIGITS):
        raise RedisUrlError("has a database that is no number: redis://HOST:PORT/0")
    return int(text)


def _parameters(query: str, *, tls: bool, topology: Topology) -> tuple[dict[str, Any], dict[str, Any]]:
    options: dict[str, Any] = {}
    sentinel_options: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name in _SENTINEL and topology is Topology.SENTINEL:
            sentinel_options[name.removeprefix("sentinel_")] = value
        elif name in _PLAIN or name == "db" or (name in _TLS and tls):
            options[name] = value
        elif name in _TLS:
            raise RedisUrlError(f"has {name} without TLS: write rediss:// in front")
        else:
            raise RedisUrlError(f"has a parameter that is not known: {name[:40]!r}")
    if options.get("ssl_cert_reqs", "required") not in _CERT_REQS:
        raise RedisUrlError(f"has an ssl_cert_reqs that is none of {', '.join(sorted(_CERT_REQS))}")
    if "ssl_check_hostname" in options:
        text = options["ssl_check_hostname"].lower()
        if text not in {"true", "false"}:
            raise RedisUrlError("has an ssl_check_hostname that is neither true nor false")
        options["ssl_check_hostname"] = text == "true"
    elif options.get("ssl_cert_reqs") == "none":
        options["ssl_check_hostname"] = False
    _check_files(options)
    return options, sentinel_options


def _check_files(options: dict[str, Any]) -> None:
    """Read certificates and keys once, so that a wrong path is no riddle of lost connections later."""
    context = ssl.create_default_context()
    try:
        if "ssl_ca_certs" in options:
            context.load_verify_locations(options["ssl_ca_certs"])
        if "ssl_certfile" in options:
            # A password is never asked for at a terminal.
            password = options.get("ssl_password") or ""
            context.load_cert_chain(options["ssl_certfile"], options.get("ssl_keyfile"), password=lambda: password)
    except (OSError, ValueError) as error:  # ssl.SSLError is one; a path with a NUL is no path
        named = " or ".join(name for name in _FILES if name in options)
        why = getattr(error, "strerror", None) or error.args[0]
        raise RedisUrlError(f"has an {named} that cannot be used: {why}") from error
