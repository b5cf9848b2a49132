"""Whether the versions still are what they were: by their own checksums, and by those that the history names.

The history says of each import, review and outcome which content it was about. So content that was changed in the
database shows even where its checksum was changed with it.
"""

from collections.abc import Iterable, Sequence

from annotator.models import Event, Project, Revision, ToolsetRevision
from annotator.schema import content_hash

#: Texts held at a time.
_TEXTS = 200
_HASH = "content_hash"


def toolset_faults(project: Project) -> Iterable[str]:
    """Toolsets of a project that were changed, as sentences: by them every call is judged."""
    versions = ToolsetRevision.objects.filter(project=project).order_by("pk")
    columns = ("toolset__name", "number", _HASH, "content")
    for name, number, stored, text in versions.values_list(*columns).iterator(_TEXTS):
        if content_hash(text) != stored:
            yield f"toolset {name}: version {number} is not what its checksum says"


def content_faults(dialogues: Sequence[int]) -> Iterable[str]:
    """What was changed in, or removed from, the versions of dialogues, as sentences. All that their events name is held
    in memory: ask for some hundred at a time.
    """
    named: dict[tuple[int, str], tuple[int, str]] = {}
    events = Event.objects.filter(dialogue__in=dialogues, after__has_key=_HASH).order_by("dialogue_id", "number")
    for dialogue, number, kind, after in events.values_list("dialogue_id", "number", "kind", "after").iterator(2000):
        named.setdefault((dialogue, str(after[_HASH])), (number or 0, kind))
    revisions = Revision.objects.filter(dialogue__in=dialogues).order_by("dialogue_id", "pk")
    columns = ("dialogue_id", "dialogue__external_id", "public_id", _HASH, "content")
    for dialogue, external_id, public_id, stored, text in revisions.values_list(*columns).iterator(_TEXTS):
        named.pop((dialogue, stored), None)
        if content_hash(text) != stored:
            yield f"dialogue {external_id}: version {public_id} is not what its checksum says"
    for (dialogue, _), (number, kind) in named.items():
        # An import that is cancelled meanwhile takes its events back with its versions.
        event = Event.objects.filter(dialogue=dialogue, number=number).select_related("dialogue").first()
        if event is not None and event.dialogue is not None:
            name = event.dialogue.external_id
            yield f"dialogue {name}: no version has the content that event {number} ({kind}) names"
