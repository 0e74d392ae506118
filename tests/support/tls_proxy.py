"""A TLS end in front of a plain TCP port: the bundled Valkey speaks no TLS."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "tls"
CERTIFICATE = FIXTURES / "test-cert.pem"
"""Made for these tests alone, for localhost and 127.0.0.1; it is its own authority."""
KEY = FIXTURES / "test-key.pem"


@contextlib.asynccontextmanager
async def tls_in_front_of(port: int) -> AsyncIterator[int]:
    """Yield a loopback port that speaks TLS and passes everything on to `port`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    open_pipes: set[asyncio.Task[None]] = set()

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        open_pipes.add(task)  # type: ignore[arg-type]
        writers = [writer]
        try:
            plain_reader, plain_writer = await asyncio.open_connection("127.0.0.1", port)
            writers.append(plain_writer)
            pipes = [
                asyncio.create_task(pipe(reader, plain_writer)),
                asyncio.create_task(pipe(plain_reader, writer)),
            ]
            try:
                await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in pipes:
                    one.cancel()
                await asyncio.gather(*pipes, return_exceptions=True)
        finally:
            for one in writers:
                one.close()
                with contextlib.suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError):
                    await one.wait_closed()
            open_pipes.discard(task)  # type: ignore[arg-type]

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        pipes = list(open_pipes)
        for one in pipes:
            one.cancel()
        await asyncio.gather(*pipes, return_exceptions=True)
