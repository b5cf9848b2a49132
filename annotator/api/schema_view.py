"""Where the API's description is read."""

from typing import Any

from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.api.rendering import FastJSONRenderer


class SchemaView(SpectacularAPIView):
    """YAML or JSON, by ``Accept`` or by ``?format=``, as a browser's address or a generator of clients asks for it."""

    def get_format_suffix(self, **kwargs: Any) -> str | None:
        """The format that the address names; one that there is not is not found."""
        return self.request.GET.get("format") or super().get_format_suffix(**kwargs)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """A refusal is no description: it comes as JSON, like every other of the API."""
        final: Response = super().finalize_response(request, response, *args, **kwargs)
        if final.exception:
            final.accepted_renderer, final.accepted_media_type = FastJSONRenderer(), FastJSONRenderer.media_type
        return final
