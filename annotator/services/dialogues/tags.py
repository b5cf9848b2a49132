"""Reads and changes the tags of dialogues.

A tag may be an opinion about a dialogue. Administrators and senior reviewers see and set tags, but not in a dialogue
that they review blind at the time.
"""

from collections.abc import Callable, Iterable, Sequence

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.core.tags import MAX_LENGTH, MAX_TAGS, tag_of
from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, DialogueTag, Project, User
from annotator.models.events import TAGS_CHANGED
from annotator.services.access.blindness import is_blind
from annotator.services.access.permissions import OVERSEERS, require_role
from annotator.services.dialogues.revisions import lock_dialogue
from annotator.services.history.event_chain import in_portions
from annotator.services.history.events import append_event


def parse_tags(names: Iterable[str]) -> list[str]:
    """Return tags, each once, in order. Raises Invalid for a name that is not a tag."""
    tags = []
    for name in names:
        tag = tag_of(name)
        if not tag:
            sentence = _(
                "“%(name)s” can’t be a tag. Use at most %(most)s letters, digits, hyphens and underscores, and start "
                "with a letter or a digit."
            )
            raise Invalid(sentence % {"name": name[:60].replace("\x00", ""), "most": MAX_LENGTH}, field="tag")
        tags.append(tag)
    return list(dict.fromkeys(tags))


def read_tags(dialogues: Sequence[int]) -> dict[int, list[str]]:
    """Return the tags, by name, of those dialogues (by key) that have any. The caller checks who may see them."""
    out: dict[int, list[str]] = {}
    for portion in in_portions(list(dialogues)):
        rows = DialogueTag.objects.filter(dialogue__in=portion).order_by("dialogue", "name")
        for key, name in rows.values_list("dialogue", "name"):
            out.setdefault(key, []).append(name)
    return out


def attach_tags(rows: Sequence[Dialogue], *, actor: User, blind: set[int]) -> None:
    """Set ``tag_names`` of dialogues to the tags that the actor may see. ``blind``: keys of those reviewed blind."""
    shown = [row.pk for row in rows if row.pk not in blind]
    found: dict[int, list[str]] = {}
    overseen = DialogueTag.objects.filter(dialogue__in=shown, project__in=Project.objects.overseen_by(actor))
    for key, name in overseen.order_by("name").values_list("dialogue", "name"):
        found.setdefault(key, []).append(name)
    for row in rows:
        row.tag_names = tuple(found.get(row.pk, ()))


def blind_sentence(dialogue: Dialogue) -> str:
    """Return why somebody who reviews a dialogue blind can't see or change its tags."""
    sentence = _(
        "You review %(dialogue)s in a blind stage. Its tags are hidden from you and can’t be changed by you until the "
        "stage ends."
    )
    return sentence % {"dialogue": dialogue.external_id}


def change_tags(
    *, actor: User, dialogue: Dialogue, add: Iterable[str] = (), remove: Iterable[str] = (), reason: str = ""
) -> list[str]:
    """Add and remove tags, and return those that the dialogue has then. Without a difference, nothing is recorded.

    Raises Hidden, Denied unless the actor oversees the project, Conflict if they review the dialogue blind, and Invalid
    for a name that is not a tag or for too many tags.
    """
    added, removed = parse_tags(add), set(parse_tags(remove))
    return _write(actor, dialogue, lambda now: sorted((set(now) | set(added)) - removed), reason)


def set_tags(*, actor: User, dialogue: Dialogue, tags: Iterable[str]) -> list[str]:
    """Replace the tags of a dialogue, and return them. Raises as ``change_tags`` does."""
    wanted = sorted(parse_tags(tags))
    return _write(actor, dialogue, lambda now: wanted, "")


def _write(actor: User, dialogue: Dialogue, change: Callable[[list[str]], list[str]], reason: str) -> list[str]:
    require_role(actor=actor, project=dialogue.project, roles=OVERSEERS)
    with transaction.atomic():
        dialogue = lock_dialogue(dialogue.pk)
        if is_blind(actor=actor, dialogue=dialogue):
            raise Conflict(blind_sentence(dialogue))
        rows = {row.name: row for row in DialogueTag.objects.filter(dialogue=dialogue)}
        before = sorted(rows)
        after = change(before)
        if len(after) > MAX_TAGS:
            sentence = _("%(dialogue)s would have %(count)s tags. A dialogue may have at most %(most)s; remove some.")
            values = {"dialogue": dialogue.external_id, "count": len(after), "most": MAX_TAGS}
            raise Invalid(sentence % values, field="tag")
        if after == before:
            return after
        gone = [row.pk for name, row in rows.items() if name not in after]
        DialogueTag.objects.filter(pk__in=gone).delete()
        free = sorted(set(range(MAX_TAGS)) - {row.number for row in rows.values() if row.pk not in gone})
        DialogueTag.objects.bulk_create(
            DialogueTag(dialogue=dialogue, project=dialogue.project, name=name, number=number)
            for name, number in zip([name for name in after if name not in rows], free, strict=False)
        )
        # The time of the last change stays: it would show everyone that somebody tagged the dialogue.
        append_event(
            actor=actor,
            project=dialogue.project,
            dialogue=dialogue,
            kind=TAGS_CHANGED,
            before={"tags": before},
            after={"tags": after} | ({"reason": reason[:500]} if reason else {}),
        )
    return after
