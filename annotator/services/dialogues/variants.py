"""Language variants: their shared parts must be equal, and a change of text in one marks the others until somebody
confirms that they say the same.

Nothing is stored when a variant changes: whether two agree follows from their newest revisions, so edits of one never
wait for edits of another. A disagreement is a finding of both: see ``variant_comparison``.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotator.core.comparison.variant_staleness import is_copy
from annotator.core.comparison.variants import shared_difference
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Project, Revision, Role, User, VariantMatch
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.access.permissions import require_role
from annotator.services.dialogues.revisions import lock_dialogue
from annotator.services.history.events import append_event

#: Roles that may confirm that two variants say the same.
MATCHERS = {Role.ADMINISTRATOR, Role.SENIOR_REVIEWER}


@dataclass(frozen=True, slots=True)
class Variant:
    """Another variant of a dialogue, and whether the two agree."""

    dialogue: Dialogue
    #: Why the two do not agree, as a sentence; blank if they do.
    why: str
    #: Whether one of them must be edited first: a shared part differs, or one is a copy without a translation.
    shared: bool = False


def read_variants(*, project: Project, groups: Iterable[str]) -> dict[int, list[Variant]]:
    """Return {key of each published dialogue of these groups: its other variants}.

    A rejected dialogue can't be edited any more, so it agrees with all, except with a copy of it that is not
    translated. Gold items are variants of one another, like the dialogues that they replace.
    """
    wanted = {group for group in groups if group}
    if not wanted:
        return {}
    rows = Dialogue.objects.filter(project=project, published=True, archived_at=None)
    rows = rows.filter(variant_group__in=wanted).exclude(head=None)
    members: dict[tuple[str, bool], list[Dialogue]] = defaultdict(list)
    for dialogue in rows.select_related("head").defer("search_text").order_by("pk"):
        members[dialogue.variant_group, dialogue.gold_role == GoldRole.GOLD].append(dialogue)
    members = {group: found for group, found in members.items() if len(found) > 1}
    everybody = [dialogue for found in members.values() for dialogue in found]
    firsts = dict(Revision.objects.filter(dialogue__in=everybody, number=1).values_list("dialogue_id", "content_hash"))
    in_dialogues = Q(first__dialogue__in=everybody)
    matched = {
        frozenset(pair)
        for pair in VariantMatch.objects.filter(in_dialogues).values_list("first__content_hash", "second__content_hash")
    }
    out: dict[int, list[Variant]] = {dialogue.pk: [] for dialogue in everybody}
    for found in members.values():
        for one, other in combinations(found, 2):
            for mine, theirs in ((one, other), (other, one)):
                why, shared = _why(mine, theirs, firsts, matched)
                out[mine.pk].append(Variant(theirs, why, shared))
    return out


def out_of_step(*, project: Project, dialogues: Iterable[Dialogue]) -> set[int]:
    """Return the keys of those dialogues that do not agree with another variant."""
    found = read_variants(project=project, groups=(one.variant_group for one in dialogues))
    return {key for key, others in found.items() if any(other.why for other in others)}


def variants_of(*, actor: User, dialogue: Dialogue) -> list[Variant]:
    """Return the other variants of a dialogue that the actor may see."""
    if not dialogue.variant_group:
        return []
    found = read_variants(project=dialogue.project, groups=[dialogue.variant_group]).get(dialogue.pk, [])
    shown = Dialogue.objects.visible_to(actor).filter(pk__in=[one.dialogue.pk for one in found])
    visible = set(shown.values_list("pk", flat=True))
    return [one for one in found if one.dialogue.pk in visible]


def match_variants(*, actor: User, dialogue: Dialogue, other: str, seen: tuple[str, str]) -> VariantMatch:
    """Record that the newest revisions of two variants say the same.

    ``other``: the public id of the other dialogue. ``seen``: the public ids of the revisions that the actor saw. Raises
    Denied, Hidden, Conflict if one has changed since, and Invalid if a shared part differs.
    """
    project = dialogue.project
    require_role(actor=actor, project=project, roles=MATCHERS)
    sibling = next(
        (one for one in variants_of(actor=actor, dialogue=dialogue) if one.dialogue.public_id == other), None
    )
    if sibling is None:
        raise Hidden(_("This variant doesn’t exist."))
    with transaction.atomic():
        # In the order of their keys, to avoid deadlocks.
        locked = {key: lock_dialogue(key) for key in sorted((dialogue.pk, sibling.dialogue.pk))}
        heads = [locked[dialogue.pk].head, locked[sibling.dialogue.pk].head]
        mine, theirs = heads
        if mine is None or theirs is None or (mine.public_id, theirs.public_id) != seen:
            raise Conflict(_("One of the two has changed since you looked. Compare them again."))
        if difference := shared_difference(mine.document(), theirs.document()):
            sentence = _("The variants differ in a part that they must share: %(difference)s. Edit one of them first.")
            raise Invalid(sentence % {"difference": difference})
        if is_copy(mine.document(), theirs.document()):
            raise Invalid(_not_translated(max(locked.values(), key=lambda one: one.pk)))
        first, second = sorted((mine, theirs), key=lambda one: one.dialogue_id)
        match, made = VariantMatch.objects.get_or_create(first=first, second=second, defaults={"author": actor})
        if made:
            for one, two in ((mine, theirs), (theirs, mine)):
                append_event(
                    actor=actor,
                    project=project,
                    dialogue=locked[one.dialogue_id],
                    kind="dialogue.variant_matched",
                    after={
                        "variant": locked[two.dialogue_id].external_id,
                        "revision": one.public_id,
                        "variant_revision": two.public_id,
                    },
                )
    return match


def _not_translated(copy: Dialogue) -> str:
    sentence = _("The language variant %(variant)s is still a copy. Translate its texts first.")
    return sentence % {"variant": copy.external_id}


def _why(mine: Dialogue, theirs: Dialogue, firsts: dict[int, str], matched: set[frozenset[str]]) -> tuple[str, bool]:
    """Return why two variants do not agree, as a sentence, and whether a shared part differs."""
    one, other = mine.head, theirs.head
    if one is None or other is None:
        return "", False
    copy = max(mine, theirs, key=lambda one: one.pk)
    # Also if the dialogue that was copied is rejected: the copy is still in the wrong language.
    if (
        copy.status != DialogueStatus.REJECTED
        and mine.language != theirs.language
        and is_copy(one.document(), other.document())
    ):
        return _not_translated(copy), True
    if DialogueStatus.REJECTED in (mine.status, theirs.status):
        return "", False
    if (mine.policies, mine.topologies, mine.information) != (theirs.policies, theirs.topologies, theirs.information):
        sentence = _("The language variant %(variant)s has different labels. Make them equal.")
        return sentence % {"variant": theirs.external_id}, True
    if difference := shared_difference(one.document(), other.document()):
        sentence = _("The language variant %(variant)s differs in a shared part: %(difference)s. Make them equal.")
        return sentence % {"variant": theirs.external_id, "difference": difference}, True
    if frozenset((one.content_hash, other.content_hash)) in matched:
        return "", False
    if one.batch_id is not None and one.batch_id == other.batch_id:
        return "", False
    changed = [dialogue for dialogue in (theirs, mine) if dialogue.content_hash != firsts.get(dialogue.pk)]
    if not changed:
        return "", False
    if changed[0] is mine:
        sentence = _(
            "This dialogue has changed since it was last compared with its language variant %(variant)s. Compare both "
            "and choose “Mark as matching” if they agree."
        )
    else:
        sentence = _(
            "The language variant %(variant)s has changed since the two were last compared. Compare both and choose "
            "“Mark as matching” if they agree."
        )
    return sentence % {"variant": theirs.external_id}, False
