"""Sets the rate of gold items and retires them."""

import math
import secrets
from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.text import message
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, NoticeKind, Project, Role, User
from annotator.models.content import GoldRole
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.revisions import hold_dialogue, lock_dialogues
from annotator.services.history.events import append_event
from annotator.services.notices.notices import members_with, notify
from reviews.core.protocols import Protocol
from reviews.models import GoldItem, GoldRate, ProtocolVersion
from reviews.services.gold.creation import gold_stage, shown_as
from reviews.services.queue.gold_claims import language_variants
from reviews.services.statistics.counters import write_deltas

#: At more, over half of somebody's work would be unusable.
MAX_RATE = 0.5


def set_gold_rate(
    *, actor: User, project: Project, stage: str, rate: float, reveal: bool = False, keep: Collection[str] = ()
) -> GoldRate:
    """Set the share of gold items among each person's claims in a stage (0: none).

    ``reveal``: whether people see their own results after an item is retired; ``keep``: names of settings to leave
    unchanged. Raises Denied, or Invalid for a stage that can have no gold items.
    """
    require_administrator(actor=actor, project=project)
    if not math.isfinite(rate) or not 0 <= rate <= MAX_RATE:
        sentence = _("Enter a rate from 0 %% to %(max)s %%. A usual value is 5 %%.")
        raise Invalid(sentence % {"max": f"{100 * MAX_RATE:g}"}, field="rate")
    gold_stage(project, stage)
    with transaction.atomic():
        # A row that does not exist yet can't be locked.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        known = GoldRate.objects.select_for_update().filter(project=project, stage=stage).first()
        before = {"rate": known.rate, "reveal": known.reveal} if known else {}
        setting = known or GoldRate(project=project, stage=stage, secret=secrets.token_hex(32))
        kept = {name: before[name] for name in keep if name in before}
        after: dict[str, Any] = {"rate": rate, "reveal": reveal} | kept
        if after == before:
            return setting
        setting.rate, setting.reveal = after["rate"], after["reveal"]
        setting.save()
        append_event(
            actor=actor,
            project=project,
            kind="gold.rate_set",
            before=before,
            after={"stage": stage, **after},
            sealed=True,
        )
    return setting


def retire_gold_item(*, actor: User, project: Project, public_id: str, reason: str = "") -> GoldItem:
    """Retire an item; reviews in progress can go on but are not scored. Its answer becomes visible again.

    Items of its variants are retired too; no one is notified. Repeating the same call changes nothing. Raises Denied,
    Hidden, or Conflict if it was retired for another reason or by somebody else.
    """
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        item = GoldItem.objects.select_related("source").filter(project=project, public_id=public_id).first()
        if item is None:
            raise Hidden(_("This gold item doesn’t exist."))
        if not item.live or not _retire_each(actor, _with_answers_in([item.source_id]), reason):
            item.refresh_from_db(fields=["retired_by", "retired_why"])
            if (item.retired_by, item.retired_why) != (actor, reason[:500]):
                raise Conflict(_("This gold item is already retired, for another reason or by somebody else."))
    return GoldItem.objects.get(pk=item.pk)


def retire_with(*, actor: User | None, dialogue_ids: list[int], reason: str) -> int:
    """Retire items with their answer in these dialogues, because it is now known or in doubt; return how many.

    In the caller's transaction.
    """
    return _retire_and_notify(actor, _with_answers_in(dialogue_ids), reason)


def _with_answers_in(dialogue_ids: list[int]) -> QuerySet[GoldItem]:
    """Return the items in use with their answer in these dialogues; a variant in another language is an answer too."""
    answers = Dialogue.objects.filter(pk__in=dialogue_ids)
    akin = Q(project__in=answers.values("project")) & Q(
        source__variant_group__in=answers.exclude(variant_group="").values("variant_group")
    )
    return GoldItem.objects.filter(Q(source__in=dialogue_ids) | akin, retired_at=None)


def retire_all(*, actor: User | None, project: Project, reason: str) -> int:
    """Retire all items in use of a project; return how many."""
    with transaction.atomic():
        return _retire_and_notify(actor, GoldItem.objects.filter(project=project, retired_at=None), reason)


def retire_where_variants_come(*, actor: User | None, project: Project, coming: QuerySet[Dialogue]) -> int:
    """Retire items if another variant of their answer is about to be published, because everyone will work on it.

    Call it before, in the caller's transaction. A caller with locks of other dialogues has locked ``variants_there``
    with smaller keys before them.
    """
    # Creating an item of the group also locks the group, so it is either finished by now or sees the new variant.
    lock_dialogues(variants_there(project=project, coming=coming))
    groups = GoldItem.objects.filter(project=project, retired_at=None).exclude(source__variant_group="")
    known = coming.filter(variant_group__in=list(groups.values_list("source__variant_group", flat=True)))
    touched = set(known.values_list("variant_group", flat=True))
    items = GoldItem.objects.filter(project=project, retired_at=None, source__variant_group__in=touched)
    return _retire_and_notify(actor, items, "Another variant of the known answer was imported.")


def variants_there(*, project: Project, coming: QuerySet[Dialogue]) -> QuerySet[Dialogue]:
    """Return the published dialogues of which variants are about to be published."""
    there = Dialogue.objects.filter(project=project, published=True)
    return there.filter(variant_group__in=coming.exclude(variant_group="").values("variant_group"))


def retire_with_stages(*, actor: User | None, project: Project, before: Protocol, after: Protocol) -> int:
    """Retire items of stages that a new version of the protocol changes; return how many.

    An item keeps its version for good, so a different title, checklist or time limit would reveal it. In the caller's
    transaction.
    """
    same_kinds = before.taxonomy == after.taxonomy
    alike = {one.key for one in before.stages if same_kinds and one in after.stages}
    items = GoldItem.objects.filter(project=project, retired_at=None).exclude(stage__in=alike)
    return _retire_and_notify(actor, items, "A new version of the protocol changed its stage.")


def retire_left_behind(*, actor: User, project: Project, version: ProtocolVersion) -> int:
    """Retire items under other versions when everything else is moved to this one. In the caller's transaction."""
    items = GoldItem.objects.filter(project=project, retired_at=None).exclude(stage_run__cycle__protocol=version.pk)
    return _retire_and_notify(
        actor, items, f"Items in progress were moved to version {version.number} of the protocol."
    )


def _retire_and_notify(actor: User | None, items: QuerySet[GoldItem], reason: str) -> int:
    """Retire items and notify the administrators: also the actor, who did something else."""
    retired = _retire_each(actor, items, reason)
    for project in {item.project for item in retired}:
        notify(
            actor=None,
            project=project,
            people=members_with(project, Role.ADMINISTRATOR),
            kind=NoticeKind.ALARM,
            text=message("Gold items were retired. Reason: %(reason)s", reason=reason),
            target=reverse("gold-list", args=[project.slug]),
            # Many dialogues may come back into review one by one.
            key=f"gold.retired:{project.pk}:{reason}"[:80],
        )
    return len(retired)


def _retire_each(actor: User | None, items: QuerySet[GoldItem], reason: str) -> list[GoldItem]:
    found = items.select_related("source", "project").order_by("pk")
    return [item for item in found if _retire(actor=actor, item=item, reason=reason)]


def _retire(*, actor: User | None, item: GoldItem, reason: str) -> bool:
    """Retire one item; False if somebody else has done it meanwhile."""
    now = timezone.now()
    # Submitting also locks the dialogue, so a review is either stored by now or not scored.
    hold_dialogue(item.dialogue_id)
    # Claiming also locks the item's row, so a claim is either stored by now or gets another item.
    retired = GoldItem.objects.filter(pk=item.pk, retired_at=None)
    if not retired.update(retired_at=now, retired_by=actor, retired_why=reason[:500]):
        return False
    Dialogue.objects.filter(pk=item.dialogue_id).update(archived_at=now)
    hidden = Dialogue.objects.filter(pk__in=language_variants(item.source), gold_role=GoldRole.ANSWER)
    hidden = hidden.exclude(pk__in=GoldItem.objects.filter(project=item.project_id, retired_at=None).values("source"))
    deltas = shown_as(hidden, -1)
    hidden.update(gold_role="")
    write_deltas(project_id=item.project_id, deltas=deltas)
    append_event(
        actor=actor,
        project=item.project,
        kind="gold.retired",
        after={"item": item.public_id, "reason": reason[:500]},
        sealed=True,
    )
    return True
