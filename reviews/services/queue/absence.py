"""Opens slots that are reserved for absent people, so that nobody's absence blocks a stage."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max, OuterRef, Q, Subquery

from annotator.models import Dialogue, Membership, Project, User
from annotator.services.database.statements import database_time
from annotator.services.dialogues.revisions import lock_dialogues
from annotator.services.history.event_chain import extend_chains
from reviews.models import AssignmentRules, Claim, Pause, ProtocolVersion, Slot, SlotState
from reviews.services.protocols.versions import parse, roles_of_members
from reviews.services.queue.order import new_position

#: Slots that one transaction opens, and the most transactions per call and project.
PORTION, MAX_PORTIONS = 200, 10


def release_slots_of_former_members() -> int:
    """Open slots reserved for people who can't claim them: those who have left, are paused, have been away too long, or
    have no role in the stage any more. Return how many.

    Each project sets how long is too long (``AssignmentRules.absent_days``); by default nobody is away too long.
    """
    reserved = Slot.objects.filter(state=SlotState.OPEN, reserved_for__isnull=False).order_by()
    waited_for: dict[int, set[int]] = {}
    for project_id, person_id in reserved.values_list("project_id", "reserved_for_id").distinct():
        waited_for.setdefault(project_id, set()).add(person_id)
    count = 0
    for project in Project.objects.filter(pk__in=waited_for, archived_at=None).order_by("pk"):
        people = {key: why for key, why in absent_people(project).items() if key in waited_for[project.pk]}
        gone = waited_for[project.pk] - set(
            Membership.objects.active()
            .filter(project=project, user__in=waited_for[project.pk])
            .values_list("user_id", flat=True)
        )
        people |= dict.fromkeys(gone, "left")
        if people:
            count += free_reserved(project=project, people=people)
        # Somebody may still be a member but have lost the role, such as a new administrator.
        for (protocol_id, stage), barred in _without_role(project).items():
            among = Q(protocol=protocol_id, stage=stage)
            count += free_reserved(project=project, people=dict.fromkeys(barred, "role"), among=among)
    return count


def _without_role(project: Project) -> dict[tuple[int, str], list[int]]:
    """Return (protocol version, stage) → people with reserved slots there who no longer have a role for it."""
    reserved = Slot.objects.filter(project=project, state=SlotState.OPEN, reserved_for__isnull=False).order_by()
    waiting = list(reserved.values_list("protocol_id", "stage", "reserved_for_id").distinct())
    versions = ProtocolVersion.objects.defer("definition").in_bulk({protocol_id for protocol_id, *_ in waiting})
    roles = roles_of_members(project)
    out: dict[tuple[int, str], list[int]] = {}
    for protocol_id, stage, person_id in waiting:
        if not roles.get(person_id, frozenset()) & set(parse(versions[protocol_id]).stage(stage).eligible.roles):
            out.setdefault((protocol_id, stage), []).append(person_id or 0)
    return out


def absent_people(project: Project) -> dict[int, str]:
    """Return members who are paused, or away longer than the project allows: {key: "paused" or "away"}."""
    out: dict[int, str] = {}
    days = AssignmentRules.objects.filter(project=project).values_list("absent_days", flat=True).first()
    if days is not None:
        # By the database's clock: a worker whose own clock is wrong would count everybody as away.
        limit = database_time() - timedelta(days=days)
        out = {key: "away" for key, seen in last_seen(project).items() if seen < limit}
    paused = Pause.objects.filter(project=project, ended_at=None, person__isnull=False)
    return out | dict.fromkeys(paused.values_list("person_id", flat=True), "paused")


def last_seen(project: Project) -> dict[int, datetime]:
    """Return when each member last signed in, worked on an item in any project, or joined."""
    members = Membership.objects.active().filter(project=project)
    joined = dict(members.values_list("user_id").annotate(Max("created_at")).order_by())
    # Reads only the newest claim of each person, by its index.
    newest = Claim.objects.filter(person=OuterRef("pk")).order_by("-pk").values("heartbeat_at")[:1]
    people = User.objects.filter(pk__in=joined).values_list("pk", "last_login", Subquery(newest))
    return {
        key: max(one for one in (joined[key], signed_in, at_work) if one is not None)
        for key, signed_in, at_work in people
    }


def free_reserved(
    *, project: Project, people: Mapping[int, str], actor: User | None = None, among: Q | None = None
) -> int:
    """Open slots reserved for these people to everyone; return how many, at most some thousands.

    ``people``: {key of the person: reason for the record}; ``among``: only these slots. Each portion is one
    transaction.
    """
    count = 0
    for _ in range(MAX_PORTIONS):
        opened = _free_portion(project, people, actor, among or Q())
        count += opened
        if opened < PORTION:
            break
    return count


def _free_portion(project: Project, people: Mapping[int, str], actor: User | None, among: Q) -> int:
    waiting = Slot.objects.filter(among, project=project, state=SlotState.OPEN, reserved_for__in=list(people))
    with transaction.atomic():
        wanted = list(waiting.order_by("pk").values_list("pk", "dialogue_id")[:PORTION])
        # Lock the dialogues first, as everywhere, because their chains will grow.
        lock_dialogues(Dialogue.objects.filter(pk__in={row[1] for row in wanted}))
        slots = list(
            waiting.filter(pk__in=[row[0] for row in wanted])
            .select_for_update(of=("self",))
            .select_related("reserved_for")
            .order_by("pk")
        )
        entries: dict[int, dict[str, object]] = {}
        for index, slot in enumerate(slots):
            person = slot.reserved_for
            entry = entries.setdefault(slot.dialogue_id, {"stage": slot.stage, "slots": []})
            entry["slots"].append(slot.public_id)  # type: ignore[attr-defined]
            if person is not None:
                entry |= {"person": person.public_id, "reason": people[person.pk]}
            # A new position, because the old one may be behind everybody's cursor.
            slot.reserved_for, slot.position = None, new_position(index)
        Slot.objects.bulk_update(slots, ["reserved_for", "position"])
        if entries:
            extend_chains(actor=actor, project=project, kind="slot.opened", entries=entries)
    return len(slots)
