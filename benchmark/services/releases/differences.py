"""What changed between two frozen releases of a project, from their stored items.

Releases never change, so what two of them have in common is found once. To compare documents takes time, so only a
limited number of changed dialogues is examined for categories and files; ``manage.py diff_releases`` examines all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from annotator.core.schema import load_text
from annotator.core.schema.exact_json import load_stored
from annotator.core.tools.changes import Toolset
from annotator.errors import Conflict
from annotator.models import Dialogue, Project, Revision, ToolsetRevision, User
from annotator.models.content import DialogueStatus
from benchmark.core.archives.change_categories import Category
from benchmark.core.archives.dialogue_changes import (
    Content,
    DialogueChange,
    Limits,
    describe_dialogue,
    examine,
    reviews_behind,
)
from benchmark.core.archives.difference import Difference, Hashes, ReleaseName, find_renamed
from benchmark.core.archives.next_version import Counts, Suggestion, suggest
from benchmark.models import Release, ReleaseItem, ReleaseState
from benchmark.services.releases.requests import list_releases

#: Changed dialogues of two releases that are examined, and the characters of both versions: a second or two.
EXAMINED = 2_000
MAX_CHARACTERS = 50_000_000
#: The same for the form of the next release, which is shown often.
_NEXT = 50
#: Dialogues in memory at a time.
_SLICE = 100
#: What a list of dialogues can show. Changed dialogues can also be listed by category.
CHANGED, ADDED, REMOVED = SHOWN = ("changed", "added", "removed")


@dataclass(frozen=True)
class Pair:
    """Two releases and what differs. ``keys``: the examined changed items of ``after``, by category; blank: all."""

    before: Release
    after: Release
    counts: Counts
    references: int
    keys: Mapping[str, tuple[int, ...]]

    @property
    def examined(self) -> int:
        return len(self.keys[""])

    @property
    def suggestion(self) -> Suggestion:
        return suggest(self.before.version, self.counts, references=self.references, examined=self.examined)

    @property
    def categories(self) -> dict[Category, int]:
        return {category: len(self.keys[category]) for category in Category if category in self.keys}


def list_frozen(*, actor: User, project: Project) -> QuerySet[Release]:
    """Return the project's frozen releases, newest first."""
    return list_releases(actor=actor, project=project).filter(state=ReleaseState.FROZEN).order_by("-frozen_at", "-pk")


def find_earlier(*, actor: User, release: Release) -> Release | None:
    """Return the release that was frozen before this one; None if there is none."""
    if release.frozen_at is None:
        return None
    rows = list_frozen(actor=actor, project=release.project)
    return rows.filter(frozen_at__lte=release.frozen_at).exclude(pk=release.pk).first()


def compare(before: Release, after: Release) -> Pair:
    """Return what differs between two releases. Raises Conflict if one is not frozen."""
    for release in (before, after):
        if release.state != ReleaseState.FROZEN:
            raise Conflict(
                _("Release %(version)s isn’t frozen, so it can’t be compared.") % {"version": release.version}
            )
    counts, references, keys = _compare(before.pk, after.pk, before.sha256, after.sha256)
    return Pair(before, after, counts, references, keys)


def list_items(pair: Pair | None, *, shown: str = CHANGED, category: str = "") -> QuerySet[ReleaseItem]:
    """Return the items that were changed (in the newer release), added or removed, to be read by pages.

    ``category``: only changed dialogues that were examined and have a change of it. Without a pair, there are none.
    """
    if pair is None:
        rows = ReleaseItem.objects.none()
    elif category:
        rows = ReleaseItem.objects.filter(pk__in=pair.keys.get(category, ()))
    elif shown == CHANGED and pair.counts.changed == pair.examined:
        rows = ReleaseItem.objects.filter(pk__in=pair.keys[""])
    else:
        rows = _rows(shown, pair.before.pk, pair.after.pk)
    return _ordered(rows)


def read_changes(pair: Pair, items: Iterable[ReleaseItem], limits: Limits | None = None) -> list[DialogueChange]:
    """Return the changes of these changed items, in their order."""
    by_dialogue = {item.dialogue_id: item for item in items}
    found = []
    for one in _contents(pair.before.pk, pair.after.pk, [*by_dialogue]):
        item = by_dialogue[one.dialogue]
        reviews = reviews_behind(item.trail, one.sha256)
        found.append(describe_dialogue(item.dialogue.external_id, one.before, one.after, reviews, limits))
    return found


def difference_of(pair: Pair) -> Difference:
    """Return the difference for a file, with the changed dialogues that were examined."""

    def changed() -> Iterator[DialogueChange]:
        keys = pair.keys[""]
        for start in range(0, len(keys), _SLICE):
            yield from read_changes(pair, _ordered(ReleaseItem.objects.filter(pk__in=keys[start : start + _SLICE])))

    before, after = (ReleaseName(one.project.slug, one.version) for one in (pair.before, pair.after))
    return Difference(
        before=before,
        after=after,
        counts=pair.counts,
        categories=pair.categories,
        suggestion=pair.suggestion,
        added=_names(pair, ADDED),
        removed=_names(pair, REMOVED),
        renamed=_renamed(pair),
        changed=changed,
        examined=pair.examined,
    )


@lru_cache(maxsize=16)
def _compare(
    before: int, after: int, _before_sha256: str, _after_sha256: str
) -> tuple[Counts, int, dict[str, tuple[int, ...]]]:
    """Return the counts, how many examined dialogues have a changed reference, and their keys by category."""
    whole = {shown: _rows(shown, before, after).count() for shown in SHOWN}
    held = ReleaseItem.objects.filter(release=after).count()
    counts = Counts(**whole, unchanged=held - whole[ADDED] - whole[CHANGED])
    first = dict(_ordered(_rows(CHANGED, before, after)).values_list("dialogue", "pk")[:EXAMINED])
    keys: dict[str, list[int]] = {"": []}
    references = characters = 0
    for one in _contents(before, after, [*first]):
        found = examine(one.before, one.after)
        references += found.reference
        for category in ("", *found.categories):
            keys.setdefault(category, []).append(first[one.dialogue])
        characters += one.characters
        if characters > MAX_CHARACTERS:
            break
    return counts, references, {category: tuple(found) for category, found in keys.items()}


def _rows(shown: str, before: int, after: int) -> QuerySet[ReleaseItem]:
    """Return the items of the newer release that were changed or added, or the removed ones of the older one."""
    if shown == REMOVED:
        before, after = after, before
    there = ReleaseItem.objects.filter(release=before, dialogue=OuterRef("dialogue"))
    rows = ReleaseItem.objects.filter(release=after)
    if shown != CHANGED:
        return rows.filter(~Exists(there))
    same = there.filter(
        revision__content_hash=OuterRef("revision__content_hash"),
        revision__toolset_revision=OuterRef("revision__toolset_revision"),
    )
    return rows.filter(Exists(there), ~Exists(same))


def _ordered(rows: QuerySet[ReleaseItem]) -> QuerySet[ReleaseItem]:
    """Return items in the order of other lists of dialogues, with the fields that its pages use."""
    rows = rows.annotate(created_at=F("dialogue__created_at"), public_id=F("dialogue__public_id"))
    return rows.order_by("created_at", "public_id").select_related("dialogue").defer("dialogue__search_text")


class _Both(NamedTuple):
    """A dialogue in both releases, the hash of its older document, and the characters of both documents."""

    dialogue: int
    sha256: str
    before: Content
    after: Content
    characters: int


def _contents(before: int, after: int, dialogues: Sequence[int]) -> Iterator[_Both]:
    fields = ("revision__content_hash", "revision__content", "revision__toolset_revision")
    toolsets: dict[int, Toolset] = {}
    for start in range(0, len(dialogues), _SLICE):
        part = dialogues[start : start + _SLICE]
        old, new = (
            {
                key: row
                for key, *row in ReleaseItem.objects.filter(release=release, dialogue__in=part).values_list(
                    "dialogue", *fields
                )
            }
            for release in (before, after)
        )
        wanted = {row[2] for row in (*old.values(), *new.values())}
        toolsets = {key: toolsets[key] for key in wanted & toolsets.keys()} | _toolsets(wanted - toolsets.keys())
        for key in part:
            was, now = (Content(load_text(row[1]), toolsets[row[2]]) for row in (old[key], new[key]))
            yield _Both(key, old[key][0], was, now, len(old[key][1]) + len(new[key][1]))


def _toolsets(keys: set[int]) -> dict[int, Toolset]:
    rows = ToolsetRevision.objects.filter(pk__in=keys).values_list("pk", "content")
    return {key: load_stored(content) for key, content in rows}


def _names(pair: Pair, shown: str) -> Iterator[str]:
    rows = _ordered(_rows(shown, pair.before.pk, pair.after.pk))
    yield from rows.values_list("dialogue__external_id", flat=True).iterator()


def _renamed(pair: Pair) -> Iterator[tuple[str, str]]:
    fields = ("dialogue__external_id", "revision__content_hash", "revision__toolset_revision__content_hash")
    removed, added = (
        {
            name: Hashes(*hashes)
            for name, *hashes in _ordered(_rows(shown, pair.before.pk, pair.after.pk)).values_list(*fields)
        }
        for shown in (REMOVED, ADDED)
    )
    yield from find_renamed(removed, added)


def suggest_next(*, actor: User, project: Project) -> tuple[Release, Suggestion] | None:
    """Return the last frozen release and the version that fits a release of what is verified now; None without one.

    It compares heads and runs no checks; freezing decides what enters.
    """
    last = list_frozen(actor=actor, project=project).first()
    if last is None:
        return None
    verified = Dialogue.objects.filter(
        project=project, status=DialogueStatus.VERIFIED, published=True, archived_at=None, head__isnull=False
    ).counted()
    held = ReleaseItem.objects.filter(release=last)
    kept = Exists(verified.filter(pk=OuterRef("dialogue")))
    other = ~Q(revision=F("dialogue__head")) & ~Q(
        revision__content_hash=F("dialogue__head__content_hash"),
        revision__toolset_revision=F("dialogue__head__toolset_revision"),
    )
    changed = held.filter(kept, other)
    counts = Counts(
        added=verified.filter(~Exists(held.filter(dialogue=OuterRef("pk")))).count(),
        removed=held.filter(~kept).count(),
        changed=changed.count(),
        unchanged=0,
    )
    references = examined = 0
    # One changed reference is enough, and so is a removed dialogue.
    rows = changed.order_by("pk").select_related("revision__toolset_revision", "dialogue__head__toolset_revision")
    for item in rows.defer("trail", "dialogue__search_text")[: 0 if counts.removed else _NEXT]:
        examined += 1
        references += examine(*(_content(one) for one in (item.revision, item.dialogue.head) if one)).reference
        if references:
            break
    return last, suggest(last.version, counts, references=references, examined=examined)


def _content(revision: Revision) -> Content:
    return Content(revision.document(), load_stored(revision.toolset_revision.content))
