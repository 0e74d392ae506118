"""The function words of other languages are left out of questions in them, and stay in questions that are English."""

import pytest

from retrieval_server.engine.words.asked_words import asked_words, function_terms


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Wie wird der Timeout für das Laden von Kränen gesetzt?", ["Timeout", "Laden", "Kränen", "gesetzt"]),
        ("Was ist der Unterschied zwischen gate und crane?", ["Unterschied", "gate", "crane"]),
        ("Welche Krane hat die Klasse GateCrane?", ["Krane", "Klasse", "GateCrane"]),
        ("Wie stellen Sie den Kran ein?", ["stellen", "Kran"]),
        ("Comment fonctionne le treuil ?", ["fonctionne", "treuil"]),
        ("Quelle est la hauteur de l’écluse ?", ["hauteur", "écluse"]),
        ("Qu'est-ce que le treuil ?", ["treuil"]),
        ("¿Cómo se configura el tiempo de espera?", ["configura", "tiempo", "espera"]),
        ("Cual es la altura de las gruas", ["altura", "gruas"]),
        ("Como se configura o guincho?", ["configura", "guincho"]),
        ("Quais são as alturas dos guindastes?", ["alturas", "guindastes"]),
        ("Come si configura il verricello dell'argano?", ["configura", "verricello", "argano"]),
        ("Quali sono le altezze?", ["altezze"]),
        ("Hoe werkt de sluis?", ["werkt", "sluis"]),
        ("Waarom wordt het niet geopend?", ["geopend"]),
        ("Jak ustawić limit czasu?", ["ustawić", "czasu"]),
        ("Co to jest dźwig?", ["dźwig"]),
        ("Какие краны есть у шлюза?", ["краны", "шлюза"]),
        ("Wie geht das und wann?", ["geht"]),
        ("Warum?", ["Warum"]),  # then that is what it is about
    ],
)
def test_what_a_question_in_another_language_is_asked_with_is_left_out(question, words):
    assert [word.text for word in asked_words(question)] == words


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Why does the die on tag he is?", ["die", "tag"]),
        ("How is a comment parsed?", ["comment", "parsed"]),
        ("Comment syntax of TOML", ["Comment", "TOML"]),
        ("Which font is used for a comment plus son?", ["font", "comment", "plus", "son"]),
        ("Does the door die when men met over war?", ["door", "die", "men", "war"]),
        ("What does le do in torch?", ["le", "torch"]),
        ("How does `der` differ from `pem`?", ["der", "pem"]),
        ("Which locale, en or de or es?", ["locale", "en", "de", "es"]),
        ("Is DES or DER or DAS used?", ["DES", "DER", "DAS"]),
        ("How do I del a pod con hat?", ["del", "pod", "con", "hat"]),
        ("How does von Mises stress rust?", ["von", "Mises", "stress", "rust"]),
        ("Does O'Brien wait at 5 o'clock?", ["O'Brien", "5", "o'clock"]),
    ],
)
def test_words_that_are_also_of_another_language_stay_in_an_english_question(question, words):
    assert [word.text for word in asked_words(question)] == words
    assert not function_terms(question)


def test_a_name_stays_where_its_plain_form_is_a_function_word():
    assert [word.text for word in asked_words("Wie wird die Klasse Die gesetzt?")] == ["Klasse", "Die", "gesetzt"]


def test_terms_that_a_telling_word_has_as_well_are_not_those_of_function_words_alone():
    assert function_terms("Wie wird die Klasse Die gesetzt?") == {"wie", "wird"}
    assert function_terms("Welche Krane gibt es?") == {"welch", "gibt", "es"}
