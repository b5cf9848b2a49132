"""The context of the templates of comments."""

from typing import Any

from django.utils.translation import gettext as _

from annotator.core.comparison.anchors import Document
from annotator.core.editing.scope import line_ends
from annotator.models import Dialogue
from annotator.translation import place_name
from annotator.views.pages import PageRequest
from reviews.services.feedback import comments
from reviews.services.feedback.mentions import suggested_names

_EMPTY_FORM = {"text": "", "mention": "", "reply_to": "", "edits": ""}


def with_mention(text: str, mention: str) -> str:
    """Return the text with single line breaks and the chosen name in front, unless the text mentions it."""
    text = line_ends(text)
    name = mention.strip().lstrip("@").strip()
    return f"@{name} {text}" if name and f"@{name}" not in text and text.strip() else text


def comment_context(
    request: PageRequest, dialogue: Dialogue, document: Document, comment_form: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the context of the comments. ``comment_form``: a refused comment with its ``sentence``."""
    blind = comments.reviews_blind(actor=request.user, dialogue=dialogue)
    return {
        "threads": comments.read_threads(actor=request.user, dialogue=dialogue, document=document),
        "places": _places(document),
        "names": suggested_names(request.project),
        "comment_form": _EMPTY_FORM | {"anchor": request.GET.get("at", "")} | (comment_form or {}),
        "may_comment": not blind,
    }


def _places(document: Document) -> list[tuple[str, str]]:
    """Return (anchor, label) of every place that can be commented on."""
    anchors = []
    for task in document.get("tasks", []):
        top = f"/tasks/{task['id']}"
        anchors += [top, f"{top}/user_message", *(f"{top}/steps/{step['id']}" for step in task.get("steps") or [])]
    return [("", _("the whole dialogue")), *((anchor, place_name(document, anchor)) for anchor in anchors)]
