"""Which tools are verified. A protocol may demand that dialogues are only verified on verified tools.

A project may name another one in which its toolsets are reviewed (``Project.toolset_review``). Tools are the same if
their content is, whatever the toolset is called. A toolset without tools needs no review.
"""

from collections.abc import Collection, Iterable

from django.db.models import QuerySet

from annotator.core.schema import canonical, content_hash
from annotator.core.schema.toolset_documents import KIND, content_of
from annotator.models import Dialogue, Project, Revision
from annotator.models.content import DialogueStatus
from reviews.core.protocols import Protocol
from reviews.models import ToolsetVerification


def content_hash_of(revision: Revision) -> str:
    """Return the hash that a toolset revision with the tools of this revision of a toolset in review has."""
    return content_hash(canonical(content_of(revision.document())))


def remember_verified(dialogue: Dialogue, revision: Revision) -> None:
    """Record that these tools are verified, if the dialogue is a toolset in review. The caller has locked it."""
    if dialogue.kind == KIND:
        fields = {"project_id": dialogue.project_id, "dialogue": dialogue, "content_hash": content_hash_of(revision)}
        ToolsetVerification.objects.get_or_create(revision=revision, defaults=fields)


def remember_all_verified(keys: Iterable[int]) -> None:
    """Do the same for the heads of many dialogues, whose keys these are."""
    for toolset in Dialogue.objects.filter(pk__in=keys, kind=KIND).select_related("head").order_by("pk"):
        if toolset.head is not None:
            remember_verified(toolset, toolset.head)


def verified_in(project_id: int) -> QuerySet[ToolsetVerification]:
    """Return what is verified now in a project in which toolsets are reviewed."""
    return ToolsetVerification.objects.in_effect().filter(project=project_id)


def demands_verified_tools(project: Project, protocol: Protocol) -> bool:
    """Return whether dialogues that follow the protocol wait for their tools."""
    return protocol.verified_toolsets and project.toolset_review_id is not None


def tools_are_verified(project: Project, protocol: Protocol, revision: Revision) -> bool:
    """Return whether a dialogue may be verified with this revision and its tools."""
    if not demands_verified_tools(project, protocol) or not revision.toolset_revision.tool_count:
        return True
    return revision.toolset_revision.content_hash in _lock_verified(project, [revision.toolset_revision.content_hash])


def with_unverified_tools(project: Project, revisions: Collection[int]) -> set[int]:
    """Return the keys of those revisions, of dialogues that wait for their tools, whose tools aren't verified."""
    rows = Revision.objects.filter(pk__in=revisions, toolset_revision__tool_count__gt=0)
    hashes = dict(rows.values_list("pk", "toolset_revision__content_hash"))
    verified = _lock_verified(project, set(hashes.values()))
    return {key for key, content in hashes.items() if content not in verified}


def waiting_for_tools(project: Project) -> QuerySet[Dialogue]:
    """Return the dialogues that have passed all stages and wait for their tools: in review, but in no stage."""
    rows = Dialogue.objects.filter(project=project, published=True, archived_at=None)
    return rows.filter(status=DialogueStatus.IN_REVIEW, stage="")


def _lock_verified(project: Project, hashes: Collection[str]) -> set[str]:
    """Return which of these contents are verified.

    The toolsets in review are locked until the transaction ends, so that they can't be sent back meanwhile.
    """
    if project.toolset_review_id is None:
        return set()
    rows = verified_in(project.toolset_review_id).filter(content_hash__in=hashes).select_related("dialogue")
    locked = rows.select_for_update(of=("dialogue",), no_key=True).order_by("dialogue_id")
    return {one.content_hash for one in locked}
