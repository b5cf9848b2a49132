"""Pauses: nothing new is given out in a project, in a stage or to a person; what is held can be handed in."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Membership, Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from reviews.models import AssignmentRules, Pause
from reviews.services.protocols.versions import stage_titles
from reviews.services.queue.absence import free_reserved

MAX_REASON = 300


@dataclass(frozen=True)
class ClaimLimits:
    """What keeps a person from being given work. Sentences; blank: nothing does."""

    #: The project's or the person's own pause.
    bar: str = ""
    #: Stage → why nothing of it is given out.
    stages: dict[str, str] = field(default_factory=dict)
    #: How many items they may hold at a time; None: as many as they like.
    most_held: int | None = None


FREE = ClaimLimits()


def read_claim_limits(*, actor: User, project: Project) -> ClaimLimits:
    """What keeps the actor from being given work in a project."""
    bar, stages, titles = "", {}, stage_titles(project)
    for pause in live_pauses(project).order_by("-stage"):
        if pause.what == "project" or pause.person_id == actor.pk:
            bar = sentence(pause, titles)
        elif pause.what == "stage":
            stages[pause.stage] = sentence(pause, titles)
    most = AssignmentRules.objects.filter(project=project).values_list("most_held", flat=True).first()
    return ClaimLimits(bar, stages, most)


def pauses_for(*, actor: User, project: Project, stages: Sequence[str]) -> list[Pause]:
    """Pauses by which the actor is given nothing, or nothing of one of ``stages``. One question to the database."""
    return [
        one
        for one in live_pauses(project).order_by("stage", "pk")
        if one.what == "project" or one.person_id == actor.pk or (one.what == "stage" and one.stage in stages)
    ]


def live_pauses(project: Project) -> QuerySet[Pause]:
    """The pauses of a project that have not ended."""
    return Pause.objects.filter(project=project, ended_at=None)


def sentence(pause: Pause, titles: dict[str, str]) -> str:
    """Why nothing is given out, to whoever asked for work."""
    because = f": {pause.reason.rstrip('.')}." if pause.reason else "."
    if pause.what == "project":
        return f"Work in this project is paused{because} What you hold you can still hand in."
    if pause.what == "stage":
        return f"“{titles.get(pause.stage, pause.stage)}” is paused{because} Take something of another stage."
    return f"You are paused in this project{because} What you hold you can still hand in; an administrator resumes you."


def pause(
    *, actor: User, project: Project, person: User | None = None, stage: str = "", reason: str = ""
) -> tuple[Pause, int]:
    """Give out nothing new: to ``person``, in ``stage``, or (neither) in all of the project. What is held stays held.

    What is reserved for a paused person is opened to all; returns the pause and how many slots that were (the rest of
    very many follows by itself). Raises Denied, Invalid for an unknown stage or a stranger, Conflict where it is paused
    already.
    """
    require_administrator(actor=actor, project=project)
    reason = reason.strip()
    if len(reason) > MAX_REASON or "\x00" in reason:
        raise Invalid(f"The reason has at most {MAX_REASON} characters, none of them NUL.", field="reason")
    titles = stage_titles(project)
    if person is not None and stage:
        raise Invalid("Pause a person or a stage, not both at once.")
    if stage and stage not in titles:
        raise Invalid(f"This project has no stage called “{stage[:40]}”; it has: {', '.join(titles) or 'none yet'}.")
    with transaction.atomic():
        if person is not None:
            # Claims of theirs that are being made are made; later ones find the pause.
            members = Membership.objects.live().filter(project=project, user=person)
            if not list(members.select_for_update(no_key=True).order_by("pk")):
                raise Invalid(f"{person} is no member of this project.")
        try:
            with transaction.atomic():
                made = Pause.objects.create(project=project, person=person, stage=stage, reason=reason, actor=actor)
        except IntegrityError:
            known = Pause.objects.filter(project=project, person=person, stage=stage, ended_at=None).first()
            if known is not None and (known.actor, known.reason) == (actor, reason):
                # A second click.
                return known, 0
            raise Conflict("That is paused already; end the pause before you begin another one.") from None
        append_event(actor=actor, project=project, kind=f"{made.what}.paused", after=_as_event(made))
    freed = 0 if person is None else free_reserved(project=project, people={person.pk: "paused"}, actor=actor)
    return made, freed


def resume(*, actor: User, project: Project, public_id: str) -> Pause:
    """Give out work again. A pause that has ended stays so. Raises Denied, Hidden."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        found = Pause.objects.select_for_update(of=("self",)).filter(project=project, public_id=public_id)
        ended = found.select_related("person").first()
        if ended is None:
            raise Hidden("There is no such pause in this project.")
        if ended.ended_at is not None:
            return ended
        ended.ended_at, ended.ended_by = timezone.now(), actor
        ended.save(update_fields=["ended_at", "ended_by"])
        append_event(actor=actor, project=project, kind=f"{ended.what}.resumed", before=_as_event(ended))
    return ended


def set_rules(
    *, actor: User, project: Project, most_held: int | None, absent_days: int | None, keep: Collection[str] = ()
) -> AssignmentRules:
    """Say how many items one person may hold, and when somebody counts as away (None: no limit, never).

    ``keep``: names of those of the two that stay as they are. Raises Denied, or Invalid for a number out of bounds.
    """
    require_administrator(actor=actor, project=project)
    for name, value, most in (("most_held", most_held, 500), ("absent_days", absent_days, 365)):
        if value is not None and not 1 <= value <= most:
            raise Invalid(f"The number must lie between 1 and {most}; leave it empty for no limit.", field=name)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        rules = AssignmentRules.objects.filter(project=project).first() or AssignmentRules(project=project)
        before = {"most_held": rules.most_held, "absent_days": rules.absent_days}
        after = {"most_held": most_held, "absent_days": absent_days}
        after |= {name: before[name] for name in keep}
        if rules.pk is None or before != after:
            rules.most_held, rules.absent_days = after["most_held"], after["absent_days"]
            rules.save()
            append_event(actor=actor, project=project, kind="assignment_rules.changed", before=before, after=after)
    return rules


def _as_event(one: Pause) -> dict[str, str]:
    event = {"pause": one.public_id, "reason": one.reason}
    if one.person is not None:
        event["person"] = one.person.public_id
    if one.stage:
        event["stage"] = one.stage
    return event
