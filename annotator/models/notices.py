"""Notices, shown on a page and sent in an optional daily mail."""

from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.core.schema.value_words import cut
from annotator.models.content import Dialogue
from annotator.models.foreign_keys import UNENFORCED
from annotator.models.keys import new_public_id
from annotator.models.messages import MessageField
from annotator.models.people import Project, User
from annotator.translation import translated


class NoticeKind(models.TextChoices):
    MENTION = "mention", _("Mentions of you in comments")
    REPLY = "reply", _("Replies to your comments")
    COMMENT = "comment", _("Comments on your dialogues")
    FEEDBACK = "feedback", _("Feedback on your work")
    ASSIGNMENT = "assignment", _("Items assigned to you")
    ESCALATION = "escalation", _("Escalations for senior reviewers")
    ALARM = "alarm", _("Alarms for administrators")
    JOB = "job", _("Your finished jobs")
    GUIDELINE = "guideline", _("New guideline versions")


#: Kinds that are mailed by default.
MAILED_BY_DEFAULT = (
    NoticeKind.MENTION,
    NoticeKind.REPLY,
    NoticeKind.FEEDBACK,
    NoticeKind.ASSIGNMENT,
    NoticeKind.ESCALATION,
    NoticeKind.ALARM,
)


class Digest(models.Model):
    """The mail of one person and day. Its notices are fixed before it is sent."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="digests", db_index=False)
    #: The person's own calendar day.
    day = models.DateField()
    #: When a worker last took it; another may take it after a pause.
    taken_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    #: The mail server's answer if it refused the last attempt.
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["person", "day"], name="digest_once_a_day")]
        indexes = [models.Index(fields=["day"], condition=Q(sent_at=None), name="digest_not_sent")]

    def __str__(self) -> str:
        return f"digest of {self.person_id} for {self.day}"


class NoticeQuerySet(models.QuerySet["Notice"]):
    def visible_to(self, user: User) -> Self:
        """Return the user's notices from projects they are still a member of."""
        return self.filter(person=user, project__in=Project.objects.visible_to(user))

    def unread(self) -> Self:
        return self.filter(read_at=None)


class Notice(models.Model):
    """A message to one person. It is fixed when it is written, but shown in the reader's language."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="notices", db_index=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=12, choices=NoticeKind)
    # No index and no constraint: a cancelled import deletes thousands of dialogues.
    dialogue = models.ForeignKey(Dialogue, null=True, related_name="+", **UNENFORCED)
    #: Public id of its subject if that is not the dialogue: a comment, a feedback, a job.
    subject = models.CharField(max_length=40, blank=True)
    #: A person has at most one unread notice of a key. Blank: no limit.
    key = models.CharField(max_length=80, blank=True)
    message = MessageField()
    #: Path of the page it links to.
    target = models.CharField(max_length=300)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    read_at = models.DateTimeField(null=True, blank=True)
    digest = models.ForeignKey(
        Digest, on_delete=models.PROTECT, null=True, blank=True, related_name="notices", db_index=False
    )

    objects = NoticeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "key"], condition=Q(read_at=None) & ~Q(key=""), name="notice_key_once_unread"
            ),
            models.CheckConstraint(condition=Q(kind__in=NoticeKind.values), name="notice_kind_known"),
        ]
        indexes = [
            models.Index(fields=["person", "-created_at", "-public_id"], name="notice_by_person"),
            models.Index(fields=["person", "project"], condition=Q(read_at=None), name="notice_unread"),
            models.Index(fields=["subject"], condition=~Q(subject=""), name="notice_by_subject"),
            models.Index(fields=["digest"], condition=Q(digest__isnull=False), name="notice_by_digest"),
        ]

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def text(self) -> str:
        """Return the sentence in the active language, on one line."""
        return cut(translated(self.message), 500)


class NoticeSettings(models.Model):
    """A person's settings for the daily mail."""

    person = models.OneToOneField(User, on_delete=models.PROTECT, related_name="notice_settings")
    #: The kinds in the daily mail.
    daily = models.JSONField(default=list)
    #: IANA name; blank: that of the person's first project.
    time_zone = models.CharField(max_length=60, blank=True)
    updated_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"notice settings of {self.person_id}"
