"""Addresses of Redis: what could never work is refused at once, in one line that shows no secret."""

import pytest

from groundwire.queue.redis_url import RedisUrlError, Topology, parse_redis_url
from tests.support.tls_proxy import CERTIFICATE, KEY


def test_a_server_with_login_and_database():
    address = parse_redis_url("redis://us%40er:p@ss/w:rd@redis.internal:7000/3?client_name=x")
    assert (address.topology, address.nodes, address.tls) == (Topology.SERVER, (("redis.internal", 7000),), False)
    assert address.options == {"username": "us@er", "password": "p@ss/w:rd", "db": 3, "client_name": "x"}
    assert "p@ss" not in repr(address)


@pytest.mark.parametrize(
    ("url", "node", "database"),
    [
        ("redis://h", ("h", 6379), 0),
        ("redis://h/", ("h", 6379), 0),
        (" redis://h:1/2\n", ("h", 1), 2),
        ("redis://h?db=5", ("h", 6379), 5),
        ("redis://[::1]:7/0", ("::1", 7), 0),
        ("REDIS://h", ("h", 6379), 0),
        ("redis://my_cache.bücher", ("my_cache.bücher", 6379), 0),
    ],
)
def test_defaults_and_spellings(url, node, database):
    address = parse_redis_url(url)
    assert (address.nodes, address.options["db"]) == ((node,), database)


def test_a_socket():
    address = parse_redis_url("unix://u:pw@/run/redis.sock?db=2")
    assert (address.unix_path, address.nodes) == ("/run/redis.sock", ())
    assert address.options == {"username": "u", "password": "pw", "db": 2}


def test_sentinels_with_a_login_of_their_own():
    address = parse_redis_url(
        "rediss+sentinel://u:p@a,b:5/main/1?sentinel_username=s&sentinel_password=t&ssl_cert_reqs=none"
    )
    assert (address.topology, address.service, address.tls) == (Topology.SENTINEL, "main", True)
    assert address.nodes == (("a", 26379), ("b", 5))
    assert address.options == {
        "username": "u",
        "password": "p",
        "db": 1,
        "ssl_cert_reqs": "none",
        "ssl_check_hostname": False,
    }
    assert address.sentinel_options == {"username": "s", "password": "t"}


def test_a_cluster():
    address = parse_redis_url("redis+cluster://:pw@a,b:7001/")
    assert (address.topology, address.nodes) == (Topology.CLUSTER, (("a", 6379), ("b", 7001)))
    assert address.options == {"password": "pw"}


def test_certificates_are_read():
    address = parse_redis_url(
        f"rediss://h?ssl_ca_certs={CERTIFICATE}&ssl_certfile={CERTIFICATE}&ssl_keyfile={KEY}&ssl_check_hostname=false"
    )
    assert address.options["ssl_check_hostname"] is False


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "not a Redis address"),
        ("localhost:6379", "not a Redis address"),
        ("http://s3cret@h", "not a Redis address"),
        ("redis+magic://h", "not a Redis address"),
        ("redis://", "names no host"),
        ("redis://:s3cret@:1", "names no host"),
        ("redis://h:port/0", "host or port"),
        ("redis://h:99999", "host or port"),
        ("redis://cache..internal", "host or port"),
        (f"redis://{'h' * 64}", "host or port"),
        (f"redis://h:1/{'9' * 5000}", "database that is no number"),
        ("redis://h:1/notadb", "database that is no number"),
        ("redis://h:1/-1", "database that is no number"),
        ("redis://h:1/0/1", "database that is no number"),
        ("redis://h:1?db=x", "database that is no number"),
        ("redis://a,b/0", "several hosts"),
        ("redis://h?socket_timeout=1", "'socket_timeout'"),
        ("redis://h?ssl_password=s3cret", "without TLS"),
        ("redis://h?sentinel_password=s3cret", "'sentinel_password'"),
        ("rediss://h?ssl_cert_reqs=maybe", "ssl_cert_reqs"),
        ("rediss://h?ssl_check_hostname=maybe", "ssl_check_hostname"),
        ("rediss://h?ssl_ca_certs=/nowhere.pem&ssl_password=s3cret", "ssl_ca_certs"),
        ("rediss://h?ssl_ca_certs=%00", "ssl_ca_certs"),
        (f"rediss://h?ssl_certfile={CERTIFICATE}", "ssl_certfile"),
        ("unix://", "no socket"),
        ("unix+sentinel:///x/y", "socket"),
        ("redis+sentinel://a,b", "no service"),
        ("redis+sentinel://a/main/x", "database that is no number"),
        ("redis+cluster://a/1", "cluster has none"),
    ],
)
def test_what_can_never_work_is_refused_without_showing_it(url, why):
    with pytest.raises(RedisUrlError, match=r"^GROUNDWIRE_REDIS_URL ") as refusal:
        parse_redis_url(url)
    assert why in str(refusal.value)
    assert "s3cret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)
