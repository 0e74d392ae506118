"""How often a request is tried, and how long is waited."""

import pytest

from generation_worker.backends.retrying import Tries, retry_after_s, unix_s


def test_three_tries_with_growing_waits():
    tries = Tries()
    first_s, second_s, third_s = (tries.wait_s(None) for _ in range(3))
    assert first_s is not None
    assert second_s is not None
    assert 0.25 <= first_s <= 0.5 <= second_s <= 1.0
    assert third_s is None


def test_what_the_other_side_asks_for_is_waited_unless_it_is_too_long():
    assert Tries().wait_s(3.0) == 3.0
    assert Tries().wait_s(0.0) is not None
    assert Tries().wait_s(3600.0) is None


@pytest.mark.parametrize(
    ("value", "expected_s"),
    [
        (None, None),
        ("7", 7.0),
        (" 0 ", 0.0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 59.0),
        ("Fri, 31 Dec 1999 23:00:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("", None),
        ("9" * 400, 999_999_999.0),
    ],
)
def test_the_header_is_read_in_both_its_forms(value, expected_s):
    now_s = 946_684_740.0  # 59 s before midnight
    assert retry_after_s(value, now_s=now_s) == expected_s


@pytest.mark.parametrize("date", [None, "", "soon", "Mon, 99 Foo 2026 00:00:00 GMT"])
def test_what_is_no_date_is_none(date: str | None):
    assert unix_s(date) is None


def test_a_moment_is_as_far_ahead_as_by_the_clock_of_who_names_it():
    now_s = unix_s("Mon, 01 Jun 2026 10:00:00 GMT")
    assert retry_after_s("Mon, 01 Jun 2026 10:00:02 GMT", now_s=now_s) == 2.0
