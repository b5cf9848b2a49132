"""Replays: a worker runs a trajectory of a constrained case through its tools' code, in the sandbox."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.core.constraints.trajectory_parser import check_size, read_trajectory, read_value
from annotator.core.schema import SchemaProblem, canonical, content_hash
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Draft, Job, Replay, Revision, User
from annotator.models.jobs import JOB_ENDED
from annotator.services.jobs.jobs import start_job

#: Running replays of one person.
MAX_RUNNING = 3
#: Replays of one dialogue kept for one person; a new one removes the oldest.
MAX_STORED = 20
#: Parts of a case that determine the result of a replay.
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
    """Start a replay of a revision, or of the actor's draft, with its reference trajectory or the given one.

    ``trajectory``: a text or a JSON value (see ``constraints.trajectory_parser``). A repeated request returns the
    running replay. Raises Hidden, Denied for another person's draft, Invalid (with ``problems``), and Conflict if the
    actor has too many running replays.
    """
    _require_right(actor, dialogue, revision, draft)
    document = document_of(revision, draft)
    if document["kind"] != "constrained":
        raise Invalid(_("Only constrained cases can be replayed. Other dialogues have no tool code."))
    rounds = _read(trajectory) if trajectory is not None else None
    trajectory = rounds if rounds is not None else document["reference_trajectory"]
    if not trajectory:
        raise Invalid(_("The case has no reference trajectory yet. Add one, or paste a trajectory."))
    _check_size(trajectory)
    key = key_of(document, _toolset_hash(revision, draft), trajectory)
    with transaction.atomic():
        # One request of a person at a time.
        User.objects.select_for_update(no_key=True).get(pk=actor.pk)
        own = Replay.objects.filter(requester=actor)
        under_way = list(own.exclude(job__state__in=JOB_ENDED).select_related("job"))
        for one in under_way:
            if one.dialogue_id == dialogue.pk and one.key == key:
                return one
        if len(under_way) >= MAX_RUNNING:
            sentence = ngettext(
                "You have %(count)d replay in progress. Wait until it has ended.",
                "You have %(count)d replays in progress. Wait until one has ended.",
                len(under_way),
            )
            raise Conflict(sentence % {"count": len(under_way)})
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
    """Return a replay of the dialogue that the actor may see. Raises Hidden."""
    rows = Replay.objects.visible_to(actor).filter(dialogue=dialogue, public_id=public_id)
    replay = (
        rows.select_related("job__cancellation", "revision", "draft")
        .defer("revision__content", "draft__content")
        .first()
    )
    if replay is None:
        raise Hidden(_("This replay doesn’t exist, or you can’t see it."))
    return replay


def last_replay(
    *, actor: User, dialogue: Dialogue, revision: Revision | None = None, draft: Draft | None = None
) -> Replay | None:
    """Return the last successful replay of this content's reference trajectory, if any."""
    document = document_of(revision, draft)
    if not document.get("reference_trajectory"):
        return None
    key = key_of(document, _toolset_hash(revision, draft), document["reference_trajectory"])
    rows = Replay.objects.visible_to(actor).filter(dialogue=dialogue, key=key, record__isnull=False)
    return rows.select_related("job").order_by("-pk").first()


def own_replays(*, actor: User, dialogue: Dialogue) -> QuerySet[Replay]:
    """Return the actor's replays of a dialogue, newest first, without rounds; ``is_custom``: a pasted trajectory."""
    rows = Replay.objects.visible_to(actor).filter(dialogue=dialogue, requester=actor)
    return (
        rows.select_related("job")
        .annotate(is_custom=Q(trajectory__isnull=False))
        .defer("record", "trajectory")
        .order_by("-pk")
    )


def document_of(revision: Revision | None, draft: Draft | None) -> dict[str, Any]:
    """Return the document to run."""
    source = revision or draft
    if source is None:
        raise ValueError("a replay is of a revision or of a draft")
    return source.document()


def key_of(document: dict[str, Any], toolset_hash: str, trajectory: Sequence[Any]) -> str:
    """Return the SHA-256 of everything that determines the result of a replay."""
    parts = {part: document[part] for part in _PARTS}
    return content_hash(canonical(parts | {"toolset": toolset_hash, "trajectory": list(trajectory)}))


def _toolset_hash(revision: Revision | None, draft: Draft | None) -> str:
    source = revision or draft
    assert source is not None  # noqa: S101 - asked before
    return source.toolset_revision.content_hash


def _require_right(actor: User, dialogue: Dialogue, revision: Revision | None, draft: Draft | None) -> None:
    # A draft is checked below: it is the actor's own.
    seen = Dialogue.objects.workable_by(actor) if draft is not None else Dialogue.objects.visible_to(actor)
    if not seen.filter(pk=dialogue.pk).exists():
        raise Hidden(_("This dialogue doesn’t exist in the project."))
    if draft is not None and (draft.author_id != actor.pk or draft.dialogue_id != dialogue.pk):
        raise Denied(_("This draft belongs to somebody else. Replay a revision of the dialogue instead."))
    if revision is not None:
        visible = Revision.objects.visible_to(actor).filter(dialogue=dialogue, pk=revision.pk)
        if not visible.exists():
            raise Hidden(_("This revision doesn’t exist, or you can’t see it yet."))


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
    sentence = _("The trajectory can’t be run: %(problem)s")
    return Invalid(sentence % {"problem": problem.problems[0].message}, problems=problems)


def _forget_old(replays: QuerySet[Replay]) -> None:
    """Remove the oldest replays to make room for one more."""
    old = list(replays.order_by("-pk").values_list("pk", "job")[MAX_STORED - 1 :])
    ended = Job.objects.filter(pk__in=[job for _, job in old], state__in=JOB_ENDED)
    Replay.objects.filter(pk__in=[pk for pk, _ in old], job__in=ended).delete()
