"""Factors by kind of source."""

import pytest

from retrieval_server.engine.priors import source_priors

NOTHING = frozenset[str]()


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("src/scheduler.py", []),
        ("tests/scheduler.py", ["test_source"]),
        ("pkg/test_scheduler.py", ["test_source"]),
        ("pkg/scheduler_test.go", ["test_source"]),
        ("web/button.test.tsx", ["test_source"]),
        ("docs/testing.md", []),
        ("src/latest_contest.py", []),
        ("pkg/third_party/pynvml.py", ["vendored"]),
        ("vendor/lib/tests/a.go", ["test_source", "vendored"]),
    ],
)
def test_priors_by_path(path: str, names: list[str]):
    assert [prior.name for prior in source_priors(path, NOTHING)] == names


def test_tests_are_not_lowered_for_a_question_about_tests():
    assert source_priors("tests/test_a.py", frozenset({"test"})) == ()
