"""The fit of answerability finds what separates, and its report tells each tree in turn."""

import random

import pytest

from benchmarks import answerability
from benchmarks.ablation_sets import TREE_NAMES
from benchmarks.answerability import KINDS, Asked, fitted, report


def rows(chance: random.Random) -> list[Asked]:
    made = []
    for tree in TREE_NAMES:
        for kind in ("answerable", *KINDS) * 12:
            answerable = kind == "answerable"
            covered = min(1.0, max(0.0, chance.gauss(0.7 if answerable else 0.3, 0.2)))
            made.append(Asked(tree, kind, (covered, chance.random(), 0.0 if answerable else 0.2, 0.0), not answerable))
    return made


def test_what_tells_gets_its_sign_and_what_does_not_stays_near_zero() -> None:
    _, covered, cosine, unknown, lacks_name = fitted(rows(random.Random(5)))
    assert covered > 2
    assert unknown < -1
    assert abs(cosine) < 1
    assert lacks_name == pytest.approx(0, abs=1e-6)  # it never varies


def test_the_report_shows_every_tree_with_and_without_its_part_in_the_fit() -> None:
    told = report(rows(random.Random(5)), rows(random.Random(6)))
    assert all(told.count(f"  {tree} ") == 2 for tree in TREE_NAMES)
    assert told.startswith("constants: bias ")
    assert "without vectors: bias " in told
    assert "36/36 100.0%" in told  # all that is missing is refused


@pytest.mark.parametrize("tree", TREE_NAMES[1:])
def test_every_tree_has_questions_of_each_kind(tree: str) -> None:
    assert {kind for _, kind in answerability.questions(tree)} == {"answerable", *KINDS}
