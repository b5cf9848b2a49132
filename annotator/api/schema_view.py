"""Where the API's description is read."""

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
    """The description, built once in a process; it is the same for every request. Do not change it."""
    # The framework loads a part of itself at the first time: two threads that began at once got an error each.
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
    """YAML or JSON, by ``Accept`` or by ``?format=``, as a browser's address or a generator of clients asks for it."""

    def _get_schema_response(self, request: Request) -> HttpResponse:
        """One of two texts, whatever else was asked for: to build one takes a tenth of a second."""
        renderer = request.accepted_renderer
        return HttpResponse(
            _text(renderer.format),
            content_type=renderer.media_type + (f"; charset={renderer.charset}" if renderer.charset else ""),
            headers={"Content-Disposition": f'inline; filename="{self._get_filename(request, None)}"'},
        )

    def get_format_suffix(self, **kwargs: Any) -> str | None:
        """The format that the address names; one that there is not is not found."""
        return self.request.GET.get("format") or super().get_format_suffix(**kwargs)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """A refusal is no description: it comes as JSON, like every other of the API."""
        final = super().finalize_response(request, response, *args, **kwargs)
        if isinstance(final, Response) and final.exception:
            final.accepted_renderer, final.accepted_media_type = FastJSONRenderer(), FastJSONRenderer.media_type
        return final
