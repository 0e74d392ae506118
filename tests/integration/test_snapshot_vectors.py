"""A snapshot holds the vector segments with their graphs, so that what is put back need not build them again."""

from collections.abc import Callable
from pathlib import Path

import client as groundwire
from tests.support.deadline import wait_until
from tests.support.processes import Server, ServiceProcess, SmallServer

DOCUMENT_COUNT = 24
MAX_SEGMENTS = 2  # of the small server
DENSE_ONLY = groundwire.FusionOverrides(lexical_weight=0.0)
SETTINGS = {"redis_url": "redis://127.0.0.1:1/0", "GROUNDWIRE_ENCODER": "hashing"}


def files_below(directory: Path) -> dict[str, int]:
    """Each file of a segment → its inode."""
    return {str(path.relative_to(directory)): path.stat().st_ino for path in directory.glob("*/*")}


def dense_of(server: Server) -> Path:
    (collection,) = (server.data_dir / "collections").glob("default*")
    return collection / "dense"


def ranking(client: groundwire.Client) -> list[tuple[str, float]]:
    found = client.retrieve("w3 berth", k=DOCUMENT_COUNT, fusion=DENSE_ONLY)
    return [(passage.path, passage.score) for passage in found.passages]


def test_segments_and_graphs_are_put_back_with_a_snapshot(
    tmp_path: Path, own_process: Callable[[ServiceProcess], ServiceProcess]
) -> None:
    server = SmallServer(tmp_path / "server", **SETTINGS)
    own_process(server).start()
    with groundwire.Client(server.address) as client:
        for number in range(DOCUMENT_COUNT):
            client.put_document(f"{number}.md", f"Berth w{number} w{number // 3} w{number // 5} by the sluice.\n")

        def settled() -> groundwire.Snapshot | None:
            """Make a snapshot; return it when no segments are about to be merged and one has a graph."""
            made = client.create_snapshot()
            segments = list((server.data_dir / "snapshots" / made.snapshot_id / "dense").glob("*/"))
            has_graph = any((segment / "graph.json").exists() for segment in segments)
            return made if has_graph and len(segments) <= MAX_SEGMENTS else None

        snapshot = wait_until(settled, timeout_s=60, what="a snapshot with a graph")
        held = server.data_dir / "snapshots" / snapshot.snapshot_id / "dense"
        kept, before = files_below(held), ranking(client)
        assert any(name.endswith("graph.usearch") for name in kept)
        assert (held / "segments.json").is_file()
        for number in range(0, DOCUMENT_COUNT, 2):
            found = client.get_document(f"{number}.md")
            client.delete_document(found.document_id)
        assert ranking(client) != before
        client.restore_snapshot(snapshot.snapshot_id)
        assert ranking(client) == before
        # The same files under other names; what is done to the collection now is not done to the snapshot.
        assert kept.items() <= files_below(dense_of(server)).items()
        for number in range(DOCUMENT_COUNT):
            client.put_document(f"{number}.md", f"Other words z{number}.\n")
        assert files_below(held) == kept
        client.restore_snapshot(snapshot.snapshot_id)
        assert ranking(client) == before
    assert server.stop() == 0

    replica = SmallServer(tmp_path / "replica", GROUNDWIRE_FOLLOW_DIR=str(server.data_dir / "snapshots"), **SETTINGS)
    own_process(replica).start()
    with groundwire.Client(replica.address) as client:
        assert ranking(client) == before
    assert kept.items() <= files_below(dense_of(replica)).items()
    assert replica.stop() == 0
