"""Response headers that restrict what browsers do with a response, in addition to the Content-Security-Policy."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

#: Features of browsers that no page uses. Passkeys and the clipboard are used, so they are not here.
_UNUSED = (
    "accelerometer",
    "browsing-topics",
    "camera",
    "display-capture",
    "geolocation",
    "gyroscope",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "serial",
    "usb",
)
HEADERS = {
    # Other sites can't load anything from here, except what a view allows: pictures of public leaderboards.
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in _UNUSED),
}


class ProtectiveHeadersMiddleware:
    """Adds `HEADERS` to each response that has no own value."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response
