"""The server's heap: huge pages where the kernel gives them to those who ask."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import Server, ServiceProcess

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
pytestmark = pytest.mark.skipif(
    not HUGE_PAGES.exists() or "[madvise]" not in HUGE_PAGES.read_text(), reason="huge pages are not for who asks here"
)


@pytest.fixture
def tunables(tmp_path: Path, own_process: Callable[[ServiceProcess], ServiceProcess]) -> Callable[..., str]:
    """Start a server and return the C library's settings that it runs with; it is the process that was started."""

    def run(**env: str) -> str:
        server = Server(tmp_path / "server", redis_url="redis://127.0.0.1:1/0", GROUNDWIRE_LEXICAL_ONLY="true", **env)
        own_process(server).start()
        environment = Path(f"/proc/{server.pid}/environ").read_bytes()
        assert server.stop() == 0
        # The C library has ended each tunable with a NUL where it has read it.
        variables = environment.replace(b"\0glibc.", b":glibc.").split(b"\0")
        return next(one for one in variables if one.startswith(b"GLIBC_TUNABLES=")).decode().partition("=")[2]

    return run


def test_a_server_asks_for_huge_pages(tunables: Callable[..., str]):
    assert tunables() == "glibc.malloc.hugetlb=1"


def test_what_an_operator_sets_is_kept(tunables: Callable[..., str]):
    other = "glibc.malloc.tcache_count=3"
    assert tunables(GLIBC_TUNABLES=other) == f"{other}:glibc.malloc.hugetlb=1"
    assert tunables(GLIBC_TUNABLES="glibc.malloc.hugetlb=0") == "glibc.malloc.hugetlb=0"
