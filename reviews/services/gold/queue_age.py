"""Checks whether a gold item is older or newer than all waiting items, because its place in lists would reveal it.

Verified dialogues were claimed before those that still wait. If a queue follows the order of an import, they also have
smaller ids, and nothing on the page can hide that.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min
from django.utils.translation import ngettext

from annotator.models import Project
from annotator.models.content import GoldRole
from reviews.models import StageRun, StageRunState


@dataclass(frozen=True)
class Waiting:
    """The ordinary items that wait in a stage: how many, and when the first and the last arrived."""

    count: int
    #: Into the project.
    came: tuple[datetime, datetime]
    #: Into the stage.
    entered: tuple[datetime, datetime]

    def why_noticeable(self, *, came: datetime, entered: datetime) -> str:
        """Return why an item that arrived at these times stands out, as a sentence; blank if it does not."""
        first = came < self.came[0] or entered < self.entered[0]
        last = came > self.came[1] or entered > self.entered[1]
        if not first and not last:
            return ""
        if first:
            sentence = ngettext(
                "It is older than the only other dialogue waiting in this stage, so people could recognise it.",
                "It is older than all %(count)s other dialogues waiting in this stage, so people could recognise it.",
                self.count,
            )
        else:
            sentence = ngettext(
                "It is newer than the only other dialogue waiting in this stage, so people could recognise it.",
                "It is newer than all %(count)s other dialogues waiting in this stage, so people could recognise it.",
                self.count,
            )
        return sentence % {"count": f"{self.count:,}"}


def read_waiting(project: Project) -> dict[str, Waiting]:
    """Return the key of each stage with waiting ordinary items → those items."""
    runs = StageRun.objects.filter(
        project=project, state=StageRunState.OPEN, cycle__dialogue__published=True, cycle__dialogue__archived_at=None
    ).exclude(cycle__dialogue__gold_role=GoldRole.GOLD)
    came, entered = "cycle__dialogue__created_at", "opened_at"
    by_stage = runs.values_list("stage").annotate(Count("id"), Min(came), Max(came), Min(entered), Max(entered))
    return {
        stage: Waiting(count, (came_first, came_last), (entered_first, entered_last))
        for stage, count, came_first, came_last, entered_first, entered_last in by_stage.order_by()
    }
