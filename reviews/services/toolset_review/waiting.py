"""Dialogues that have passed all stages and wait until their toolset is verified."""

from functools import partial

from django.db import transaction
from django.db.models import Q

from annotator.core.schema.toolset_documents import KIND
from annotator.models import Dialogue, Project
from annotator.services.dialogues.revisions import lock_dialogue
from reviews.models import Cycle, CycleState, StageRun, StageRunState
from reviews.services.protocols.versions import current_protocol
from reviews.services.transitions.moves import CycleContext, end_verified
from reviews.services.transitions.transition_log import Journal
from reviews.services.transitions.verified_tools import (
    demands_verified_tools,
    tools_are_verified,
    verified_in,
    waiting_for_tools,
)

#: Dialogues that are verified at once when their toolset is; a task verifies the others.
AT_ONCE = 50


def follow_toolset(toolset: Dialogue) -> None:
    """Verify the dialogues that wait for a toolset, after the commit that verifies it."""
    if toolset.kind == KIND:
        transaction.on_commit(partial(_verify_for, toolset.project_id), robust=True)


def _verify_for(review: int) -> None:
    for project in Project.objects.filter(toolset_review=review, archived_at=None).order_by("pk"):
        verify_waiting(project, most=AT_ONCE)


def verify_all_waiting() -> int:
    """Verify everything whose toolset is verified now, or whose project no longer demands it; return how many."""
    waiting = Dialogue.objects.filter(status="in_review", stage="", published=True, archived_at=None)
    projects = Project.objects.filter(pk__in=waiting.values("project"), archived_at=None)
    return sum(verify_waiting(project) for project in projects.order_by("pk"))


def verify_waiting(project: Project, *, most: int = 1_000) -> int:
    """Verify up to ``most`` of the project's waiting dialogues whose tools are verified now; return how many."""
    protocol = current_protocol(project)
    if protocol is None:
        return 0
    rows = waiting_for_tools(project)
    if demands_verified_tools(project, protocol) and project.toolset_review_id is not None:
        ready = verified_in(project.toolset_review_id).values("content_hash")
        rows = rows.filter(Q(head__toolset_revision__content_hash__in=ready) | Q(head__toolset_revision__tool_count=0))
    done = 0
    for key in list(rows.order_by("pk").values_list("pk", flat=True)):
        done += _verify(key, project)
        if done >= most:
            break
    return done


@transaction.atomic
def _verify(key: int, project: Project) -> bool:
    dialogue = lock_dialogue(key)
    protocol = current_protocol(project)
    cycle = Cycle.objects.filter(dialogue=dialogue, state=CycleState.ACTIVE).first()
    if cycle is None or protocol is None or not waiting_for_tools(project).filter(pk=key).exists():
        return False
    runs = StageRun.objects.filter(cycle=cycle)
    last = runs.filter(state=StageRunState.SETTLED).select_related("exit_revision").order_by("-pk").first()
    unfinished = runs.exclude(state__in=[StageRunState.SETTLED, StageRunState.CANCELLED])
    if last is None or last.exit_revision is None or unfinished.exists():
        return False
    if not tools_are_verified(project, protocol, last.exit_revision):
        return False
    journal = Journal(actor=None, project=project, dialogue=dialogue)
    end_verified(CycleContext(journal, cycle, protocol), last.exit_revision)
    dialogue.save(update_fields=["status", "stage", "updated_at"])
    journal.write()
    return True
