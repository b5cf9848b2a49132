"""Where errors and traces are sent, if the settings name a place: Sentry's protocol, and OpenTelemetry's.

Neither gets personal data: no people, addresses, cookies, bodies of requests or values of variables.
"""

import os
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from annotator import VERSION
from annotator.config.logs import hide_secrets
from annotator.core import log_context

_MISSING = "{} is set, but the packages for it are not installed. Install Assay with the extra “monitoring”."
#: Parts of a report that may hold what people wrote, or who they are.
_LEFT_OUT = ("user", "breadcrumbs", "extra", "modules", "server_name")


def start_reporting() -> None:
    """Send errors and traces of this process from now on. Raises ImproperlyConfigured if packages are missing."""
    if settings.SENTRY_DSN:
        _start_errors()
    if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        _start_traces()


def _start_errors() -> None:
    try:
        import sentry_sdk
    except ImportError:
        raise ImproperlyConfigured(_MISSING.format("SENTRY_DSN")) from None
    try:
        sentry_sdk.init(
            dsn=settings.SENTRY_DSN,
            release=f"assay@{VERSION}",
            environment=settings.MODE,
            send_default_pii=False,
            include_local_variables=False,
            max_request_body_size="never",
            max_breadcrumbs=0,
            before_send=without_private_parts,  # type: ignore[arg-type]  # a mapping either way
        )
    except ValueError as error:  # its message may repeat the key
        raise ImproperlyConfigured(f"SENTRY_DSN is not valid ({type(error).__name__}).") from None


def without_private_parts(event: dict[str, Any], hint: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a report without people, headers and query strings, and with the ids of request and job."""
    for name in _LEFT_OUT:
        event.pop(name, None)
    request = event.get("request")
    if isinstance(request, dict):
        event["request"] = {name: request[name] for name in ("method", "url") if name in request}
    known = {name: value.get() for name, value in log_context.FIELDS.items() if name != "person" and value.get()}
    event["tags"] = {**event.get("tags", {}), **known}
    found: dict[str, Any] = _hidden(event)
    return found


def _hidden(value: Any) -> Any:
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, dict):
        return {name: _hidden(one) for name, one in value.items()}
    return [_hidden(one) for one in value] if isinstance(value, list | tuple) else value


def _start_traces() -> None:
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.celery import CeleryInstrumentor
        from opentelemetry.instrumentation.django import DjangoInstrumentor
        from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise ImproperlyConfigured(_MISSING.format("OTEL_EXPORTER_OTLP_ENDPOINT")) from None
    provider = TracerProvider(resource=Resource.create({"service.name": "assay", "service.version": VERSION}))
    # The exporter reads its address and headers from the environment, as OpenTelemetry's documentation says.
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    # After the one that answers probes, which may use a host name that is not allowed: here it would be refused.
    position = settings.MIDDLEWARE.index("annotator.views.middleware.HealthMiddleware") + 1
    os.environ.setdefault("OTEL_PYTHON_DJANGO_MIDDLEWARE_POSITION", str(position))
    DjangoInstrumentor().instrument(response_hook=_shorten)
    CeleryInstrumentor().instrument()
    PsycopgInstrumentor().instrument()


def _shorten(span: Any, request: Any, response: Any) -> None:
    """Hide secrets of links, which are in the address, and query strings, and add the id of the request."""
    span.set_attribute("request.id", log_context.request_id.get())
    for name in ("http.url", "http.target", "url.full", "url.path"):
        address = (span.attributes or {}).get(name)
        if address:
            span.set_attribute(name, hide_secrets(str(address)).partition("?")[0])
    for name in ("url.query", "http.user_agent", "user_agent.original", "net.peer.ip", "client.address"):
        if name in (span.attributes or {}):
            span.set_attribute(name, "")
