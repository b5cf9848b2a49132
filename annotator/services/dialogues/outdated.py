"""Flags of dialogues whose work is outdated by a new guideline."""

from collections.abc import Iterable

from django.utils import timezone

from annotator.models import Dialogue, OutdatedDialogue


def open_flags(dialogue: Dialogue) -> list[OutdatedDialogue]:
    """Return the reasons why the dialogue's work is outdated, newest first."""
    rows = OutdatedDialogue.objects.filter(dialogue=dialogue, cleared_at=None).select_related("change__guideline")
    return list(rows.defer("change__guideline__text").order_by("-change"))


def clear_outdated(dialogue_ids: Iterable[int]) -> int:
    """Clear the flags of dialogues that start again; returns how many."""
    rows = OutdatedDialogue.objects.filter(dialogue__in=list(dialogue_ids), cleared_at=None)
    return rows.update(cleared_at=timezone.now())
