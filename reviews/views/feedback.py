"""The feedback page: errors that later stages found in a person's work, and counts of error types."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotator.errors import Hidden
from annotator.models import User
from annotator.services.access.permissions import OVERSEERS
from annotator.views.pages import PageRequest, project_page, takes
from reviews.services.feedback import reading
from reviews.services.gold.results import count_own_results


@project_page
@require_safe
@takes("of", "before", "after")
def feedback_list(request: PageRequest) -> HttpResponse:
    """Show one's own feedback; overseers can see others' with ``?of=all`` or ``?of=`` a person."""
    project, wanted = request.project, request.GET.get("of", "")
    oversees = bool(request.roles & OVERSEERS)
    everybody, person = wanted == "all", None
    if wanted and not everybody:
        reading.require_overseer(actor=request.user, project=project)
        person = User.objects.filter(public_id=wanted, memberships__project=project).distinct().first()
        if person is None:
            raise Hidden(_("This person isn’t a member of this project."))
    page = reading.list_feedback(
        actor=request.user,
        project=project,
        person=person,
        everybody=everybody,
        before=request.GET.get("before"),
        after=request.GET.get("after"),
    )
    if request.method == "GET" and not wanted:
        reading.mark_feedback_read(actor=request.user, page=page)
    of = f"&of={wanted}" if wanted else ""
    context = {
        "rows": page.rows,
        "older": f"?after={page.after}{of}" if page.after else None,
        "newer": f"?before={page.before}{of}" if page.before else None,
        "kinds": reading.count_kinds(project=project, person=None if everybody else person or request.user),
        "people": reading.count_people(actor=request.user, project=project) if everybody else [],
        "everybody": everybody,
        "person": person,
        "oversees": oversees,
        "known_answers": count_own_results(actor=request.user, project=project, roles=request.roles),
    }
    return render(request, "reviews/project/feedback.html", context)
