"""Replays of trajectories through the code of a case's tools."""

from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotator.models.content import Dialogue, Draft, Revision
from annotator.models.exact import ExactJSONField
from annotator.models.jobs import Job
from annotator.models.keys import new_public_id
from annotator.models.people import Project, User


class ReplayQuerySet(models.QuerySet["Replay"]):
    def visible_to(self, user: User) -> Self:
        """Return the user's own replays, and those of reference trajectories of revisions that they see.

        Replays of drafts and of pasted trajectories are private.
        """
        shared = Q(draft=None, trajectory__isnull=True, revision__in=Revision.objects.visible_to(user))
        own = Q(requester=user, dialogue__in=Dialogue.objects.workable_by(user))
        return self.filter(own | (shared & Q(dialogue__in=Dialogue.objects.visible_to(user))))


class Replay(models.Model):
    """One run of a trajectory, of a revision or of a draft. Its job row holds state and progress."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="replays", db_index=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="replays", db_index=False)
    requester = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="replay")
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    draft = models.ForeignKey(Draft, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    #: Hash of everything that determines the result: parts of the case, tools and trajectory.
    key = models.CharField(max_length=64)
    #: The rounds of a pasted trajectory; null for the reference trajectory.
    trajectory = ExactJSONField(null=True)
    #: The result (``annotator.core.constraints.execution``); null until then.
    record = ExactJSONField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = ReplayQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(revision=None, draft__isnull=False) | Q(revision__isnull=False, draft=None),
                name="replay_of_revision_or_draft",
            )
        ]
        indexes = [
            models.Index(fields=["dialogue", "key", "-id"], name="replay_by_content"),
            models.Index(fields=["requester", "dialogue", "-id"], name="replay_by_person"),
        ]

    def __str__(self) -> str:
        return f"replay {self.public_id}"
