"""`client index` says which files came to lie beside documents of other sources."""

import client
from client.cli.index import _tell

DETAIL = "source 'api' shows a document at this path, too: `client docs rm --id 1` removes that one"


def summary(count: int) -> client.SyncSummary:
    files = [client.SyncedFile(f"{number}.md", client.SyncFileOutcome.ADDED, DETAIL) for number in range(count)]
    plain = client.SyncedFile("plain.md", client.SyncFileOutcome.ADDED, "")
    return client.SyncSummary(count + 1, 0, 0, 0, 0, 9, 1, 1.0, 0.1, (*files, plain))


def test_some_are_named_with_the_remedy_and_the_others_counted(capsys):
    _tell(summary(5), dry_run=False, tell_files=False)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [f"client: {number}.md: {DETAIL}" for number in range(3)]
    assert len(lines) == 4
    assert "2 files more" in lines[3]


def test_each_is_told_once_where_files_are_listed(capsys):
    _tell(summary(5), dry_run=False, tell_files=True)
    told = capsys.readouterr()
    assert told.err == ""
    assert told.out.count(DETAIL) == 5
