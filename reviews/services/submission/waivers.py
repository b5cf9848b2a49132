"""Waivers: a person's reason why a warning does not matter here."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from annotator.errors import Invalid
from annotator.models import Dialogue, User, Waiver
from annotator.services.database.compiled import compiled
from annotator.services.dialogues.revisions import hold_dialogue
from reviews.models import Slot
from reviews.services.protocols.stage_checks import check_for_stage
from reviews.services.protocols.versions import parse
from reviews.services.queue.slot_work import Work

MAX_REASON = 500
#: Of one person on one dialogue: whoever opens it reads them all. (Of all people together, the count would tell a blind
#: reviewer of the others, and one could use up what the others need.)
MAX_WAIVERS = 1000
#: Stands for a colleague's reason in a blind stage.
HIDDEN_REASON = "A colleague has waived it; why is told once the stage has settled."

#: (check, anchor, hash of the value it is about)
Key = tuple[str, str, str]


def live_waivers(*, actor: User, dialogue: Dialogue, blind: bool = False) -> dict[Key, str]:
    """The reasons given so far that the actor, who may see the dialogue, may know of.

    One is void where the finding's value hash differs. ``blind``: that a colleague gave one is told, not what it says.
    """
    return {
        (check, anchor, value_hash): HIDDEN_REASON if blind and author != actor.pk else reason
        for check, anchor, value_hash, reason, author in _unsealed(dialogue.pk, actor.pk)
    }


@compiled
def _unsealed(dialogue_id: int, actor_id: int) -> QuerySet[Waiver, Any]:
    given = Waiver.objects.unsealed_for(actor_id).filter(dialogue=dialogue_id).order_by("pk")
    return given.values_list("check_id", "anchor", "value_hash", "reason", "author_id")


def waive(*, actor: User, work: Work, check: str, anchor: str, value_hash: str, reason: str) -> Waiver:
    """Say why a warning does not matter. In a blind stage nobody else sees it before the stage settles.

    The same words twice, from a double click say, are one. Raises Invalid without a reason, and for too many.
    """
    return _write(actor, work.slot, [(check, anchor, value_hash)], _reason(reason))[0]


def waive_all(*, actor: User, slot: Slot, reason: str, document: dict[str, Any] | None = None) -> int:
    """Waive every warning about what is about to be handed in, for one reason; returns how many there were.

    ``document``: as it will be handed in; without it, the version under review. Raises Invalid without a reason.
    """
    reason = _reason(reason)
    dialogue, seen = slot.dialogue, slot.revision
    content = seen.document() if document is None else document
    stage = parse(slot.protocol).stage(slot.stage)
    found = check_for_stage(content, seen.toolset_revision, project=dialogue.project, stage=stage)
    waived = live_waivers(actor=actor, dialogue=dialogue)
    keys = [(one.check, one.anchor, one.value_hash) for one in found if one.severity == "warning"]
    wanted = [key for key in dict.fromkeys(keys) if key not in waived]
    _write(actor, slot, wanted, reason)
    return len(wanted)


def _reason(reason: str) -> str:
    reason = reason.strip()
    if not reason:
        raise Invalid("Say why this warning does not matter here.")
    if len(reason) > MAX_REASON or "\x00" in reason:
        raise Invalid(f"The reason has at most {MAX_REASON} characters, none of them NUL.")
    return reason


def _write(actor: User, slot: Slot, keys: Sequence[Key], reason: str) -> list[Waiver]:
    sealed = slot.stage_run.blind
    with transaction.atomic():
        # Counted and written by one at a time.
        hold_dialogue(slot.dialogue_id)
        mine = Waiver.objects.filter(dialogue=slot.dialogue, author=actor)
        count = mine.count()
        alike = mine.filter(anchor__in=[anchor[:600] for _, anchor, _ in keys]).order_by("pk")
        latest = {(one.check_id, one.anchor, one.value_hash): one for one in alike}
        written = []
        for check, anchor, value_hash in keys:
            key = (check[:60], anchor[:600], value_hash[:16])
            waiver = latest.get(key)
            if waiver is None or (waiver.reason, waiver.sealed) != (reason, sealed):
                count += 1
                if count > MAX_WAIVERS:
                    raise Invalid(
                        f"You have waived {MAX_WAIVERS:,} warnings of this dialogue, and no more can be. Mend what is "
                        "left, or reject the dialogue.",
                        field="reason",
                    )
                waiver = Waiver.objects.create(
                    dialogue=slot.dialogue,
                    author=actor,
                    check_id=key[0],
                    anchor=key[1],
                    value_hash=key[2],
                    reason=reason,
                    sealed=sealed,
                )
                latest[key] = waiver
            written.append(waiver)
    return written
