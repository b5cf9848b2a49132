"""Metrics for Prometheus."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from annotator.services.client_address import client_address
from annotator.services.operations.gauges import DatabaseGauges
from annotator.services.operations.request_metrics import request_registry


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics to those who may scrape them. For others, the address doesn't exist."""
    if not settings.METRICS or not _may_scrape(request):
        headers = {"Cache-Control": "no-store"}
        return HttpResponse("Not found\n", status=404, content_type="text/plain; charset=utf-8", headers=headers)
    gauges = CollectorRegistry()
    gauges.register(DatabaseGauges())
    content = generate_latest(request_registry()) + generate_latest(gauges)
    return HttpResponse(content, content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


def _may_scrape(request: HttpRequest) -> bool:
    """Return whether the request has the token, or comes from one of the addresses."""
    said = request.headers.get("Authorization", "")
    if settings.METRICS_TOKEN and constant_time_compare(said, f"Bearer {settings.METRICS_TOKEN}"):
        return True
    address = client_address(request)
    if not address:
        return False
    # For IPv6 it is a network of /64: its first address stands for it.
    first = ipaddress.ip_network(address).network_address
    return any(first in allowed for allowed in settings.METRICS_ADDRESSES)
