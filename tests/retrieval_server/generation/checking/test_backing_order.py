"""Which packed passages back an answer, by what each has counted in it."""

import pytest

from retrieval_server.generation.answers.answer_model import PassageWeight
from retrieval_server.generation.checking.backing_order import backing_order


def weights(*posteriors: float, writer: int | None = None) -> list[PassageWeight]:
    return [
        PassageWeight(place, 1 / len(posteriors), posterior, wrote_answer=place == writer)
        for place, posterior in enumerate(posteriors)
    ]


@pytest.mark.parametrize(
    ("packed_count", "left_out", "of", "order", "not_counted"),
    [
        (3, (), [], [0, 1, 2], []),
        (3, (2,), [], [0, 1, 2], [2]),
        (3, (), weights(0.1, 0.7, 0.2), [1, 2, 0], []),
        (4, (3,), weights(0.1, 0.7, 0.2), [1, 2, 0, 3], [3]),
        (3, (), weights(0.1, 0.2, 0.7, writer=1), [1, 2, 0], [1, 2]),  # the others are not looked at
        (3, (), weights(0.5, 0.5), [0, 1, 2], [2]),  # a passage that nothing is said of had no prompt
        (0, (), [], [], []),
        (1, (0,), weights(1.0, writer=0), [0], [0]),
    ],
)
def test_what_wrote_the_answer_comes_first_and_what_had_no_say_does_not_count(
    packed_count: int, left_out: tuple[int, ...], of: list[PassageWeight], order: list[int], not_counted: list[int]
) -> None:
    assert backing_order(packed_count, left_out, of) == (order, not_counted)
