"""Copying is favoured: going on with a span most, beginning a word of the sources some, the rest not at all."""

from generation_worker.decoding.copying import CopyBonus

PIECES = {1: b"The", 2: b" lock", 3: b" opens", 4: b" at", 5: b" 05", 6: b":", 7: b"30", 8: b"\n", 9: b" crane"}
SOURCES = [[1, 2, 3, 4, 5, 6, 7], [9, 3, 8]]


def bonus() -> CopyBonus:
    return CopyBonus(SOURCES, PIECES.__getitem__, 4.0)


def test_at_first_only_words_of_the_sources_gain() -> None:
    assert bonus().gains() == {2: 2.0, 3: 2.0, 4: 2.0, 5: 2.0, 9: 2.0}


def test_every_place_of_a_token_can_be_gone_on_from_until_the_text_tells_them_apart() -> None:
    copying = bonus()
    copying.accept(3)
    assert {token: gain for token, gain in copying.gains().items() if gain == 4.0} == {4: 4.0, 8: 4.0}
    copying.accept(4)
    assert {token for token, gain in copying.gains().items() if gain == 4.0} == {5}
    copying.accept(5)
    assert copying.gains()[6] == 4.0  # a token that begins no word gains only as part of a span


def test_a_word_of_its_own_ends_the_copying_and_another_span_may_begin() -> None:
    copying = bonus()
    copying.accept(2)
    copying.accept(77)
    assert 4.0 not in copying.gains().values()
    copying.accept(9)
    assert copying.gains()[3] == 4.0


def test_the_end_of_a_source_is_not_gone_on_into_the_next() -> None:
    copying = bonus()
    copying.accept(7)
    assert 4.0 not in copying.gains().values()
