"""Several backends in order: who writes, who stands in, and that each job is told exactly one end."""

import pytest

from generation_worker.backends.backend import BackendUnavailableError, GenerationStopped
from generation_worker.backends.circuit_breaker import BreakerState, CircuitBreaker
from generation_worker.backends.ordered import GenerationBegun, GuardedBackend, OrderedBackends, Pause
from generation_worker.engine.protocol import (
    GenerationDone,
    GenerationError,
    GenerationFailed,
    PromptPacked,
    TextPiece,
)
from groundwire.v1 import answer_pb2
from tests.generation_worker.backends.support import FakeBackend, Listener, make_job

DOWN = GenerationFailed(BackendUnavailableError("it is down"))
PACKED = PromptPacked(10, ())


class Pair:
    """A remote backend with a breaker that opens at the second failure, and a local one behind it."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.remote, self.local = FakeBackend("remote"), FakeBackend("local")
        self.breaker = CircuitBreaker(failure_limit=2, cooldown_s=10.0, monotonic_s=lambda: self.now_s)
        self.both = OrderedBackends([GuardedBackend(self.remote, self.breaker), GuardedBackend(self.local)])

    def start(self, job=None) -> tuple[int, Listener]:
        listener = Listener()
        return self.both.start(job or make_job(), listener), listener


@pytest.fixture
def pair() -> Pair:
    return Pair()


def write(backend: FakeBackend, *steps: object) -> None:
    for step in steps:
        backend.told[-1](step)


async def test_the_first_one_writes_while_all_is_well(pair):
    _, listener = pair.start()
    write(pair.remote, PACKED, TextPiece("a"), GenerationDone(1))
    assert listener.steps == [GenerationBegun(pair.remote), PACKED, TextPiece("a"), GenerationDone(1)]
    assert pair.local.told == []


async def test_nothing_is_told_of_one_that_failed_before_its_first_word(pair):
    _, listener = pair.start()
    write(pair.remote, DOWN)
    write(pair.local, PACKED, TextPiece("b"), GenerationDone(1))
    assert listener.steps == [GenerationBegun(pair.local), PACKED, TextPiece("b"), GenerationDone(1)]


async def test_one_that_breaks_off_is_replaced_and_the_listener_knows_where_the_new_text_begins(pair):
    _, listener = pair.start()
    write(pair.remote, PACKED, TextPiece("a"), DOWN)
    write(pair.local, PACKED, TextPiece("b"), GenerationDone(1))
    begun = [step.backend.name for step in listener.steps if isinstance(step, GenerationBegun)]
    assert begun == ["remote", "local"]
    assert listener.steps[-2:] == [TextPiece("b"), GenerationDone(1)]


async def test_when_all_fail_the_last_ones_reason_is_told(pair):
    _, listener = pair.start()
    write(pair.remote, DOWN)
    error = GenerationError("The question is too long.")
    write(pair.local, GenerationFailed(error))
    assert listener.steps == [GenerationFailed(error)]


async def test_one_that_keeps_failing_is_left_alone_until_a_try_succeeds(pair):
    for _ in range(2):
        pair.start()
        write(pair.remote, DOWN)
    assert pair.breaker.state is BreakerState.OPEN
    pair.start()
    assert len(pair.remote.told) == 2
    assert len(pair.local.told) == 3
    pair.now_s = 10.0
    pair.start()
    pair.start()  # only one may try
    assert (len(pair.remote.told), len(pair.local.told)) == (3, 4)
    write(pair.remote, PACKED, TextPiece("a"), GenerationDone(1))
    pair.start()
    assert len(pair.remote.told) == 4


async def test_a_job_that_is_at_fault_itself_is_no_failure_of_the_backend(pair):
    for _ in range(3):
        pair.start()
        write(pair.remote, GenerationFailed(GenerationError("no")))
    assert pair.breaker.state is BreakerState.CLOSED


async def test_a_job_that_is_at_fault_itself_proves_nothing_of_a_backend_that_failed(pair):
    for _ in range(2):
        pair.start()
        write(pair.remote, DOWN)
    pair.now_s = 10.0
    pair.start()
    write(pair.remote, GenerationFailed(GenerationError("the question is too long, said before anything was sent")))
    assert pair.breaker.state is BreakerState.HALF_OPEN
    pair.start()
    pair.start()  # still one at a time
    assert len(pair.remote.told) == 4


async def test_a_try_that_is_cancelled_lets_another_one_try(pair):
    for _ in range(2):
        pair.start()
        write(pair.remote, DOWN)
    pair.now_s = 10.0
    key, listener = pair.start()
    pair.both.stop(key)
    assert pair.remote.stopped == [3]
    write(pair.remote, GenerationStopped())
    assert listener.steps == [GenerationStopped()]
    pair.start()
    assert len(pair.remote.told) == 4


async def test_a_failure_that_crosses_with_a_stop_starts_nothing_anew(pair):
    key, listener = pair.start()
    pair.both.stop(key)
    write(pair.remote, DOWN)
    assert listener.steps == [GenerationStopped()]
    assert pair.local.told == []


class Alone:
    """A remote backend with a breaker that opens at the first failure, and nothing behind it."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.remote = FakeBackend("remote")
        breaker = CircuitBreaker(failure_limit=1, cooldown_s=10.0, monotonic_s=lambda: self.now_s)
        self.backends = OrderedBackends([GuardedBackend(self.remote, breaker)])

    def start(self, job=None) -> Listener:
        listener = Listener()
        self.backends.start(job or make_job(), listener)
        return listener


async def test_without_any_that_may_be_used_there_is_a_pause_and_a_job_is_stopped_not_failed():
    alone = Alone()
    assert alone.backends.pause is None
    first = alone.start()
    write(alone.remote, DOWN)
    assert first.steps == [DOWN]
    assert alone.backends.pause == Pause("the remote backend failed too often lately", 10.0)
    alone.now_s = 4.0
    assert alone.backends.pause.left_s == 6.0
    assert alone.start().steps == [GenerationStopped()]
    assert len(alone.remote.told) == 1


async def test_a_job_in_a_mode_that_nothing_works_in_fails_also_during_a_pause():
    alone = Alone()
    alone.start()
    write(alone.remote, DOWN)
    [failed] = alone.start(make_job(mode=answer_pb2.ANSWER_MODE_RAG_TOKEN)).steps
    assert "RAG_TOKEN" in str(failed.error)


async def test_a_pause_is_over_for_one_job_and_when_that_succeeds_for_all():
    alone = Alone()
    alone.start()
    write(alone.remote, DOWN)
    alone.now_s = 10.0
    assert alone.backends.pause is None
    alone.start()
    assert alone.backends.pause.left_s is None
    assert "one job tries now" in alone.backends.pause.reason
    assert alone.start().steps == [GenerationStopped()]
    write(alone.remote, PACKED, GenerationDone(1))
    assert alone.backends.pause is None


async def test_another_that_may_be_used_means_no_pause_and_names_itself(pair):
    assert pair.both.identity == pair.remote.identity
    for _ in range(2):
        pair.start()
        write(pair.remote, DOWN)
    assert pair.breaker.state is BreakerState.OPEN
    assert pair.both.pause is None
    assert pair.both.identity == pair.local.identity


async def test_one_that_cannot_work_in_the_jobs_mode_is_passed_over(pair):
    pair.local.modes = (answer_pb2.ANSWER_MODE_STUFF, answer_pb2.ANSWER_MODE_RAG_TOKEN)
    pair.start(make_job(mode=answer_pb2.ANSWER_MODE_RAG_TOKEN))
    assert (len(pair.remote.told), len(pair.local.told)) == (0, 1)
    _, listener = pair.start(make_job(mode=answer_pb2.ANSWER_MODE_RAG_SEQUENCE))
    [failed] = listener.steps
    assert "RAG_SEQUENCE" in str(failed.error)
