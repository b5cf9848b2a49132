"""Pages about one part of a revision: the decision tree of a task, a validator."""

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from annotator.models import Revision
from annotator.services.access.permissions import load_dialogue
from annotator.services.dialogues.revisions import load_revision_or_head
from annotator.views.pages import PageRequest


def revision_name(revision: Revision) -> str:
    """Return what pages call a revision; one without a number is sealed until its stage ends."""
    if revision.number:
        return _("revision %(number)s") % {"number": revision.number}
    return _("your revision, not visible to others yet")


def revision_page(request: PageRequest, public_id: str, title: str) -> tuple[Revision, dict[str, Any]]:
    """Return the revision named in the URL, or the newest, and the context of the page's head. Raises Hidden."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    wanted = request.GET.get("revision", "")
    revision = load_revision_or_head(actor=request.user, dialogue=dialogue, public_id=wanted)
    home = reverse("dialogue", args=[request.project.slug, dialogue.public_id])
    home += f"?{urlencode({'revision': wanted})}" if wanted else ""
    return revision, {
        "title": dialogue.external_id,
        "home": home,
        "trail": [
            (_("Dialogues"), reverse("dialogue-list", args=[request.project.slug])),
            (dialogue.external_id, home),
            (title, ""),
        ],
        "fixed": "" if revision.pk == dialogue.head_id else revision_name(revision),
        "newest": request.path,
    }
