"""Where the API's description is read."""

from typing import Any

from drf_spectacular.views import SpectacularAPIView


class SchemaView(SpectacularAPIView):
    """YAML or JSON, by ``Accept`` or by ``?format=``, as a browser's address or a generator of clients asks for it."""

    def get_format_suffix(self, **kwargs: Any) -> str | None:
        """The format that the address names; one that there is not is not found."""
        return self.request.GET.get("format") or super().get_format_suffix(**kwargs)
