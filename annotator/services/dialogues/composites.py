"""Composites and their single tasks: what a composite refers to, and which composites refer to a single task."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.composites.members import Single, member_of
from annotator.errors import Invalid
from annotator.models import CompositeMember, Dialogue, Project, Revision, User
from annotator.models.content import DialogueQuerySet, DialogueStatus
from annotator.services.jobs.jobs import start_job

COMPOSITE, SINGLE = "composite", "single_task"
#: Of a single task and its head, composites need the hash of the tools only.
UNREAD = ("search_text", "head__toolset_revision__content")
#: The job that checks composites after a single task has changed.
KIND = "composites"


def single_tasks(project: Project) -> DialogueQuerySet:
    """Return the project's single tasks that composites may refer to, without gold items."""
    return Dialogue.objects.filter(project=project, kind=SINGLE, published=True, archived_at=None).counted()


def singles_of(document: Mapping[str, Any], project: Project) -> dict[str, Single] | None:
    """Return the single tasks that a composite refers to, as they are now, by id; None for other documents."""
    if document["kind"] != COMPOSITE:
        return None
    rows = single_tasks(project).filter(external_id__in=[task["single"] for task in document["tasks"]])
    return {
        one.external_id: _state(one, one.head)
        for one in rows.select_related("head__toolset_revision").defer(*UNREAD)
        if one.head is not None
    }


def _state(dialogue: Dialogue, head: Revision) -> Single:
    document = head.document()
    return Single(
        head.content_hash,
        head.toolset_revision.content_hash,
        document["tasks"][0]["user_message"],
        document["category"],
        len(document["tasks"][0]["steps"]),
        verified=dialogue.status == DialogueStatus.VERIFIED,
        faulty=dialogue.error_count > 0,
    )


def remember_members(dialogue: Dialogue, document: Mapping[str, Any]) -> None:
    """Store what a composite's head refers to. The caller holds the dialogue's row lock."""
    if document["kind"] != COMPOSITE:
        return
    named = {task["single"] for task in document["tasks"]}
    stored = CompositeMember.objects.filter(composite=dialogue)
    stored.exclude(single__in=named).delete()
    new = named - set(stored.values_list("single", flat=True))
    CompositeMember.objects.bulk_create(CompositeMember(composite=dialogue, single=name) for name in sorted(new))


def composites_of(dialogue: Dialogue) -> Iterator[Revision]:
    """Yield the heads of the composites that refer to a single task, in the order of the composites' keys."""
    using = CompositeMember.objects.filter(single=dialogue.external_id, composite__project=dialogue.project_id)
    heads = Dialogue.objects.filter(pk__in=using.values("composite"), archived_at=None).values("head")
    yield from Revision.objects.filter(pk__in=heads).select_related("toolset_revision").order_by("dialogue")


def check_composites_of(dialogue: Dialogue) -> None:
    """Let a worker check the composites that refer to a single task, after it has changed.

    A job, because these rows may not be locked while the single task is.
    """
    if is_used(dialogue):
        start_job(actor=None, project=dialogue.project, kind=KIND, parameters={"dialogue": dialogue.public_id})


def is_used(dialogue: Dialogue) -> bool:
    """Return whether a composite refers to a single task."""
    using = CompositeMember.objects.filter(single=dialogue.external_id, composite__project=dialogue.project_id)
    return dialogue.kind == SINGLE and using.filter(composite__archived_at=None).exists()


def with_member(*, actor: User, dialogue: Dialogue, operation: Mapping[str, Any]) -> dict[str, Any]:
    """Return an edit of a composite with the revision of the single task that it names.

    Raises Invalid if there is no such single task, or it is not verified.
    """
    if operation.get("op") != "replace_task" or dialogue.kind != COMPOSITE:
        return dict(operation)
    name = operation.get("single")
    rows = single_tasks(dialogue.project).shown_to(actor).filter(external_id=str(name)[:200])
    single = rows.select_related("head__toolset_revision").defer(*UNREAD).first()
    if single is None or single.head is None:
        raise Invalid(_("There is no single task “%(name)s” in this project.") % {"name": str(name)[:80]})
    if single.status != DialogueStatus.VERIFIED:
        raise Invalid(_("%(name)s is not verified. Choose a verified single task.") % {"name": single.external_id})
    return {**operation, "member": member_of_row(single, number=_number_of(operation))}


def member_of_row(single: Dialogue, *, number: int) -> dict[str, Any]:
    """Return a composite's task that refers to the head of ``single``, loaded with its toolset revision."""
    head = single.head
    assert head is not None  # noqa: S101 - published dialogues have one
    return member_of(
        single.external_id,
        head.document(),
        sha256=head.content_hash,
        toolset_sha256=head.toolset_revision.content_hash,
        number=number,
    )


def _number_of(operation: Mapping[str, Any]) -> int:
    """Return a number for a task without a usable name: that of the task that it replaces, else one above all."""
    last = str(operation.get("anchor", "")).rpartition("/")[2].removeprefix("t")
    return int(last) if last.isascii() and last.isdigit() and len(last) < 4 else 1_000


def member_revisions(
    *, actor: User | None, project: Project, tasks: Iterable[Mapping[str, Any]]
) -> dict[str, Revision]:
    """Return the revisions that a composite's tasks refer to, by id of the task.

    Missing: a task without a revision, one whose revision is gone, and one that the actor may not see.
    """
    wanted = {(task["single"], task["sha256"], task["toolset_sha256"]): task["id"] for task in tasks if task["sha256"]}
    rows = single_tasks(project).filter(external_id__in=[name for name, _hash, _tools in wanted])
    if actor is not None:
        rows = rows.shown_to(actor)
    revisions = Revision.objects.filter(
        dialogue__in=rows, sealed=False, content_hash__in=[one for _name, one, _tools in wanted]
    )
    found: dict[str, Revision] = {}
    for revision in revisions.select_related("dialogue", "toolset_revision").order_by("pk"):
        key = (revision.dialogue.external_id, revision.content_hash, revision.toolset_revision.content_hash)
        if key in wanted:
            found[wanted[key]] = revision
    return found
