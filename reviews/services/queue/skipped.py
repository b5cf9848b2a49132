"""What a person has skipped, so that they can take it again.

The list says nothing about colleagues and is the same for gold items: it asks whether the stage of the item is open,
which every list of dialogues shows, and not whether a place is free.
"""

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from annotator.models import Dialogue, Project, User
from annotator.services.database.keyset import BY_KEY, KeyPage, read_page
from reviews.models import Claim, ClaimState, StageRunState

#: Rows on a page.
SIZE = 10
#: Items that were skipped earlier are not listed.
DAYS = 30


def list_skipped(
    *, actor: User, projects: Sequence[Project], after: str | None = None, before: str | None = None
) -> KeyPage[Claim]:
    """Return the claims with which the actor skipped what they have not taken again since, the latest first.

    Slots and their dialogues are loaded. Raises UnknownFilter for an invalid cursor.
    """
    mine = Claim.objects.filter(person=actor)
    later = mine.filter(slot__stage_run=OuterRef("slot__stage_run"), pk__gt=OuterRef("pk"))
    rows = (
        mine.filter(
            ~Exists(later),
            project__in=projects,
            state=ClaimState.SKIPPED,
            ended_at__gte=Now() - timedelta(days=DAYS),
            slot__stage_run__state=StageRunState.OPEN,
            slot__dialogue__in=Dialogue.objects.visible_to(actor).filter(archived_at=None),
        )
        .select_related("slot__dialogue", "slot__stage_run", "project")
        .defer("slot__dialogue__search_text")
    )
    return read_page(rows, size=SIZE, after=after, before=before, newest_first=True, by=BY_KEY)
