"""Groups of similar dialogues: stored after each search, so that lists read no content."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import astuple, dataclass

from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from annotator.core.checks.similarity import Likeness, compare, traits_of
from annotator.errors import Hidden
from annotator.models import Dialogue, Project, User
from annotator.services.access.permissions import OVERSEERS, load_dialogue, require_role
from annotator.services.database import bulk_insert
from benchmark.core.grouping import Groups, extents
from benchmark.models import SimilarDialogue, SimilaritySettings, SimilarPair
from benchmark.services.similarity.pairs import LOWEST, text_of

#: Characters of each text that a page compares word by word.
MAX_SHOWN = 5_000


@dataclass(frozen=True)
class Member:
    """A dialogue of a group: what its user says, and how that differs from the first one's (None: it is the first)."""

    dialogue: Dialogue
    text: str
    likeness: Likeness | None


def regroup(project_id: int, threshold: int) -> None:
    """Store the groups that follow from the project's pairs, and how many every threshold would give.

    Runs in the caller's transaction, which has locked the project's ``SimilaritySettings``.
    """
    pairs, groups = list(_pairs(project_id)), Groups()
    counted = [astuple(one) for one in extents(pairs, range(LOWEST, 101))]
    SimilaritySettings.objects.filter(project=project_id).update(extents=counted)
    for one, other, percent in pairs:
        if percent >= threshold:
            groups.join(one, other)
    firsts = groups.firsts()
    sizes = Counter(firsts.values())
    wanted = {member: (first, sizes[first]) for member, first in firsts.items()}
    rows = SimilarDialogue.objects.filter(project=project_id)
    held = {member: (first, size) for member, first, size in rows.values_list("dialogue_id", "group_id", "size")}
    if held == wanted:
        return
    rows.delete()
    bulk_insert.insert_rows(
        SimilarDialogue,
        ("dialogue_id", "group_id", "size"),
        [(member, first, size) for member, (first, size) in sorted(wanted.items())],
        constants={"project_id": project_id},
    )


def _pairs(project_id: int) -> Iterator[tuple[int, int, int]]:
    gone = Dialogue.objects.filter(project=project_id, archived_at__isnull=False)
    left_out = set(gone.values_list("pk", flat=True))
    pairs = SimilarPair.objects.filter(project=project_id).values_list("dialogue_id", "other_id", "percent")
    for one, other, percent in pairs.iterator(chunk_size=10_000):
        if one not in left_out and other not in left_out:
            yield one, other, percent


def list_groups(*, actor: User, project: Project) -> QuerySet[Dialogue]:
    """Return the first dialogue of each group, with its ``size``; for overseers. Raises Denied."""
    require_role(actor=actor, project=project, roles=OVERSEERS)
    rows = Dialogue.objects.visible_to(actor).filter(project=project, similar__group=F("pk"))
    return rows.annotate(size=F("similar__size")).defer("search_text")


def load_group(*, actor: User, project: Project, public_id: str) -> tuple[Dialogue, int, QuerySet[Dialogue]]:
    """Return the first dialogue of a dialogue's group, the group's size, and its dialogues; for overseers.

    Raises Denied, and Hidden if the dialogue is in no group.
    """
    require_role(actor=actor, project=project, roles=OVERSEERS)
    dialogue = load_dialogue(actor=actor, project=project, public_id=public_id)
    place = SimilarDialogue.objects.filter(dialogue=dialogue).select_related("group__head").first()
    if place is None:
        raise Hidden(_("This dialogue is in no group of similar dialogues any more."))
    members = Dialogue.objects.visible_to(actor).filter(similar__group=place.group_id)
    return place.group, place.size, members.select_related("head").defer("search_text")


def compared(first: Dialogue, members: Collection[Dialogue]) -> list[Member]:
    """Return the members with what makes each unlike the first one."""
    text = text_of(first)
    traits = traits_of(text)
    out = []
    for member in members:
        own = text_of(member)
        known = traits_of(own)
        # Somebody may have edited a text since the search, even to nothing.
        likeness = compare(traits, known) if traits is not None and known is not None else Likeness(0, "overlap")
        out.append(Member(member, own[:MAX_SHOWN], None if member.pk == first.pk else likeness))
    return out


def group_size(*, actor: User, dialogue: Dialogue) -> int:
    """Return the number of dialogues in the dialogue's group; 0 without one, and for everyone but overseers."""
    rows = SimilarDialogue.objects.filter(dialogue=dialogue, project__in=Project.objects.overseen_by(actor))
    return rows.values_list("size", flat=True).first() or 0
