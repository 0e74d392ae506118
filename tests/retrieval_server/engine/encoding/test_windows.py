"""What is embedded of a chunk."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.engine.encoding.windows import MAX_WINDOW_PIECES, window_texts
from retrieval_server.model import ContentKind


def count_words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def test_code_becomes_its_comments_and_its_skeleton():
    code = "def getKVCache(self, block_size: int) -> None:\n    return self.kv_cache[block_size]  # find the block\n"
    assert window_texts(ContentKind.CODE, "src/cache_engine.py", ["Engine"], code, count_words) == [
        "cache engine py find the block get kv size"
    ]


def test_code_of_punctuation_alone_has_only_its_place():
    assert window_texts(ContentKind.CODE, "a/b.py", [], "()[]{}", count_words) == ["py"]


def test_fenced_code_within_prose_becomes_its_skeleton():
    text = "Run it:\n\n```python\nserver = start_server(port_number=80)\n```\n\nThen wait.\n"
    assert window_texts(ContentKind.DOCS, "a.md", [], text, count_words) == [
        "a.md\nRun it: python server start port number Then wait."
    ]


def test_data_files_have_no_windows():
    assert window_texts(ContentKind.DATA, "a.json", [], '{"a": 1}', count_words) == []


def test_prose_windows_carry_name_and_headings_and_overlap_by_a_sentence():
    text = " ".join(f"Sentence {i} {'word ' * 40}ends." for i in range(16))
    windows = window_texts(ContentKind.DOCS, "docs/guide.md", ["Guide", "Install"], text, count_words)
    assert len(windows) > 2
    assert all(window.startswith("guide.md > Guide > Install\n") for window in windows)
    assert windows[0].splitlines()[-1].split("ends. ")[-1] in windows[1]
    for i in range(16):
        assert any(f"Sentence {i} " in window for window in windows)


@given(st.text(max_size=3000))
def test_no_window_is_larger_than_the_model_sees(text: str):
    def count_characters(texts: Sequence[str]) -> list[int]:  # the most pieces that any tokenizer could make
        return [len(text) for text in texts]

    for window in window_texts(ContentKind.DOCS, "a.md", ["b"], text, count_characters):
        assert len(window.split("\n", 1)[-1]) <= MAX_WINDOW_PIECES


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", [ContentKind.CODE, ContentKind.DOCS])
@pytest.mark.parametrize(
    "hostile", ["`" * 20_000, "```\n" * 5_000, "." * 20_000, "A" * 20_000 + "a", "a." * 10_000, " \n" * 9_000]
)
def test_hostile_text_takes_no_longer_than_other_text(kind: ContentKind, hostile: str):
    windows = window_texts(kind, "a.md", [], hostile, count_words)
    assert all(isinstance(window, str) for window in windows)


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ContentKind.DOCS, "Run it:\n\n```python\nserver = start_server(port_number=80)\n```\n\nThen wait.\n"),
        (ContentKind.CODE, "// Gives a block back.\nvoid release(int block_id) { freeBlocks.push(block_id); }\n"),
    ],
)
def test_what_ends_the_lines_makes_no_difference(kind: ContentKind, text: str, line_end: str):
    shown = text.replace("\n", line_end)
    assert window_texts(kind, "a", [], shown, count_words) == window_texts(kind, "a", [], text, count_words)
