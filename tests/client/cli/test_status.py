"""client status: the server, its collections, its queue and workers."""

import json


def test_status_shows_everything(command_line, server):
    shown = command_line("status").stdout
    assert f"server {server.address}: serving, version 0.1.0" in shown
    assert "collection alpha: 1 document, 3 passages, generation 7" in shown
    assert "vectors: 100 of 100 (100%)" in shown
    assert "queue: 1 waiting, 0 running, 0 given up, 1 live worker" in shown
    assert "worker w1: tiny, up 90 s" in shown


def test_status_does_without_a_collection_that_is_removed_meanwhile(command_line, server):
    server.state.first_collection = "nowhere"
    run = command_line("status")
    assert run.exit_code == 0
    assert "collection default: 1 document" in run.stdout
    assert "nowhere" not in run.stdout


def test_status_without_a_queue_still_shows_the_rest(command_line, server):
    server.state.has_queue = False
    run = command_line("status")
    assert run.exit_code == 0
    assert "queue: Redis cannot be reached" in run.stdout
    assert json.loads(command_line("status", "--json").stdout)["queue"] is None
