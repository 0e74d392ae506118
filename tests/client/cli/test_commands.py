"""The other commands, and how every error is told."""

import json

import pytest

from tests.client.support import answer_events, answered_result


def test_search_shows_place_breadcrumbs_score_and_snippet(command_line):
    run = command_line("search", "how to start", "--k", 1)
    assert run.exit_code == 0
    assert run.stdout.splitlines() == [
        "1. docs/page1.md:3-4  score 1.0000",
        "   Guide › Start",
        "   │ line one about how to start",
        "   │ line two 1",
        "",
    ]


def test_search_explain_shows_lists_and_priors(command_line):
    rows = [line.split() for line in command_line("search", "q", "--k", 1, "--explain").stdout.splitlines()]
    assert ["profile", "precise"] in rows
    assert ["bm25", "1", "7.5000", "0.2000", "page"] in rows
    assert ["prior", "test_source", "×", "0.8"] in rows


def test_search_says_when_only_words_were_searched(command_line, server):
    server.state.dense_coverage = 0.4
    assert "vectors: 40% computed" in command_line("search", "q").stderr


def test_search_without_a_match(command_line):
    assert command_line("search", "nothing").stdout == "Nothing matches.\n"


@pytest.mark.parametrize("arguments", [("--json", "search", "q", "-k", "2"), ("search", "--json", "q", "--k", "2")])
def test_json_before_and_after_the_command(command_line, arguments):
    found = json.loads(command_line(*arguments).stdout)
    assert len(found["passages"]) == 2
    assert found["profile_used"] == "precise"


def test_server_before_and_after_the_command(command_line, server, monkeypatch):
    monkeypatch.delenv("GROUNDWIRE_SERVER")
    assert command_line("--server", server.address, "search", "q").exit_code == 0
    assert command_line("search", "--server", server.address, "q").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("search", "  "), 1, "query: must not be blank"),
        (("search", "q", "--k", "1000000000"), 1, "k: at most 1,000"),
        (("search", "q", "--k", "99999999999"), 1, "k: cannot be sent"),
        (("search", "q", "--k", "ten"), 2, "'ten' is not a valid integer"),
        (("search", "q", "--collection", "nowhere"), 1, "there is no collection nowhere"),
        (("search",), 2, "Missing argument 'QUERY'"),
        (("search", "q", "--server", "nonsense"), 2, "'nonsense' is not HOST:PORT"),
        (("search", "q", "--frobnicate"), 2, "No such option"),
        (("serach", "q"), 2, "No such command 'serach'"),
        (("search", "\udcff"), 2, "argument 2 holds bytes that are not UTF-8 text"),
        (("search", "x" * 9_000_000), 1, "request: is 9,000,0"),
        (("show", "a.py:3"), 1, "there is no document a.py"),
        (("cancel", "unknown"), 1, "there is no job unknown"),
        (("attach", "unknown"), 1, "there is no job unknown"),
        (("attach", "job-1", "--after", "x"), 2, "--after"),
        (("answer", "q", "--timeout", "0"), 2, "must be above 0"),
        (("answer", "q", "--mode", "telepathy"), 2, "telepathy"),
        (("index", "missing"), 1, "path: 'missing' is not a folder or a regular file"),
        (("index",), 2, "missing PATH: there is no data/raw here"),
        (("index", ".", "--include", "!"), 1, "include: '!' is not a glob"),
    ],
)
def test_every_error_is_one_line(command_line, arguments, code, message):
    run = command_line(*arguments)
    assert run.exit_code == code
    assert message in run.stderr
    assert run.stderr.startswith("client: ")
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [("status",), ("search", "q"), ("answer", "q"), ("index", "."), ("show", "a"), ("attach", "x"), ("cancel", "x")],
)
def test_no_server_is_one_line_that_names_the_fix(command_line, arguments):
    run = command_line("--server", "127.0.0.1:1", *arguments)
    assert run.exit_code == 1
    assert run.stderr == (
        "client: the server at 127.0.0.1:1 cannot be reached: start it with `make up` or `retrieval-server`,"
        " or name another with --server HOST:PORT\n"
    )


def test_what_an_error_quotes_does_not_reach_the_terminal_as_it_is(command_line):
    run = command_line("search-dataset", "bell\x07\u202etxt\x9b31m")
    assert run.stderr == "client: bell\ufffd\ufffdtxt\ufffd31m: does not exist\n"


def test_answer_streams_then_names_sources_and_maker(command_line, server):
    server.state.events = answer_events("It starts ", "with make up.")
    run = command_line("answer", "how?", "--k", 5)
    assert run.exit_code == 0
    assert run.stdout.splitlines() == [
        "It starts with make up.",
        "",
        "Source: docs/page1.md:3-4",
        "Made by tiny (mode stuff, 1,200 + 9 tokens)",
    ]


def test_a_restart_is_said_where_the_text_stands(command_line, server):
    server.state.events = answer_events("wrong start", 2, "It starts with make up.")
    assert command_line("answer", "how?").stdout.splitlines()[:3] == [
        "wrong start",
        "--- the answer starts anew, forget the text above (attempt 2: its worker was lost) ---",
        "It starts with make up.",
    ]


def test_a_text_that_never_streamed_is_printed(command_line, server):
    server.state.events = answer_events(result=answered_result("From the sentences."))
    assert command_line("answer", "how?").stdout.startswith("From the sentences.\n")


def test_what_is_not_backed_is_marked(command_line, server):
    result = answered_result("Half true.")
    result.sentences[0].supported = False
    server.state.events = answer_events("Half true.", result=result)
    assert "Not backed by the sources: Half true." in command_line("answer", "how?").stdout


def test_dont_know_is_honest_and_no_failure(command_line, server):
    from groundwire.v1 import answer_pb2, retrieval_service_pb2

    skipped = answer_pb2.AnswerResult(
        state=answer_pb2.ANSWER_STATE_SKIPPED,
        answer_skipped_reason=retrieval_service_pb2.ANSWER_SKIPPED_REASON_LOW_RELEVANCE,
    )
    server.state.events = answer_events(result=skipped)
    run = command_line("answer", "how?")
    assert run.exit_code == 0
    assert run.stdout == "I don't know: what the collection holds covers too little of the question.\n"


def test_an_answer_that_failed_is_an_error(command_line, server):
    from groundwire.v1 import answer_pb2, error_pb2

    failed = answer_pb2.AnswerResult(
        state=answer_pb2.ANSWER_STATE_FAILED,
        status=error_pb2.ItemStatus(code=13, reason=error_pb2.ERROR_REASON_GENERATION_FAILED, message="out of memory"),
    )
    server.state.events = answer_events("some ", result=failed)
    run = command_line("answer", "how?")
    assert run.exit_code == 1
    assert run.stderr.splitlines()[-1] == "client: no answer, it ended as failed: out of memory"


def test_answer_json_is_one_event_a_line(command_line, server):
    server.state.events = answer_events("one", 2, "two")
    events = [json.loads(line) for line in command_line("answer", "how?", "--json").stdout.splitlines()]
    assert [one["event"] for one in events] == ["retrieved", "delta", "restarted", "delta", "finished"]
    assert events[-1]["result"]["generator"]["mode"] == "stuff"


def test_control_characters_of_a_document_never_reach_the_terminal(command_line, server):
    server.state.events = answer_events("\x1b]0;title\x07text", result=answered_result("\x1b]0;title\x07text"))
    shown = command_line("answer", "how?").stdout
    assert "\x1b" not in shown
    assert "text" in shown


def test_attach_and_cancel(command_line, server):
    server.state.events = answer_events("It starts with make up.")
    assert "It starts" in command_line("attach", "job-1").stdout
    assert command_line("cancel", "job-1").stdout == "cancelled\n"
    assert command_line("cancel", "ended").stdout == "it had ended before\n"
    assert json.loads(command_line("cancel", "job-1", "--json").stdout) == {"request_id": "job-1", "cancelled": True}


def test_show_counts_lines_as_the_server_does(command_line, server):
    server.state.documents["a:b.txt"] = "one\r\ntwo\rthree\x0b\u2028still three\nfour\n"
    shown = command_line("show", "a:b.txt:3", "--context", 1).stdout
    assert shown == "  2  two\n> 3  three\ufffd\u2028still three\n  4  four\n"
    shown = command_line("show", "a:b.txt:2-3", "--context", 0).stdout
    assert shown == "> 2  two\n> 3  three\ufffd\u2028still three\n"


def test_show_a_document_that_is_named_like_a_place(command_line, server):
    server.state.documents["notes:12-14"] = "one\n"
    assert command_line("show", "notes:12-14").stdout == "  1  one\n"
    assert command_line("show", "notes:12-14:1").stdout == "> 1  one\n"
    assert command_line("show", "others:12-14").stderr == "client: there is no document others\n"


@pytest.mark.parametrize("lines", ["0", "5", "3-2", "2-9"])
def test_show_a_line_that_is_not_there(command_line, server, lines):
    server.state.documents["a.txt"] = "1\n2\n3\n4\n"
    run = command_line("show", f"a.txt:{lines}")
    assert (run.exit_code, run.stderr) == (1, f"client: a.txt has 4 lines: there is no {lines}\n")


def test_index_tells_counts_reasons_and_time(command_line, tmp_path):
    (tmp_path / "data/raw").mkdir(parents=True)
    (tmp_path / "data/raw/a.py").write_text("a\n")
    (tmp_path / "data/raw/empty").touch()
    lines = command_line("index", "--max_chunk_size", 500).stdout.splitlines()
    assert lines[0] == "1 added, 0 updated, 0 unchanged, 0 removed, 1 skipped"
    assert lines[1] == "  skipped, empty: 1 file (empty)"
    assert lines[2].startswith("searchable after ")


def test_index_takes_the_spelling_and_the_options(command_line, server, tmp_path):
    (tmp_path / "a.py").write_text("a\n")
    run = command_line(
        "index", ".", "--max_chunk_size", 500, "--source", "mine", "--collection", "c", "--exclude", "*.md"
    )
    assert run.exit_code == 0
    begin = server.state.begins[0]
    assert (begin.max_chunk_size_chars, begin.source, begin.collection, begin.display_prefix) == (500, "mine", "c", "")


def test_index_dry_run_lists_what_would_be_removed(command_line, server, tmp_path):
    (tmp_path / "a.py").write_text("a\n")
    command_line("index", ".")
    (tmp_path / "a.py").unlink()
    shown = command_line("index", ".", "--dry-run", "--prune").stdout
    assert "would be removed: a.py" in shown
    assert "dry run, nothing was changed" in shown


def test_index_says_that_vectors_are_being_computed_and_wait_waits(command_line, server, tmp_path):
    (tmp_path / "a.py").write_text("a\n")
    server.state.dense_coverage = 0.5
    assert "vectors: 50% computed" in command_line("index", ".").stdout
    server.state.dense_coverage = 0.5
    assert "vectors: complete, 100 of 100" in command_line("index", ".", "--wait").stdout


def test_index_wait_ends_when_no_vectors_will_come(command_line, server, tmp_path):
    (tmp_path / "a.py").write_text("a\n")
    server.state.dense_coverage = 0.5
    server.state.encoder_problem = "the model is missing: make models"
    assert "words alone: the model is missing" in command_line("index", ".").stdout
    run = command_line("index", ".", "--wait")
    assert run.exit_code == 1
    assert run.stderr == "client: vectors are not being computed: the model is missing: make models\n"


def test_index_json_is_one_object(command_line, tmp_path):
    (tmp_path / "a.py").write_text("a\n")
    told = json.loads(command_line("index", ".", "--json", "--wait").stdout)
    assert told["summary"]["added_count"] == 1
    assert told["stats"]["dense_coverage"] == 1.0


def test_no_arguments_show_the_help(command_line):
    run = command_line()
    assert run.exit_code == 0
    assert "search-dataset" in run.stdout


@pytest.mark.parametrize(
    "command",
    [
        "index",
        "search",
        "search-dataset",
        "answer",
        "answer-dataset",
        "evaluate",
        "evaluate-retrieval",
        "status",
        "show",
        "attach",
        "cancel",
    ],
)
def test_every_command_has_help(command_line, command):
    assert command_line(command, "--help").exit_code == 0
