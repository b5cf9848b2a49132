"""Comments on the page of a dialogue: add, reply, edit, resolve, reopen."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from annotator.core.editing.scope import line_ends
from annotator.errors import Conflict, DomainError, Invalid
from annotator.models import Dialogue
from annotator.services.access.permissions import load_dialogue
from annotator.views.pages import PageRequest, project_page
from reviews.services.feedback import comments
from reviews.views.comment_context import comment_context, with_mention
from reviews.views.dialogues import render_dialogue


@project_page
@require_POST
def dialogue_comment(request: PageRequest, public_id: str) -> HttpResponse:
    """Comment on a place of the dialogue, or reply to a comment."""
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
        comment_form = posted | {"sentence": error.sentence}
        if request.htmx:
            return _partial(request, dialogue, comment_form)
        return render_dialogue(request, dialogue, comment_form=comment_form)
    if request.htmx:
        return _partial(request, dialogue, None)
    top = comment.parent or comment
    return redirect(f"{reverse('dialogue', args=[request.project.slug, dialogue.public_id])}#c-{top.public_id}")


@project_page
@require_POST
def comment_resolve(request: PageRequest, public_id: str, comment: str) -> HttpResponse:
    """Resolve or reopen a comment."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    reopen = "reopen" in request.POST
    comments.resolve_comment(actor=request.user, public_id=comment, dialogue=dialogue, reopen=reopen)
    if request.htmx:
        return _partial(request, dialogue, None)
    back = request.POST.get("next", "")
    if back and url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        return redirect(back)
    return redirect(f"{reverse('dialogue', args=[request.project.slug, dialogue.public_id])}#c-{comment}")


@project_page
@require_POST
def comment_edit(request: PageRequest, public_id: str, comment: str) -> HttpResponse:
    """Change the text of one's own comment."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    text = line_ends(request.POST.get("text", ""))
    try:
        edited = comments.edit_comment(actor=request.user, public_id=comment, dialogue=dialogue, text=text)
    except DomainError as error:
        if error.status not in (Invalid.status, Conflict.status):
            raise
        comment_form = {"edits": comment, "text": text, "mention": "", "reply_to": "", "sentence": error.sentence}
        if request.htmx:
            return _partial(request, dialogue, comment_form)
        return render_dialogue(request, dialogue, comment_form=comment_form)
    if request.htmx:
        return _partial(request, dialogue, None)
    top = edited.parent or edited
    return redirect(f"{reverse('dialogue', args=[request.project.slug, dialogue.public_id])}#c-{top.public_id}")


def _partial(request: PageRequest, dialogue: Dialogue, comment_form: dict[str, Any] | None) -> HttpResponse:
    document = dialogue.head.document() if dialogue.head else {}
    context = {"dialogue": dialogue, **comment_context(request, dialogue, document, comment_form)}
    return render(request, "reviews/dialogues/comments.html", context, status=422 if comment_form else 200)
