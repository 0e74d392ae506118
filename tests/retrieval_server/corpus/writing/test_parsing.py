"""Parsing of many files: where it happens, and what a hostile file costs."""

import subprocess
import sys
import zlib

from retrieval_server.corpus.documents.documents import ParseLimits, SkippedFile
from retrieval_server.corpus.writing.parsing import File, Parser
from tests.support.pdf import pdf_of_contents

LIMITS = ParseLimits(max_file_bytes=4 * 1024 * 1024, max_line_chars=100_000, max_chunk_chars=2000)


async def test_a_file_made_to_take_all_memory_is_skipped_and_the_others_are_not():
    bomb = pdf_of_contents([zlib.compress(b"q " * 20_000_000)], content_filter=b"/Filter /FlateDecode ")
    assert len(bomb) < 100_000
    files = [File("a.md", b"# A\n\ntext\n"), File("bomb.pdf", bomb), File("b", b"<p>text", "text/html; charset=utf-8")]
    parser = Parser(LIMITS)
    try:
        taken, refused, page = await parser.parse(files)
    finally:
        parser.close()
    assert refused == SkippedFile("bomb.pdf", "parsing it takes too much time or memory, or crashes")
    assert not isinstance(taken, SkippedFile)
    assert not isinstance(page, SkippedFile)
    assert page.document.decoded.text == "text\n"
    assert page.original == b"<p>text"


def test_a_process_that_parses_does_not_load_what_only_searches_need():
    loaded = (
        "import sys, retrieval_server.corpus.writing.parsing; print({'numpy', 'tantivy', 'grpc'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
