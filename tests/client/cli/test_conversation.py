"""client answer --history holds a conversation in a file; --rewrite and what was understood."""

import json
import os
import resource

import pytest

from groundwire.v1 import answer_pb2, error_pb2
from tests.client.support import answer_events, answered_result


def turns_of(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_conversation_grows_by_a_turn_a_call_and_is_sent_with_the_next(command_line, server, tmp_path):
    server.state.events = answer_events("30 s.", result=answered_result("30 s."))
    assert command_line("answer", "What is the default of x?", "--history", "talk.jsonl").exit_code == 0
    server.state.events = answer_events("In y.", result=answered_result("In y.", standalone_question="Where is x set?"))
    run = command_line("answer", "And where is it set?", "--history", "talk.jsonl")
    assert run.exit_code == 0
    assert "Understood as: Where is x set?" in run.stdout.splitlines()
    first, second = server.state.streamed
    assert not first.history
    assert [(one.question, one.answer) for one in second.history] == [("What is the default of x?", "30 s.")]
    assert turns_of(tmp_path / "talk.jsonl") == [
        {"question": "What is the default of x?", "answer": "30 s."},
        {"question": "And where is it set?", "answer": "In y."},
    ]


def test_what_is_not_known_is_a_turn_too(command_line, server, tmp_path):
    skipped = answered_result("", state=answer_pb2.ANSWER_STATE_SKIPPED, missing_words=["Nomad"])
    skipped.text = ""
    server.state.events = answer_events(result=skipped)
    assert command_line("answer", "How does Nomad start it?", "--history", "talk.jsonl").exit_code == 0
    (turn,) = turns_of(tmp_path / "talk.jsonl")
    assert turn["answer"].startswith("I don't know: ")


def test_a_failed_answer_is_no_turn(command_line, server, tmp_path):
    status = error_pb2.ItemStatus(code=14, message="gone")
    failed = answered_result("", state=answer_pb2.ANSWER_STATE_FAILED, status=status)
    server.state.events = answer_events(result=failed)
    assert command_line("answer", "q?", "--history", "talk.jsonl").exit_code == 1
    assert not (tmp_path / "talk.jsonl").exists()


def test_only_the_last_turns_that_a_server_takes_are_sent(command_line, server, tmp_path):
    server.state.events = answer_events("a", result=answered_result("a"))
    lines = [json.dumps({"question": f"q{number}?"}) for number in range(60)]
    (tmp_path / "talk.jsonl").write_text("\n\n".join(lines))  # blank lines and no end of the last one
    assert command_line("answer", "q?", "--history", "talk.jsonl").exit_code == 0
    (request,) = server.state.streamed
    assert [one.question for one in request.history] == [f"q{number}?" for number in range(10, 60)]
    assert json.loads((tmp_path / "talk.jsonl").read_text().splitlines()[-1]) == {"question": "q?", "answer": "a"}


def test_a_byte_order_mark_is_no_part_of_the_first_turn(command_line, server, tmp_path):
    server.state.events = answer_events("a", result=answered_result("a"))
    (tmp_path / "talk.jsonl").write_text('{"question": "q1?"}\n', encoding="utf-8-sig")
    assert command_line("answer", "q?", "--history", "talk.jsonl").exit_code == 0
    (request,) = server.state.streamed
    assert [one.question for one in request.history] == ["q1?"]


def test_what_is_no_file_is_not_waited_for(command_line, server, tmp_path):
    os.mkfifo(tmp_path / "talk.jsonl")
    run = command_line("answer", "q?", "--history", "talk.jsonl")
    assert (run.exit_code, run.stderr) == (1, "client: talk.jsonl: cannot be read: not a regular file\n")
    assert not server.state.streamed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"question": "a?"}\nnonsense\n', "talk.jsonl: line 2 is no turn"),
        (b'{"answer": "a"}', "talk.jsonl: line 1 is no turn"),
        (b'["question"]', "talk.jsonl: line 1 is no turn"),
        (b'{"question": "a?", "answer": 1}', "talk.jsonl: line 1 is no turn"),
        (b"\xff", "talk.jsonl: is not UTF-8 text"),
    ],
)
def test_a_bad_conversation_is_one_line_and_asks_nothing(command_line, server, tmp_path, content, message):
    (tmp_path / "talk.jsonl").write_bytes(content)
    run = command_line("answer", "q?", "--history", "talk.jsonl")
    assert run.exit_code == 1
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
    assert not server.state.streamed
    assert (tmp_path / "talk.jsonl").read_bytes() == content


def test_a_folder_is_no_conversation(command_line, tmp_path):
    run = command_line("answer", "q?", "--history", tmp_path)
    assert (run.exit_code, "cannot be read" in run.stderr) == (1, True)


def test_a_conversation_that_cannot_be_kept_asks_nothing(command_line, server, tmp_path):
    """Its answer takes a minute, and the next turn would know nothing of it."""
    run = command_line("answer", "q?", "--history", "talks/talk.jsonl")
    told = f"client: talks/talk.jsonl: no turn can be kept: there is no folder {tmp_path / 'talks'}\n"
    assert (run.exit_code, run.stderr) == (1, told)
    assert not server.state.streamed


def test_a_disk_that_is_full_leaves_the_conversation_as_it_was(command_line, server, tmp_path):
    """Half of a line would be no turn, and the conversation could not go on."""
    server.state.events = answer_events("a", result=answered_result("a"))
    content = json.dumps({"question": "q1?", "answer": "a" * 100_000}) + "\n"
    (tmp_path / "talk.jsonl").write_text(content)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) + 10, hard))
    try:
        run = command_line("answer", "q2?", "--history", "talk.jsonl")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert run.exit_code == 1
    assert run.stderr.splitlines()[-1] == "client: talk.jsonl: the turn cannot be kept: file too large"
    assert (tmp_path / "talk.jsonl").read_text() == content


def test_rewriting_is_asked_for_and_shown(command_line, server):
    understood = answered_result("a", standalone_question="What is x?")
    server.state.events = answer_events("a", result=understood)
    run = command_line("answer", "Hi, could you tell me what x is?", "--rewrite")
    assert server.state.streamed[0].options.rewrite_question
    assert "Understood as: What is x?" in run.stdout
    assert "Understood as" not in command_line("answer", "What is x?").stdout


def test_a_model_is_asked_for_and_named_and_so_is_why_it_did_not_count(command_line, server):
    by_model = answer_pb2.QuestionCondensing(method=answer_pb2.CONDENSING_METHOD_MODEL, model="large\x1b[1m")
    server.state.events = answer_events(
        "a", result=answered_result("a", standalone_question="What is x?", condensing=by_model)
    )
    run = command_line("answer", "And x?", "--condense", "model")
    assert server.state.streamed[0].options.condensing_method == answer_pb2.CONDENSING_METHOD_MODEL
    assert "Understood as: What is x? (by large" in run.stdout
    assert "\x1b" not in run.stdout

    failed = answer_pb2.QuestionCondensing(
        method=answer_pb2.CONDENSING_METHOD_RULE,
        fallback_reason=error_pb2.ERROR_REASON_QUEUE_FULL,
        fallback_message="the queue is full",
    )
    server.state.events = answer_events("a", result=answered_result("a", standalone_question="x?", condensing=failed))
    run = command_line("answer", "x?", "--condense", "model")
    assert "Understood by rule, since QUEUE_FULL: the queue is full" in run.stdout
    shown = json.loads(command_line("answer", "x?", "--json").stdout.splitlines()[-1])
    assert shown["result"]["condensing"] == {
        "method": "rule",
        "fallback_reason": "QUEUE_FULL",
        "fallback_message": "the queue is full",
        "model": "",
    }
    assert server.state.streamed[-1].options.condensing_method == answer_pb2.CONDENSING_METHOD_UNSPECIFIED
    assert command_line("answer", "x?", "--condense", "magic").exit_code == 2
