"""Metrics, and where errors and traces are sent."""

import ipaddress
import os
import platform
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from annotator.config import environment as env
from annotator.config.settings.mode import DATA_DIR

# Who may read /metrics: programs with this token, and addresses without one. Neither: it doesn't exist.
METRICS_TOKEN = env.file_content("METRICS_TOKEN_FILE") or env.text("METRICS_TOKEN")
if METRICS_TOKEN and len(METRICS_TOKEN) < 16:
    raise ImproperlyConfigured("METRICS_TOKEN is shorter than 16 characters. Use a longer one.")
try:
    METRICS_ADDRESSES = [ipaddress.ip_network(one) for one in env.items("METRICS_ADDRESSES", default=[])]
except ValueError as wrong:
    raise ImproperlyConfigured(
        f"METRICS_ADDRESSES: {wrong}; it must be addresses or networks like 10.0.0.0/8, separated by commas."
    ) from None
# In memory: the files are mapped, and a full disk would kill every process that counts.
_SHARED = Path("/dev/shm")  # noqa: S108 - its folder below belongs to this user alone
METRICS_DIR = DATA_DIR / "metrics"
METRICS = bool(METRICS_TOKEN or METRICS_ADDRESSES)
if METRICS:
    # The processes of one web server share a folder. Other machines and starts have their own, since files are named
    # after numbers of processes. (Read when prometheus_client is imported.)
    METRICS_DIR = _SHARED / f"assay-metrics-{os.getuid()}" if os.access(_SHARED, os.W_OK) else DATA_DIR / "metrics"
    _counters = METRICS_DIR / f"{platform.node()}-{os.getppid()}"
    os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(env.folder("ASSAY_DATA", _counters)))
# An address of Sentry or of a server like it, which contains a key, and an OpenTelemetry collector. Blank: none.
SENTRY_DSN = env.file_content("SENTRY_DSN_FILE") or env.text("SENTRY_DSN")
OTEL_EXPORTER_OTLP_ENDPOINT = env.text("OTEL_EXPORTER_OTLP_ENDPOINT")
