"""Work that a new guideline version makes outdated: preview, mark, send back, withdraw.

A change of the guideline outdates dialogues that were reviewed under an earlier version and have one of the given
policies, or an error of one of the given types (or all of them, if neither is given). A marked dialogue stays flagged
until it restarts the protocol or the change is withdrawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.schema.documents import Policy
from annotator.core.text import gettext_noop, message
from annotator.errors import Conflict, DomainError, Hidden, Invalid
from annotator.models import (
    Dialogue,
    Guideline,
    GuidelineChange,
    Job,
    JobState,
    NoticeKind,
    OutdatedDialogue,
    Project,
    User,
)
from annotator.models.content import DialogueQuerySet, DialogueStatus, GoldRole
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.outdated import clear_outdated
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Running, job_kind, start_job
from annotator.services.notices.notices import notify
from reviews.models import GoldItem
from reviews.services.cycles.start import supersede_cycle
from reviews.services.gold.settings import retire_with
from reviews.services.protocols.versions import current_protocol
from reviews.services.transitions.outdated_flags import Scope, flag, flagged, touched

JOB = "send_back_outdated"
#: Dialogues that the job loads at a time.
CHUNK = 20
MAX_SHOWN = 20


@dataclass(frozen=True)
class Preview:
    """What marking or sending back would affect: the number by status, and the first few."""

    total: int
    statuses: list[tuple[DialogueStatus, int]]
    first: list[Dialogue]


def read_scope(*, project: Project, number: int, policies: Sequence[str], error_types: Sequence[str]) -> Scope:
    """Return the scope of a form. Raises Hidden (no such version), Invalid (unknown policy or error type)."""
    guideline = Guideline.objects.filter(project=project, number=number).first()
    if guideline is None:
        raise Hidden(_("This version of the guideline doesn’t exist."))
    known = {policy.value for policy in Policy}
    protocol = current_protocol(project)
    known_types = protocol.error_type_keys() if protocol else frozenset()
    for value in policies:
        if value not in known:
            sentence = _("There is no policy “%(policy)s”. Choose from: %(known)s.")
            raise Invalid(sentence % {"policy": value[:40], "known": ", ".join(sorted(known))})
    for value in error_types:
        if value not in known_types:
            sentence = _("There is no error type “%(type)s”. The protocol has: %(known)s.")
            raise Invalid(sentence % {"type": value[:40], "known": ", ".join(sorted(known_types)) or "–"})
    return Scope(guideline, tuple(sorted(set(policies))), tuple(sorted(set(error_types))))


def preview_change(*, actor: User, project: Project, scope: Scope) -> Preview:
    """Return what the change would affect. Raises Denied."""
    require_administrator(actor=actor, project=project)
    return _preview(touched(project, scope))


def mark_outdated(*, actor: User, project: Project, scope: Scope, reason: str) -> GuidelineChange:
    """Flag what a guideline version makes outdated; return the existing change if the same one is requested again.

    Raises Denied, Invalid without a reason, Conflict if nothing is outdated.
    """
    require_administrator(actor=actor, project=project)
    reason = reason.strip()
    if not reason:
        raise Invalid(_("Say what has changed. The reason is shown on every marked dialogue."), field="reason")
    if len(reason) > 500:
        raise Invalid(_("The reason is longer than 500 characters. Shorten it."), field="reason")
    with transaction.atomic():
        # If two administrators mark at the same time, the second waits here for the first.
        Guideline.objects.select_for_update(no_key=True).get(pk=scope.guideline.pk)
        last = GuidelineChange.objects.filter(guideline=scope.guideline).order_by("-pk").first()
        said = (actor, list(scope.policies), list(scope.error_types), reason)
        if last is not None and (last.author, last.policies, last.error_types, last.reason) == said:
            fitting = touched(project, scope)
            # A double click, unless there are new dialogues to flag.
            if fitting.exists() and not fitting.exclude(pk__in=flagged(last).values("pk")).exists():
                return last
        change = GuidelineChange.objects.create(
            guideline=scope.guideline,
            policies=list(scope.policies),
            error_types=list(scope.error_types),
            reason=reason,
            author=actor,
        )
        flag(change, touched(project, scope))
        count = flagged(change).counted().count()
        if not count:
            raise Conflict(_("No dialogues reviewed under an earlier guideline match."))
        append_event(
            actor=actor,
            project=project,
            kind="guideline.flagged",
            after={
                "change": change.public_id,
                "number": scope.guideline.number,
                "policies": list(scope.policies),
                "error_types": list(scope.error_types),
                "dialogues": count,
                "reason": reason,
            },
        )
        owners = Dialogue.objects.filter(outdated_flags__change=change).exclude(owner=None).order_by()
        notify(
            actor=actor,
            project=project,
            people=list(owners.values_list("owner", flat=True).distinct()),
            kind=NoticeKind.GUIDELINE,
            text=message(
                "Guideline %(number)s makes some of your work outdated: %(reason)s",
                number=scope.guideline.number,
                reason=reason,
            ),
            target=reverse("dialogue-list", args=[project.slug]) + "?outdated=1",
            subject=change.public_id,
        )
    return change


def all_changes(*, actor: User, project: Project) -> QuerySet[GuidelineChange]:
    """Return the project's changes. Raises Denied.

    ``touched`` is the number of dialogues that a change flagged, ``left`` how many are still flagged.
    """
    require_administrator(actor=actor, project=project)
    rows = GuidelineChange.objects.filter(guideline__project=project).select_related("guideline", "author")
    counted = ~Q(dialogues__dialogue__gold_role=GoldRole.GOLD)
    return rows.defer("guideline__text").annotate(
        touched=Count("dialogues", filter=counted),
        left=Count("dialogues", filter=counted & Q(dialogues__cleared_at=None)),
    )


def list_changes(*, actor: User, project: Project) -> list[GuidelineChange]:
    """Return the newest changes, newest first, as ``all_changes`` does. Raises Denied."""
    return list(all_changes(actor=actor, project=project).order_by("-pk")[:50])


def changes_changed_since(changes: QuerySet[GuidelineChange], moment: datetime) -> QuerySet[GuidelineChange]:
    """Narrow changes down to those that were made, or lost marks, since."""
    cleared = OutdatedDialogue.objects.filter(change=OuterRef("pk"), cleared_at__gte=moment)
    return changes.filter(Q(created_at__gte=moment) | Exists(cleared))


def load_change(*, actor: User, project: Project, public_id: str) -> GuidelineChange:
    """Return a change of one of the project's guidelines, as ``all_changes`` does. Raises Denied, Hidden."""
    change = all_changes(actor=actor, project=project).filter(public_id=public_id).first()
    if change is None:
        raise Hidden(_("This change doesn’t exist."))
    return change


def preview_send_back(*, actor: User, project: Project, change: GuidelineChange) -> Preview:
    """Return what sending back would move: the change's dialogues that are still flagged. Raises Denied."""
    require_administrator(actor=actor, project=project)
    return _preview(flagged(change))


def start_send_back(*, actor: User, project: Project, change: GuidelineChange) -> Job:
    """Start a job that restarts the protocol for all flagged dialogues, or return the one in progress.

    Raises Denied, Conflict if nothing is flagged.
    """
    require_administrator(actor=actor, project=project)
    unfinished = [JobState.QUEUED, JobState.RUNNING]
    jobs = Job.objects.filter(project=project, kind=JOB, parameters__change=change.pk, state__in=unfinished)
    if (under_way := jobs.first()) is not None:
        return under_way
    if not flagged(change).counted().exists():
        raise Conflict(_("No dialogues are marked as outdated."))
    return start_job(actor=actor, project=project, kind=JOB, parameters={"change": change.pk})


def withdraw_change(*, actor: User, project: Project, change: GuidelineChange) -> int:
    """Remove the change's flags; return how many. Repeating it changes nothing.

    Raises Denied, Conflict if nothing is flagged.
    """
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        left = OutdatedDialogue.objects.filter(change=change, cleared_at=None)
        count = left.exclude(dialogue__gold_role=GoldRole.GOLD).count()
        left.update(cleared_at=timezone.now())
        if not count:
            withdrawn = project.events.filter(kind="guideline.flag_withdrawn", actor=actor)
            said = withdrawn.filter(before__change=change.public_id).order_by("pk").last()
            if said is None:
                raise Conflict(_("No dialogues are marked as outdated."))
            return int(said.before["dialogues"])
        append_event(
            actor=actor,
            project=project,
            kind="guideline.flag_withdrawn",
            before={"change": change.public_id, "dialogues": count},
            after={"number": change.guideline.number},
        )
    return count


@job_kind(JOB, gettext_noop("Send outdated dialogues back"), repeatable=True)
def _run(running: Running) -> dict[str, Any]:
    """Start a new cycle for each dialogue that nobody has claimed; count the others, which keep their flag."""
    change = GuidelineChange.objects.select_related("guideline").get(pk=running.job.parameters["change"])
    total: int = running.checkpoint.get("total") or flagged(change).counted().count()
    done: int = running.checkpoint.get("done", 0)
    busy: int = running.checkpoint.get("busy", 0)
    last: int = running.checkpoint.get("last", 0)
    reason = f"Guideline {change.guideline.number}: {change.reason}"
    while True:
        rows = list(flagged(change).filter(pk__gt=last).order_by("pk")[:CHUNK])
        for dialogue in rows:
            # One dialogue per transaction: a person has one unread notice of lost claims, so other transactions that
            # update it wait for this one, and they must not hold rows that we lock next.
            with running.chunk() as chunk:
                last = dialogue.pk
                if dialogue.gold_role == GoldRole.GOLD:
                    # If only the gold item stayed in the stage, people could tell that it is one.
                    sources = GoldItem.objects.filter(dialogue=dialogue).values_list("source", flat=True)
                    retire_with(actor=running.job.requester, dialogue_ids=list(sources), reason=reason)
                    clear_outdated([dialogue.pk])
                elif _restart(running.job.requester, dialogue, reason):
                    done += 1
                else:
                    busy += 1
                checkpoint = {"total": total, "done": done, "busy": busy, "last": last}
                chunk.advance(done=done + busy, total=total, checkpoint=checkpoint)
        if not rows:
            return {"sent_back": done, "busy": busy}


def _restart(actor: User | None, dialogue: Dialogue, reason: str) -> bool:
    try:
        with transaction.atomic():
            supersede_cycle(actor=actor, dialogue=dialogue, reason=reason, if_idle=True)
    except DomainError:
        return False
    return True


def _preview(rows: DialogueQuerySet) -> Preview:
    rows = rows.counted()
    counts = dict(rows.order_by().values_list("status").annotate(Count("pk")))
    return Preview(
        total=sum(counts.values()),
        statuses=[(status, counts[status]) for status in DialogueStatus if status in counts],
        first=list(rows.defer("search_text").order_by("pk")[:MAX_SHOWN]),
    )
