"""Token F1 and ROUGE-L against values worked out by hand."""

import pytest

from client.cli.answer_scores import mean_interval, new_words_f1, rouge_l, token_f1


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("The default is 8.", "default is 8", 1.0),
        ("An `lm_eval` run", "lm_eval", 2 / 3),  # articles and punctuation do not count
        ("eight eight eight", "eight", 0.5),  # a word counts as often as both hold it
        ("one two", "three four", 0.0),
        ("", "something", 0.0),
        ("the", "", 1.0),
    ],
)
def test_token_f1_counts_shared_words(answer, reference, expected):
    assert token_f1(answer, reference) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("police kill the gunman", "police killed the gunman", 0.75),
        ("the gunman kill police", "police killed the gunman", 0.5),  # order counts
        ("", "word", 0.0),
        ("a.b", "a b", 1.0),
    ],
)
def test_rouge_l_follows_the_longest_common_subsequence(answer, reference, expected):
    assert rouge_l(answer, reference) == pytest.approx(expected)


def test_the_interval_of_a_mean_is_symmetric_and_needs_two_values():
    mean, low, high = mean_interval([0.0, 1.0, 0.0, 1.0])
    assert mean == 0.5
    assert high - mean == pytest.approx(mean - low) == pytest.approx(1.959964 * 0.5773503 / 2)
    assert mean_interval([0.3]) == (0.3, 0.3, 0.3)
    assert mean_interval([]) == (0.0, 0.0, 0.0)


def test_repeating_the_question_is_worth_nothing_in_new_words():
    question, reference = "What is the load of a crane?", "The load of a crane is 4000 kg."
    assert token_f1("The load of a crane is", reference) == pytest.approx(0.8)
    assert new_words_f1("The load of a crane is", reference, question) == 0
    assert new_words_f1("4000 kg", reference, question) == 1
    assert new_words_f1("4000 t", reference, question) == 0.5
    assert new_words_f1("4000", "a crane", question) is None
