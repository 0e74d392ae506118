"""Extractive answers: verbatim, cited, and about the question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.generation.extracting.extractive import extract_answer
from retrieval_server.model import ContentKind, Passage
from tests.retrieval_server.generation.checking.test_citations import documents_cut_into_passages
from tests.retrieval_server.generation.documents import line_number, passage_of, whole

GUIDE = """\
# What is the default timeout?

Every call has a deadline. The default request timeout is 30
seconds. It can be changed per call.

## Retries

Retries use exponential backoff, at most 5 attempts.
"""
CODE = '''\
class RetryPolicy:
    """Decides when to try again."""

    def __init__(self, max_attempts: int = 5) -> None:
        self.max_attempts = max_attempts

    def backoff_s(self, attempt: int) -> float:
        """Return the seconds to wait before an attempt."""
        base_s = 0.1 * 2**attempt
        return min(base_s, 30.0)
'''


def test_the_sentence_that_answers_comes_first_and_headings_do_not_answer() -> None:
    extracted = extract_answer("What is the default request timeout?", [whole(GUIDE)])
    assert extracted.deltas == ("The default request timeout is:", "\nThe default request timeout is 30\nseconds.")
    assert (extracted.citations[0].start_line, extracted.citations[0].end_line) == (3, 4)
    assert (
        extracted.citations[0].text
        == "Every call has a deadline. The default request timeout is 30\nseconds. It can be changed per call."
    )


def test_code_answers_with_the_matching_lines_under_their_signature() -> None:
    extracted = extract_answer("how long does min base_s wait", [whole(CODE, path="retry.py", kind=ContentKind.CODE)])
    assert "    def backoff_s(self, attempt: int) -> float:" in extracted.text
    assert "return min(base_s, 30.0)" in extracted.text


def test_a_signature_brings_the_first_line_of_its_docstring() -> None:
    extracted = extract_answer("what is backoff_s", [whole(CODE, path="retry.py", kind=ContentKind.CODE)])
    assert extracted.text.startswith(
        '    def backoff_s(self, attempt: int) -> float:\n        """Return the seconds to wait before an attempt."""'
    )


def test_a_second_piece_is_there_only_for_what_the_first_lacks() -> None:
    one = extract_answer("default request timeout", [whole(GUIDE)])
    assert len(one.deltas) == 1
    both = extract_answer("request timeout and exponential backoff", [whole(GUIDE)])
    assert sorted(c.start_line for c in both.citations) == [3, 8]


def test_a_value_that_code_states_is_the_answer_with_the_line_that_states_it() -> None:
    question = "What is the default value of max_attempts in RetryPolicy?"
    extracted = extract_answer(question, [whole(CODE, path="retry.py", kind=ContentKind.CODE)])
    assert extracted.text == "The default value of max_attempts in RetryPolicy is `5`."
    assert [one.text for one in extracted.citations] == ["    def __init__(self, max_attempts: int = 5) -> None:"]
    assert [(one.start_char, one.end_char, one.supported) for one in extracted.sentences] == [
        (0, len(extracted.text), True)
    ]


def test_when_nothing_matches_the_beginning_of_the_best_passage_stands_in() -> None:
    extracted = extract_answer("zebra?", [whole("Alpha beta gamma. Delta.\n"), whole("Other.\n", path="b.md")])
    assert extracted.text == "Alpha beta gamma."


@pytest.mark.parametrize("passages", [[], [whole(" \n\n")]])
def test_nothing_comes_of_nothing(passages: list[Passage]) -> None:
    assert extract_answer("anything", passages).text == ""


def test_text_that_overlapping_passages_share_is_said_once() -> None:
    overlapping = [whole(GUIDE), passage_of(GUIDE, 32, len(GUIDE), path="docs/guide.md", kind=ContentKind.DOCS)]
    extracted = extract_answer("default request timeout deadline", overlapping)
    assert len(extracted.deltas) == len(set(extracted.deltas))


def test_a_line_without_end_is_cut() -> None:
    extracted = extract_answer("word", [whole("word " * 5000)])
    assert 0 < len(extracted.text) <= 3 * 601


@given(documents_cut_into_passages(), st.text(max_size=30))
def test_each_piece_is_verbatim_and_lies_within_its_citation(cut: tuple[str, list[Passage]], question: str) -> None:
    document, passages = cut
    extracted = extract_answer(question, passages)
    assert "".join(extracted.deltas) == extracted.text
    assert bool(extracted.text) == any(p.text.strip() for p in passages)
    for sentence in extracted.sentences:
        (index,) = sentence.citation_indexes
        citation = extracted.citations[index]
        assert extracted.text[sentence.start_char : sentence.end_char] in citation.text
        assert document[citation.start_char : citation.end_char] == citation.text
        assert citation.start_line == line_number(document, citation.start_char)
        assert citation.end_line == line_number(document, citation.end_char)
