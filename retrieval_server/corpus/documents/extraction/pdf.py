"""The text of a PDF, page by page."""

import threading
from contextlib import closing
from typing import TYPE_CHECKING

from retrieval_server.corpus.documents.decode import storable
from retrieval_server.corpus.documents.extraction.unusable import UnusableFile
from retrieval_server.engine.chunkers.pdf import PAGE_END

if TYPE_CHECKING:
    import pypdfium2

_HEADER = b"%PDF-"
# Readers have always put up with what mail and web servers put before the header.
_HEADER_WITHIN_BYTES = 1024
_ENCRYPTION = b"/Encrypt"
_MAX_PAGE_COUNT = 5000
_MAX_CHARS = 4 * 1024 * 1024
# pdfium is not safe to use from two threads at once.
_lock = threading.Lock()


def is_pdf(relative_path: str, data: bytes) -> bool:
    """Tell whether `data` is a PDF, whatever it is called; one that is called so need not begin with its header."""
    return data.startswith(_HEADER) or (
        relative_path.lower().endswith(".pdf") and _HEADER in data[:_HEADER_WITHIN_BYTES]
    )


def pdf_text(data: bytes) -> tuple[str, str]:
    """Return (text of all pages with PAGE_END in a line of its own between two, title or "").

    Raises UnusableFile for a PDF that is broken, encrypted, too long, or without any text.
    """
    import pypdfium2  # a large library, and most servers never see a PDF

    with _lock:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            # The code may be a leftover of the document before; what is encrypted says so in the open.
            is_locked = _ENCRYPTION in data and error.err_code in (
                pypdfium2.raw.FPDF_ERR_PASSWORD,
                pypdfium2.raw.FPDF_ERR_SECURITY,
            )
            raise UnusableFile("an encrypted PDF" if is_locked else "a broken PDF") from None
        with closing(document):
            pages = _pages(document)
            title = _title(document)
    if not any(pages):
        raise UnusableFile("a PDF without text, perhaps of scanned pages")
    return f"\n{PAGE_END}\n".join(pages), " ".join(storable(title).split())


def _title(document: "pypdfium2.PdfDocument") -> str:
    try:
        return str(document.get_metadata_value("Title"))
    except UnicodeDecodeError:  # halves of surrogate pairs
        return ""


def _pages(document: "pypdfium2.PdfDocument") -> list[str]:
    page_count = len(document)
    if page_count > _MAX_PAGE_COUNT:
        raise UnusableFile(f"a PDF of {page_count:,} pages, more than {_MAX_PAGE_COUNT:,}")
    pages: list[str] = []
    char_count = 0
    for number in range(page_count):
        pages.append(_page_text(document, number))
        char_count += len(pages[-1])
        if char_count > _MAX_CHARS:
            raise UnusableFile(f"a PDF of more than {_MAX_CHARS:,} characters")
    return pages


def _page_text(document: "pypdfium2.PdfDocument", number: int) -> str:
    from pypdfium2 import PdfiumError

    try:
        with closing(document[number]) as page, closing(page.get_textpage()) as text_page:
            text = text_page.get_text_bounded()
    except PdfiumError:
        return ""  # a broken page keeps its number
    # Lines end in CRLF; a control character stands where a word was hyphenated.
    return storable(text.replace("\r\n", "\n")).strip()
