"""A real HTTP server that speaks a chat completion's stream, as scripted: no hosted model can be had in tests."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

EVENT_STREAM = "text/event-stream; charset=utf-8"


@dataclass(frozen=True)
class Reply:
    """What is answered; `hangs`: then it waits until the other side has gone."""

    parts: Sequence[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": EVENT_STREAM})
    hangs: bool = False


@dataclass(frozen=True)
class Request:
    """What was asked."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


def event(**content: Any) -> bytes:
    """One event of a stream."""
    return f"data: {json.dumps(content)}\n\n".encode()


def delta(text: str, finish_reason: str | None = None, **more: Any) -> bytes:
    """One piece of text."""
    return event(choices=[{"index": 0, "delta": {"content": text, **more}, "finish_reason": finish_reason}])


def says(*texts: str, finish_reason: str = "stop", hangs: bool = False) -> Reply:
    """A whole answer as the better servers send it."""
    return Reply(
        [
            b": keep-alive\n\n",
            event(choices=[{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}]),
            *(delta(text) for text in texts),
            *(
                []
                if hangs
                else [
                    delta("", finish_reason),
                    event(choices=[], usage={"prompt_tokens": 77, "completion_tokens": 5}),
                    b"data: [DONE]\n\n",
                ]
            ),
        ],
        hangs=hangs,
    )


def refuses(status: int, told: str = "", **headers: str) -> Reply:
    """An error."""
    return Reply(
        [json.dumps({"error": {"message": told}}).encode()], status, {"Content-Type": "application/json"} | headers
    )


class FakeOpenAi:
    """Answers requests with one reply after the other, the last one for ever; a function makes one of the request."""

    def __init__(self, *replies: Reply | Callable[[Request], Reply]) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []
        self.left = threading.Event()
        """Set when the other side went away before a reply was complete."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """What GROUNDWIRE_OPENAI_URL is set to."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=60)

    def _next_reply(self, request: Request) -> Reply:
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply(request) if callable(reply) else reply

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply = fake._next_reply(Request(self.path, dict(self.headers), body))
                try:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    for part in reply.parts:
                        self.wfile.write(part)
                        self.wfile.flush()
                    if reply.hangs and not self.connection.recv(1):
                        fake.left.set()
                except OSError:
                    fake.left.set()

            def log_message(self, *_: object) -> None:
                """Quiet."""

        return Handler
