"""Checks that stored revisions are unchanged, by their own checksums and by those in the history.

The history has the content hash of each import, review and outcome, and the toolset hash of each import. So a change in
the database is detected even if its checksum was changed too.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from annotator.core.schema import content_hash
from annotator.models import Event, Project, Revision, ToolsetRevision
from annotator.models.content import GoldRole

#: Texts in memory at a time.
_TEXTS = 200
_HASH, _TOOLSET = "content_hash", "toolset_hash"


def toolset_problems(project: Project) -> Iterable[str]:
    """Yield a sentence for each changed toolset of a project."""
    there: set[str] = set()
    revisions = ToolsetRevision.objects.filter(project=project).order_by("pk")
    columns = ("toolset__name", "number", _HASH, "content")
    for name, number, stored, text in revisions.values_list(*columns).iterator(_TEXTS):
        if content_hash(text) != stored:
            yield f"toolset {name}: revision {number} does not match its checksum"
        there.add(stored)
    # A failed import removes the toolsets that it added, unless something uses them.
    kinds = ("toolset.added", "toolset.changed")
    added = Event.objects.filter(project=project, dialogue=None, kind__in=kinds, actor__isnull=False)
    for after in added.order_by("pk").values_list("after", flat=True):
        if after.get("sha256") not in there:
            yield f"toolset {after['toolset']}: no revision has the content that was added"
    imported = Event.objects.filter(project=project, dialogue=None, kind="toolset.imported")
    for after in imported.order_by("pk").values_list("after", flat=True):
        for toolset in after["toolsets"]:
            if toolset["sha256"] not in there:
                yield f"toolset {toolset['name']}: no revision has the content that was imported"


def content_problems(dialogues: Sequence[int]) -> Iterable[str]:
    """Yield a sentence for each revision of dialogues that was changed or removed.

    All hashes of their events are in memory, so pass some hundred dialogues at a time.
    """
    named: dict[tuple[int, str], tuple[int, str]] = {}
    with_toolset: dict[tuple[int, str, str], tuple[int, str]] = {}
    events = Event.objects.filter(dialogue__in=dialogues, after__has_key=_HASH).order_by("dialogue_id", "number")
    for dialogue, number, kind, after in events.values_list("dialogue_id", "number", "kind", "after").iterator(2000):
        named.setdefault((dialogue, str(after[_HASH])), (number or 0, kind))
        if _TOOLSET in after:
            with_toolset[dialogue, str(after[_HASH]), str(after[_TOOLSET])] = (number or 0, kind)
    revisions = Revision.objects.filter(dialogue__in=dialogues).order_by("dialogue_id", "pk")
    columns = ("dialogue_id", "dialogue__external_id", "dialogue__gold_role", "public_id", _HASH, "content")
    toolsets: dict[tuple[int, str], set[str]] = defaultdict(set)
    names: dict[int, str] = {}
    rows = revisions.values_list(*columns, f"toolset_revision__{_HASH}")
    for dialogue, external_id, gold_role, public_id, stored, text, toolset in rows.iterator(_TEXTS):
        named.pop((dialogue, stored), None)
        # A gold item has the events of another dialogue but not all of its revisions.
        if gold_role != GoldRole.GOLD:
            toolsets[dialogue, stored].add(toolset)
            names[dialogue] = external_id
        if content_hash(text) != stored:
            yield f"dialogue {external_id}: revision {public_id} does not match its checksum"
    for (dialogue, _), (number, kind) in named.items():
        # An import cancelled meanwhile removes its events together with its revisions.
        event = Event.objects.filter(dialogue=dialogue, number=number).select_related("dialogue").first()
        if event is not None and event.dialogue is not None:
            name = event.dialogue.external_id
            yield f"dialogue {name}: no revision has the content recorded by event {number} ({kind})"
    for (dialogue, content, toolset), (number, kind) in with_toolset.items():
        if toolset not in toolsets.get((dialogue, content), {toolset}):
            yield f"dialogue {names[dialogue]}: the toolset is not the one recorded by event {number} ({kind})"
