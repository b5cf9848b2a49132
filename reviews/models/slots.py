"""Slots, claims on them, and each person's progress in the queues."""

from typing import Self

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import Dialogue, Project, Revision, User
from annotator.models.foreign_keys import UNENFORCED
from annotator.models.keys import new_public_id
from reviews.models.cycles import Cycle, ProtocolVersion, StageRun
from reviews.models.rows import Row


class SlotState(models.TextChoices):
    HIDDEN = "hidden", _("Not published yet")
    OPEN = "open", _("Open")
    CLAIMED = "claimed", _("Claimed")
    DONE = "done", _("Done")
    CANCELLED = "cancelled", _("Cancelled")


class Priority(models.IntegerChoices):
    HIGH = 0, _("High")
    NORMAL = 1, _("Normal")
    LOW = 2, _("Low")


class SlotQuerySet(models.QuerySet["Slot"]):
    def visible_to(self, user: User) -> Self:
        """Return the published slots of the user's projects."""
        return self.exclude(state=SlotState.HIDDEN).filter(project__in=Project.objects.visible_to(user))


class Slot(Row):
    """A place for one reviewer in a stage run, identified by (cycle, stage, round, index)."""

    # Unique by a constraint, here and below: a unique field would get a second index, for pattern searches.
    public_id = models.CharField(max_length=12, default=new_public_id, editable=False)
    stage_run = models.ForeignKey(StageRun, on_delete=models.PROTECT, related_name="slots", db_index=False)
    index = models.PositiveSmallIntegerField(default=0)

    # Copied from the stage run and its cycle, so that claiming reads one row.
    project = models.ForeignKey(Project, related_name="slots", **UNENFORCED)
    dialogue = models.ForeignKey(Dialogue, related_name="slots", **UNENFORCED)
    cycle = models.ForeignKey(Cycle, on_delete=models.PROTECT, related_name="slots", db_constraint=False)
    protocol = models.ForeignKey(ProtocolVersion, related_name="+", **UNENFORCED)
    stage = models.CharField(max_length=40)
    stage_kind = models.CharField(max_length=20)
    round = models.PositiveIntegerField(default=1)

    state = models.CharField(max_length=10, choices=SlotState, default=SlotState.OPEN)
    priority = models.PositiveSmallIntegerField(choices=Priority, default=Priority.NORMAL)
    #: Order in the queue of its project, stage and priority: see ``reviews.services.queue.order``.
    position = models.BigIntegerField()
    #: A gold item for one person; queues do not offer it to others. Its position is that of an ordinary slot.
    is_gold = models.BooleanField(default=False, db_default=False)
    revision = models.ForeignKey(Revision, related_name="+", **UNENFORCED)
    # The author of the revision and the owner of the dialogue can't claim the slot. Null: there is none.
    revision_author = models.ForeignKey(User, null=True, related_name="+", **UNENFORCED)
    owner = models.ForeignKey(User, null=True, related_name="+", **UNENFORCED)
    #: Only this person can claim it: the owner in a later self-check, or the person it was assigned to.
    reserved_for = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    holder = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False)
    #: How many rounds in a row just before this one approved the same revision; nobody approves it twice.
    confirms = models.PositiveSmallIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = SlotQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["public_id"], name="slot_public_id_once"),
            models.UniqueConstraint(fields=["stage_run", "index"], name="slot_once"),
            models.UniqueConstraint(
                fields=["stage_run", "holder"], condition=Q(holder__isnull=False), name="slot_once_per_person_and_run"
            ),
            models.CheckConstraint(condition=Q(state__in=SlotState.values), name="slot_state_known"),
            models.CheckConstraint(condition=Q(priority__in=Priority.values), name="slot_priority_known"),
            models.CheckConstraint(
                condition=Q(state__in=["claimed", "done"], holder__isnull=False)
                | Q(state__in=["hidden", "open", "cancelled"], holder__isnull=True),
                name="slot_held_when_claimed_or_done",
            ),
            # Nobody reviews their own revision.
            models.CheckConstraint(
                condition=Q(stage_kind="self_check")
                | Q(holder__isnull=True)
                | Q(revision_author__isnull=True)
                | ~Q(holder=F("revision_author")),
                name="slot_holder_is_not_author",
            ),
            models.CheckConstraint(
                condition=Q(stage_kind="self_check")
                | Q(holder__isnull=True)
                | Q(owner__isnull=True)
                | ~Q(holder=F("owner")),
                name="slot_holder_is_not_owner",
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "stage", "position"],
                condition=Q(state="open", reserved_for__isnull=True, priority=Priority.NORMAL),
                name="slot_queue",
            ),
            models.Index(
                fields=["project", "priority", "position"],
                condition=Q(state="open", reserved_for__isnull=True) & ~Q(priority=Priority.NORMAL),
                name="slot_out_of_turn",
            ),
            models.Index(
                fields=["reserved_for", "project", "priority", "position"],
                condition=Q(state="open", reserved_for__isnull=False),
                name="slot_reserved",
            ),
            models.Index(fields=["holder", "-id"], condition=Q(holder__isnull=False), name="slot_by_holder"),
            models.Index(fields=["dialogue", "-id"], name="slot_by_dialogue"),
        ]


class ClaimState(models.TextChoices):
    LIVE = "live", _("Live")
    SUBMITTED = "submitted", _("Submitted")
    RELEASED = "released", _("Released")
    SKIPPED = "skipped", _("Skipped")
    EXPIRED = "expired", _("Expired")
    #: The slot was reassigned, or its cycle superseded.
    WITHDRAWN = "withdrawn", _("Withdrawn")


class Claim(Row):
    """A person's exclusive right to a slot until it expires. Kept as a record; times are the database's."""

    slot = models.ForeignKey(Slot, on_delete=models.PROTECT, related_name="claims")
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="claims", db_index=False)
    # Copied from the slot.
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    stage = models.CharField(max_length=40)
    token = models.CharField(max_length=12, default=new_public_id)
    state = models.CharField(max_length=10, choices=ClaimState, default=ClaimState.LIVE)
    #: How long it lasts without a heartbeat, set by the stage.
    lease = models.DurationField()
    created_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    #: Seconds of activity, from heartbeats; not elapsed time.
    active_seconds = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["token"], name="claim_token_once"),
            models.UniqueConstraint(fields=["slot"], condition=Q(state="live"), name="claim_one_live_per_slot"),
            models.CheckConstraint(condition=Q(state__in=ClaimState.values), name="claim_state_known"),
            models.CheckConstraint(
                condition=Q(state="live", ended_at__isnull=True) | Q(~Q(state="live"), ended_at__isnull=False),
                name="claim_ended_has_time",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "stage"], condition=Q(state="live"), name="claim_live_by_stage"),
            models.Index(fields=["expires_at"], condition=Q(state="live"), name="claim_live_by_expiry"),
            models.Index(fields=["person", "-id"], name="claim_by_person"),
            models.Index(fields=["person", "project", "-id"], condition=Q(state="skipped"), name="claim_skipped"),
        ]


class QueueCursor(Row):
    """A person's progress in a stage's queue: they could claim none of the slots up to ``position``."""

    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    stage = models.CharField(max_length=40)
    position = models.BigIntegerField(default=0)
    #: How often the person has claimed from this queue, including gold items.
    taken = models.PositiveIntegerField(default=0, db_default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["person", "project", "stage"], name="queue_cursor_once")]
