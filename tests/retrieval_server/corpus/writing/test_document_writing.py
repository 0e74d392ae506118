"""Single documents: what was taken once can be changed."""

import zlib
from dataclasses import replace
from pathlib import Path

from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.database.store import Answered
from retrieval_server.corpus.documents.changes import document_id_of
from retrieval_server.corpus.documents.metadata import NOTHING_SET
from retrieval_server.corpus.writing.document_writing import DocumentToPut, DocumentWriting
from retrieval_server.corpus.writing.parsing import File
from tests.support.pdf import pdf_of_contents


async def test_a_pdf_whose_lines_are_longer_than_its_file_takes_another_title(tmp_path: Path):
    page = zlib.compress(b"BT /F1 1 Tf (" + b"word " * 1000 + b") Tj ET")
    data = pdf_of_contents([page], content_filter=b"/Filter /FlateDecode ")
    catalog = Catalog(tmp_path, None)
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    writing = DocumentWriting(opened, max_file_bytes=1 << 20, max_line_chars=100_000)
    told = Answered(lambda _, documents: documents[0].title.encode())
    await writing.put(DocumentToPut("s", True, File("a.pdf", data), NOTHING_SET, None), told)
    stored = await opened.read(lambda reader: reader.document(document_id_of("s", "a.pdf")))
    assert stored is not None
    assert max(map(len, stored.text.splitlines())) > len(data)
    titled = await writing.update(stored.document_id, lambda fields: replace(fields, title="Words"), None, told)
    assert titled == b"Words"
    await catalog.close()
