"""Reviews with their errors and rulings, and drafts of reviews."""

from typing import Self

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from annotator.models import Dialogue, Guideline, Project, Revision, User
from annotator.models.exact import ExactJSONField
from annotator.models.foreign_keys import UNENFORCED
from annotator.models.keys import new_public_id
from reviews.core.protocols import Verdict
from reviews.models.cycles import StageRun
from reviews.models.rows import Row
from reviews.models.slots import Slot


class ReviewQuerySet(models.QuerySet["Review"]):
    def visible_to(self, user: User) -> Self:
        """Return all reviews except other people's in a blind stage that has not ended."""
        return self.filter(
            Q(sealed=False) | Q(person=user),
            project__in=Project.objects.visible_to(user),
            dialogue__published=True,
        )


class Review(Row):
    """One person's review of one revision in one slot. Never changed; deleted only when its reviewer takes it back."""

    public_id = models.CharField(max_length=12, default=new_public_id, editable=False)
    slot = models.OneToOneField(Slot, on_delete=models.PROTECT, related_name="review")
    stage_run = models.ForeignKey(StageRun, on_delete=models.PROTECT, related_name="reviews", db_index=False)
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="reviews", db_index=False)
    # Copied from the slot.
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="reviews", db_constraint=False)
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    stage_kind = models.CharField(max_length=20)
    verdict = models.CharField(max_length=10)
    seen_revision = models.ForeignKey(Revision, related_name="+", **UNENFORCED)
    seen_author = models.ForeignKey(User, null=True, related_name="+", **UNENFORCED)
    #: The submitted revision: always with a fix, and with an escalation if the reviewer changed something.
    made_revision = models.ForeignKey(Revision, null=True, related_name="+", **UNENFORCED)
    #: The guideline at the time of submission; null if the project had none.
    guideline = models.ForeignKey(Guideline, null=True, related_name="+", **UNENFORCED)
    #: {task id: {"policy": …, "information": …}} in the submitted revision, used for agreement.
    labels = models.JSONField(default=dict)
    #: {task id, or "dialogue" for the whole: {checklist item key: true | false | null}}
    checklist = models.JSONField(default=dict)
    #: Notes on the answers: {task id, or "dialogue": {checklist item key: text}}
    checklist_notes = models.JSONField(default=dict)
    reason = models.TextField(blank=True, max_length=4000)
    #: SHA-256 of the request, to recognise a repeated one. Null for reviews from before it was stored; null rather than
    #: blank, so that SQLite adds the column without rewriting the table.
    submission_hash = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001
    seconds = models.PositiveIntegerField(default=0)
    #: How long the answers of the checklist took, as in ``services.submission.answer_times``; null where no browser
    #: measured it. Null rather than empty, so that SQLite adds the column without rewriting the table.
    answer_times = models.JSONField(null=True)
    sealed = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    objects = ReviewQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["public_id"], name="review_public_id_once"),
            models.UniqueConstraint(fields=["stage_run", "person"], name="review_once_per_person_and_round"),
            models.CheckConstraint(
                condition=Q(verdict__in=[verdict.value for verdict in Verdict]), name="review_verdict_known"
            ),
            models.CheckConstraint(
                condition=Q(stage_kind="self_check") | Q(seen_author__isnull=True) | ~Q(person=F("seen_author")),
                name="reviewer_is_not_author",
            ),
            models.CheckConstraint(
                condition=~Q(verdict="fix") | Q(made_revision__isnull=False), name="review_fix_has_revision"
            ),
            models.CheckConstraint(
                condition=~Q(verdict="approve") | Q(made_revision__isnull=True), name="review_approval_changes_nothing"
            ),
            models.CheckConstraint(
                condition=Q(verdict__in=["approve", "fix"]) | ~Q(reason=""), name="review_refusal_has_reason"
            ),
        ]
        indexes = [
            models.Index(fields=["project", "person", "-id"], name="review_by_person"),
            # A person's days, in every project.
            models.Index(fields=["person", "created_at"], name="review_by_person_and_time"),
        ]


class ReviewError(Row):
    """An error that a reviewer found: its type, place and note."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="errors")
    kind = models.CharField(max_length=40)
    anchor = models.CharField(max_length=600, blank=True)
    value_hash = models.CharField(max_length=16, blank=True)
    note = models.CharField(max_length=1000, blank=True)

    class Meta:
        # As the reviewer listed them; PostgreSQL has no order of its own.
        ordering = ["id"]


class Ruling(Row):
    """A senior reviewer's choice at a disputed place (left, right, a third value, or nothing), with its reason."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="rulings")
    anchor = models.CharField(max_length=600)
    choice = models.CharField(max_length=8)
    #: The third value; null with another choice, or if the third value is null.
    value = ExactJSONField(null=True)
    reason_kind = models.CharField(max_length=40)
    reason = models.CharField(max_length=1000, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["review", "anchor"], name="ruling_once_per_place"),
            models.CheckConstraint(
                condition=Q(choice__in=["left", "right", "third", "none"]), name="ruling_choice_known"
            ),
            models.CheckConstraint(condition=~Q(reason_kind=""), name="ruling_has_reason"),
        ]


class ReviewDraft(Row):
    """A person's unsubmitted review form; only they see it. Kept a little longer while the review can be taken back."""

    slot = models.ForeignKey(Slot, on_delete=models.PROTECT, related_name="review_drafts", db_index=False)
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    #: Reason, checklist, errors and rulings as ``submit_review`` takes them.
    form = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=0)
    #: The values before each of the latest changes. See ``services.submission.review_forms``.
    steps = models.JSONField(default=list)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["slot", "person"], name="review_draft_once")]
