"""Whether a gold item is older, or newer, than everything that waits beside it: then its place in lists tells it.

What is verified has been handed out before what waits. Where a queue goes in the order of an import, it has smaller ids
as well, and nothing that is shown of an item can hide that.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min

from annotator.models import Project
from annotator.models.content import GoldRole
from reviews.models import StageRun, StageRunState


@dataclass(frozen=True)
class Waiting:
    """What waits in a stage besides gold items: how much, and when the first and the last of it came."""

    count: int
    #: Into the project.
    came: tuple[datetime, datetime]
    #: Into the stage.
    entered: tuple[datetime, datetime]

    def why_noticeable(self, *, came: datetime, entered: datetime) -> str:
        """Why an item that came at these times is known among them, as a sentence; blank where it is one of them."""
        first = came < self.came[0] or entered < self.entered[0]
        last = came > self.came[1] or entered > self.entered[1]
        if not first and not last:
            return ""
        order = "before" if first else "after"
        what = f"all {self.count:,} dialogues that wait" if self.count > 1 else "the one dialogue that waits"
        return (
            f"It came {order} {what} in this stage: whoever compares ids, times and places in lists can tell it from "
            "them."
        )


def read_waiting(project: Project) -> dict[str, Waiting]:
    """Key of each stage in which anything ordinary waits → what that is."""
    runs = StageRun.objects.filter(
        project=project, state=StageRunState.OPEN, cycle__dialogue__published=True, cycle__dialogue__archived_at=None
    ).exclude(cycle__dialogue__gold_role=GoldRole.GOLD)
    came, entered = "cycle__dialogue__created_at", "opened_at"
    by_stage = runs.values_list("stage").annotate(Count("id"), Min(came), Max(came), Min(entered), Max(entered))
    return {
        stage: Waiting(count, (came_first, came_last), (entered_first, entered_last))
        for stage, count, came_first, came_last, entered_first, entered_last in by_stage.order_by()
    }
