# ruff: noqa: T201 - its progress on the terminal is the point
"""Install a lock file with pip and show how far it is; llama.cpp is compiled from source, which takes minutes.

Runs before anything is installed: the standard library alone. `python deploy/install_locked.py requirements.lock`
"""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

HEARTBEAT_S = 10.0
ERROR_TAIL_LINE_COUNT = 40
_COLLECTING = re.compile(r"^Collecting (?P<name>[A-Za-z0-9_.-]+)")
_COMPILED = re.compile(r"^\s*\[(?P<done>\d+)/(?P<total>\d+)\]")
_BUILDING = re.compile(r"^\s*Building wheel for (?P<name>\S+)")
_INSTALLING = re.compile(r"^\s*Installing collected packages: (?P<names>.*)")


def step_of(line: str, building: str) -> str | None:
    """What a line of `pip install -v` says about progress, None when nothing; `building` is the wheel in the making."""
    if compiled := _COMPILED.match(line):
        return f"{building or 'compiling'} [{compiled['done']}/{compiled['total']}]"
    if collecting := _COLLECTING.match(line):
        return f"collecting {collecting['name']}"
    if wheel := _BUILDING.match(line):
        return f"building {wheel['name']}"
    if installing := _INSTALLING.match(line):
        return f"installing {installing['names'].count(',') + 1} packages"
    return None


class Progress:
    """One line on a terminal; elsewhere a line whenever a heartbeat has passed, so that a log shows signs of life."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._step = "starting pip"
        self._on_terminal = sys.stdout.isatty()
        self._ended = threading.Event()
        self._beat = threading.Thread(target=self._run, daemon=True)
        self._beat.start()

    def show(self, step: str) -> None:
        """Remember `step`; it appears with the next beat."""
        self._step = step

    def end(self) -> None:
        """Stop, and leave the terminal's line empty."""
        self._ended.set()
        self._beat.join()
        if self._on_terminal:
            print("\r\033[K", end="")

    def _run(self) -> None:
        while not self._ended.wait(0.5 if self._on_terminal else HEARTBEAT_S):
            line = f"setup {time.monotonic() - self._started:4.0f} s  {self._step}"
            print(
                f"\r\033[K{line[:100]}" if self._on_terminal else line,
                end="" if self._on_terminal else "\n",
                flush=True,
            )


def follow(lines: Iterable[str], log_path: Path, progress: Progress) -> None:
    """Copy pip's output to `log_path` and show what it is doing."""
    building = ""
    with log_path.open("w", encoding="utf-8") as log:
        for line in lines:
            log.write(line)
            if wheel := _BUILDING.match(line):
                building = "llama.cpp" if wheel["name"].startswith("llama") else wheel["name"]
            if step := step_of(line, building):
                progress.show(step)


def main(lock: str) -> int:
    """Install `lock` into the environment of this interpreter; pip's exit code."""
    log_path = Path(sys.prefix) / "install.log"
    # One entry of -v makes pip pass on what the compiler says. The wheel that it builds stays in pip's own cache.
    command = [sys.executable, "-m", "pip", "install", "-v", "--no-input", "--disable-pip-version-check"]
    pip = subprocess.Popen(
        [*command, "--progress-bar=off", "--require-hashes", "-r", lock],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    progress = Progress()
    try:
        follow(pip.stdout or (), log_path, progress)
        status = pip.wait()
    except KeyboardInterrupt:
        pip.terminate()
        status = pip.wait() or 130
    finally:
        progress.end()
    if status != 0:
        tail = log_path.read_text(encoding="utf-8").splitlines()[-ERROR_TAIL_LINE_COUNT:]
        print(*tail, f"setup failed; all of pip's output is in {log_path}", sep="\n", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
