"""Terms of documents and queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_server.engine.words.analyser import MAX_TERM_CHARS, analyse, analyse_terms, identifier_parts


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("fooBarBaz", ["foobarbaz", "foo", "bar", "baz"]),
        ("max_model_len", ["max_model_len", "max", "model", "len"]),
        ("--max-model-len", ["max", "model", "len"]),
        ("LLMs", ["llm"]),
        ("LLM", ["llm"]),
        ("K8s", ["k8s", "k", "8", "s"]),
        ("running runs", ["run", "run"]),
        ("FP8_MIN", ["fp8_min", "fp", "8", "min"]),
        ("__init__", ["init"]),
        ("Straße STRASSE", ["strass", "strass"]),
        ("１２３", ["123"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー", "東", "京", "タ", "ワ", "ー"]),
        ("京", ["京"]),
        ("vLLM東京 rocks", ["vllm", "v", "llm", "東京", "東", "京", "rock"]),
        ("ship it 🚀🚀, ✅ done", ["ship", "it", "🚀", "🚀", "✅", "done"]),
        ("👩‍💻", ["👩", "💻"]),
        ("deadbeef0123456789a1b2c3d4e5f6a7", ["deadbeef0123456789a1b2c3d4e5f6a7"]),
        ("C++ / ?!", ["c"]),
        ("", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert analyse_terms(text) == terms


def test_composed_and_decomposed_forms_are_the_same_term():
    assert analyse("na\u00efve caf\u00e9") == analyse("nai\u0308ve cafe\u0301")


def test_a_lone_surrogate_separates_words():
    assert analyse_terms("ab\ud800cd") == ["ab", "cd"]


@given(st.text())
def test_any_text_yields_terms_that_an_index_can_hold(text: str):
    for term in analyse_terms(text):
        assert term == term.strip()
        assert len(term) <= 4 * MAX_TERM_CHARS  # case folding may lengthen: "ΐ" becomes three code points
        term.encode()


def test_what_separates_words_is_the_same_in_ascii_text_and_in_other():
    for char in map(chr, range(128)):
        assert analyse(f"one{char}two é") == f"{analyse(f'one{char}two')} é"


@given(st.text(st.characters(codec="ascii"), max_size=200))
def test_letter_case_of_plain_words_does_not_matter(text: str):
    assert analyse(text.lower()) == analyse(text.lower().upper().lower())


def test_parts_are_not_stemmed():
    assert identifier_parts("runningHTTPServers_2") == ["running", "http", "servers", "2"]


@pytest.mark.parametrize("word", ["retries", "Settings", "ModelRunner", "max_num_seqs", "LLMs", "vLLM"])
@pytest.mark.parametrize("around", ["{}を設定する", "使用{}处理", "{}의", "設定{}"])
def test_a_word_among_chinese_and_japanese_is_found_as_it_is_alone(word: str, around: str):
    assert set(analyse_terms(word)) <= set(analyse_terms(around.format(word)))
