"""Pauses, assignment rules, and previewed changes of assignments."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import Job, Project, User
from annotator.models.keys import new_public_id
from reviews.models.rows import Row


class Pause(Row):
    """A pause: no new claims in a project, in one of its stages, or by one person. Ended, never deleted."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="pauses", db_index=False)
    #: Null: not of a person.
    person = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    #: Blank: not of a stage.
    stage = models.CharField(max_length=40, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(person__isnull=True) | Q(stage=""), name="pause_of_one_kind"),
            models.UniqueConstraint(
                fields=["project", "stage"],
                condition=Q(ended_at=None, person__isnull=True),
                name="pause_once_per_stage",
            ),
            models.UniqueConstraint(
                fields=["project", "person"],
                condition=Q(ended_at=None, person__isnull=False),
                name="pause_once_per_person",
            ),
        ]

    @property
    def what(self) -> str:
        """``person``, ``stage`` or ``project``."""
        return "person" if self.person_id else "stage" if self.stage else "project"


class AssignmentRules(Row):
    """A project's rules for claims, if they differ from the defaults."""

    project = models.OneToOneField(Project, on_delete=models.PROTECT, related_name="assignment_rules")
    #: How many claims one person may have at a time; null: no limit.
    most_held = models.PositiveSmallIntegerField(null=True)
    #: After how many days of inactivity a person's reserved items are opened to everyone; null: never.
    absent_days = models.PositiveSmallIntegerField(null=True)


class PlanAction(models.TextChoices):
    REASSIGN = "reassign", _("Reassign")
    FREE = "free", _("Open to everyone")
    PRIORITISE = "prioritise", _("Set priority")
    HAND_OVER = "hand_over", _("Change owner")
    SEND_BACK = "send_back", _("Send back")
    TAG = "tag", _("Add tags")
    UNTAG = "untag", _("Remove tags")


#: Actions on dialogues; the others are on slots.
ON_DIALOGUES = frozenset({PlanAction.SEND_BACK, PlanAction.TAG, PlanAction.UNTAG})


class AssignmentPlan(Row):
    """A previewed change of many items, or the undo of one. Its id is the token that carries it out, once."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+")
    actor = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    action = models.CharField(max_length=12, choices=PlanAction)
    #: The change that this one undoes; null: it is not an undo.
    undoes = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="undos", db_index=False)
    #: The request: {"to": [public ids], "priority": 0, "reason": "…", "stage": "…", "tags": […]}.
    parameters = models.JSONField(default=dict)
    #: What will change: [[slot or dialogue, person or null, how it looked], …]; which of them: see ``ON_DIALOGUES``.
    items = models.JSONField(default=list)
    #: What can't be changed: [[dialogue's external id, why], …].
    refused = models.JSONField(default=list)
    #: The result: {"done": 37, "skipped": [[external id, why], …]}.
    result = models.JSONField(default=dict)
    job = models.ForeignKey(Job, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    confirmed_at = models.DateTimeField(null=True)
    #: Who carried it out, perhaps another administrator than the ``actor`` who previewed it.
    confirmed_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(action__in=PlanAction.values), name="assignment_plan_action_known"),
            models.CheckConstraint(
                condition=Q(confirmed_at__isnull=True, confirmed_by__isnull=True)
                | Q(confirmed_at__isnull=False, confirmed_by__isnull=False),
                name="assignment_plan_confirmed_by_somebody",
            ),
            models.UniqueConstraint(
                fields=["undoes"],
                condition=Q(undoes__isnull=False, confirmed_at__isnull=False),
                name="assignment_plan_undone_once",
            ),
        ]


class PlanChange(Row):
    """What a plan changed in one of its items: the state just before and just after, so that it can be undone."""

    plan = models.ForeignKey(AssignmentPlan, on_delete=models.PROTECT, related_name="changes", db_index=False)
    #: Key of the slot or dialogue, as in the plan's items.
    item = models.BigIntegerField()
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["plan", "item"], name="plan_change_once_per_item")]
