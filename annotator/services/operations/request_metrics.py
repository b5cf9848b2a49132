"""Counters of requests, for Prometheus. Each process of a web server counts; a scrape adds them up.

The processes write to files of one folder, which ``PROMETHEUS_MULTIPROC_DIR`` names
(``annotator.config.settings.monitoring``); without it, only this process counts.
"""

import os
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

#: Upper ends of the durations that are counted, in seconds.
BUCKETS = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}

_registry = CollectorRegistry()
# The labels have few values: names of views, never addresses.
_requests = Counter(
    "assay_http_requests", "Responses by view, method and status.", ["view", "method", "status"], registry=_registry
)
_seconds = Histogram(
    "assay_http_request_seconds", "Time until a response begins, by view.", ["view"], buckets=BUCKETS,
    registry=_registry,
)  # fmt: skip


def note_request(view: str, method: str, status: int, seconds: float) -> None:
    """Count a response."""
    _requests.labels(view, method if method in _METHODS else "other", str(status)).inc()
    _seconds.labels(view).observe(seconds)


def request_registry() -> CollectorRegistry:
    """Return the counters of all processes of this web server."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return _registry
    folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    # A server without requests is still used: its folder is not forgotten.
    folder.mkdir(parents=True, exist_ok=True)
    folder.touch()
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry
