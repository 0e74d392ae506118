"""client queue and client workers: what operators see and do."""

import json

import pytest


def test_stats_count_jobs_and_point_to_those_given_up(command_line, server):
    server.state.dead_letters = ["q1"]
    lines = command_line("queue", "stats").stdout.splitlines()
    assert lines == [
        "waiting: 1",
        "running: 0",
        "given up: 1; see `client queue dead`",
        "workers: 1, for 1 job at a time",
    ]
    assert json.loads(command_line("queue", "stats", "--json").stdout)["dead_letter_count"] == 1


def test_dead_lists_all_pages_on_one_line_each(command_line, server):
    assert command_line("queue", "dead").stdout == "no job was given up\n"
    server.state.dead_letters = ["q1", "q2", "q3"]
    lines = command_line("queue", "dead").stdout.splitlines()
    assert lines[:2] == ["2023-11-14 22:13:20 q1: 3 workers lost, the last w7", "  why ?"]
    assert len(lines) == 6
    assert len(command_line("queue", "dead", "--limit", "2").stdout.splitlines()) == 4
    found = json.loads(command_line("queue", "dead", "--json").stdout)["dead_letters"]
    assert [one["request_id"] for one in found] == ["q1", "q2", "q3"]


def test_replay_puts_them_back(command_line, server):
    server.state.dead_letters = ["q1", "q2"]
    assert command_line("queue", "replay", "q1", "q2").stdout == "waits again: q1\nwaits again: q2\n"
    assert server.state.dead_letters == []
    refused = command_line("queue", "replay", "q1")
    assert refused.exit_code == 1
    assert refused.stderr == "client: no dead letter has that request_id\n"


def test_replay_says_as_json_which_were_put_back_before_one_could_not_be(command_line, server):
    server.state.dead_letters = ["q1"]
    run = command_line("queue", "replay", "q1", "q2", "--json")
    assert (run.exit_code, json.loads(run.stdout)) == (1, {"replayed": ["q1"]})


def test_purge_removes_by_id_by_age_or_all(command_line, server):
    server.state.dead_letters = ["q1", "q2", "q3"]
    assert command_line("queue", "purge", "q1").stdout == "removed: 1 job\n"
    assert command_line("queue", "purge", "--older-than", "7d").stdout == "removed: 2 jobs\n"
    assert server.state.purges[-1].older_than.seconds == 7 * 24 * 3600
    assert json.loads(command_line("queue", "purge", "--all", "--json").stdout) == {"purged_count": 0}
    assert not server.state.purges[-1].HasField("older_than")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("purge",), "say which ones"),
        (("purge", "--older-than", "soon"), "must be a number with s, m, h or d"),
        (("purge", "--older-than", "-1d"), "must be a number with s, m, h or d"),
        (("replay",), "Missing argument"),
        (("dead", "--limit", "0"), "limit"),
    ],
)
def test_wrong_usage_is_one_line(command_line, arguments, message):
    run = command_line("queue", *arguments)
    assert run.exit_code == 2
    assert message in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_workers_shows_what_each_serves_and_how_busy_it_is(command_line):
    assert command_line("workers").stdout == ("w1: tiny with 8,192 tokens, 3 of 8 jobs, up 90 s, version 0.1.0\n")
    [worker] = json.loads(command_line("workers", "--json").stdout)["workers"]
    assert (worker["slot_count"], worker["running_count"]) == (8, 3)


def test_without_redis_each_says_so(command_line, server):
    server.state.has_queue = False
    run = command_line("queue", "stats")
    assert run.exit_code == 1
    assert "Redis cannot be reached" in run.stderr


def test_a_worker_that_leaves_jobs_to_others_is_shown_with_its_reason(command_line, server):
    server.state.not_accepting_reason = "the openai backend failed too often lately"
    stats = command_line("queue", "stats").stdout.splitlines()[-1]
    assert stats == "workers: 1, for 1 job at a time; taking none now: 1, see `client workers`"
    assert command_line("workers").stdout.splitlines()[1:] == [
        "  takes no jobs now: the openai backend failed too often lately"
    ]
    assert "takes no jobs now: the openai backend failed too often lately" in command_line("status").stdout
    [worker] = json.loads(command_line("workers", "--json").stdout)["workers"]
    assert worker["not_accepting_reason"] == "the openai backend failed too often lately"
