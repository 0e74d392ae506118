"""client rebuild: progress, and what is said when the server ends it early."""

import json

from groundwire.v1 import collection_pb2

Step = collection_pb2.RebuildCollectionResponse


def test_the_end_of_a_rebuild_is_one_line(command_line, server):
    server.state.rebuild_steps = [Step(total_count=2), Step(done_count=2, total_count=2, kept_count=1, finished=True)]
    run = command_line("rebuild")
    assert (run.exit_code, run.stdout) == (0, "rebuilt: 2 documents, 1 of them kept as they were, generation 0\n")
    steps = [json.loads(line) for line in command_line("rebuild", "--json").stdout.splitlines()]
    assert [step["finished"] for step in steps] == [False, True]


def test_a_rebuild_that_was_not_finished_is_a_failure(command_line, server):
    for server.state.rebuild_steps in ([], [Step(done_count=1, total_count=2)]):
        run = command_line("rebuild")
        assert run.exit_code == 1
        assert run.stderr == "client: the server ended the rebuild without saying that it is done\n"
        assert run.stdout == ""
