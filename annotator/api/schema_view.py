"""The address of the OpenAPI description."""

from functools import cache
from threading import Lock
from typing import Any

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.api.rendering import FastJSONRenderer

_building = Lock()


def description() -> dict[str, Any]:
    """Return the description, built once in a process. Do not change it."""
    # The framework loads parts of itself on first use, which fails in two threads at the same time.
    with _building:
        return _built()


@cache
def _built() -> dict[str, Any]:
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return schema


@cache
def _text(file_format: str) -> bytes:
    renderer = OpenApiJsonRenderer() if file_format == "json" else OpenApiYamlRenderer()
    text: bytes = renderer.render(description())
    return text


class SchemaView(SpectacularAPIView):
    """Returns YAML or JSON, by ``Accept`` or ``?format=``."""

    def _get_schema_response(self, request: Request) -> HttpResponse:
        """Return one of two cached texts; building one takes a tenth of a second."""
        renderer = request.accepted_renderer
        return HttpResponse(
            _text(renderer.format),
            content_type=renderer.media_type + (f"; charset={renderer.charset}" if renderer.charset else ""),
            headers={"Content-Disposition": f'inline; filename="{self._get_filename(request, None)}"'},
        )

    def get_format_suffix(self, **kwargs: Any) -> str | None:
        """Return the format in the address; an unknown one is a 404."""
        return self.request.GET.get("format") or super().get_format_suffix(**kwargs)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Render refusals as JSON, like all others of the API."""
        final = super().finalize_response(request, response, *args, **kwargs)
        if isinstance(final, Response) and final.exception:
            final.accepted_renderer, final.accepted_media_type = FastJSONRenderer(), FastJSONRenderer.media_type
        return final
