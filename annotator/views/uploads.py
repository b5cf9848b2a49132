"""Which requests may send files. Others are refused before a file is read, so nothing of it reaches the disk."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from django.utils.translation import gettext as _

from annotator.models import Project
from annotator.services.jobs.outages import NoRoom, has_room, require_room
from annotator.services.quotas import require_quota
from annotator.views.request_limits import admit_transfer

View = TypeVar("View", bound=Callable[..., Any])


#: Bytes of a request with a file that may be other than the file.
_FORM_BYTES = 10_000


class TakesNoFile(MultiPartParserError):
    """A file was sent to an address that accepts none."""


def takes_files(view: View) -> View:
    """Mark a view of a project (by ``slug``) as accepting files from its administrators."""
    view.takes_files = True  # type: ignore[attr-defined]
    return view


def stores_files(view: View) -> View:
    """Do the same for a view whose files are stored and count towards the project's quota."""
    view.stores_files = True  # type: ignore[attr-defined]
    return takes_files(view)


def _may_store_files(request: HttpRequest) -> bool:
    """Return whether the address stores files and the person may send them."""
    stores = request.resolver_match is not None and getattr(request.resolver_match.func, "stores_files", False)
    return bool(stores) and may_send_files(request)


def require_quota_for(request: HttpRequest) -> None:
    """Refuse a request whose files would exceed the quota of their project, before it is read. Raises OverQuota."""
    if not _may_store_files(request):
        return
    project = Project.objects.filter(slug=request.resolver_match.kwargs["slug"]).first()  # type: ignore[union-attr]
    if project is not None:
        length = str(request.META.get("CONTENT_LENGTH") or 0)
        require_quota(project, max(0, int(length) - _FORM_BYTES) if length.isdecimal() else 0)


def _has_use_for_files(request: HttpRequest) -> bool:
    return request.resolver_match is not None and getattr(request.resolver_match.func, "takes_files", False)


def may_send_files(request: HttpRequest) -> bool:
    """Return whether the address accepts files and the person may send them."""
    if not _has_use_for_files(request):
        return False
    slug = request.resolver_match.kwargs["slug"]  # type: ignore[union-attr]
    return Project.objects.administered_by(request.user).filter(slug=slug).exists()


class PermissionHandler(FileUploadHandler):
    """The first upload handler. Stops reading a file that the person may not send; the view then refuses the request.
    Also refuses a file that does not fit on the disk (OSError: an outage).
    """

    def handle_raw_input(self, input_data: Any, META: Any, content_length: int, *args: Any, **kwargs: Any) -> None:
        # For pages, SizeMiddleware did this before. For the API, the sender is known only now.
        request: HttpRequest = self.request  # type: ignore[assignment]
        if content_length > settings.MAX_REQUEST_BYTES and request.path_info.startswith("/api/"):
            request.place.enter_context(admit_transfer(request))  # type: ignore[attr-defined]

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        request: HttpRequest = self.request  # type: ignore[assignment]
        if not _has_use_for_files(request):
            raise TakesNoFile(_("You can’t upload files here. Nothing was saved. Send the form without a file."))
        if not may_send_files(request):
            raise StopUpload(connection_reset=True)
        if request.path_info.startswith("/api/"):
            # For pages, SizeMiddleware did this before.
            require_quota_for(request)
        # The upload is written to disk and then stored a second time.
        length = str(request.META.get("CONTENT_LENGTH") or 0)
        size = 2 * int(length) if length.isdecimal() else 0
        if not has_room(size):
            # If the disk is full for everybody, say that instead.
            require_room()
            raise NoRoom(size)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None
