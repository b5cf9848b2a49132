"""Where the review of each toolset is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import QuerySet

from annotator.core.schema.toolset_documents import content_of
from annotator.models import Dialogue, Project, Toolset, ToolsetRevision, User
from annotator.models.content import DialogueStatus
from reviews.models import ToolsetItem
from reviews.services.toolset_review.settings import review_project
from reviews.services.transitions.verified_tools import verified_in


class ReviewState(StrEnum):
    #: Not sent to review.
    NONE = "none"
    IN_REVIEW = "in_review"
    VERIFIED = "verified"
    #: The toolset was verified with other functions: reviewers or somebody here have changed it.
    DIFFERS = "differs"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the review of one toolset is. ``item``: its item; ``opens``: whether the person may open that."""

    state: ReviewState
    item: Dialogue | None = None
    opens: bool = False


def standings_of(*, actor: User, project: Project, toolsets: Sequence[Toolset]) -> dict[int, Standing]:
    """Return key → standing of toolsets with their heads loaded; empty if toolsets aren't reviewed."""
    review = review_project(project)
    if review is None:
        return {}
    hashes = {toolset.head.content_hash for toolset in toolsets if toolset.head is not None}
    found = verified_in(review.pk).filter(content_hash__in=hashes)
    verified = set(found.values_list("content_hash", flat=True))
    links = ToolsetItem.objects.filter(toolset__in=toolsets, dialogue__project=review).select_related("dialogue")
    items = {one.toolset_id: one.dialogue for one in links.defer("dialogue__search_text")}
    opens = Project.objects.visible_to(actor).filter(pk=review.pk).exists()
    return {
        one.pk: Standing(_state(one.head, items.get(one.pk), verified), items.get(one.pk), opens) for one in toolsets
    }


def _state(head: ToolsetRevision | None, item: Dialogue | None, verified: set[str]) -> ReviewState:
    if head is not None and head.content_hash in verified:
        return ReviewState.VERIFIED
    if item is None or item.archived_at is not None:
        return ReviewState.NONE
    if item.status == DialogueStatus.VERIFIED:
        return ReviewState.DIFFERS
    return ReviewState.REJECTED if item.status == DialogueStatus.REJECTED else ReviewState.IN_REVIEW


def counts_of(*, actor: User, project: Project) -> Counter[ReviewState]:
    """Return how many toolsets of the project have each state."""
    standings = standings_of(actor=actor, project=project, toolsets=list(_with_functions(project)))
    return Counter(one.state for one in standings.values())


def unsent(*, actor: User, project: Project) -> list[Toolset]:
    """Return the toolsets with functions that are not in review, oldest first."""
    toolsets = list(_with_functions(project))
    standings = standings_of(actor=actor, project=project, toolsets=toolsets)
    return [one for one in toolsets if one.pk in standings and standings[one.pk].state is ReviewState.NONE]


def _with_functions(project: Project) -> QuerySet[Toolset]:
    rows = Toolset.objects.filter(project=project, head__tool_count__gt=0).select_related("head")
    return rows.defer("head__content", "head__facts").order_by("pk")


def verified_content(item: Dialogue) -> dict[str, Any]:
    """Return the tools of an item, as a toolset revision has them. Raises ValueError if it is not verified."""
    if item.status != DialogueStatus.VERIFIED or item.head is None:
        raise ValueError("only a verified toolset can be taken over")
    return content_of(item.head.document())
