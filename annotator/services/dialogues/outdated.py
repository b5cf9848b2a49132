"""Work that a new guideline has outdated: flags on dialogues, as lists and pages read them."""

from collections.abc import Iterable

from django.utils import timezone

from annotator.models import Dialogue, OutdatedDialogue


def open_flags(dialogue: Dialogue) -> list[OutdatedDialogue]:
    """Why the dialogue's work is outdated, newest change first; empty where it is not."""
    rows = OutdatedDialogue.objects.filter(dialogue=dialogue, cleared_at=None).select_related("change__guideline")
    return list(rows.defer("change__guideline__text").order_by("-change"))


def clear_outdated(dialogue_ids: Iterable[int]) -> int:
    """Lift the flags of dialogues that begin anew; returns how many there were."""
    rows = OutdatedDialogue.objects.filter(dialogue__in=list(dialogue_ids), cleared_at=None)
    return rows.update(cleared_at=timezone.now())
