"""A client in a forked process, where gRPC would wait for ever: each use of one says so at once, its parent goes on."""

import subprocess
import sys

import pytest

_TIMEOUT_S = 100.0
_SCRIPT = """
import os, sys
from client import Client, ClientError

address, case = sys.argv[1:]
library = Client(address)
if case != "unused":
    library.retrieve("before")
if case == "closed":
    library.close()
child = os.fork()
if child == 0:
    try:
        if case == "new":
            Client(address)
        else:
            library.retrieve("in the child")
    except ClientError as error:
        print(error, flush=True)
    library.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
with Client(address) as another:
    print(len(another.retrieve("after", k=2).passages))
"""


def lines_of(address: str, case: str) -> list[str]:
    """What the child and then the parent say."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _SCRIPT, address, case]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.parametrize("case", ["used", "unused", "new"])
def test_a_forked_process_is_told_to_make_its_client_first(server, case):
    told, after = lines_of(server.address, case)
    assert "forked" in told
    assert "spawn" in told
    assert after == "2"


def test_a_closed_client_is_closed_in_a_forked_process_too(server):
    assert lines_of(server.address, "closed") == ["the client is closed", "2"]
