"""Breadcrumbs that would be too much, and what they do to chunks, windows and the index."""

import pytest

from retrieval_server.corpus.documents.documents import MAX_TITLE_BYTES, ParsedDocument, ParseLimits, parse_document
from retrieval_server.engine.chunkers.breadcrumbs import CUT_MARK, MAX_BREADCRUMB_CHARS, MAX_BREADCRUMB_COUNT, bounded
from retrieval_server.engine.encoding.windows import MAX_WINDOW_PIECES, window_texts
from retrieval_server.engine.words.analyser import analyse_terms

MIB = 1024 * 1024
LIMITS = ParseLimits(max_file_bytes=16 * MIB, max_line_chars=4 * MIB, max_chunk_chars=2000)
WORDS = [f"w{number:06d}" for number in range(MIB // 8)]
BODY = "".join(f"Sentence {number} of the body says little.\n" for number in range(400))


def parsed(path: str, text: str) -> ParsedDocument:
    document = parse_document(path, text.encode(), LIMITS)
    assert isinstance(document, ParsedDocument)
    return document


def count_pieces(texts: list[str]) -> list[int]:
    # No piece is shorter than a character; a tokeniser may make that of words it does not know.
    return [len(text.split()) * 2 + sum(len(word) > 20 for word in text.split()) * len(text) for text in texts]


def test_what_is_short_stays_as_it_is():
    for crumbs in ((), ("A", "B"), ("x" * MAX_BREADCRUMB_CHARS,), tuple("abcdefghijklmnop")):
        assert bounded(crumbs) == crumbs


def test_a_long_one_ends_at_a_word_and_an_endless_word_in_its_midst():
    (cut,) = bounded([" ".join(WORDS)])
    assert len(cut) <= MAX_BREADCRUMB_CHARS
    assert cut.removesuffix(CUT_MARK) == " ".join(WORDS)[: len(cut) - 1]
    assert cut.removesuffix(CUT_MARK).split() == WORDS[: len(cut.split())]
    (cut,) = bounded(["x" * MIB])
    assert cut == "x" * (MAX_BREADCRUMB_CHARS - 1) + CUT_MARK


def test_a_deep_chain_keeps_both_ends():
    chain = tuple(f"level {number}" for number in range(1000))
    shown = bounded(chain)
    assert len(shown) == MAX_BREADCRUMB_COUNT
    assert shown[:4] == chain[:4]
    assert shown[4] == CUT_MARK
    assert shown[5:] == chain[-11:]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", f"# {' '.join(WORDS)}\n\n{BODY}"),
        ("a.md", f"{' '.join(WORDS)}\n===\n\n{BODY}"),
        ("a.md", f"---\ntitle: {' '.join(WORDS[:1000])}\n---\n{BODY}"),
        ("a.rst", f"{' '.join(WORDS)}\n{'=' * MIB}\n\n{BODY}"),
        ("a.yaml", f"{'_'.join(WORDS)}:\n" + "".join(f"  key{i}: {'v' * 30}\n" for i in range(400))),
        ("a.json", "{" + f'"{" ".join(WORDS)}": {{' + ",\n".join(f'"k{i}": "{"v" * 30}"' for i in range(400)) + "}}"),
        ("a.html", f"<h1>{' '.join(WORDS)}</h1>{''.join(f'<p>{line}</p>' for line in BODY.splitlines())}"),
    ],
    ids=["heading", "underlined", "front matter", "rst", "yaml", "json", "html"],
)
def test_a_heading_of_a_mebibyte_costs_its_chunks_little(path: str, text: str):
    document = parsed(path, text)
    assert len(document.chunks) >= 5
    assert len(document.title.encode()) <= MAX_TITLE_BYTES
    for chunk in document.chunks:
        assert sum(map(len, chunk.span.breadcrumbs)) <= MAX_BREADCRUMB_CHARS * len(chunk.span.breadcrumbs)
        assert len(chunk.text) <= LIMITS.max_chunk_chars
        assert len(chunk.terms) <= 8 * LIMITS.max_chunk_chars


def test_all_of_a_long_heading_is_indexed_and_its_beginning_with_every_chunk_below_it():
    document = parsed("a.md", f"# {' '.join(WORDS)}\n\n{BODY}")
    beginning = analyse_terms(WORDS[0])
    assert all(set(beginning) <= set(chunk.terms.split()) for chunk in document.chunks)
    indexed = {term for chunk in document.chunks for term in chunk.terms.split()}
    assert set(analyse_terms(" ".join(WORDS))) <= indexed


@pytest.mark.parametrize("heading", [" ".join(WORDS), "x" * MIB], ids=["words", "one word"])
def test_windows_below_a_long_heading_hold_the_whole_text_and_fit(heading: str):
    chunk = next(c for c in parsed("a.md", f"# {heading}\n\n{BODY}").chunks if c.text.startswith("Sentence"))
    windows = window_texts(parsed("a.md", "x").kind, "a.md", chunk.span.breadcrumbs, chunk.text, count_pieces)
    assert max(count_pieces(windows)) <= MAX_WINDOW_PIECES
    together = " ".join(windows)
    assert all(line in together for line in chunk.text.splitlines())
