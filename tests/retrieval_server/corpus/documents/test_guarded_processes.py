"""Processes that hostile items kill, and nothing else with them."""

import asyncio
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool

import pytest

from groundwire.cpu import usable_core_count
from retrieval_server.corpus.documents.guarded_processes import Bounds, GuardedProcesses
from tests.retrieval_server.corpus.hostile_work import do, give_up
from tests.support.deadline import wait_until

BOUNDS = Bounds(cpu_s=0.3, process_bytes=1024**3)


@pytest.fixture
def processes() -> Iterator[GuardedProcesses[str, str]]:
    started = GuardedProcesses(do, give_up, BOUNDS)
    yield started
    started.close()


async def test_a_crash_costs_its_item_alone_whatever_else_runs(processes: GuardedProcesses[str, str]):
    batches = [["a", "b"], ["c", "crash", "d"], ["e"], ["crash"], ["f", "g"]]
    results = await asyncio.gather(*(processes.run(batch) for batch in batches))
    assert results == [["A", "B"], ["C", "crash was given up", "D"], ["E"], ["crash was given up"], ["F", "G"]]
    assert await processes.run(["h"]) == ["H"]


async def test_whoever_leaves_before_a_crash_keeps_the_news_of_it_from_nobody(processes: GuardedProcesses[str, str]):
    assert await processes.run(["a"]) == ["A"]
    busy = [asyncio.create_task(processes.run(["spin"])) for _ in range(2 * usable_core_count())]
    leaving = [asyncio.create_task(processes.run(["b"])) for _ in range(20)]
    staying = asyncio.create_task(processes.run(["c"]))
    await asyncio.sleep(0)
    for one in leaving:
        one.cancel()
    assert await asyncio.wait_for(staying, 100) == ["C"]
    assert await asyncio.gather(*busy) == [["spin was given up"]] * len(busy)


async def test_an_item_that_takes_too_long_is_given_up(processes: GuardedProcesses[str, str]):
    assert await processes.run(["spin", "a"]) == ["spin was given up", "A"]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux alone")
async def test_an_item_that_takes_too_much_memory_is_given_up(processes: GuardedProcesses[str, str]):
    assert await processes.run(["grow", "a"]) == ["grow was given up", "A"]


async def test_closing_ends_what_is_being_worked_on_at_once():
    processes = GuardedProcesses(do, give_up, Bounds(cpu_s=600, process_bytes=1024**3))
    assert await processes.run(["a"]) == ["A"]
    before = multiprocessing.active_children()
    working = asyncio.create_task(processes.run(["spin"]))
    await asyncio.sleep(0)
    processes.close()
    with pytest.raises(BrokenProcessPool):
        await asyncio.wait_for(working, 100)
    # The pool's thread waits for them as well; who comes second to that learns of an end a moment later.
    wait_until(
        lambda: not any(process.is_alive() for process in before), timeout_s=100, what="the processes have ended"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the end of a server is told on Linux alone")
def test_a_process_whose_server_died_before_it_was_set_up_ends_too():
    for server_pid, shown in (("os.getppid()", b"works\n"), ("os.getpid()", b"")):
        script = f"""
import os
from retrieval_server.corpus.documents.guarded_processes import _set_up
_set_up(2**30, {server_pid})
print("works")
"""
        started = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, timeout=60, check=False)
        assert started.stdout == shown


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux alone")
async def test_no_item_is_blamed_when_no_process_can_work():
    no_such_limit = 2**70
    processes = GuardedProcesses(do, give_up, Bounds(cpu_s=0.3, process_bytes=no_such_limit))
    try:
        with pytest.raises(BrokenProcessPool):
            await processes.run(["a"])
    finally:
        processes.close()
