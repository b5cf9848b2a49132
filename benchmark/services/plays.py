"""Play composites: the reference solution from recorded results, and pasted dialogues by running their calls."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.core.composites.delays import Delay, read_delay
from annotator.core.composites.dialogue import Dialogue as Play
from annotator.core.composites.dialogue import play
from annotator.core.composites.prompt import first_message, system_prompt
from annotator.core.composites.reference import play_reference
from annotator.core.composites.running import executed, running
from annotator.core.execution.running import Execution
from annotator.core.execution.subjects import Subject, subject_of
from annotator.core.sandbox import SandboxUnavailable, Trajectory, TrajectoryRun, shared_sandbox
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.text import gettext_noop, message
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Job, JobState, Project, User
from annotator.models.jobs import JOB_ENDED
from annotator.services.dialogues.composites import COMPOSITE, member_revisions
from annotator.services.dialogues.executions import ensure_executed, read_execution
from annotator.services.jobs.jobs import Running, job_kind, lock_requester, start_job
from benchmark.core.composing.plays import UnreadableMessages, describe_play, read_messages
from benchmark.core.scoring.delayed import GoldTask, score_dialogue

KIND = "play"
#: The delay at which a page opens: results come one round later.
DEFAULT_DELAY = "1"
#: Seconds that the code of one played dialogue may take.
MAX_SECONDS = 60.0


@dataclass(frozen=True)
class Member:
    """A task of a composite that can be played: what runs, and its tools. ``execution``: None if it has not run."""

    id: str
    document: dict[str, Any]
    subject: Subject
    tools: CompiledToolset
    execution: Execution | None

    @property
    def gold(self) -> GoldTask:
        """The gold of the task, which has run."""
        done = self.execution
        assert done is not None  # noqa: S101 - the caller has looked
        results = [outcome.result for outcome in done.outcomes]
        schemas = {tool.name: tool.parameters for tool in self.tools.tools.values()}
        return GoldTask(self.subject.tool_calls, results, done.initial_sha256, done.final_sha256, schemas)


def require_composite(document: Mapping[str, Any]) -> None:
    """Raise Hidden for other documents."""
    if document["kind"] != COMPOSITE:
        raise Hidden(_("Only composites can be played."))


def load_members(*, actor: User | None, project: Project, document: Mapping[str, Any]) -> list[Member]:
    """Return the tasks of a composite in its order. Raises Invalid if one cannot be played, with the reason.

    ``actor`` None is a worker, which works for somebody who was allowed to see all tasks.
    """
    revisions = member_revisions(actor=actor, project=project, tasks=document["tasks"])
    members = []
    for task in document["tasks"]:
        name, revision = task["single"], revisions.get(task["id"])
        if revision is None:
            raise Invalid(
                message(
                    "The revision of %(name)s that this composite refers to can’t be read. Use its current revision, "
                    "or choose another task.",
                    name=name,
                )
            )
        single, toolset = revision.document(), CompiledToolset.of(revision.toolset_revision.content)
        subject = subject_of(single, toolset)
        if isinstance(subject, str):
            raise Invalid(message("%(name)s can’t be run. %(reason)s", name=name, reason=subject))
        record = read_execution(subject)
        execution = record.execution(subject) if record else None
        members.append(Member(task["id"], single, subject, toolset, execution))
    return members


def opening(members: list[Member]) -> list[str]:
    """Return the messages that a model gets before the first round: the system's and the user's."""
    # Tasks with the same tools share their functions.
    toolsets = {member.tools.content_hash: member.tools for member in members}
    functions = [
        {"name": tool.name, "description": tool.spec.description, "parameters": tool.parameters}
        for toolset in toolsets.values()
        for tool in toolset.tools.values()
    ]
    return [
        system_prompt(functions),
        first_message({member.id: member.document["tasks"][0]["user_message"] for member in members}),
    ]


def choose_delay(name: str, seed: str) -> Delay:
    """Return the delay that a page or request asks for. Raises Invalid."""
    if not (seed.isascii() and seed.isdigit() and len(seed) < 10):
        raise Invalid(_("The seed must be a whole number from 0 to 999,999,999."))
    try:
        return read_delay(name, int(seed))
    except ValueError as problem:
        raise Invalid(str(problem)) from None


def play_gold(document: Mapping[str, Any], members: list[Member], delay: Delay) -> dict[str, Any] | None:
    """Return the reference solution as ``describe_play`` does; None if a member has not run yet."""
    executions = {member.id: member.execution for member in members if member.execution is not None}
    if len(executions) < len(members):
        return None
    dialogue = Play(tuple(executions), delay, document["max_rounds"], executed(executions))
    play_reference(dialogue, {member.id: member.subject.tool_calls for member in members})
    return _described(dialogue, members)


def _described(dialogue: Play, members: list[Member]) -> dict[str, Any]:
    score = score_dialogue(dialogue, {member.id: member.gold for member in members})
    initial = {member.id: member.execution.initial_state for member in members if member.execution}
    return describe_play(dialogue, score, initial)


def start_play(
    *, actor: User, dialogue: Dialogue, document: Mapping[str, Any], delay: str, seed: str, messages: str
) -> Job:
    """Let a worker play a model's messages, or the reference solution if they are blank; it runs what has not run.

    Raises Invalid, and Conflict if the person has another one in progress.
    """
    require_composite(document)
    choose_delay(delay, seed)
    load_members(actor=actor, project=dialogue.project, document=document)
    try:
        texts = read_messages(messages) if messages.strip() else None
    except UnreadableMessages as problem:
        raise Invalid(str(problem)) from None
    parameters = {
        "dialogue": dialogue.public_id,
        "tasks": document["tasks"],
        "max_rounds": document["max_rounds"],
        "delay": delay,
        "seed": seed,
        "messages": texts,
    }
    with transaction.atomic():
        lock_requester(actor.pk)
        if Job.objects.filter(requester=actor, kind=KIND).exclude(state__in=JOB_ENDED).exists():
            raise Conflict(_("You have another dialogue in progress. Wait until it has ended."))
        return start_job(actor=actor, project=dialogue.project, kind=KIND, parameters=parameters)


def load_play(*, actor: User, dialogue: Dialogue, public_id: str) -> Job:
    """Return a play of a dialogue that the actor started. Raises Hidden."""
    job = Job.objects.filter(requester=actor, kind=KIND, public_id=public_id).first()
    if job is None or job.parameters["dialogue"] != dialogue.public_id:
        raise Hidden(_("This play doesn’t exist, or you can’t see it."))
    return job


def read_play(job: Job) -> dict[str, Any] | None:
    """Return what a play led to, as ``describe_play`` does; None until it has ended, or if it has failed."""
    return job.result if job.state == JobState.DONE and job.result.get("rounds") else None


# --- in a worker -----------------------------------------------------------------------------------------------------


@job_kind(KIND, gettext_noop("Play of a composite"), quiet=True, untrusted=True)
def run_play(running_job: Running) -> dict[str, Any]:
    """Run the job kind ``play``; the result is what ``describe_play`` returns."""
    parameters, project = running_job.job.parameters, running_job.job.project
    members = load_members(actor=None, project=project, document=parameters)
    for member in members:
        ensure_executed(member.subject, beat=running_job.beat)
    members = load_members(actor=None, project=project, document=parameters)
    delay = choose_delay(parameters["delay"], parameters["seed"])
    if parameters["messages"] is None:
        return play_gold(parameters, members, delay) or {}
    began = time.monotonic()

    def run(trajectory: Trajectory, twice: bool) -> TrajectoryRun:
        if time.monotonic() - began > MAX_SECONDS:
            raise Conflict(
                message("The calls took more than %(seconds)s seconds. Play fewer.", seconds=f"{MAX_SECONDS:.0f}")
            )
        found = shared_sandbox().run_trajectory(trajectory, twice=twice)
        running_job.beat()
        return found

    tools = {member.id: (member.subject.tool, member.subject.start) for member in members}
    dialogue = Play(tuple(tools), delay, parameters["max_rounds"], running(run, tools))
    try:
        play(dialogue, parameters["messages"])
    except SandboxUnavailable as why:
        raise Conflict(message("The code couldn’t be run. %(reason)s", reason=str(why))) from None
    return _described(dialogue, members)
