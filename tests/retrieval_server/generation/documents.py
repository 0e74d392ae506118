"""Documents cut into passages as a chunker would, for tests that compare spans with the stored text."""

from dataclasses import replace

from retrieval_server.generation.text.sentences import LINE_BREAK
from retrieval_server.model import ContentKind, Passage


def line_number(text: str, offset: int) -> int:
    """Count lines independently of the code under test."""
    return 1 + len(LINE_BREAK.findall(text[:offset]))


def passage_of(
    document: str, start: int, end: int, *, path: str = "src/queue.py", kind: ContentKind = ContentKind.CODE
) -> Passage:
    """The passage `document[start:end]`."""
    return Passage(
        passage_id=f"{path}:{start}",
        document_id=path,
        path=path,
        start_char=start,
        end_char=end,
        start_line=line_number(document, start),
        end_line=line_number(document, end),
        text=document[start:end],
        breadcrumbs=(),
        language="python" if kind is ContentKind.CODE else "markdown",
        kind=kind,
    )


def whole(document: str, *, path: str = "docs/guide.md", kind: ContentKind = ContentKind.DOCS) -> Passage:
    """One passage that is its whole document."""
    return passage_of(document, 0, len(document), path=path, kind=kind)


def derived(document: str, start: int, end: int, text: str, *, path: str = "college.json") -> Passage:
    """A passage whose text was made of `document[start:end]`."""
    passage = passage_of(document, start, end, path=path, kind=ContentKind.DOCS)
    return replace(passage, text=text, is_derived=True, origin_text=document[start:end], language="json")
