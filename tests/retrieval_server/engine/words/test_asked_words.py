"""What a question is about: its words without those that questions are made of, and whether they are held."""

import pytest

from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.engine.words.asked_words import asked_question, asked_words, compacted, names_nowhere
from tests.support.growth import assert_linear


class HeldText:
    """A passage that holds a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def terms(self, asked: frozenset[str]) -> frozenset[str]:
        return asked & frozenset(analyse_terms(self.text))

    def compact(self) -> str:
        return compacted(self.text)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What is the default value of the gate's timeout parameter?", ["gate", "timeout"]),
        ("Why doesn't `max_load` work (on Valkey)?", ["max_load", "Valkey"]),
        ("I'm told cranes rust", ["cranes", "rust"]),
        ("What is the default?", ["default"]),  # then that is what it is about
        ("", []),
    ],
)
def test_the_vocabulary_of_asking_is_left_out(question, words):
    assert [word.text for word in asked_words(question)] == words


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("闸门有多大?", ["闸门"]),
        ("如何配置GPU数量", ["配置", "GPU", "数量"]),
        ("ゲートの幅は何mですか", ["ゲー", "ート", "m"]),
        ("수문의 폭", ["수문", "문의", "폭"]),
        ("是什么", ["是什", "什么"]),
    ],
)
def test_without_spaces_two_characters_are_a_word(question, words):
    assert [word.text for word in asked_words(question)] == words


def test_a_sentence_without_spaces_is_held_by_parts():
    held = HeldText("闸门在涨潮前关闭。")
    assert [word.is_held(held) for word in asked_words("闸门什么时候打开?")] == [True, False]


@pytest.mark.parametrize("name", ["max_load", "GateCrane", "maxLoad", "Valkey", "LLaMA", "fp8", "3D"])
def test_names_are_told_from_plain_words(name):
    assert [word.is_name for word in asked_words(f"why are {name} cranes slow?")] == [True, False]


@pytest.mark.parametrize("question", ["Cranes rust. Gates rust.", "LLMs rust", "I'm rust", "¿Cuánto", "«Wann", "„Wann"])
def test_capitals_that_make_no_name(question):
    assert not any(word.is_name for word in asked_words(f"{question}?"[:6]))


def test_a_word_is_held_in_any_form_and_a_name_in_any_spelling():
    held = HeldText("rusty cranes lift model_runner")
    (plain, name, other) = asked_words("crane ModelRunner craneModel")
    assert (plain.is_held(held), name.is_held(held), other.is_held(held)) == (True, True, False)
    assert not asked_words("rust")[0].is_held(HeldText("crusty"))  # part of another word


def test_names_may_stand_in_any_of_the_passages_plain_words_need_not():
    words = asked_words("how does max_load of Valkey whisper?")
    assert not names_nowhere(words, [HeldText("max_load"), HeldText("valkey")])
    assert names_nowhere(words, [HeldText("max_load whisper")])


@pytest.mark.parametrize("before", ["", "  ", "\n\n", "Lifted. ", "So? ", "He said: ", "(", '"', "« "])
def test_a_capital_at_the_start_of_a_sentence_makes_no_name(before):
    assert [word.is_name for word in asked_words(f"{before}Crane")][-1:] == [False]
    assert [word.is_name for word in asked_words(f"{before}the Crane")][-1:] == [True]


def test_a_question_of_capitals_alone_is_read_in_time_that_grows_with_it():
    uncached = asked_question.__wrapped__
    assert_linear(uncached, lambda length: " ".join(f"Crane{chr(97 + n % 26)}" for n in range(length // 7)), 14_000)
