"""Server-sent events (the `text/event-stream` of the HTML standard, 9.2), bounded: who sends them is not trusted."""

from collections.abc import AsyncGenerator, AsyncIterator

MAX_EVENT_BYTES = 1 << 20
MAX_STREAM_BYTES = 16 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventStreamError(Exception):
    """What came is no stream of events, or too much; the message is one line."""


class BrokenOffError(EventStreamError):
    """The stream ended before what it tells was complete."""

    def __init__(self) -> None:
        super().__init__("it breaks off")


async def events_of(
    chunks: AsyncIterator[bytes], *, max_event_bytes: int = MAX_EVENT_BYTES, max_stream_bytes: int = MAX_STREAM_BYTES
) -> AsyncGenerator[str]:
    """Yield the data of each event; comments, names and ids are passed over, an unfinished event at the end is dropped.

    Raises:
        EventStreamError: a line, an event or the whole is too long, or it is not UTF-8.
    """
    data: list[bytes] = []
    event_bytes = 0
    async for line in _lines_of(chunks, max_event_bytes, max_stream_bytes):
        if not line:
            if data:
                yield _decoded(b"\n".join(data))
                data, event_bytes = [], 0
            continue
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
            event_bytes += len(data[-1]) + 1  # with what joins it to the next
            if event_bytes > max_event_bytes:
                raise EventStreamError(f"an event has more than {max_event_bytes:,} bytes")


async def _lines_of(chunks: AsyncIterator[bytes], max_line_bytes: int, max_stream_bytes: int) -> AsyncIterator[bytes]:
    """Yield lines without their ends: LF, CRLF or CR. What follows the last end is no line.

    The time is in proportion to the bytes, however small the chunks are.
    """
    held: list[bytes] = []
    held_bytes = 0
    byte_count = 0
    is_first = True
    ends_with_cr = False
    async for chunk in chunks:
        byte_count += len(chunk)
        if byte_count > max_stream_bytes:
            raise EventStreamError(f"the stream has more than {max_stream_bytes:,} bytes")
        if ends_with_cr and chunk.startswith(b"\n"):
            # The second half of an end that was told already.
            chunk, ends_with_cr = chunk[1:], False  # noqa: PLW2901
        if not chunk:
            continue
        ends_with_cr = chunk.endswith(b"\r")
        first, *others = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        held.append(first)
        held_bytes += len(first)
        for line in others:
            ended = b"".join(held)
            yield ended.removeprefix(_BYTE_ORDER_MARK) if is_first else ended
            held, held_bytes, is_first = [line], len(line), False
        if held_bytes > max_line_bytes:
            raise EventStreamError(f"a line has more than {max_line_bytes:,} bytes")


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EventStreamError("it is not UTF-8") from None
