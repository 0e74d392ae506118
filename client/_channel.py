"""Where the server is, how long calls may take, and how the channel behaves."""

import re
from dataclasses import dataclass
from importlib import resources

import grpc

from client._message_fields import building
from client.errors import invalid_field

DEFAULT_SERVER = "127.0.0.1:50051"
DEFAULT_COLLECTION = "default"
# gRPC counts nanoseconds in 64 bits: of a deadline that lies beyond them it says at once that it has passed.
MAX_WAIT_S = 1e9
MAX_MESSAGE_BYTES = 8 * 1024 * 1024
_KEEPALIVE_MS = 5 * 60 * 1000
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.%]+\]|[^\s:/\[\]]+):([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait, in seconds: each is above 0 and at most 1e9, which is some thirty years.

    `call_s`: a unary call that only looks something up. `answer_s`: a whole answer, generation included; it travels
    to the server, which ends the job by itself. `silence_s`: longest wait for the next message of a batch or an upload,
    whose whole length nobody can know.
    """

    call_s: float = 30.0
    answer_s: float = 120.0
    silence_s: float = 300.0

    def __post_init__(self) -> None:
        """Refuse what would wait for ever or not at all."""
        for name in ("call_s", "answer_s", "silence_s"):
            if not 0 < getattr(self, name) <= MAX_WAIT_S:
                raise invalid_field(name, f"must be above 0 and at most {MAX_WAIT_S:,.0f} seconds")


def check_address(server: str) -> str:
    """Return `server` when it is HOST:PORT; raise InvalidRequest otherwise."""
    with building("server"):
        server.encode()
    match = _ADDRESS.fullmatch(server)
    if match is None or not 0 < int(match[2]) < 65536:
        raise invalid_field("server", f"{server!r} is not HOST:PORT, for example {DEFAULT_SERVER}")
    return server


def open_channel(server: str) -> grpc.aio.Channel:
    """Return a channel to `server` that belongs to the running event loop. It connects when it is first used."""
    return grpc.aio.insecure_channel(
        server,
        options=[
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            # http_proxy in the environment would take calls to localhost to a proxy that cannot reach it.
            ("grpc.enable_http_proxy", 0),
            # Servers answer GOAWAY to clients that ping more often than every five minutes.
            ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1000),
            ("grpc.enable_retries", 1),
            ("grpc.service_config", resources.files("client").joinpath("service_config.json").read_text("utf-8")),
        ],
    )
