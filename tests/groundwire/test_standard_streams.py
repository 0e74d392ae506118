"""Lines that nobody has to be able to read."""

import io
import sys

import pytest

from groundwire.standard_streams import BestEffortStream


def test_what_is_written_to_a_closed_stream_is_lost_in_silence(monkeypatch: pytest.MonkeyPatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    stream = BestEffortStream()
    assert stream.write("line") == 4
    stream.flush()
