"""Settings that no request could be served with, or that contradict each other, are refused at the start."""

import pytest
from pydantic import ValidationError

from retrieval_server.serving import CannotStart, serve
from retrieval_server.settings import ServerSettings, problems_of


@pytest.mark.parametrize("chars", [1, 99])
def test_a_default_that_no_request_may_ask_for_is_refused(chars: int) -> None:
    with pytest.raises(ValidationError) as caught:
        ServerSettings(default_focus_chars=chars)
    assert problems_of(caught.value).startswith("GROUNDWIRE_DEFAULT_FOCUS_CHARS: ")


@pytest.mark.parametrize("chars", [0, 100])
def test_the_least_default_is_taken(chars: int) -> None:
    assert ServerSettings(default_focus_chars=chars).default_focus_chars == chars


@pytest.mark.parametrize(
    ("other", "named"),
    [({"answer_cache_ttl_s": 0}, "GROUNDWIRE_ANSWER_CACHE_TTL_S"), ({"lexical_only": True}, "GROUNDWIRE_LEXICAL_ONLY")],
)
async def test_near_questions_need_what_they_are_found_with(other: dict[str, object], named: str) -> None:
    settings = ServerSettings(answer_cache_similarity=0.9, encoder="hashing", **other)  # type: ignore[arg-type]
    with pytest.raises(CannotStart, match=named):
        await serve(settings)
