"""What supervisord makes of its configuration."""

import subprocess
import sys
from pathlib import Path

from deploy.supervisor_config import Program, _program_section
from tests.support.deadline import wait_until


def test_what_dies_soon_after_each_start_is_not_taken_for_started(tmp_path: Path) -> None:
    """Else it would be started again at once each time, for ever; so the waits between grow."""
    starts, log = tmp_path / "starts", tmp_path / "supervisord.log"
    dying = Program("dying", ("sh", "-c", f"echo start >> {starts}; sleep 1.3; exit 1"), priority=10, stop_wait_s=5)
    config = tmp_path / "supervisord.conf"
    own = f"[supervisord]\nnodaemon=true\nsilent=true\nlogfile={log}\npidfile={tmp_path / 'pid'}\n"
    config.write_text(own + _program_section(dying, tmp_path), encoding="utf-8")
    with subprocess.Popen([sys.executable, "-m", "supervisor.supervisord", "-n", "-c", str(config)]) as supervisord:
        try:
            wait_until(
                lambda: starts.exists() and len(starts.read_text().split()) > 1,
                timeout_s=30,
                what="it is started again",
            )
        finally:
            supervisord.terminate()
    said = log.read_text()
    assert "exited: dying" in said
    assert "RUNNING" not in said
