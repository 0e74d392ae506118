"""The base install is the thin client: it works in an environment that has the base dependencies and nothing else."""

import os
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.processes import Server


def base_distributions() -> list[Distribution]:
    """What `pip install groundwire` without extras brings, found by following the requirements."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(text) for text in distribution("groundwire").requires or ()]
    while waiting:
        requirement = waiting.pop()
        if requirement.name.lower() in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found[requirement.name.lower()] = distribution(requirement.name)
        waiting += [Requirement(text) for text in found[requirement.name.lower()].requires or ()]
    return list(found.values())


@pytest.fixture(scope="module")
def thin_python(tmp_path_factory: pytest.TempPathFactory, project_dir: Path) -> Path:
    """The interpreter of an environment that holds the base dependencies, `client` and `groundwire`."""
    home = tmp_path_factory.mktemp("thin")
    venv.create(home, with_pip=False, symlinks=True)
    packages = home / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for needed in base_distributions():
        for file in needed.files or ():
            if ".." in file.parts or "__pycache__" in file.parts:
                continue
            link = packages / file
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.exists():
                link.symlink_to(Path(os.fspath(file.locate())).resolve())
    for ours in ("client", "groundwire"):
        (packages / ours).symlink_to(project_dir / ours)
    return home / "bin" / "python"


def run(python: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-I", *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_base_dependencies_neither_compile_nor_load_a_model() -> None:
    names = {found.metadata["Name"].lower() for found in base_distributions()}
    assert names.isdisjoint({"numpy", "onnxruntime", "tantivy", "tokenizers", "llama-cpp-python", "redis", "structlog"})


def test_thin_environment_has_no_server_part(thin_python: Path, tmp_path: Path) -> None:
    """Else the other tests of this file would prove nothing."""
    done = run(thin_python, "-c", "import numpy", cwd=tmp_path)
    assert "ModuleNotFoundError" in done.stderr


def test_every_client_module_imports_in_the_thin_environment(thin_python: Path, tmp_path: Path) -> None:
    walk = (
        "import client, importlib, pkgutil\n"
        "for found in pkgutil.walk_packages(client.__path__, 'client.'):\n"
        "    importlib.import_module(found.name)\n"
    )
    done = run(thin_python, "-W", "error", "-c", walk, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_thin_client_talks_to_a_server(thin_python: Path, server: Server, tmp_path: Path) -> None:
    done = run(thin_python, "-m", "client", "--server", server.address, "status", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
