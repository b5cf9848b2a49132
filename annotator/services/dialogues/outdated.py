"""Work that a new guideline has overtaken: flags on dialogues, as lists and pages read them."""

from collections.abc import Iterable

from django.utils import timezone

from annotator.models import Dialogue, StaleWork


def open_marks(dialogue: Dialogue) -> list[StaleWork]:
    """Why the dialogue's work is overtaken, newest mark first; empty where it is not."""
    rows = StaleWork.objects.filter(dialogue=dialogue, cleared_at=None).select_related("mark__guideline")
    return list(rows.defer("mark__guideline__text").order_by("-mark"))


def clear_stale(dialogue_ids: Iterable[int]) -> int:
    """Lift the flags of dialogues that begin anew; returns how many there were."""
    rows = StaleWork.objects.filter(dialogue__in=list(dialogue_ids), cleared_at=None)
    return rows.update(cleared_at=timezone.now())
