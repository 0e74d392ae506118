"""The circuit breaker, on a clock of the test's own."""

import pytest

from generation_worker.backends.circuit_breaker import BreakerState, CircuitBreaker

COOLDOWN_S = 30.0


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(failure_limit=3, cooldown_s=COOLDOWN_S, monotonic_s=clock)


def fail(breaker: CircuitBreaker, count: int) -> None:
    for _ in range(count):
        breaker.failed(admitted(breaker))


def admitted(breaker: CircuitBreaker) -> int:
    admission = breaker.admit()
    assert admission is not None
    return admission


def test_it_opens_after_failures_in_a_row_and_not_before(breaker):
    fail(breaker, 2)
    assert breaker.state is BreakerState.CLOSED
    fail(breaker, 1)
    assert breaker.state is BreakerState.OPEN
    assert breaker.admit() is None
    assert not breaker.admits
    assert breaker.cooldown_left_s == COOLDOWN_S


def test_a_success_forgives_what_failed_before(breaker):
    fail(breaker, 2)
    breaker.succeeded(admitted(breaker))
    fail(breaker, 2)
    assert breaker.state is BreakerState.CLOSED


def test_after_the_cooldown_one_may_try_and_its_success_closes(breaker, clock):
    fail(breaker, 3)
    clock.now_s += COOLDOWN_S - 0.1
    assert breaker.admit() is None
    clock.now_s += 0.1
    assert breaker.state is BreakerState.HALF_OPEN
    assert breaker.admits
    its_try = admitted(breaker)
    assert (breaker.admits, breaker.cooldown_left_s) == (False, 0.0)
    assert breaker.admit() is None
    breaker.succeeded(its_try)
    assert breaker.state is BreakerState.CLOSED
    fail(breaker, 2)
    assert breaker.state is BreakerState.CLOSED


def test_a_try_that_fails_opens_it_for_another_cooldown(breaker, clock):
    fail(breaker, 3)
    clock.now_s += COOLDOWN_S
    fail(breaker, 1)
    assert breaker.state is BreakerState.OPEN
    clock.now_s += COOLDOWN_S - 0.1
    assert breaker.admit() is None
    clock.now_s += 0.1
    admitted(breaker)


def test_a_try_that_was_given_up_lets_another_one_try(breaker, clock):
    fail(breaker, 3)
    clock.now_s += COOLDOWN_S
    breaker.withdrew(admitted(breaker))
    assert breaker.state is BreakerState.HALF_OPEN
    admitted(breaker)
    assert breaker.admit() is None


def test_the_beginning_of_a_try_lets_others_in_and_a_failure_before_the_first_success_opens_it_again(breaker, clock):
    fail(breaker, 3)
    for ended in (CircuitBreaker.failed, CircuitBreaker.succeeded):
        clock.now_s += COOLDOWN_S
        its_try = breaker.begun(admitted(breaker))
        assert breaker.state is BreakerState.CLOSED
        late = admitted(breaker)
        ended(breaker, its_try)
        assert breaker.state is (BreakerState.OPEN if ended is CircuitBreaker.failed else BreakerState.CLOSED)
    breaker.failed(late)
    assert breaker.state is BreakerState.CLOSED, "one of three"


def test_one_that_begins_and_breaks_off_each_time_is_left_alone_in_the_end(breaker):
    for _ in range(3):
        breaker.failed(breaker.begun(admitted(breaker)))
    assert breaker.state is BreakerState.OPEN


def test_late_failures_of_jobs_that_began_before_it_opened_do_not_prolong_the_cooldown(breaker, clock):
    late = [admitted(breaker) for _ in range(3)]
    fail(breaker, 3)
    clock.now_s += COOLDOWN_S / 2
    breaker.failed(late[0])
    clock.now_s += COOLDOWN_S / 2
    breaker.failed(late[1])
    its_try = admitted(breaker)
    breaker.failed(late[2])
    assert breaker.state is BreakerState.HALF_OPEN
    breaker.succeeded(its_try)
    assert breaker.state is BreakerState.CLOSED


@pytest.mark.parametrize("told", [CircuitBreaker.withdrew, CircuitBreaker.succeeded])
def test_other_late_news_neither_closes_it_nor_lets_a_second_one_try(breaker, clock, told):
    late = admitted(breaker)
    fail(breaker, 3)
    clock.now_s += COOLDOWN_S
    admitted(breaker)
    told(breaker, late)
    assert breaker.state is BreakerState.HALF_OPEN
    assert breaker.admit() is None
