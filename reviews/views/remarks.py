"""Comments on the page of a dialogue: written, answered, dealt with."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from annotator.comparison import describe
from annotator.comparison.anchors import Document
from annotator.errors import DomainError, Invalid
from annotator.models import Dialogue
from annotator.services.access import load_dialogue
from annotator.views.pages import PageRequest, project_page
from reviews.services import comments
from reviews.services.mentions import suggested_names


@project_page
@require_POST
def dialogue_comment(request: PageRequest, public_id: str) -> HttpResponse:
    """Remark on a place of the dialogue, or answer a remark."""
    # Imported here: that page shows these comments.
    from reviews.views.dialogues import render_dialogue

    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    posted = {name: request.POST.get(name, "") for name in ("anchor", "text", "mention", "reply_to")}
    try:
        comment = comments.comment_on(
            actor=request.user,
            dialogue=dialogue,
            anchor=posted["anchor"],
            text=with_mention(posted["text"], posted["mention"]),
            reply_to=posted["reply_to"],
        )
    except DomainError as error:
        if error.status != Invalid.status:
            raise
        remark = posted | {"sentence": error.sentence}
        if request.htmx:
            return _partial(request, dialogue, remark)
        return render_dialogue(request, dialogue, remark=remark)
    if request.htmx:
        return _partial(request, dialogue, None)
    top = comment.parent or comment
    return redirect(f"{reverse('dialogue', args=[request.project.slug, dialogue.public_id])}#c-{top.public_id}")


@project_page
@require_POST
def comment_resolve(request: PageRequest, public_id: str, comment: str) -> HttpResponse:
    """Mark a remark as dealt with, or take that back."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    act = comments.reopen_comment if "reopen" in request.POST else comments.resolve_comment
    act(actor=request.user, public_id=comment, dialogue=dialogue)
    if request.htmx:
        return _partial(request, dialogue, None)
    back = request.POST.get("next", "")
    if back and url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        return redirect(back)
    return redirect(f"{reverse('dialogue', args=[request.project.slug, dialogue.public_id])}#c-{comment}")


def with_mention(text: str, mention: str) -> str:
    """The text, with the name chosen from the list before it unless it is in there."""
    name = mention.strip().lstrip("@").strip()
    return f"@{name} {text}" if name and f"@{name}" not in text and text.strip() else text


def comment_context(
    request: PageRequest, dialogue: Dialogue, document: Document, remark: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What the templates of comments are given. ``remark``: what was refused, its fields and the ``sentence``."""
    blind = comments.reviews_blind(actor=request.user, dialogue=dialogue)
    return {
        "threads": comments.read_threads(actor=request.user, dialogue=dialogue, document=document),
        "places": _places(document),
        "names": suggested_names(request.project),
        "remark": remark or {"anchor": request.GET.get("at", ""), "text": "", "mention": "", "reply_to": ""},
        "may_comment": not blind,
    }


def _partial(request: PageRequest, dialogue: Dialogue, remark: dict[str, Any] | None) -> HttpResponse:
    document = dialogue.head.document() if dialogue.head else {}
    context = {"dialogue": dialogue, **comment_context(request, dialogue, document, remark)}
    return render(request, "reviews/comments.html", context, status=422 if remark else 200)


def _places(document: Document) -> list[tuple[str, str]]:
    """Every place one can remark on, in words."""
    anchors = []
    for task in document.get("tasks", []):
        top = f"/tasks/{task['id']}"
        anchors += [top, f"{top}/user_message", *(f"{top}/steps/{step['id']}" for step in task.get("steps") or [])]
    return [("", "the dialogue as a whole"), *((anchor, describe(document, anchor)) for anchor in anchors)]
