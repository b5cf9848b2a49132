"""Change a toolset: a new revision of it, and of every dialogue on it, which is then reviewed again.

What was verified was verified with the old tools, so it may no longer be right. The page lists what a change affects
before it is saved. A job then moves one dialogue after the other, and runs the code that they bring.
"""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from annotator.core.execution.signatures import SignatureProblem, compare_signatures
from annotator.core.sandbox import Implementation
from annotator.core.schema import content_hash
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.text import gettext_noop, message
from annotator.errors import Conflict
from annotator.models import Dialogue, Job, Revision, Toolset, ToolsetRevision, User
from annotator.models.content import DialogueStatus, GoldRole
from annotator.models.jobs import JOB_ENDED
from annotator.services.access.permissions import require_administrator
from annotator.services.custom_fields import refresh_fields
from annotator.services.dialogues.revisions import create_revision, lock_dialogue, move_head, refresh_findings
from annotator.services.dialogues.untried import ensure_run, runnables
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Running, job_kind, start_job
from annotator.services.toolsets.details import newest
from annotator.services.toolsets.importing import read_content, same_tools
from annotator.services.toolsets.storing import add_revision, lock_toolsets, revision_with
from reviews.services.cycles.start import supersede_cycle
from reviews.services.protocols.versions import current_version

KIND = "toolset_change"
#: Affected dialogues that a page names; it counts all.
NAMED = 50


@dataclass(frozen=True)
class Change:
    """A change before it is saved. ``affected``: dialogues by status, ``named``: the first of them."""

    text: str
    problems: list[SignatureProblem]
    affected: list[tuple[str, int]]
    named: list[Dialogue]

    @property
    def sha256(self) -> str:
        return content_hash(self.text)

    @property
    def count(self) -> int:
        return sum(count for _status, count in self.affected)


def affected_by(toolset: Toolset) -> QuerySet[Dialogue]:
    """Return the dialogues whose newest revision uses the toolset; gold items and rejected dialogues stay as they are.

    A gold item is retired when the dialogue of its answer is reviewed again.
    """
    rows = Dialogue.objects.filter(
        project=toolset.project_id, published=True, archived_at=None, head__toolset_revision__toolset=toolset
    )
    return rows.exclude(status=DialogueStatus.REJECTED).exclude(gold_role=GoldRole.GOLD)


def signature_problems(content: str) -> list[SignatureProblem]:
    """Return where the code of a toolset's content does not fit its schemas; empty without code."""
    compiled = CompiledToolset.of(content)
    code = compiled.implementation
    if code is None:
        return []
    schemas = {name: tool.parameters for name, tool in compiled.tools.items()}
    return compare_signatures(Implementation(code["source"], code["class"], code["load"]), schemas)


def preview_change(*, actor: User, toolset: Toolset, tools: str, implementation: dict[str, Any] | None) -> Change:
    """Return what a change would do. ``tools``: a JSON list. Raises Invalid, Conflict, and Denied for anyone but
    administrators.
    """
    require_administrator(actor=actor, project=toolset.project)
    text = read_content(tools, implementation)
    if content_hash(text) == newest(toolset).content_hash:
        raise Conflict(_("Nothing was changed, so there is no new revision to save."))
    same = revision_with(toolset.project, content_hash(text))
    if same is not None:
        raise same_tools(same.number, same.toolset)
    affected = affected_by(toolset)
    counts = affected.order_by("status").values_list("status").annotate(Count("pk"))
    return Change(text, signature_problems(text), list(counts), list(affected.order_by("external_id")[:NAMED]))


def change_toolset(
    *,
    actor: User,
    toolset: Toolset,
    tools: str,
    implementation: dict[str, Any] | None,
    seen: int,
    wake_worker: bool = True,
) -> Job:
    """Save a new revision of a toolset, and start the job that moves its dialogues. ``seen``: the newest revision's
    number as the page showed it.

    Raises what ``preview_change`` raises, and Conflict if somebody else has changed the toolset since.
    """
    require_administrator(actor=actor, project=toolset.project)
    with transaction.atomic():
        lock_toolsets(toolset.project)
        toolset.refresh_from_db(fields=["head"])
        last = newest(toolset)
        if last.number != seen:
            raise Conflict(
                _("%(toolset)s was changed in the meantime. Copy your changes, and reload the page.")
                % {"toolset": toolset.name}
            )
        if _unfinished(toolset) is not None:
            raise Conflict(_("The last change of these tools is still being carried out. Wait until it has ended."))
        change = preview_change(actor=actor, toolset=toolset, tools=tools, implementation=implementation)
        revision = add_revision(actor, toolset, change.text, number=last.number + 1)
        append_event(
            actor=actor,
            project=toolset.project,
            kind="toolset.changed",
            before={"number": last.number, "sha256": last.content_hash},
            after={
                "toolset": toolset.name, "number": revision.number, "sha256": revision.content_hash,
                "dialogues": change.count,
            },
        )  # fmt: skip
        return start_job(
            actor=actor,
            project=toolset.project,
            kind=KIND,
            parameters={"toolset": toolset.public_id, "revision": revision.pk},
            wake_worker=wake_worker,
        )


def _unfinished(toolset: Toolset) -> Job | None:
    jobs = Job.objects.filter(project=toolset.project_id, kind=KIND, parameters__toolset=toolset.public_id)
    return jobs.exclude(state__in=JOB_ENDED).first()


def last_job(toolset: Toolset) -> Job | None:
    """Return the job of the last change; None if there was none."""
    jobs = Job.objects.filter(project=toolset.project_id, kind=KIND, parameters__toolset=toolset.public_id)
    return jobs.order_by("-pk").first()


# --- in a worker -----------------------------------------------------------------------------------------------------


@job_kind(KIND, gettext_noop("Change of a toolset"), untrusted=True)
def run_toolset_change(running: Running) -> dict[str, Any]:
    """Move each dialogue to the new tools and reopen it. Raises Conflict, at the end, if some could not be moved."""
    parameters = running.job.parameters
    revision = ToolsetRevision.objects.select_related("toolset__project").get(pk=parameters["revision"])
    toolset, actor = revision.toolset, running.job.requester
    waiting = affected_by(toolset).exclude(head__toolset_revision=revision).order_by("pk")
    keys = list(waiting.values_list("pk", flat=True))
    refused: list[str] = []
    done = running.checkpoint.get("done", 0)
    total = done + len(keys)
    for key in keys:
        moved = None
        try:
            with running.chunk() as chunk:
                moved = _move(actor, key, revision)
                done += 1
                chunk.advance(done=done, total=total, checkpoint={"done": done})
        except Conflict as refusal:
            refused.append(refusal.sentence)
            continue
        if moved is not None:
            _run(running, moved)
    if refused:
        raise Conflict(
            message(
                "Moved: %(done)s. Not moved: %(count)s. The first reason: %(reason)s Repeat the job.",
                done=f"{done:,}",
                count=f"{len(refused):,}",
                reason=refused[0],
            )
        )
    return {"dialogues": done}


def _move(actor: User | None, key: int, tools: ToolsetRevision) -> Revision | None:
    """Write the same content with the new tools, and begin its review again; None if that is done already."""
    dialogue = lock_dialogue(key)
    seen = dialogue.head
    if seen is None or seen.toolset_revision_id == tools.pk:
        return None
    reason = f"The tools changed: revision {tools.number} of {tools.toolset.name}."
    revision = create_revision(
        actor=actor, dialogue=dialogue, document=seen.document(), parent=seen, message=reason, toolset_revision=tools
    )
    refresh_fields(dialogue.project)
    move_head(dialogue=dialogue, revision=revision, stage="import")
    append_event(
        actor=actor,
        project=dialogue.project,
        dialogue=dialogue,
        kind="dialogue.tools_changed",
        before={"content_hash": seen.content_hash, "toolset_hash": seen.toolset_revision.content_hash},
        after={
            "content_hash": revision.content_hash, "toolset_hash": tools.content_hash, "toolset": tools.toolset.name,
            "number": tools.number,
        },
    )  # fmt: skip
    if current_version(dialogue.project) is not None:
        supersede_cycle(actor=actor, dialogue=dialogue, reason=reason, force=True)
    return revision


def _run(running: Running, revision: Revision) -> None:
    """Run what the dialogue brings with the new tools, so that people see the results."""
    ran = [ensure_run(one, beat=running.beat) for one in runnables(revision.document(), revision.toolset_revision)]
    if ran:
        with running.chunk():
            refresh_findings(revision=revision, stage="import")
