"""Server-sent events as they come off a wire: cut anywhere, and never trusted."""

import time
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation_worker.backends.event_stream import EventStreamError, events_of


async def chunks_of(data: bytes, sizes: list[int]) -> AsyncIterator[bytes]:
    begin = 0
    for size in sizes:
        yield data[begin : begin + size]
        begin += size
    yield data[begin:]


async def read(data: bytes, sizes: list[int] | None = None, **limits: int) -> list[str]:
    return [one async for one in events_of(chunks_of(data, sizes or []), **limits)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"data: one\n\ndata: two\n\n", ["one", "two"]),
        (b"data: one\r\n\r\ndata: two\r\n\r\n", ["one", "two"]),
        (b"data: one\r\rdata: two\r\r", ["one", "two"]),
        (b": comment\n\nevent: x\nid: 7\ndata: one\nretry: 5\n\n", ["one"]),
        (b"data: a\ndata:b\n\n", ["a\nb"]),
        (b"data\n\n", [""]),
        (b"\xef\xbb\xbfdata: one\n\n\xef\xbb\xbfdata: two\n\n", ["one"]),  # a mark at the very beginning only
        (b"\n\n\n\n", []),
        (b"data: unfinished\n", []),
        ("data: naïve 日本\n\n".encode(), ["naïve 日本"]),
        (b"", []),
    ],
)
async def test_what_is_read(data: bytes, expected: list[str]):
    assert await read(data) == expected
    assert await read(data, [1] * len(data)) == expected


@given(st.lists(st.integers(min_value=0, max_value=9), max_size=30), st.sampled_from(["\n", "\r\n", "\r"]))
async def test_where_it_is_cut_does_not_matter(sizes: list[int], end: str):
    data = f"data: ein Stück{end}data: und noch eins{end}{end}: x{end}data: 🙂{end}{end}".encode()
    assert await read(data, sizes) == ["ein Stück\nund noch eins", "🙂"]


@pytest.mark.parametrize(
    ("data", "fragment"),
    [
        (b"data: " + b"x" * 200, "a line has more than 100 bytes"),
        (b"data: xxxxxxxxxxxxxxxxxxxxxxxx\n" * 9, "an event has more than 100 bytes"),
        (b": keep-alive\n\n" * 100, "the stream has more than 1,000 bytes"),
        (b"data: \xff\xfe\n\n", "not UTF-8"),
    ],
)
async def test_too_much_and_nonsense_are_refused(data: bytes, fragment: str):
    with pytest.raises(EventStreamError, match=fragment):
        await read(data, [40] * 50, max_event_bytes=100, max_stream_bytes=1000)


@pytest.mark.parametrize(("data", "size"), [(b"data\n" * 100_000, 65_536), (b"data: " + b"x" * 500_000, 4)])
async def test_many_small_pieces_take_time_in_proportion(data: bytes, size: int):
    began_s = time.process_time()
    assert await read(data, [size] * (len(data) // size)) == []
    assert time.process_time() - began_s < 10
