"""Logits as they are changed before a token is chosen."""

import numpy as np
import pytest

from generation_worker.decoding.copying import CopyBonus
from generation_worker.decoding.preferences import REPEAT_WINDOW_TOKENS, Preferences


def changed(preferences: Preferences, *logits: float) -> list[float]:
    row = np.array(logits, dtype=np.float32)
    preferences.apply(row)
    return row.tolist()


def test_nothing_is_changed_before_anything_was_said() -> None:
    assert changed(Preferences(), 3.0, -2.0, 0.0) == [3.0, -2.0, 0.0]


def test_what_was_said_is_less_likely_whatever_its_sign_and_once_however_often() -> None:
    preferences = Preferences()
    for token in (0, 1, 1):
        preferences.accept(token)
    assert changed(preferences, 2.2, -2.0, 1.0) == pytest.approx([2.0, -2.2, 1.0])


def test_what_was_said_long_ago_is_forgotten_and_all_of_it_when_a_text_begins_anew() -> None:
    preferences = Preferences()
    preferences.accept(0)
    for _ in range(REPEAT_WINDOW_TOKENS):
        preferences.accept(1)
    assert changed(preferences, 2.2, 2.2) == pytest.approx([2.2, 2.0])
    preferences.restart()
    assert changed(preferences, 2.2, 2.2) == pytest.approx([2.2, 2.2])


def test_copying_gains_before_repetition_loses() -> None:
    preferences = Preferences(CopyBonus([[0, 1, 2]], [b" a", b"b", b"c"].__getitem__, 4.0))
    assert changed(preferences, 1.0, 1.0, 1.0) == [3.0, 1.0, 1.0]  # the start of a word
    preferences.accept(0)
    assert changed(preferences, 0.2, 1.0, 1.0) == pytest.approx([2.0, 5.0, 1.0])
    preferences.restart()
    assert changed(preferences, 1.0, 1.0, 1.0) == [3.0, 1.0, 1.0]
