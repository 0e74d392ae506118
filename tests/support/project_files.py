"""The files of this checkout that are, or are about to be, under version control."""

import subprocess
from pathlib import Path

import pytest


def project_files(project_dir: Path) -> list[Path]:
    """Every tracked or new file that no .gitignore leaves out; skips the test where this is no checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=project_dir,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout: which files belong to the project is not known")
    names = (name for name in listed.stdout.split("\0") if name)
    return sorted(project_dir / name for name in names if (project_dir / name).is_file())
