"""The function words of other languages are left out of questions in them, and stay in questions that are English."""

import pytest

from retrieval_server.engine.words.asked_words import asked_question, asked_words


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
        ("Was ist der Unterschied zwischen if und for in Python?", ["Unterschied", "Python"]),
        ("Was ist der Timeout?", ["Timeout"]),
        ("Que es max_load?", ["max_load"]),
        ("Che cosa fa la funzione?", ["funzione"]),
        ("Wann wird if statt for benutzt?", ["statt", "benutzt"]),
        ("¿Cual es la diferencia entre `await` y `yield`?", ["diferencia", "await"]),
        ("Cual es el maximo de max_load?", ["maximo", "max_load"]),
        ("Como se faz o deploy do pod no cluster?", ["deploy", "pod", "cluster"]),
        ("Wat is de waarde van max_load in the config?", ["waarde", "max_load", "config"]),
        ("Как работает for и while in the Go?", ["работает", "Go"]),
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
        ("How do I configure jest in a pod?", ["jest", "pod"]),
        ("Does jest run in a pod?", ["jest", "pod"]),
        ("jest config in a pod", ["jest", "config", "pod"]),
        ("How is di set up in the dal?", ["di", "dal"]),
        ("inject di in a dal", ["inject", "di", "dal"]),
        ("How does mio bind to lo?", ["mio", "lo"]),
        ("What is the difference between se and sem?", ["se", "sem"]),
        ("Tell me how sem and na differ", ["sem", "na"]),
        ("How does sem treat na values?", ["sem", "na"]),
        ("Does the der parser accept des keys?", ["der", "parser", "des"]),
        ("convert der to des or mit", ["der", "des", "mit"]),
        ("How is the aux loss added to y?", ["aux", "loss", "y"]),
        ("How do I read y from a las file?", ["y", "las"]),
        ("Is the comment shown in es or en?", ["comment", "es", "en"]),
        ("How is the comment translated to de?", ["comment", "translated", "de"]),
        ("Comment is the la of the de?", ["Comment", "la", "de"]),
        ("What is uma_zalloc in uma?", ["uma_zalloc", "uma"]),
        ("uma_zalloc che chez", ["uma_zalloc", "che", "chez"]),
        ("Explain how the nie of quando is kept", ["nie", "quando"]),
        ("Does O'Brien wait at 5 o'clock?", ["O'Brien", "5", "o'clock"]),
    ],
)
def test_words_that_are_also_of_another_language_stay_in_an_english_question(question, words):
    assert [word.text for word in asked_words(question)] == words
    assert not asked_question(question).function_terms


def test_a_name_stays_where_its_plain_form_is_a_function_word():
    assert [word.text for word in asked_words("Wie wird die Klasse Die gesetzt?")] == ["Klasse", "Die", "gesetzt"]


def test_terms_that_a_telling_word_has_as_well_are_not_those_of_function_words_alone():
    assert asked_question("Wie wird die Klasse Die gesetzt?").function_terms == {"wie", "wird"}
    assert asked_question("Welche Krane gibt es?").function_terms == {"welch", "gibt", "es"}
