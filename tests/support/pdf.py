"""Small PDFs, written by hand."""

from collections.abc import Sequence

# Standard security, revision 2; no password opens it, since what it is compared with is made up.
_ENCRYPTION = b"/Encrypt << /Filter /Standard /V 1 /R 2 /O (%s) /U (%s) /P -4 >> /ID [<00> <00>] "


def pdf_of_pages(pages: Sequence[Sequence[str]], *, title: str = "", is_encrypted: bool = False) -> bytes:
    """Return a PDF with the given lines of Latin text on each page."""
    return pdf_of_contents([_content(lines) for lines in pages], title=title, is_encrypted=is_encrypted)


def pdf_of_contents(
    contents: Sequence[bytes], *, title: str = "", is_encrypted: bool = False, content_filter: bytes = b""
) -> bytes:
    """Return a PDF with the given content stream on each page."""
    numbers = range(5, 5 + 2 * len(contents), 2)
    kids = b" ".join(b"%d 0 R" % number for number in numbers)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(contents)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Title (%s) >>" % title.encode("latin-1"),
    ]
    for number, content in zip(numbers, contents, strict=True):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (number + 1)
        )
        objects.append(b"<< /Length %d %s>>\nstream\n%s\nendstream" % (len(content), content_filter, content))
    return _file(objects, _ENCRYPTION % (b"o" * 32, b"u" * 32) if is_encrypted else b"")


def _content(lines: Sequence[str]) -> bytes:
    shown = b" ".join(b"(%s) Tj T*" % line.encode("cp1252") for line in lines)
    return b"BT /F1 12 Tf 14 TL 72 720 Td %s ET" % shown


def _file(objects: Sequence[bytes], trailer: bytes) -> bytes:
    written = bytearray(b"%PDF-1.4\n%\x00\xff\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    count = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n" % count + b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R %s>>\nstartxref\n%d\n%%%%EOF\n" % (
        count,
        trailer,
        len(written),
    )
    return bytes(written) + table + end + b"startxref\n%d\n%%%%EOF\n" % len(written)
