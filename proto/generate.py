# ruff: noqa: INP001, T201 - a program of its own, run by its path; what it prints is its result
"""Generate the Python stubs of the contract; the same protos always give the same files.

`python proto/generate.py` writes what differs and removes what no proto makes any more; with `--check` it only says so
and exits with 1.
"""

import argparse
import os
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-untyped]

PROTO_DIR = Path(__file__).resolve().parent
PROJECT_DIR = PROTO_DIR.parent
GENERATED_PATTERNS = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb2_grpc.pyi")


def generate(out_dir: Path) -> None:
    """Run protoc into `out_dir`: messages of every proto, gRPC stubs of the protos that hold a service."""
    protos = sorted(path.relative_to(PROTO_DIR).as_posix() for path in PROTO_DIR.rglob("*.proto"))
    services = [name for name in protos if name.endswith("_service.proto")]
    # protoc finds the mypy plugins, which lie beside this interpreter, by the PATH.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    includes = [f"-I{PROTO_DIR}", f"-I{files('grpc_tools') / '_proto'}"]
    runs = (
        (["--python_out", "--mypy_out"], protos),
        (["--grpc_python_out", "--mypy_grpc_out"], services),
    )
    for outputs, names in runs:
        # The first argument stands for the program's name.
        status = protoc.main(["protoc", *includes, *(f"{output}={out_dir}" for output in outputs), *names])
        if status != 0:
            raise SystemExit(status)


def generated_files(root: Path) -> dict[str, bytes]:
    """Every generated file under `root`, by its path within it."""
    found = (path for pattern in GENERATED_PATTERNS for path in (root / "groundwire").rglob(pattern))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def main() -> int:
    """Write or check the stubs; the exit code."""
    parser = argparse.ArgumentParser(description="Generate the Python stubs of proto/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when something would change")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        wanted = generated_files(Path(scratch))
    present = generated_files(PROJECT_DIR)
    changed = sorted(name for name, content in wanted.items() if present.get(name) != content)
    stale = sorted(present.keys() - wanted.keys())
    for name in changed:
        print(f"{'differs' if check else 'wrote'}: {name}")
        if not check:
            target = PROJECT_DIR / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(wanted[name])
    for name in stale:
        print(f"{'stale' if check else 'removed'}: {name}")
        if not check:
            (PROJECT_DIR / name).unlink()
    return 1 if check and (changed or stale) else 0


if __name__ == "__main__":
    sys.exit(main())
