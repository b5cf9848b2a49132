"""Whether the versions still are what they were: by their own checksums, and by those that the history names.

The history says of each import, review and outcome which content it was about, and of each import with which toolset.
So content that was changed in the database shows even where its checksum was changed with it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from annotator.core.schema import content_hash
from annotator.models import Event, Project, Revision, ToolsetRevision
from annotator.models.content import GoldRole

#: Texts held at a time.
_TEXTS = 200
_HASH, _TOOLSET = "content_hash", "toolset_hash"


def toolset_problems(project: Project) -> Iterable[str]:
    """Toolsets of a project that were changed, as sentences: by them every call is judged."""
    there: set[str] = set()
    versions = ToolsetRevision.objects.filter(project=project).order_by("pk")
    columns = ("toolset__name", "number", _HASH, "content")
    for name, number, stored, text in versions.values_list(*columns).iterator(_TEXTS):
        if content_hash(text) != stored:
            yield f"toolset {name}: version {number} is not what its checksum says"
        there.add(stored)
    # One that nobody in particular added is taken back with an import that fails, if nothing has it.
    added = Event.objects.filter(project=project, dialogue=None, kind="toolset.added", actor__isnull=False)
    for after in added.order_by("pk").values_list("after", flat=True):
        if after.get("sha256") not in there:
            yield f"toolset {after['toolset']}: no version has the content with which it was added"
    imported = Event.objects.filter(project=project, dialogue=None, kind="toolset.imported")
    for after in imported.order_by("pk").values_list("after", flat=True):
        for toolset in after["toolsets"]:
            if toolset["sha256"] not in there:
                yield f"toolset {toolset['name']}: no version has the content with which it was imported"


def content_problems(dialogues: Sequence[int]) -> Iterable[str]:
    """What was changed in, or removed from, the versions of dialogues, as sentences. All that their events name is held
    in memory: ask for some hundred at a time.
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
        # A gold item has the events of another dialogue, and not all of its versions.
        if gold_role != GoldRole.GOLD:
            toolsets[dialogue, stored].add(toolset)
            names[dialogue] = external_id
        if content_hash(text) != stored:
            yield f"dialogue {external_id}: version {public_id} is not what its checksum says"
    for (dialogue, _), (number, kind) in named.items():
        # An import that is cancelled meanwhile takes its events back with its versions.
        event = Event.objects.filter(dialogue=dialogue, number=number).select_related("dialogue").first()
        if event is not None and event.dialogue is not None:
            name = event.dialogue.external_id
            yield f"dialogue {name}: no version has the content that event {number} ({kind}) names"
    for (dialogue, content, toolset), (number, kind) in with_toolset.items():
        if toolset not in toolsets.get((dialogue, content), {toolset}):
            yield f"dialogue {names[dialogue]}: its toolset is not the one that event {number} ({kind}) names"
