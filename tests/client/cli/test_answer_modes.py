"""client answer --mode: what is asked for, and what is shown of it."""

import pytest

from groundwire.v1 import answer_pb2
from tests.client.fake_answers import answer_events, answered_result


@pytest.mark.parametrize("mode", ["stuff", "extractive", "rag_sequence", "rag_token"])
def test_the_mode_is_asked_for(command_line, server, mode):
    server.state.events = answer_events("It starts.", result=answered_result("It starts."))
    assert command_line("answer", "how?", "--mode", mode).exit_code == 0
    asked = server.state.streamed[-1]
    assert asked.options.mode == answer_pb2.AnswerMode.Value(f"ANSWER_MODE_{mode.upper()}")


def test_what_each_passage_counted_is_shown_and_what_nobody_knows_is_left_out(command_line, server):
    weights = [
        answer_pb2.PassageWeight(packed_index=0, prior=0.7, posterior=0.24),
        answer_pb2.PassageWeight(packed_index=1, prior=0.3, posterior=0.76, wrote_answer=True),
        answer_pb2.PassageWeight(packed_index=7, prior=0.0, posterior=0.0),
    ]
    result = answered_result(
        "It starts.",
        generator=answer_pb2.GeneratorInfo(mode=answer_pb2.ANSWER_MODE_RAG_SEQUENCE, passage_weights=weights),
        packed_passages=[answer_pb2.PackedPassage(path=path) for path in ("a.md", "b\x1b.md")],
    )
    server.state.events = answer_events("It starts.", result=result)
    shown = command_line("answer", "how?", "--mode", "rag_sequence").stdout
    assert "(mode rag_sequence" in shown
    written_from = shown.splitlines()[-1]
    assert written_from.startswith("Written from: a.md 24% (by its rank 70%), b")
    assert written_from.endswith(".md 76% (by its rank 30%)")
    assert "\x1b" not in shown
