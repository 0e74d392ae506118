"""What set-up shows while pip runs."""

import pytest

from deploy.install_locked import step_of


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("Collecting numpy==2.4.6 (from -r requirements.lock (line 9))", "collecting numpy"),
        ("  Building wheel for llama-cpp-python (pyproject.toml): started", "building llama-cpp-python"),
        ("  [123/193] /usr/bin/g++ -DGGML_BUILD -O3 -c x.cpp", "llama.cpp [123/193]"),
        ("Installing collected packages: a, b, c", "installing 3 packages"),
        ("  Using cached numpy-2.4.6.whl", None),
        ("  creating [1/2] something else", None),
    ],
)
def test_a_line_of_pip_becomes_a_step(line: str, step: str | None) -> None:
    assert step_of(line, "llama.cpp") == step
