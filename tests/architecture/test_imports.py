"""Arrows point one way: what may import what."""

import subprocess
import sys
from pathlib import Path


def test_import_contracts_hold(project_dir: Path) -> None:
    lint_imports = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run(
        [lint_imports, "--no-cache"], cwd=project_dir, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
