"""Where the server may listen."""

import pytest

from retrieval_server.listen_address import UnsafeAddress, check_listen_address


@pytest.mark.parametrize("listen", ["127.0.0.1:50051", "localhost:0", "[::1]:50051", "127.9.9.9:1"])
def test_loopback_is_fine(listen: str):
    check_listen_address(listen, allow_insecure=False)


@pytest.mark.parametrize("listen", ["0.0.0.0:50051", "[::]:50051", "192.168.1.2:1", "example.org:50051"])
def test_off_loopback_is_refused_unless_told_in_so_many_words(listen: str):
    with pytest.raises(UnsafeAddress, match="GROUNDWIRE_ALLOW_INSECURE_LISTEN"):
        check_listen_address(listen, allow_insecure=False)
    check_listen_address(listen, allow_insecure=True)


@pytest.mark.parametrize(
    "listen",
    [
        "",
        "50051",
        "localhost",
        "localhost:http",
        "localhost:70000",
        "a:b:",
        "::1:1",
        "\udcff:1",
        "a\0:1",
        f"localhost:{'1' * 5000}",
    ],
)
def test_what_is_no_address_is_refused(listen: str):
    with pytest.raises(UnsafeAddress, match="HOST:PORT"):
        check_listen_address(listen, allow_insecure=True)
