"""A file's bytes to the document's one stored text, and what else the file says about itself."""

from dataclasses import dataclass, field, replace

from retrieval_server.corpus.documents.decode import DecodedText, decode
from retrieval_server.corpus.documents.extraction.front_matter import read_front_matter
from retrieval_server.corpus.documents.extraction.html import html_text, is_template
from retrieval_server.corpus.documents.extraction.notebook import notebook_text
from retrieval_server.corpus.documents.extraction.pdf import is_pdf, pdf_text
from retrieval_server.corpus.documents.extraction.shebang import script_language
from retrieval_server.corpus.documents.extraction.unusable import UnusableFile
from retrieval_server.engine.chunkers.rst_markup import looks_like_restructuredtext
from retrieval_server.engine.places.languages import language_of
from retrieval_server.model import ContentKind, MetadataValue

_BROKEN_NOTEBOOK = ("json", ContentKind.DATA)
_TEMPLATE = ("template", ContentKind.CODE)


@dataclass(frozen=True, slots=True)
class Extracted:
    """A document's stored text and what is known of it; `title` is "" and `metadata` empty where a file has none."""

    decoded: DecodedText
    language: str
    kind: ContentKind
    title: str = ""
    metadata: dict[str, MetadataValue] = field(default_factory=dict)


def extract(relative_path: str, data: bytes) -> Extracted:
    """Return what `data` holds, as its name and first bytes tell. Raises UnusableFile when it holds no text.

    What is not what its name says is taken as the text that it is: a broken notebook is JSON, a page of scripts data.
    """
    if is_pdf(relative_path, data):
        text, title = pdf_text(data)
        return Extracted(DecodedText(text, "", had_byte_order_mark=False), "pdf", ContentKind.DOCS, title)
    decoded = decode(data)
    if decoded is None:
        raise UnusableFile("binary")
    language, kind = language_of(relative_path)
    plain = Extracted(decoded, language, kind)
    match language:
        case "notebook":
            notebook = notebook_text(decoded.text)
            if notebook is None:
                return Extracted(decoded, *_BROKEN_NOTEBOOK)
            text, title = notebook
            return replace(plain, decoded=replace(decoded, text=text), title=title)
        case "html" if is_template(decoded.text):
            return Extracted(decoded, *_TEMPLATE)
        case "html":
            text, title = html_text(decoded.text)
            if not text:
                return replace(plain, kind=ContentKind.DATA, title=title)
            return replace(plain, decoded=replace(decoded, text=text), title=title)
        case "markdown":
            title, metadata = read_front_matter(decoded.text)
            return replace(plain, title=title, metadata=metadata)
        case "pdf":
            return replace(plain, language="text")
        case "text" if script := script_language(decoded.text):
            return replace(plain, language=script, kind=ContentKind.CODE)
        case "text" if looks_like_restructuredtext(decoded.text):
            return replace(plain, language="restructuredtext")
    return plain


def runs_native_parser(relative_path: str, data: bytes) -> bool:
    """Tell whether extraction would run a parser that hostile input may crash, or make slow or very large."""
    return is_pdf(relative_path, data) or language_of(relative_path)[0] == "html"


__all__ = ["Extracted", "UnusableFile", "extract", "runs_native_parser"]
