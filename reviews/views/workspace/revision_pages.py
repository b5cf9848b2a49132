"""Pages about one part of a dialogue, at a version one may see: its decision tree, a validator."""

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from annotator.models import Revision
from annotator.services.access.permissions import load_dialogue
from annotator.services.dialogues.revisions import load_revision_or_head
from annotator.views.pages import PageRequest


def revision_page(request: PageRequest, public_id: str, title: str) -> tuple[Revision, dict[str, Any]]:
    """The version that the address names, or the newest, and what the page's head is given. Raises Hidden.

    ``title``: what the page is about.
    """
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    wanted = request.GET.get("revision", "")
    revision = load_revision_or_head(actor=request.user, dialogue=dialogue, public_id=wanted)
    home = reverse("dialogue", args=[request.project.slug, dialogue.public_id])
    home += f"?{urlencode({'revision': wanted})}" if wanted else ""
    name = f"version {revision.number}" if revision.number else "your own version, not open yet"
    return revision, {
        "title": dialogue.external_id,
        "home": home,
        "trail": [
            ("Dialogues", reverse("dialogue-list", args=[request.project.slug])),
            (dialogue.external_id, home),
            (title, ""),
        ],
        "fixed": "" if revision.pk == dialogue.head_id else name,
        "newest": request.path,
    }
