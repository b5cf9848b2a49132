"""Examples: mark, withdraw, and find those that match an item."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Project, Role, User
from annotator.models.content import DialogueStatus
from annotator.presentation.dialogue import POLICY_LABELS, DialogueView
from annotator.presentation.document import present
from annotator.services.access.permissions import require_role
from annotator.services.custom_fields import fields_of
from annotator.services.dialogues.revisions import lock_dialogue
from annotator.services.history.events import append_event
from reviews.models import Cycle, CycleState, Example
from reviews.services.protocols.versions import stage_titles

#: Who may mark and withdraw examples.
MARKERS = {Role.SENIOR_REVIEWER, Role.ADMINISTRATOR}
MAX_COMMENT = 4000
#: Examples in use per project.
MAX_EXAMPLES = 200


def mark_example(
    *,
    actor: User,
    project: Project,
    dialogue: Dialogue,
    comment: str,
    task: str = "",
    stages: Sequence[str] = (),
    policies: Sequence[str] = (),
) -> Example:
    """Mark the verified revision of a dialogue, or one of its tasks, as an example.

    ``stages`` and ``policies``: where it is shown; empty means everywhere. Raises Denied, Conflict for a dialogue that
    is not verified or already an example, Invalid for unknown keys.
    """
    require_role(actor=actor, project=project, roles=MARKERS)
    comment = comment.strip()
    if not comment:
        raise Invalid(_("Enter what the example shows."))
    if len(comment) > MAX_COMMENT or "\x00" in comment:
        raise Invalid(
            _("The comment may have at most %(limit)s characters and no NUL character.") % {"limit": f"{MAX_COMMENT:,}"}
        )
    known = stage_titles(project)
    unknown = [key for key in stages if key not in known]
    if unknown:
        sentence = _("This project has no stage “%(stage)s”. Its stages are: %(stages)s.")
        raise Invalid(sentence % {"stage": unknown[0][:40], "stages": ", ".join(known)})
    unknown = [key for key in policies if key not in POLICY_LABELS]
    if unknown:
        raise Invalid(
            _("There is no policy “%(policy)s”. Choose one of: %(policies)s.")
            % {"policy": unknown[0][:40], "policies": ", ".join(POLICY_LABELS)}
        )
    with transaction.atomic():
        dialogue = lock_dialogue(dialogue.pk)
        require_markable(dialogue)
        cycle = (
            Cycle.objects.filter(dialogue=dialogue, state=CycleState.VERIFIED)
            .select_related("exit_revision")
            .order_by("-number")
            .first()
        )
        if cycle is None or cycle.exit_revision is None:
            raise Conflict(_("This dialogue isn’t verified yet. Only verified dialogues can be examples."))
        if task and task not in {one["id"] for one in cycle.exit_revision.document().get("tasks", ())}:
            raise Invalid(_("The verified dialogue has no such task. Reload the page."))
        there = Example.objects.filter(dialogue=dialogue, task=task, withdrawn_at=None).first()
        if there is not None:
            said = (there.author, there.comment, there.stages, there.policies)
            if said == (actor, comment, sorted(set(stages)), sorted(set(policies))):
                # A second click.
                return there
            raise Conflict(_("This is already an example. Withdraw that one first."))
        if Example.objects.filter(project=project, withdrawn_at=None).count() >= MAX_EXAMPLES:
            raise Conflict(
                _("A project can have at most %(limit)s examples. Withdraw one first.") % {"limit": MAX_EXAMPLES}
            )
        example = Example.objects.create(
            project=project,
            dialogue=dialogue,
            revision=cycle.exit_revision,
            task=task,
            comment=comment,
            stages=sorted(set(stages)),
            policies=sorted(set(policies)),
            author=actor,
        )
        append_event(
            actor=actor,
            project=project,
            dialogue=dialogue,
            kind="example.marked",
            after={
                "example": example.public_id,
                "task": task,
                "content_hash": cycle.exit_revision.content_hash,
                "stages": example.stages,
                "policies": example.policies,
            },
        )
    return example


def is_markable(dialogue: Dialogue) -> bool:
    """Return whether the dialogue may become an example: it is verified, and not a gold item or a known answer."""
    return dialogue.status == DialogueStatus.VERIFIED and not dialogue.gold_role


def require_markable(dialogue: Dialogue) -> None:
    """Raise Conflict for a dialogue that cannot be an example now."""
    if dialogue.status != DialogueStatus.VERIFIED:
        raise Conflict(_("This dialogue isn’t verified yet. Only verified dialogues can be examples."))
    if dialogue.gold_role:
        raise Conflict(_("This dialogue tests reviewers, so it can’t be an example. Choose another one."))


def withdraw_example(*, actor: User, project: Project, public_id: str) -> Example:
    """Withdraw an example; its row is kept. Raises Hidden, Denied."""
    require_role(actor=actor, project=project, roles=MARKERS)
    with transaction.atomic():
        example = load_example(actor=actor, project=project, public_id=public_id)
        dialogue = lock_dialogue(example.dialogue_id)
        changed = Example.objects.filter(pk=example.pk, withdrawn_at=None).update(
            withdrawn_at=timezone.now(), withdrawn_by=actor
        )
        if changed:
            append_event(
                actor=actor, project=project, dialogue=dialogue, kind="example.withdrawn",
                before={"example": example.public_id, "task": example.task},
            )  # fmt: skip
    return example


def all_examples(*, actor: User, project: Project) -> QuerySet[Example]:
    """Return the examples that the actor may see, even withdrawn ones, without their content."""
    return (
        Example.objects.visible_to(actor)
        .filter(project=project, dialogue__in=Dialogue.objects.visible_to(actor))
        .select_related("dialogue", "author", "revision", "withdrawn_by")
        .defer("revision__content", "dialogue__search_text")
    )


def visible_examples(*, actor: User, project: Project) -> QuerySet[Example]:
    """Return the examples in use that the actor may see, newest first, without their content."""
    return all_examples(actor=actor, project=project).filter(withdrawn_at=None).order_by("-pk")


def shown_for(rows: QuerySet[Example], *, stage: str, policy: str) -> QuerySet[Example]:
    """Narrow examples down to those that are shown in a stage and for a policy; blank: any."""
    if not stage and not policy:
        return rows
    keys = [
        pk
        for pk, stages, policies in rows.order_by().values_list("pk", "stages", "policies")
        if (not stage or not stages or stage in stages) and (not policy or not policies or policy in policies)
    ]
    return rows.filter(pk__in=keys)


def examples_changed_since(rows: QuerySet[Example], moment: datetime) -> QuerySet[Example]:
    """Narrow examples down to those that were marked or withdrawn since."""
    return rows.filter(Q(created_at__gte=moment) | Q(withdrawn_at__gte=moment))


def load_example(*, actor: User, project: Project, public_id: str) -> Example:
    """Return an example, even a withdrawn one. Raises Hidden."""
    example = (
        Example.objects.visible_to(actor)
        .filter(project=project, public_id=public_id, dialogue__in=Dialogue.objects.visible_to(actor))
        .select_related("dialogue", "author", "revision", "withdrawn_by")
        .first()
    )
    if example is None:
        raise Hidden(_("This example doesn’t exist in the project."))
    return example


def fitting_examples(
    *, actor: User, project: Project, stage: str, policies: Collection[str], without: Dialogue
) -> list[Example]:
    """Return the examples for a stage: those for one of these policies, then those for all, then the others.

    ``without``: the dialogue under review, because its verified revision would reveal the answer.
    """
    found = visible_examples(actor=actor, project=project).exclude(dialogue=without)
    fits = [one for one in found[:MAX_EXAMPLES] if not one.stages or stage in one.stages]
    return sorted(fits, key=lambda one: 0 if set(one.policies) & set(policies) else 2 if one.policies else 1)


def example_document(example: Example) -> dict[str, Any]:
    """Return the example's document; of an example of a task, only this task."""
    document = example.revision.document()
    if example.task:
        document["tasks"] = [task for task in document["tasks"] if task["id"] == example.task]
    return document


def view_example(example: Example) -> DialogueView:
    """Return the example's content: of an example of a task only this task, with the dialogue's own fields."""
    view = present(example.revision.document(), [], fields=fields_of(example.dialogue.project))
    if example.task:
        view.tasks = [task for task in view.tasks if task.id == example.task]
    return view
