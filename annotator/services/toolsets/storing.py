"""Store toolsets: a new one, and the next revision of one."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from annotator.core.schema import canonical, content_hash
from annotator.core.schema.exact_json import load_stored
from annotator.core.schema.toolsets import toolset_content
from annotator.core.tools.facts import facts_of
from annotator.models import Project, Toolset, ToolsetRevision, User
from annotator.services.history.events import append_event

#: Characters of a name, with a number after it if another toolset has it.
MAX_NAME = 110


def ensure_toolset_revision(
    *,
    actor: User | None,
    project: Project,
    tools: list[dict[str, Any]],
    name: str,
    implementation: dict[str, Any] | None = None,
) -> ToolsetRevision:
    """Return the project's toolset revision with exactly these tools; create it as ``name`` if there is none.

    Raises SchemaProblem if the tools or their implementation are not valid.
    """
    text = canonical(toolset_content(tools, implementation))
    known = revision_with(project, content_hash(text))
    if known is not None:
        return known
    with transaction.atomic():
        lock_toolsets(project)
        return revision_with(project, content_hash(text)) or add_toolset(actor, project, text, name, {})


def revision_with(project: Project, sha256: str) -> ToolsetRevision | None:
    """Return the revision with this content, whichever toolset of the project it is of; None if there is none."""
    return ToolsetRevision.objects.select_related("toolset").filter(project=project, content_hash=sha256).first()


def lock_toolsets(project: Project) -> None:
    """Keep other transactions from adding or changing toolsets of the project, so that no name or content is twice."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)


def add_toolset(
    actor: User | None, project: Project, text: str, name: str, details: Mapping[str, Any]
) -> ToolsetRevision:
    """Create a toolset with its first revision. The caller holds the lock and knows that no revision has the content.

    ``details``: other fields of the toolset. If another toolset has the name, a number is added to it.
    """
    title, number = name[:MAX_NAME], 1
    while Toolset.objects.filter(project=project, name=title).exists():
        number += 1
        title = f"{name[:MAX_NAME]} ({number})"
    toolset = Toolset.objects.create(project=project, name=title, **details)
    revision = add_revision(actor, toolset, text, number=1)
    append_event(
        actor=actor,
        project=project,
        kind="toolset.added",
        after={"toolset": title, "tools": revision.tool_count, "sha256": revision.content_hash},
    )
    return revision


def add_revision(actor: User | None, toolset: Toolset, text: str, *, number: int) -> ToolsetRevision:
    """Write a revision, the newest one from now on. The caller holds the lock, and records the event."""
    tools: Sequence[Mapping[str, Any]] = load_stored(text)["tools"]
    revision = ToolsetRevision.objects.create(
        project=toolset.project,
        toolset=toolset,
        number=number,
        author=actor,
        content_hash=content_hash(text),
        content=text,
        tool_count=len(tools),
        facts=facts_of(tools),
    )
    toolset.head = revision
    toolset.save(update_fields=["head"])
    return revision
