"""Pauses of a project, a stage or a person: nothing new can be claimed; claimed items can be submitted."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.abilities import ANYTHING, Abilities
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Membership, Project, User
from annotator.services.abilities import abilities_of
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from reviews.models import AssignmentRules, Pause
from reviews.services.protocols.versions import stage_titles
from reviews.services.queue.absence import free_reserved

MAX_REASON = 300


@dataclass(frozen=True)
class ClaimLimits:
    """What restricts a person's claims; the reasons are sentences, blank if there are none."""

    #: The project's or the person's own pause.
    bar: str = ""
    #: Stage → why nothing of it can be claimed.
    stages: dict[str, str] = field(default_factory=dict)
    #: How many items they may have claimed at a time; None: no limit.
    most_held: int | None = None
    #: Their languages and skills: in the queues they get nothing else.
    abilities: Abilities = ANYTHING


FREE = ClaimLimits()


def read_claim_limits(*, actor: User, project: Project) -> ClaimLimits:
    """Return the reasons why the actor cannot claim items in a project."""
    bar, stages, titles = "", {}, stage_titles(project)
    for pause in live_pauses(project).order_by("-stage"):
        if pause.what == "project" or pause.person_id == actor.pk:
            bar = sentence(pause, titles)
        elif pause.what == "stage":
            stages[pause.stage] = sentence(pause, titles)
    most = AssignmentRules.objects.filter(project=project).values_list("most_held", flat=True).first()
    return ClaimLimits(bar, stages, most, abilities_of(project, actor))


def pauses_for(*, actor: User, project: Project, stages: Sequence[str]) -> list[Pause]:
    """Return the pauses that concern the actor, or one of ``stages``, in one query."""
    return [
        one
        for one in live_pauses(project).order_by("stage", "pk")
        if one.what == "project" or one.person_id == actor.pk or (one.what == "stage" and one.stage in stages)
    ]


def live_pauses(project: Project) -> QuerySet[Pause]:
    """Return the pauses of a project that have not ended."""
    return Pause.objects.filter(project=project, ended_at=None)


def changed_since(rows: QuerySet[Pause], moment: datetime) -> QuerySet[Pause]:
    """Narrow pauses down to those that began or ended since."""
    return rows.filter(Q(created_at__gte=moment) | Q(ended_at__gte=moment))


def sentence(pause: Pause, titles: dict[str, str]) -> str:
    """Return what a pause means for a person who wants to claim an item."""
    because = f": {pause.reason.rstrip('.')}." if pause.reason else "."
    if pause.what == "project":
        text = _("Work in this project is paused%(reason)s You can still submit the items you have claimed.")
    elif pause.what == "stage":
        text = _("“%(stage)s” is paused%(reason)s Claim an item in another stage.")
    else:
        text = _(
            "An administrator has paused your work in this project%(reason)s You can still submit the items you have "
            "claimed."
        )
    return text % {"stage": titles.get(pause.stage, pause.stage), "reason": because}


def pause(
    *, actor: User, project: Project, person: User | None = None, stage: str = "", reason: str = ""
) -> tuple[Pause, int]:
    """Pause ``person``, ``stage``, or (neither) the whole project: nothing new can be claimed; claims stay.

    Slots reserved for a paused person are opened to all; return the pause and the number of these slots (if there are
    very many, the rest follows later). Raises Denied, Invalid for an unknown stage or an outsider, Conflict if it is
    already paused.
    """
    require_administrator(actor=actor, project=project)
    reason = reason.strip()
    if len(reason) > MAX_REASON or "\x00" in reason:
        raise Invalid(
            _("The reason may have at most %(limit)s characters and no NUL character.") % {"limit": MAX_REASON},
            field="reason",
        )
    titles = stage_titles(project)
    if person is not None and stage:
        raise Invalid(_("Pause either a person or a stage, not both."))
    if stage and stage not in titles:
        raise Invalid(
            _("This project has no stage “%(stage)s”. Its stages are: %(stages)s.")
            % {"stage": stage[:40], "stages": ", ".join(titles) or _("none yet")}
        )
    with transaction.atomic():
        if person is not None:
            # Wait for their claims in progress; later ones see the pause.
            members = Membership.objects.live().filter(project=project, user=person)
            if not list(members.select_for_update(no_key=True).order_by("pk")):
                raise Invalid(_("%(person)s isn’t a member of this project.") % {"person": person})
        try:
            with transaction.atomic():
                made = Pause.objects.create(project=project, person=person, stage=stage, reason=reason, actor=actor)
        except IntegrityError:
            known = Pause.objects.filter(project=project, person=person, stage=stage, ended_at=None).first()
            if known is not None and (known.actor, known.reason) == (actor, reason):
                # A second click.
                return known, 0
            raise Conflict(_("This is already paused. End that pause first.")) from None
        append_event(actor=actor, project=project, kind=f"{made.what}.paused", after=_as_event(made))
    freed = 0 if person is None else free_reserved(project=project, people={person.pk: "paused"}, actor=actor)
    return made, freed


def resume(*, actor: User, project: Project, public_id: str) -> Pause:
    """End a pause. Does nothing if it has ended. Raises Denied, Hidden."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        found = Pause.objects.select_for_update(of=("self",)).filter(project=project, public_id=public_id)
        ended = found.select_related("person").first()
        if ended is None:
            raise Hidden(_("This pause doesn’t exist in the project."))
        if ended.ended_at is not None:
            return ended
        ended.ended_at, ended.ended_by = timezone.now(), actor
        ended.save(update_fields=["ended_at", "ended_by"])
        append_event(actor=actor, project=project, kind=f"{ended.what}.resumed", before=_as_event(ended))
    return ended


def set_rules(
    *, actor: User, project: Project, most_held: int | None, absent_days: int | None, keep: Collection[str] = ()
) -> AssignmentRules:
    """Set how many items one person may claim, and after how many days a person counts as away (None: no limit).

    ``keep``: names of the settings that stay as they are. Raises Denied, or Invalid for a number out of range.
    """
    require_administrator(actor=actor, project=project)
    for name, value, most in (("most_held", most_held, 500), ("absent_days", absent_days, 365)):
        if value is not None and not 1 <= value <= most:
            raise Invalid(
                _("Enter a number from 1 to %(limit)s, or leave it empty for no limit.") % {"limit": most}, field=name
            )
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
