"""PDFs: text by page, and why some have none."""

import random
import threading

import pytest

from retrieval_server.model import ContentKind
from tests.retrieval_server.corpus.documents.extraction.parsed import outline, parsed, skipped
from tests.support.pdf import pdf_of_contents, pdf_of_pages

PAGES = (["Tides", "The gate opens at high water."], [], ["Storms", "Ropes are doubled – twice."])


def test_every_page_is_a_passage_with_its_number():
    document = parsed("handbook.pdf", pdf_of_pages(PAGES, title="Harbour handbook"))
    assert outline(document) == [
        (("page 1",), "Tides\nThe gate opens at high water."),
        (("page 3",), "Storms\nRopes are doubled – twice."),
    ]
    assert (document.language, document.kind, document.title) == ("pdf", ContentKind.DOCS, "Harbour handbook")
    assert (document.decoded.encoding, document.decoded.had_byte_order_mark) == ("", False)


def test_a_long_page_is_cut_and_each_part_knows_its_page():
    document = parsed("a.pdf", pdf_of_pages([[f"Line {i} says something" for i in range(40)]]))
    assert len(document.chunks) > 1
    assert {chunk.span.breadcrumbs for chunk in document.chunks} == {("page 1",)}


@pytest.mark.parametrize("path", ["noname", "report.txt", "a.PDF"])
def test_a_pdf_is_known_by_its_header(path: str):
    assert parsed(path, pdf_of_pages(PAGES)).language == "pdf"


def test_what_only_has_the_name_of_a_pdf_is_read_as_what_it_is():
    assert parsed("a.pdf", b"This is a plain text of some words.\n").language == "text"
    assert skipped("a.pdf", b"\0\1\2") == "binary"


def test_a_pdf_may_have_something_before_its_header():
    assert parsed("a.pdf", b"HTTP/1.1 200 OK\r\n\r\n" + pdf_of_pages(PAGES)).language == "pdf"


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (pdf_of_pages(PAGES, is_encrypted=True), "an encrypted PDF"),
        (b"%PDF-1.7\nnothing else", "a broken PDF"),
        (b"%PDF-", "a broken PDF"),
        (pdf_of_pages([[], []]), "a PDF without text, perhaps of scanned pages"),
        (pdf_of_pages([]), "a broken PDF"),
    ],
)
def test_a_pdf_that_cannot_be_used_has_a_reason(data: bytes, detail: str):
    assert skipped("a.pdf", data) == detail


def test_too_many_pages_are_refused():
    assert skipped("a.pdf", pdf_of_contents([b""] * 5001)) == "a PDF of 5,001 pages, more than 5,000"


def test_a_damaged_pdf_never_crashes():
    whole = pdf_of_pages(PAGES)
    chance = random.Random(7)  # the same damage every time
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 40)):
            damaged[chance.randrange(8, len(damaged))] = chance.randrange(256)
        del damaged[chance.randrange(100, len(damaged)) :]
        try:
            parsed("a.pdf", bytes(damaged))
        except AssertionError:
            assert "PDF" in skipped("a.pdf", bytes(damaged))


def test_threads_may_read_pdfs_at_once():
    data = pdf_of_pages([["Some words"] * 30] * 20)
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(parsed("a.pdf", data).decoded.text)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 8
    assert len(set(texts)) == 1


def test_a_title_that_is_no_text_is_none():
    halves = pdf_of_pages(PAGES, title="\xfe\xff\xd8\x00")
    assert parsed("handbook.pdf", halves).title == ""
