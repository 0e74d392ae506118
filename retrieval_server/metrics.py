"""What Prometheus is told: how long calls take, and how often a query was met before."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Histogram, start_http_server
from prometheus_client.core import CounterMetricFamily, Metric

# Seconds: a query takes some milliseconds, an answer many seconds.
_BUCKETS_S = (0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """How often a cache was asked since the start: what it held, and what had to be worked out."""

    hits: int
    misses: int


class Metrics:
    """The figures of one server process. Thread-safe."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._rpc_s = Histogram(
            "groundwire_rpc_seconds",
            "Time from a call's arrival to its end, by gRPC method and status.",
            ("method", "code"),
            buckets=_BUCKETS_S,
            registry=self.registry,
        )

    def rpc_ended(self, method: str, code: str, elapsed_s: float) -> None:
        """Count a call."""
        self._rpc_s.labels(method, code).observe(elapsed_s)

    def watch_caches(self, counts: Callable[[], dict[str, CacheCounts]]) -> None:
        """Tell at each scrape what `counts` returns, by the name of the cache."""
        self.registry.register(_CacheCollector(counts))

    def serve(self, host: str, port: int) -> "tuple[WSGIServer, Thread]":
        """Answer scrapes on a thread of their own. Raises OSError when the address cannot be used."""
        return start_http_server(port, host, self.registry)


class _CacheCollector:
    def __init__(self, counts: Callable[[], dict[str, CacheCounts]]) -> None:
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        """See prometheus_client.registry.Collector."""
        family = CounterMetricFamily(
            "groundwire_query_cache_requests",
            "How often a query was asked for; of the vectors of queries, and of whole results.",
            labels=("cache", "outcome"),
        )
        for name, counts in self._counts().items():
            family.add_metric((name, "hit"), counts.hits)
            family.add_metric((name, "miss"), counts.misses)
        yield family
