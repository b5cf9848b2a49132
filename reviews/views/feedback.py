"""Feedback: what later stages found in a person's work, and which kinds of fault recur in the project."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotator.errors import Hidden
from annotator.models import User
from annotator.services.keyset import read_key
from annotator.views.pages import PageRequest, project_page
from reviews.services import feedback_reading as reading
from reviews.services.gold_reading import count_own_results


@project_page
@require_safe
def feedback_list(request: PageRequest) -> HttpResponse:
    """One's own; with ``?of=all`` or ``?of=`` a person, for senior reviewers and administrators, that of others."""
    project, wanted = request.project, request.GET.get("of", "")
    oversees = bool(request.roles & reading.OVERSEERS)
    everybody, person = wanted == "all", None
    if wanted and not everybody:
        reading.require_overseer(actor=request.user, project=project)
        person = User.objects.filter(public_id=wanted, memberships__project=project).distinct().first()
        if person is None:
            raise Hidden("There is no such person in this project.")
    page = reading.list_feedback(
        actor=request.user,
        project=project,
        person=person,
        everybody=everybody,
        before=read_key(request.GET.get("before")),
        after=read_key(request.GET.get("after")),
    )
    of = f"&of={wanted}" if wanted else ""
    context = {
        "rows": page.rows,
        "older": f"?before={page.older}{of}" if page.older else None,
        "newer": f"?after={page.newer}{of}" if page.newer else None,
        "kinds": reading.count_kinds(project=project, person=None if everybody else person or request.user),
        "people": reading.count_people(actor=request.user, project=project) if everybody else [],
        "everybody": everybody,
        "person": person,
        "oversees": oversees,
        "known_answers": count_own_results(actor=request.user, project=project, roles=request.roles),
    }
    return render(request, "reviews/feedback_list.html", context)
