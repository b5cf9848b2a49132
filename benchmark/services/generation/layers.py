"""Layers: new tasks continue a verified dialogue, and a project may demand that every task does (C3-Bench, 2.5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _

from annotator.core.schema.documents import Information
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Project, Revision, ToolsetRevision, User
from annotator.models.content import DialogueQuerySet, DialogueStatus, GoldRole
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.continuations import add_continuation, lock_with_earlier
from annotator.services.history.events import append_event
from benchmark.core.generation.cells import MAX_TASKS
from benchmark.models import Generation, GenerationSettings, GenerationStatus
from reviews.services.cycles.taking_over import last_verified
from reviews.services.queue.gold_claims import language_variants

#: Dialogues that a form offers.
OFFERED = 50


def builds_in_layers(project: Project) -> bool:
    """Return whether each new task must continue verified ones."""
    return GenerationSettings.objects.filter(project=project, layers=True).exists()


def set_layers(*, actor: User, project: Project, layers: bool) -> None:
    """Choose whether each new task must continue verified ones. Raises Denied for anyone but administrators."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if builds_in_layers(project) != layers:
            GenerationSettings.objects.update_or_create(project=project, defaults={"layers": layers})
            append_event(
                actor=actor, project=project, kind="generation_settings.changed",
                before={"layers": not layers}, after={"layers": layers},
            )  # fmt: skip


def continuable_dialogues(project: Project) -> DialogueQuerySet:
    """Return the verified dialogues that new tasks can continue. Known answers of gold items and their variants in
    other languages are none of them.
    """
    answers = Dialogue.objects.filter(project=project, gold_role=GoldRole.ANSWER).exclude(variant_group="")
    rows = Dialogue.objects.filter(
        project=project, published=True, archived_at=None, gold_role="", kind="multi_turn", language__in=("en", "zh"),
        status=DialogueStatus.VERIFIED,
    )  # fmt: skip
    rows = rows.exclude(continuation__stale=True).exclude(variant_group__in=answers.values("variant_group"))
    return rows.select_related("head__toolset_revision__toolset").defer(
        "search_text", "head__content", "head__toolset_revision__content"
    )


def may_be_continued(dialogue: Dialogue) -> bool:
    """Return whether a next task can be generated for a dialogue."""
    if dialogue.status != DialogueStatus.VERIFIED or dialogue.task_count >= MAX_TASKS:
        return False
    return continuable_dialogues(dialogue.project).filter(pk=dialogue.pk).exists()


@dataclass(frozen=True, slots=True)
class Offer:
    """A dialogue that can be continued into a cell. ``continued``: a generation does that already."""

    dialogue: Dialogue
    continued: bool


def offer_pasts(*, project: Project, policies: Sequence[str]) -> list[Offer]:
    """Return what can be continued into a cell, at most OFFERED: first what is not yet, the longest first.

    In layers, only dialogues that lack nothing but the last task.
    """
    lengths = range(len(policies) - 1, 0, -1)
    begun = [f",{','.join(policies[:length])}," for length in (lengths[:1] if builds_in_layers(project) else lengths)]
    same = Generation.objects.filter(project=project, past__dialogue=OuterRef("pk"), cell=",".join(policies))
    rows = continuable_dialogues(project).filter(policies__in=begun)
    rows = rows.annotate(continued=Exists(same.exclude(status=GenerationStatus.FAILED)))
    found = rows.order_by("continued", "-task_count", "external_id")[:OFFERED]
    return [Offer(one, one.continued) for one in found]


def cell_needed_first(*, project: Project, policies: Sequence[str]) -> list[str]:
    """Return the policies of the cell that must be verified before this one can begin; empty if it can begin now."""
    for length in range(len(policies) - 1, 0, -1):
        begun = f",{','.join(policies[:length])},"
        if continuable_dialogues(project).filter(policies=begun).exists():
            return [] if length == len(policies) - 1 else list(policies[: length + 1])
    return list(policies[:1]) if len(policies) > 1 else []


def lock_past(*, project: Project, past: Dialogue, toolset: ToolsetRevision) -> Revision:
    """Return the verified revision of a dialogue, which stays locked until the transaction ends.

    Raises Hidden for one of another project, Conflict for one that can't be continued now, or has other tools.
    """
    if past.project_id != project.pk:
        raise Hidden(_("This dialogue doesn’t exist in the project."))
    lock_with_earlier(past)
    if not continuable_dialogues(project).filter(pk=past.pk).exists():
        sentence = _("%(id)s can’t be continued: it must be a multi-turn dialogue that is verified and not stale.")
        raise Conflict(sentence % {"id": past.external_id}, field="past")
    verified = last_verified(past)
    if verified is None:
        raise Conflict(_("%(id)s has no verified revision.") % {"id": past.external_id}, field="past")
    if verified.document()["context"]:
        sentence = _("%(id)s can’t be continued: of its earlier tasks, only the messages are known.")
        raise Conflict(sentence % {"id": past.external_id}, field="past")
    if verified.toolset_revision_id != toolset.pk:
        raise Conflict(_("%(id)s was verified with other tools.") % {"id": past.external_id}, field="past")
    return verified


def continued_setup(setup: Mapping[str, Any], past: Revision | None) -> dict[str, Any]:
    """Return a setup whose first tasks are those of a verified revision, with its language and environment.

    Its tools begin with the state with which that dialogue was generated, unless another one is given.
    """
    if past is None:
        return {**setup, "past": []}
    document = past.document()
    known = [[task["information"] or Information.EXPLICIT.value] for task in document["tasks"]]
    return {
        **setup, "past": document["tasks"], "language": document["language"],
        "env_info": document["env_info"],
        "relations": [*known, *setup["relations"][len(known) :]],
        "initial_state": _state_before(past) if setup.get("initial_state") is None else setup["initial_state"],
    }  # fmt: skip


def _state_before(past: Revision) -> Any:
    """Return the state with which the tools began when a dialogue was generated; None if none was given."""
    setups = Generation.objects.filter(dialogue=past.dialogue_id).values_list("setup", flat=True)
    return next((setup.get("initial_state") for setup in setups), None)


def require_layers(project: Project, *, tasks: int, past: int) -> None:
    """Raise Invalid for more than one new task, if the project builds in layers."""
    if tasks - past > 1 and builds_in_layers(project):
        sentence = _("This project builds in layers: choose the verified dialogue that the last task continues.")
        raise Invalid(sentence, field="past")


def hold_past(generation: Generation) -> None:
    """Lock what a generation continues, before anything is written, until the transaction ends."""
    if generation.past is not None:
        lock_with_earlier(generation.past.dialogue)


def keep_continuation(generation: Generation, dialogue: Dialogue) -> dict[str, Any]:
    """Store what a new dialogue continues, and return it for the history; nothing if it begins by itself.

    If something else was verified since the generation began, the dialogue is stale at once. The caller has called
    ``hold_past``.
    """
    past = generation.past
    if past is None:
        return {}
    tasks = len(past.document()["tasks"])
    add_continuation(dialogue=dialogue, past=past, verified=last_verified(past.dialogue), tasks=tasks)
    words = {"past": past.dialogue.external_id, "number": past.number, "content_hash": past.content_hash}
    return {"past": words | {"tasks": tasks}}


def where_continued(dialogue: Dialogue) -> str:
    """Return why a dialogue can't be a gold item, as a sentence: another one shows its verified tasks, or it shows
    those of another one, which its gold item would not. Blank if it can.
    """
    alike = language_variants(dialogue)
    rows = Generation.objects.filter(Q(past__dialogue__in=alike) | Q(dialogue__in=alike, past__isnull=False))
    found = rows.exclude(status=GenerationStatus.FAILED).values_list("name", "past__dialogue__external_id").first()
    if found is None:
        return ""
    return _("%(id)s continues %(past)s, and shows its verified tasks.") % {"id": found[0], "past": found[1]}
