import pytest

from retrieval_server.generation.text.durations import misses_duration

STAY = "How long may a visiting boat stay at the guest pontoon?"


@pytest.mark.parametrize(
    ("question", "answer", "misses"),
    [
        (STAY, "The guest pontoon has 64 berths on four pontoons.", True),
        (STAY, "The boat's berth is at pontoon B.", True),
        (STAY, "At most fourteen nights in any month.", False),
        (STAY, "It may stay until the fleet returns.", False),
        ("How long does a worker wait for a lease?", "It waits 10 s.", False),
        ("How long does a worker wait for a lease?", "It waits 250ms.", False),
        ("How long does a worker wait for a lease?", "The worker holds leases of jobs.", True),
        ("How long is the list of berths?", "It has 31 names.", False),
        ("How long can a prompt be?", "2,048 tokens.", False),
        ("How many berths are there?", "64 berths.", False),
    ],
)
def test_a_question_for_a_duration_is_answered_by_a_time(question: str, answer: str, misses: bool):
    assert misses_duration(question, answer) is misses
