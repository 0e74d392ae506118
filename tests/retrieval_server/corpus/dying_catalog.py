"""Makes, removes or puts back a collection again and again, and dies before each next thing that it does to the disk.

`python -m tests.retrieval_server.corpus.dying_catalog WORK DIRECTORY` prints a JSON line for each death: what a server
then finds. Every death is one of a process of its own, forked from this one, which has no threads and has loaded all.
"""

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection_settings import CollectionSettings
from retrieval_server.corpus.collection.founding import found_collection
from retrieval_server.corpus.collection.view import CollectionView

NAME = "one"
OLD, NEW = CollectionSettings(max_chunk_chars=321, sentences_per_chunk=4), CollectionSettings(max_chunk_chars=654)
_STEPS_OF_WORK = {
    "create": frozenset({"execute", "executemany", "executescript", "mkdir", "rename", "fsync", "connect"}),
    "remove": frozenset({"mkdir", "rename", "fsync", "rmdir", "unlink", "scandir"}),
    "put_back": frozenset({"mkdir", "rename", "fsync", "rmdir", "connect"}),
}
_MOST_STEPS = 60
# Once it is made, the deaths are those of any opening.
_ENOUGH_AFTER = 4


async def prepare(data_dir: Path) -> None:
    """Make the collection."""
    catalog = Catalog(data_dir, None)
    await catalog.open_all()
    await catalog.create(NAME, OLD)
    await catalog.close()


async def do(work: str, data_dir: Path, step: int) -> None:
    """Do a work, and die, as by SIGKILL, before the nth of its steps."""
    steps = count(1)
    has_begun = False

    def die(frame: Any, event: str, called: Any) -> None:
        del frame
        if has_begun and event == "c_call" and called.__name__ in _STEPS_OF_WORK[work] and next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def fill(target: Path, replaced: CollectionView | None) -> None:
        del replaced
        found_collection(target, NEW)

    threading.setprofile(die)
    catalog = Catalog(data_dir, None)
    await catalog.open_all()
    has_begun = True
    if work == "create":
        await catalog.create(NAME, OLD)
    elif work == "remove":
        await catalog.delete(NAME)
    else:
        await catalog.replace(NAME, fill)
    os._exit(0)


async def look(data_dir: Path) -> None:
    """Print what there is, how it is to work, and that it can be made when it is not there."""
    catalog = Catalog(data_dir, None)
    await catalog.open_all()
    found = catalog.names()
    left = [path.name for path in (data_dir / "collections").iterdir()]
    problems = [catalog.damage(name) for name in found]
    opened = catalog.get(NAME) if found else await catalog.create(NAME, OLD)
    settings = opened.collection.current_view.settings
    await catalog.close()
    seen = {"found": found, "left": left, "problems": problems, "is_old": settings == OLD, "is_new": settings == NEW}
    sys.stdout.write(f"{json.dumps(seen)}\n")


def in_fork(work: Callable[..., Any], *arguments: object) -> int:
    """Do `work` in a forked process; return its exit code, negative for a signal."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            asyncio.run(work(*arguments))
        except BaseException as error:
            sys.stdout.write(f"{error!r}\n")
            sys.stdout.flush()
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    """Die before the first step, the second, and so on, until the work comes to its end."""
    work, directory = sys.argv[1], Path(sys.argv[2])
    made = 0
    for step in range(1, _MOST_STEPS):
        data_dir = directory / str(step)
        if work != "create" and in_fork(prepare, data_dir):
            sys.exit(1)
        code = in_fork(do, work, data_dir, step)
        made += work == "create" and (data_dir / "collections" / NAME).is_dir()
        if code == 0:
            return
        if code != -signal.SIGKILL or in_fork(look, data_dir):
            sys.exit(1)
        if made == _ENOUGH_AFTER:
            return


if __name__ == "__main__":
    main()
