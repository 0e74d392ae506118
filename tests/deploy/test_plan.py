"""What is decided before anything starts, and how it is refused."""

import os
import socket
from pathlib import Path

import pytest

from deploy.plan import CoreShare, StartupError, claim_data_dir, plan_from_environment, share_cores

ANY_PORTS = {"GROUNDWIRE_LISTEN": "127.0.0.1:0", "GROUNDWIRE_REDIS_URL": "redis://127.0.0.1:0"}


@pytest.mark.parametrize(
    ("core_count", "share"), [(1, CoreShare(1, 1)), (2, CoreShare(2, 2)), (4, CoreShare(2, 2)), (7, CoreShare(3, 4))]
)
def test_cores_are_split_once_there_are_enough_of_them(core_count: int, share: CoreShare) -> None:
    assert share_cores(core_count) == share


def test_port_zero_becomes_a_real_port_that_restarts_keep(tmp_path: Path) -> None:
    plan = plan_from_environment(ANY_PORTS | {"GROUNDWIRE_DATA_DIR": os.fspath(tmp_path)})
    assert int(plan.listen.rpartition(":")[2]) > 0
    assert plan.valkey_port > 0
    assert plan.redis_url == f"redis://127.0.0.1:{plan.valkey_port}/0"


def test_a_relative_data_directory_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = plan_from_environment(ANY_PORTS | {"GROUNDWIRE_DATA_DIR": "some/data"})
    assert plan.data_dir == tmp_path / "some" / "data"
    assert plan.log_dir.is_dir()


def test_thread_counts_that_somebody_chose_stay(tmp_path: Path) -> None:
    plan = plan_from_environment(ANY_PORTS | {"GROUNDWIRE_DATA_DIR": os.fspath(tmp_path)})
    environment = plan.environment({"GROUNDWIRE_WORKER_THREADS": "7", "GROUNDWIRE_LISTEN": "127.0.0.1:0"})
    assert environment["GROUNDWIRE_WORKER_THREADS"] == "7"
    assert environment["GROUNDWIRE_ENCODER_THREADS"] == str(plan.cores.encoder_thread_count)
    assert environment["GROUNDWIRE_LISTEN"] == plan.listen


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("GROUNDWIRE_LISTEN", "nonsense"),
        ("GROUNDWIRE_LISTEN", "127.0.0.1:70000"),
        ("GROUNDWIRE_LISTEN", f"{'a' * 70}:50051"),
        ("GROUNDWIRE_LISTEN", "a..b:50051"),
        ("GROUNDWIRE_REDIS_URL", "redis://example.org:6379/0"),
        ("GROUNDWIRE_REDIS_URL", "http://127.0.0.1:6379"),
        ("GROUNDWIRE_REDIS_URL", "redis://127.0.0.1:many"),
    ],
)
def test_a_setting_that_cannot_be_had_is_named(tmp_path: Path, setting: str, value: str) -> None:
    with pytest.raises(StartupError, match=setting) as refused:
        plan_from_environment(ANY_PORTS | {"GROUNDWIRE_DATA_DIR": os.fspath(tmp_path), setting: value})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("setting", "scheme"), [("GROUNDWIRE_LISTEN", ""), ("GROUNDWIRE_REDIS_URL", "redis://")])
def test_a_port_in_use_is_named(tmp_path: Path, setting: str, scheme: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"{scheme}127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(StartupError, match=setting):
            plan_from_environment(ANY_PORTS | {"GROUNDWIRE_DATA_DIR": os.fspath(tmp_path), setting: address})


def test_a_data_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StartupError, match="GROUNDWIRE_DATA_DIR"):
        plan_from_environment(ANY_PORTS | {"GROUNDWIRE_DATA_DIR": os.fspath(tmp_path / "file" / "data")})


def test_a_data_directory_is_claimed_once_and_free_again_afterwards(tmp_path: Path) -> None:
    with claim_data_dir(tmp_path), pytest.raises(StartupError, match=str(os.getpid())):
        claim_data_dir(tmp_path)
    claim_data_dir(tmp_path).close()
