"""Changes of many dialogues from their list, and the tags of one dialogue."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from annotator.errors import Invalid
from annotator.models import Dialogue
from annotator.services.access.permissions import load_dialogue, require_administrator
from annotator.services.dialogues.listing import Filters, matching_dialogues
from annotator.services.dialogues.tags import change_tags
from annotator.services.saved_views import SAVED, clean_query
from annotator.views.pages import PageRequest, project_page
from reviews.services.assignments import plans
from reviews.services.protocols.versions import stage_titles
from reviews.views.assignment_plans import to_plan
from reviews.views.change_form import change_form
from reviews.views.dialogues import render_dialogue

#: Characters of the field for tags.
_MOST_TYPED = 1000


def typed_tags(text: str) -> list[str]:
    """Return the names in a field for tags: words with spaces or commas between them."""
    return text[:_MOST_TYPED].replace(",", " ").split()


@project_page
@require_POST
def dialogue_plan(request: PageRequest) -> HttpResponse:
    """Preview a change of the selected dialogues, or of all that match the filters."""
    project, posted = request.project, request.POST
    require_administrator(actor=request.user, project=project)
    filters = Filters.of(posted, project=project, stages=lambda: stage_titles(project))
    priority = posted.get("to_priority", "")
    ticked = posted.getlist("dialogue")[: plans.MAX_SLOTS + 1]
    try:
        if "all" in posted:
            found = matching_dialogues(actor=request.user, project=project, filters=filters, limit=plans.MAX_SLOTS)
        else:
            rows = Dialogue.objects.filter(project=project, published=True, public_id__in=ticked)
            found = list(rows.order_by("pk").values_list("pk", flat=True))
        plan = plans.make_plan(
            actor=request.user,
            project=project,
            action=posted.get("action", ""),
            dialogues=found,
            to=[one for one in posted.getlist("to") if one],
            priority=int(priority) if priority in ("0", "1", "2") else None,
            stage=posted.get("to_stage", ""),
            tags=typed_tags(posted.get("tags", "")),
            reason=posted.get("reason", ""),
            all_the_same="all_the_same" in posted,
        )
    except Invalid as error:
        context = {
            "change": change_form(project, posted, posted),
            "refused": error.sentence,
            "selected": ticked,
            "query": clean_query(posted, SAVED),
        }
        return render(request, "reviews/dialogues/change_refused.html", context, status=422)
    return to_plan(plan, back=clean_query(posted, SAVED), listed="dialogues")


@project_page
@require_POST
def dialogue_tags(request: PageRequest, public_id: str) -> HttpResponse:
    """Add tags to a dialogue, or remove one."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    typed = request.POST.get("add", "")
    try:
        change_tags(
            actor=request.user, dialogue=dialogue, add=typed_tags(typed), remove=request.POST.getlist("remove")[:20]
        )
    except Invalid as error:
        return render_dialogue(request, dialogue, tag_form={"typed": typed[:_MOST_TYPED], "sentence": error.sentence})
    return redirect("dialogue", slug=request.project.slug, public_id=public_id)
