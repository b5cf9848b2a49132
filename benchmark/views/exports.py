"""The list of dialogues as a file."""

from django.http import StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotator.services.database.filters import one_of
from annotator.services.dialogues.listing import Filters
from annotator.services.dialogues.sorting import order_of, sort_of
from annotator.services.saved_views import SAVED
from annotator.views.pages import PageRequest, project_page, takes
from benchmark.services.exports import TYPES, export_dialogues
from reviews.services.protocols.versions import stage_titles
from reviews.views.list_parts import columns_of


@project_page
@require_safe
@takes(*SAVED, "format")
def dialogue_export(request: PageRequest) -> StreamingHttpResponse:
    """Stream the list with the same filters, order and columns as on its page."""
    form = one_of(request.GET, "format", TYPES, "csv")
    pieces = export_dialogues(
        actor=request.user,
        project=request.project,
        filters=Filters.of(request.GET, project=request.project, stages=lambda: stage_titles(request.project)),
        order=order_of(sort_of(request.GET)),
        form=form,
        columns=columns_of(request.GET),
    )
    response = StreamingHttpResponse(pieces, content_type=TYPES[form])
    name = f"dialogues-{request.project.slug}-{timezone.localdate().isoformat()}.{form}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
