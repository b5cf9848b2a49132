"""How often gold items come, and when they are no longer given to anybody."""

import math
import secrets
from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Project, User
from annotator.models.content import GoldRole
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.revisions import hold_dialogue
from annotator.services.history.events import append_event
from reviews.core.protocols import Protocol
from reviews.models import GoldItem, GoldRate, ProtocolVersion
from reviews.services.gold.creation import gold_stage, shown_as
from reviews.services.queue.gold_claims import language_variants
from reviews.services.statistics.counters import write_deltas

#: More would be a burden: half of somebody's work that nobody can use.
MAX_RATE = 0.5


def set_gold_rate(
    *, actor: User, project: Project, stage: str, rate: float, reveal: bool = False, keep: Collection[str] = ()
) -> GoldRate:
    """Let this share of each person's claims in a stage be gold items (0: none), as far as there are any for them.

    ``reveal``: whether people see their own results once an item is retired; ``keep``: names of those of the two that
    stay as they are. Raises Denied, or Invalid for a stage that can have none.
    """
    require_administrator(actor=actor, project=project)
    if not math.isfinite(rate) or not 0 <= rate <= MAX_RATE:
        sentence = f"The rate is a share from 0 to {100 * MAX_RATE:g} % of a person’s claims; 5 % is usual."
        raise Invalid(sentence, field="rate")
    gold_stage(project, stage)
    with transaction.atomic():
        known = GoldRate.objects.select_for_update().filter(project=project, stage=stage).first()
        before = {"rate": known.rate, "reveal": known.reveal} if known else {}
        setting = known or GoldRate(project=project, stage=stage, secret=secrets.token_hex(32))
        kept = {name: before[name] for name in keep if name in before}
        after: dict[str, Any] = {"rate": rate, "reveal": reveal} | kept
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
    """Give an item to nobody any more; who is at work on it goes on, and is not scored. Its answer is open again.

    Items of its variants are retired with it. The same asked again changes nothing. Raises Denied, Hidden, or Conflict
    for one that is retired otherwise.
    """
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        item = GoldItem.objects.select_related("source").filter(project=project, public_id=public_id).first()
        if item is None:
            raise Hidden("There is no such gold item.")
        if not item.live or not retire_with(actor=actor, dialogue_ids=[item.source_id], reason=reason):
            item.refresh_from_db(fields=["retired_by", "retired_why"])
            if (item.retired_by, item.retired_why) != (actor, reason[:500]):
                raise Conflict("This gold item is retired already, for another reason or by somebody else.")
    return GoldItem.objects.get(pk=item.pk)


def retire_with(*, actor: User | None, dialogue_ids: list[int], reason: str) -> int:
    """Retire what has its answer in these dialogues, because it is known or in doubt now; returns how many.

    A variant of the answer in another language is the answer as well. In the caller's transaction.
    """
    answers = Dialogue.objects.filter(pk__in=dialogue_ids)
    akin = Q(project__in=answers.values("project")) & Q(
        source__variant_group__in=answers.exclude(variant_group="").values("variant_group")
    )
    return _retire_each(actor, GoldItem.objects.filter(Q(source__in=dialogue_ids) | akin, retired_at=None), reason)


def retire_all(*, actor: User | None, project: Project, reason: str) -> int:
    """Retire all items in use of a project; returns how many."""
    with transaction.atomic():
        return _retire_each(actor, GoldItem.objects.filter(project=project, retired_at=None), reason)


def retire_where_variants_come(*, actor: User | None, project: Project, coming: QuerySet[Dialogue]) -> int:
    """Retire items of whose answer another variant is about to be published: it will be worked on by everybody.

    Before it is; in the caller's transaction.
    """
    there = Dialogue.objects.select_for_update(of=("self",), no_key=True).filter(project=project, published=True)
    akin = there.filter(variant_group__in=coming.exclude(variant_group="").values("variant_group"))
    # Whoever makes an item of a group at this moment has locked it: they are before this, or see what has come.
    list(akin.order_by("pk").values_list("pk", flat=True))
    groups = GoldItem.objects.filter(project=project, retired_at=None).exclude(source__variant_group="")
    known = coming.filter(variant_group__in=list(groups.values_list("source__variant_group", flat=True)))
    touched = set(known.values_list("variant_group", flat=True))
    items = GoldItem.objects.filter(project=project, retired_at=None, source__variant_group__in=touched)
    return _retire_each(actor, items, "A variant of the known answer has come in.")


def retire_with_stages(*, actor: User | None, project: Project, before: Protocol, after: Protocol) -> int:
    """Retire items of stages that are others in a new version of the protocol; returns how many.

    An item stays under its version for good: a title, a checklist or a lease of its own would tell what it is. In the
    caller's transaction.
    """
    same_kinds = before.taxonomy == after.taxonomy
    alike = {one.key for one in before.stages if same_kinds and one in after.stages}
    items = GoldItem.objects.filter(project=project, retired_at=None).exclude(stage__in=alike)
    return _retire_each(actor, items, "A new version of the protocol changes its stage.")


def retire_left_behind(*, actor: User, project: Project, version: ProtocolVersion) -> int:
    """Retire items under other versions, as everything else is moved to this one. In the caller's transaction."""
    items = GoldItem.objects.filter(project=project, retired_at=None).exclude(stage_run__cycle__protocol=version.pk)
    return _retire_each(actor, items, f"What was under way was moved to version {version.number} of the protocol.")


def _retire_each(actor: User | None, items: QuerySet[GoldItem], reason: str) -> int:
    return sum(_retire(actor=actor, item=item, reason=reason) for item in items.select_related("source").order_by("pk"))


def _retire(*, actor: User | None, item: GoldItem, reason: str) -> bool:
    """False where somebody else has done it meanwhile."""
    now = timezone.now()
    # Whoever hands it in at this moment has locked its dialogue: they are before this, or not scored.
    hold_dialogue(item.dialogue_id)
    # Whoever gets it at this moment has locked its row: they are before this, or get another one.
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
