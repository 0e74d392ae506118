"""Snapshots are removed by the command line, while a replica serves them."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import client as groundwire
from tests.support.client import ClientRun, run_client
from tests.support.deadline import wait_until
from tests.support.processes import Server, ServiceProcess

SETTINGS = {"redis_url": "redis://127.0.0.1:1/0", "GROUNDWIRE_ENCODER": "hashing"}


def test_snapshots_are_removed_while_a_replica_serves_what_remains(
    tmp_path: Path, own_process: Callable[[ServiceProcess], ServiceProcess]
) -> None:
    primary = Server(tmp_path / "primary", **SETTINGS)
    snapshots = primary.data_dir / "snapshots"
    left = snapshots / ".partial-default-20250101-000000-0123abcd"
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    own_process(primary).start()
    wait_until(lambda: not left.exists(), timeout_s=60, what="what was never finished goes when the server starts")

    def run(*arguments: str, server: Server = primary) -> ClientRun:
        return run_client(server.address, "snapshot", *arguments, cwd=tmp_path)

    made = []
    with groundwire.Client(primary.address) as library:
        for number in range(1, 5):
            library.put_document(f"{number}.md", f"the sluice of berth {number}")
            made.append(library.create_snapshot().snapshot_id)
    replica = Server(
        tmp_path / "replica",
        GROUNDWIRE_FOLLOW_DIR=str(snapshots),
        GROUNDWIRE_FOLLOW_INTERVAL_S="0.05",
        GROUNDWIRE_SNAPSHOT_DIR=str(snapshots),
        **SETTINGS,
    )
    own_process(replica).start()
    run("rm", made[0], "--yes", server=replica).assert_refused("follows")
    run("rm", made[0]).assert_refused("for good?")
    run("rm").assert_refused("ID")
    run("rm", "--yes", "").assert_refused("snapshot_id: must be set")
    run("rm", "--yes", f"{made[0]}/../{made[1]}").assert_refused("no snapshot")
    assert sorted(path.name for path in snapshots.iterdir()) == sorted(made)

    with groundwire.Client(replica.address) as follower:

        def generation() -> int:
            return follower.retrieve("sluice").index_generation

        assert generation() == 4
        # The second of them is gone when its turn comes; the first was removed, and said to be.
        stopped = run("rm", "--yes", made[0], "nothing", made[1]).assert_refused("no snapshot 'nothing'")
        assert stopped.stdout == f"removed: {made[0]}\n"
        both = run("rm", "--yes", "--json", made[1], made[3]).assert_ok().stdout.splitlines()
        assert [json.loads(line) for line in both] == [{"snapshot_id": made[1]}, {"snapshot_id": made[3]}]
        wait_until(lambda: generation() == 3, timeout_s=60, what="the replica serves the newest that remains")
        run("rm", "--yes", made[2]).assert_ok()
        assert "no snapshots yet" in run("ls").assert_ok().stdout
        assert generation() == 3
        assert list(snapshots.iterdir()) == []
    assert "Traceback" not in replica.log_text() + primary.log_text()
    assert replica.stop() == 0
    assert primary.stop() == 0
