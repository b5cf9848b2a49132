"""Replays: a trajectory of a constrained case run through its tools' code, by a worker, in the sandbox."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from annotator.core.constraints.trajectory_parser import check_size, read_trajectory, read_value
from annotator.core.schema import SchemaProblem, canonical, content_hash
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Draft, Job, Replay, Revision, User
from annotator.models.jobs import JOB_ENDED
from annotator.services.jobs.jobs import start_job

#: Replays that one person may have under way at once.
MAX_RUNNING = 3
#: Replays of one dialogue that are kept for one person; older ones go when a new one begins.
MAX_STORED = 20
#: Parts of a case that decide what comes of a replay.
_PARTS = ("constraints", "tool_codes", "unsolved_set", "answer")

Rounds = list[dict[str, Any]]


def start_replay(
    *,
    actor: User,
    dialogue: Dialogue,
    revision: Revision | None = None,
    draft: Draft | None = None,
    trajectory: str | dict[str, Any] | list[Any] | None = None,
    wake_worker: bool = True,
) -> Replay:
    """Ask for a trajectory of a revision, or of the actor's draft, to be run: the reference, or a ``trajectory`` given.

    ``trajectory``: its text, or the JSON value (see ``constraints.trajectory_parser``). The same asked for again while
    it is under way is the same replay. Raises Hidden, Denied for somebody else's draft, Invalid (with ``problems``)
    for what cannot be run, Conflict where the actor has too many under way.
    """
    _require_right(actor, dialogue, revision, draft)
    document = document_of(revision, draft)
    if document["kind"] != "constrained":
        raise Invalid("Only constrained cases can be replayed: other dialogues bring no code for their tools.")
    rounds = _read(trajectory) if trajectory is not None else None
    trajectory = rounds if rounds is not None else document["reference_trajectory"]
    if not trajectory:
        raise Invalid("The case has no reference trajectory yet; add one, or paste a trajectory.")
    _check_size(trajectory)
    key = key_of(document, _toolset_hash(revision, draft), trajectory)
    with transaction.atomic():
        # Whoever asks twice at once waits here.
        User.objects.select_for_update(no_key=True).get(pk=actor.pk)
        own = Replay.objects.filter(requester=actor)
        under_way = list(own.exclude(job__state__in=JOB_ENDED).select_related("job"))
        for one in under_way:
            if one.dialogue_id == dialogue.pk and one.key == key:
                return one
        if len(under_way) >= MAX_RUNNING:
            raise Conflict(f"You have {len(under_way)} replays under way; wait until one of them has ended.")
        _forget_old(own.filter(dialogue=dialogue))
        job = start_job(
            actor=actor, project=dialogue.project, kind="replay", parameters={"key": key}, wake_worker=wake_worker
        )
        return Replay.objects.create(
            project=dialogue.project,
            dialogue=dialogue,
            requester=actor,
            job=job,
            revision=revision,
            draft=draft,
            key=key,
            trajectory=rounds,
        )


def load_replay(*, actor: User, dialogue: Dialogue, public_id: str) -> Replay:
    """A replay of the dialogue that the actor may see. Raises Hidden."""
    rows = Replay.objects.visible_to(actor).filter(dialogue=dialogue, public_id=public_id)
    replay = (
        rows.select_related("job__cancellation", "revision", "draft")
        .defer("revision__content", "draft__content")
        .first()
    )
    if replay is None:
        raise Hidden("There is no such replay of this dialogue, or it is not yours to see.")
    return replay


def last_replay(
    *, actor: User, dialogue: Dialogue, revision: Revision | None = None, draft: Draft | None = None
) -> Replay | None:
    """The last replay of the reference trajectory of just this content that has ended well, if there is one."""
    document = document_of(revision, draft)
    if not document.get("reference_trajectory"):
        return None
    key = key_of(document, _toolset_hash(revision, draft), document["reference_trajectory"])
    rows = Replay.objects.visible_to(actor).filter(dialogue=dialogue, key=key, record__isnull=False)
    return rows.select_related("job").order_by("-pk").first()


def own_replays(*, actor: User, dialogue: Dialogue) -> QuerySet[Replay]:
    """The actor's replays of a dialogue, newest first, without their rounds; ``is_custom`` tells what ran."""
    rows = Replay.objects.visible_to(actor).filter(dialogue=dialogue, requester=actor)
    return (
        rows.select_related("job")
        .annotate(is_custom=Q(trajectory__isnull=False))
        .defer("record", "trajectory")
        .order_by("-pk")
    )


def document_of(revision: Revision | None, draft: Draft | None) -> dict[str, Any]:
    """The content that is run."""
    source = revision or draft
    if source is None:
        raise ValueError("a replay is of a revision or of a draft")
    return source.document()


def key_of(document: dict[str, Any], toolset_hash: str, trajectory: Sequence[Any]) -> str:
    """SHA-256 of all that decides what comes of a replay."""
    parts = {part: document[part] for part in _PARTS}
    return content_hash(canonical(parts | {"toolset": toolset_hash, "trajectory": list(trajectory)}))


def _toolset_hash(revision: Revision | None, draft: Draft | None) -> str:
    source = revision or draft
    assert source is not None  # noqa: S101 - asked before
    return source.toolset_revision.content_hash


def _require_right(actor: User, dialogue: Dialogue, revision: Revision | None, draft: Draft | None) -> None:
    if not Dialogue.objects.visible_to(actor).filter(pk=dialogue.pk).exists():
        raise Hidden("There is no such dialogue in this project.")
    if draft is not None and (draft.author_id != actor.pk or draft.dialogue_id != dialogue.pk):
        raise Denied("This draft is somebody else’s; replay a version of the dialogue instead.")
    if revision is not None:
        visible = Revision.objects.visible_to(actor).filter(dialogue=dialogue, pk=revision.pk)
        if not visible.exists():
            raise Hidden("There is no such revision of this dialogue, or it is not yours to see yet.")


def _read(trajectory: str | dict[str, Any] | list[Any]) -> Rounds:
    try:
        if isinstance(trajectory, str):
            return read_trajectory(trajectory)
        canonical(trajectory)
        return read_value(trajectory)
    except SchemaProblem as problem:
        raise _invalid(problem) from None


def _check_size(trajectory: Rounds) -> None:
    try:
        check_size(trajectory)
    except SchemaProblem as problem:
        raise _invalid(problem) from None


def _invalid(problem: SchemaProblem) -> Invalid:
    problems = [{"pointer": one.pointer, "message": one.message} for one in problem.problems]
    return Invalid(f"The trajectory cannot be run: {problem.problems[0].message}", problems=problems)


def _forget_old(replays: QuerySet[Replay]) -> None:
    """Make room for one more; what was pasted goes with the replay."""
    old = list(replays.order_by("-pk").values_list("pk", "job")[MAX_STORED - 1 :])
    ended = Job.objects.filter(pk__in=[job for _, job in old], state__in=JOB_ENDED)
    Replay.objects.filter(pk__in=[pk for pk, _ in old], job__in=ended).delete()
