"""The check of answers: what is cited stands in the document, what nothing backs is not supported."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.generation.checking.citations import CheckedAnswer, check_answer
from retrieval_server.model import ContentKind, Passage
from tests.retrieval_server.generation.documents import line_number, passage_of, whole

CODE = '''\
class Lease:
    """Holds a job while a worker answers it."""

    def renew(self, now_s: float) -> None:
        """Extend the lease by lease_ttl_s seconds."""
        self.expires_s = now_s + self.lease_ttl_s

    def is_expired(self, now_s: float) -> bool:
        return now_s >= self.expires_s
'''
GUIDE = """\
# Timeouts

The default request timeout is 30 seconds. It is set with
`request_timeout_s` in the settings file.

Retries use exponential backoff, at most 5 attempts.
"""
PASSAGES = (whole(CODE, path="src/lease.py", kind=ContentKind.CODE), whole(GUIDE))


def supported(text: str, checked: CheckedAnswer) -> list[tuple[str, bool]]:
    return [(text[s.start_char : s.end_char], s.supported) for s in checked.sentences]


def cited_lines(checked: CheckedAnswer) -> list[tuple[str, int, int]]:
    return [(c.path, c.start_line, c.end_line) for c in checked.citations]


def test_a_sentence_that_a_passage_holds_cites_its_lines() -> None:
    checked = check_answer("The default request timeout is 30 seconds.", PASSAGES)
    assert cited_lines(checked) == [("docs/guide.md", 3, 3)]
    assert checked.citations[0].text == "The default request timeout is 30 seconds. It is set with"
    assert checked.acceptable


def test_code_is_cited_by_the_lines_that_say_it() -> None:
    checked = check_answer("`renew` extends the lease by `lease_ttl_s` seconds.", PASSAGES)
    assert cited_lines(checked) == [("src/lease.py", 4, 5)]


@pytest.mark.parametrize(
    "text",
    [
        "The default request timeout is 60 seconds.",
        "The default request timeout is set with `request_timeout_ms`.",
        "Retries use exponential backoff, at most 5 attempts, see RetryPolicy.",
        "The lease is renewed by lease_renewer().",
        "The default timeout is set in settings.retry.",
        "Bananas ripen faster beside apples in paper bags.",
        "Yes.",
        "The timeout",
        "Is the default request timeout 30 seconds?",
        "The default request timeout is 30 seconds, set with request_timeout_s in the settings file, a `float`.",
        "The default request timeout is set with `--request-timeout`.",
        "The default request timeout is set with --timeout-settings",
        "The default request timeout is set with `request-settings`.",
    ],
)
def test_a_sentence_with_a_word_or_number_of_its_own_or_little_in_common_is_not_supported(text: str) -> None:
    checked = check_answer(text, PASSAGES)
    assert supported(text, checked) == [(text, False)]
    assert not checked.citations
    assert not checked.acceptable


def test_each_sentence_has_its_own_verdict_and_citations_come_in_order_of_first_use() -> None:
    text = "Retries use exponential backoff, at most 5 attempts. It costs 7 dollars. The timeout default is 30 seconds."
    checked = check_answer(text, PASSAGES)
    assert [verdict for _, verdict in supported(text, checked)] == [True, False, True]
    assert cited_lines(checked) == [("docs/guide.md", 6, 6), ("docs/guide.md", 3, 3)]
    assert [s.citation_indexes for s in checked.sentences] == [(0,), (), (1,)]
    assert checked.acceptable


def test_numbers_written_in_another_way_are_the_same_number() -> None:
    document = "The cap is 8,192 bytes.\n"
    assert check_answer("The cap is 8192 bytes.", [whole(document)]).acceptable
    assert check_answer("The cap is 8_192 bytes.", [whole(document)]).acceptable
    assert not check_answer("The cap is 819 bytes.", [whole(document)]).acceptable


def test_the_number_of_a_list_item_and_a_path_are_no_claims_of_their_own() -> None:
    text = "7. The default request timeout is 30 seconds (docs/guide.md)."
    assert check_answer(text, PASSAGES).acceptable


def test_a_valid_marker_chooses_the_passage_and_an_invalid_one_is_ignored() -> None:
    twice = (whole(GUIDE, path="a.md"), whole(GUIDE, path="b.md"))
    sentence = "Retries use exponential backoff"
    assert check_answer(f"{sentence} [2].", twice).citations[0].path == "b.md"
    for marker in ("[0]", "[3]", "[9999]", ""):
        assert check_answer(f"{sentence} {marker}.", twice).citations[0].path == "a.md"


def test_a_marker_at_a_passage_that_says_nothing_of_it_is_ignored() -> None:
    assert cited_lines(check_answer("Retries use exponential backoff [1].", PASSAGES)) == [("docs/guide.md", 6, 6)]


def test_dropped_passages_back_nothing() -> None:
    checked = check_answer("The default request timeout is 30 seconds.", PASSAGES, left_out=(1,))
    assert not checked.acceptable
    marked = check_answer("The default request timeout is 30 seconds [2].", PASSAGES, left_out=(1,))
    assert not marked.acceptable


def test_a_sentence_made_of_two_places_cites_both() -> None:
    apart = (whole(GUIDE.replace("\n\nRetries", "\n" * 9 + "Retries")),)
    checked = check_answer("The request timeout is 30 seconds and retries use backoff, 5 attempts.", apart)
    assert cited_lines(checked) == [("docs/guide.md", 13, 13), ("docs/guide.md", 3, 3)]
    assert checked.sentences[0].citation_indexes == (0, 1)


def test_lines_that_overlapping_passages_share_are_cited_once() -> None:
    overlapping = (
        passage_of(CODE, 0, len(CODE), path="src/lease.py"),
        passage_of(CODE, CODE.index("    def renew"), len(CODE), path="src/lease.py"),
    )
    sentence = "`renew` extends the lease by `lease_ttl_s` seconds"
    assert len(check_answer(f"{sentence} [1]. {sentence} [2].", overlapping).citations) == 1


@pytest.mark.parametrize(
    "text",
    ["The default timeout is 30 seconds. " * 12, "timeout " * 60, "timeout" * 40, "- The default timeout\n" * 20],
)
def test_an_answer_that_goes_in_circles_is_not_acceptable(text: str) -> None:
    assert not check_answer(text, PASSAGES).acceptable


@pytest.mark.parametrize("text", ["", "  \n", "```\n```"])
def test_an_answer_without_a_sentence_is_not_acceptable(text: str) -> None:
    assert check_answer(text, PASSAGES) == CheckedAnswer((), (), acceptable=False)


DOCUMENTS = st.text(
    alphabet=st.sampled_from("ab1_.() \n\r\té😀ﬁ漢İ\u2028\x0b\x85`[]"), min_size=1, max_size=120
) | st.text(min_size=1, max_size=120)


@st.composite
def documents_cut_into_passages(draw: st.DrawFn) -> tuple[str, list[Passage]]:
    document = draw(DOCUMENTS)
    cuts = st.integers(0, len(document))
    spans = draw(st.lists(st.tuples(cuts, cuts).map(sorted), min_size=1, max_size=4))
    # A chunker never cuts a line break of two characters in half.
    spans = [s for s in spans if not any(document[i - 1 : i + 1] == "\r\n" for i in s if i)]
    return document, [passage_of(document, start, end) for start, end in spans]


@given(documents_cut_into_passages(), st.data())
def test_every_citation_stands_in_its_document_at_its_lines(
    cut: tuple[str, list[Passage]], data: st.DataObject
) -> None:
    document, passages = cut
    quotes = st.sampled_from([p.text for p in passages] or [""]) | st.text(max_size=40)
    text = " ".join(data.draw(st.lists(quotes, max_size=3)))
    checked = check_answer(text, passages)
    for citation in checked.citations:
        passage = passages[citation.passage_index]
        assert document[citation.start_char : citation.end_char] == citation.text
        assert passage.start_char <= citation.start_char <= citation.end_char <= passage.end_char
        assert citation.start_line == line_number(document, citation.start_char)
        assert citation.end_line == line_number(document, citation.end_char)
    for sentence in checked.sentences:
        assert 0 <= sentence.start_char < sentence.end_char <= len(text)
        assert sentence.supported == bool(sentence.citation_indexes)
        assert all(0 <= index < len(checked.citations) for index in sentence.citation_indexes)
    assert check_answer(text, passages) == checked


@pytest.mark.parametrize(
    "unit", ["a", "`", "a-", "--a", "1,", "[1", "1_", "a.b", "`a` ", "x(", "A", "1.1", "ab\n", "漢"]
)
def test_hostile_text_is_checked_in_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    began_s = time.process_time()
    check_answer(text, [whole(text)])
    assert time.process_time() - began_s < 20


def test_checking_an_answer_over_ten_passages_takes_milliseconds() -> None:
    block = "".join(
        f"    value_{i} = compute_{i % 7}(request, timeout_s={i})  # step {i} of the plan\n" for i in range(400)
    )
    passages = [whole(block[start : start + 2000], path=f"src/{start}.py") for start in range(0, 20_000, 2000)]
    text = " ".join(f"The value_{i} is made by compute_{i % 7} with timeout_s={i}." for i in range(12))
    check_answer(text, passages)  # fills the analyser's cache, as indexing does
    took_s = []
    for _ in range(5):
        began_s = time.process_time()
        check_answer(text, passages)
        took_s.append(time.process_time() - began_s)
    assert min(took_s) < 0.5
