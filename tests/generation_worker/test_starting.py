"""A stop that comes before the worker takes over ends it in silence, wherever it is then."""

import signal
import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, signal, sys
from generation_worker import __main__, worker
from generation_worker.backends import configured

def stop(): signal.raise_signal(signal.{name})
def callback(): ctypes.CFUNCTYPE(None)(stop)()
async def take_over(*_): sys.exit("taken over")

configured.configured_backends = lambda _: {where}()
worker.run_worker = take_over
sys.argv = ["generation-worker"]
__main__.main()
"""


@pytest.mark.parametrize("name", [signal.SIGTERM.name, signal.SIGINT.name])
@pytest.mark.parametrize("where", ["stop", "callback"])
def test_a_stop_while_the_model_loads(name: str, where: str):
    """What a callback of llama.cpp raises is lost: the worker would take jobs as if nothing had been said."""
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(name=name, where=where)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize("name", [signal.SIGTERM.name, signal.SIGINT.name])
def test_a_stop_before_and_after_the_model_loads(name: str):
    script = f"""
import signal
from generation_worker.starting import Starting

def stops():
    try:
        signal.raise_signal(signal.{name})
    except SystemExit as end:
        return end.code == 0

starting = Starting()
assert stops()
starting = Starting()
with starting.loading():
    pass
assert stops()
"""
    subprocess.run([sys.executable, "-c", script], timeout=60, check=True)
