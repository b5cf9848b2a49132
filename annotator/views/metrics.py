"""Metrics for Prometheus."""

import logging

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from annotator.services.client_address import client_ip
from annotator.services.operations.gauges import DatabaseGauges
from annotator.services.operations.request_metrics import request_registry

_LOG = logging.getLogger(__name__)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics to those who may scrape them. For others, the address doesn't exist."""
    if not settings.METRICS or not _may_scrape(request):
        headers = {"Cache-Control": "no-store"}
        return HttpResponse("Not found\n", status=404, content_type="text/plain; charset=utf-8", headers=headers)
    gauges = CollectorRegistry()
    gauges.register(DatabaseGauges())
    content = generate_latest(request_registry())
    try:
        content += generate_latest(gauges)
    except DatabaseError:
        # The counters of requests tell of the outage.
        _LOG.warning("the gauges of the database are missing in the metrics: it does not respond")
    return HttpResponse(content, content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


def _may_scrape(request: HttpRequest) -> bool:
    """Return whether the request has the token, or comes from one of the addresses."""
    said = request.headers.get("Authorization", "")
    if settings.METRICS_TOKEN and constant_time_compare(said, f"Bearer {settings.METRICS_TOKEN}"):
        return True
    address = client_ip(request)
    return address is not None and any(address in allowed for allowed in settings.METRICS_ADDRESSES)
