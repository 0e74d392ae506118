"""What will run on this machine and where: ports, folders and threads, checked before anything starts."""

import fcntl
import ipaddress
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from groundwire.cpu import usable_core_count

DEFAULT_LISTEN = "127.0.0.1:50051"
DEFAULT_REDIS_PORT = 6379
# Below this, halves of the cores would slow every answer and every indexing run to ease the rare moment with both.
PARTITION_FROM_CORE_COUNT = 4


class StartupError(Exception):
    """Why nothing can start, and what to do about it, in one line."""


@dataclass(frozen=True)
class CoreShare:
    """Threads of the server's encoder and of the worker's llama.cpp."""

    encoder_thread_count: int
    worker_thread_count: int


def share_cores(core_count: int) -> CoreShare:
    """Split the cores between encoder and generator; when there are few, both may use all of them."""
    if core_count < PARTITION_FROM_CORE_COUNT:
        return CoreShare(core_count, core_count)
    encoder_thread_count = core_count // 2
    return CoreShare(encoder_thread_count, core_count - encoder_thread_count)


@dataclass(frozen=True)
class Plan:
    """Everything that is decided before the start; all ports are real ones, so that a restart finds them again."""

    data_dir: Path
    listen: str
    valkey_port: int
    cores: CoreShare

    @property
    def log_dir(self) -> Path:
        """Where the raw logs go."""
        return self.data_dir / "logs"

    @property
    def valkey_dir(self) -> Path:
        """Valkey's append-only file."""
        return self.data_dir / "valkey"

    @property
    def redis_url(self) -> str:
        """The embedded Valkey."""
        return f"redis://127.0.0.1:{self.valkey_port}/0"

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """`base` with the settings of server and worker; thread counts that somebody chose stay."""
        threads = {
            "GROUNDWIRE_ENCODER_THREADS": str(self.cores.encoder_thread_count),
            "GROUNDWIRE_WORKER_THREADS": str(self.cores.worker_thread_count),
        }
        return (
            threads
            | dict(base)
            | {
                "GROUNDWIRE_LISTEN": self.listen,
                "GROUNDWIRE_DATA_DIR": os.fspath(self.data_dir),
                "GROUNDWIRE_REDIS_URL": self.redis_url,
            }
        )


def plan_from_environment(environment: Mapping[str, str]) -> Plan:
    """Read GROUNDWIRE_LISTEN, GROUNDWIRE_DATA_DIR and GROUNDWIRE_REDIS_URL; StartupError when they cannot be had.

    An empty value counts as none, as it does for the processes themselves.
    """
    data_dir = Path(environment.get("GROUNDWIRE_DATA_DIR") or "data").resolve()
    plan = Plan(
        data_dir=data_dir,
        listen=_listen_address(environment.get("GROUNDWIRE_LISTEN") or DEFAULT_LISTEN),
        valkey_port=_valkey_port(environment.get("GROUNDWIRE_REDIS_URL") or None),
        cores=share_cores(usable_core_count()),
    )
    for folder in (plan.data_dir, plan.log_dir, plan.valkey_dir):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StartupError(
                f"{folder}: {error.strerror}; GROUNDWIRE_DATA_DIR must name a folder that can be written"
            ) from error
    return plan


def claim_data_dir(data_dir: Path) -> IO[str]:
    """Lock the data directory for as long as the returned file is open; the kernel drops the lock of a dead process."""
    path = data_dir / "one_machine.lock"
    try:
        claim = path.open("a+", encoding="ascii")
    except OSError as error:
        raise StartupError(f"{path}: {error.strerror}; GROUNDWIRE_DATA_DIR must name a writable folder") from error
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        claim.seek(0)
        holder = claim.read().strip() or "unknown"
        claim.close()
        raise StartupError(
            f"{data_dir} is in use by another `make up` (process {holder}): stop that one or set GROUNDWIRE_DATA_DIR"
        ) from None
    claim.seek(0)
    claim.truncate()
    claim.write(f"{os.getpid()}\n")
    claim.flush()
    return claim


def _listen_address(listen: str) -> str:
    host, separator, port_text = listen.rpartition(":")
    if not separator or not port_text.isdecimal() or int(port_text) > 65535:
        raise StartupError(f"GROUNDWIRE_LISTEN={listen}: expected HOST:PORT, for example {DEFAULT_LISTEN}")
    try:
        port = _bindable_port(host.strip("[]"), int(port_text))
    except UnicodeError as error:  # what names of hosts are encoded by
        raise StartupError(f"GROUNDWIRE_LISTEN={listen}: {host} can be no host's name") from error
    except OSError as error:
        raise StartupError(
            f"cannot listen on {listen} ({error.strerror}): stop what listens there or set GROUNDWIRE_LISTEN"
            " (port 0 takes a free one)"
        ) from error
    return f"{host}:{port}"


def _valkey_port(redis_url: str | None) -> int:
    """The port that was asked for; without one the usual port, or a free one when that is taken."""
    if redis_url is None:
        try:
            return _bindable_port("127.0.0.1", DEFAULT_REDIS_PORT)
        except OSError:
            return _bindable_port("127.0.0.1", 0)
    try:
        url = urlsplit(redis_url)
        host, port = url.hostname or "", DEFAULT_REDIS_PORT if url.port is None else url.port
    except ValueError as error:
        raise StartupError("GROUNDWIRE_REDIS_URL is not an address: redis://HOST:PORT") from error
    if url.scheme != "redis" or not _is_loopback(host):
        raise StartupError(
            "GROUNDWIRE_REDIS_URL is not on this machine, and `make up` can put its own Valkey nowhere else;"
            " unset it, or start .venv/bin/retrieval-server and .venv/bin/generation-worker by themselves"
        )
    try:
        return _bindable_port("127.0.0.1", port)
    except OSError as error:
        raise StartupError(
            f"Valkey cannot listen on port {port} ({error.strerror}): set GROUNDWIRE_REDIS_URL to another port,"
            " or unset it to take a free one"
        ) from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bindable_port(host: str, port: int) -> int:
    """`port` if it can be bound, or a free one for 0; OSError when not."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
        return int(probe.getsockname()[1])
