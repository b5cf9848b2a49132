"""What a blind stage hides, and how it is shown once the stage has settled."""

from collections.abc import Iterable

from annotator.models import Dialogue, Event, Revision, Waiver
from annotator.services.revisions import unseal
from annotator.services.statements import rows, write
from reviews.models import Review
from reviews.services.comments import tell_of_opened

_SEALABLE = [model._meta.db_table for model in (Review, Event, Waiver)]


def unseal_stage(dialogue: Dialogue, fixes: Iterable[Revision] | None = None) -> None:
    """Open what reviewers have sealed about a dialogue. The caller holds its lock.

    Only one stage of a dialogue is ever open, so whatever they sealed belongs to it. A revision that an import holds
    back until it publishes is no reviewer's. ``fixes``: the reviewers' revisions, where the caller has them at hand.
    """
    if fixes is None:
        fixes = Revision.objects.filter(dialogue=dialogue, sealed=True, batch=None).defer("content")
    fixes = list(fixes)
    for fix in fixes:
        fix.dialogue = dialogue
    unseal(fixes)
    for table in _SEALABLE:
        write(f"UPDATE {table} SET sealed = %s WHERE dialogue_id = %s AND sealed", [False, dialogue.pk])  # noqa: S608
    opened = rows(
        "UPDATE reviews_comment SET sealed = %s WHERE dialogue_id = %s AND sealed RETURNING id", [False, dialogue.pk]
    )
    tell_of_opened(dialogue, [comment for (comment,) in opened])
