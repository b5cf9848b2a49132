"""Imports and releases."""

from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import Dialogue, Job, Project, Revision, ToolsetRevision, User
from annotator.models.keys import new_public_id


class AtConflicts(models.TextChoices):
    MINE = "mine", _("Keep what people entered")
    THEIRS = "theirs", _("Take what the record has")


class ImportBatch(models.Model):
    """One uploaded file of candidates and the result of its import. Its job has the state and the progress."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="imports")
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="import_batch")
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    #: Empty until Assay has recognised it, if the requester chose none.
    native_format = models.CharField(max_length=12, blank=True)
    #: Role → field of the file, for fields with other names than in the format (``core.formats.mapping``).
    mapping = models.JSONField(default=dict, blank=True)
    #: Whether it only shows what the file has; its job's result is the preview.
    preview = models.BooleanField(default=False)
    filename = models.CharField(max_length=255)
    #: Path below MEDIA_ROOT.
    file = models.CharField(max_length=255)
    bytes = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    dry_run = models.BooleanField(default=False)
    revise = models.BooleanField(default=False)
    #: Whether dialogues that people have worked on are revised as well, if a dry run of the same file listed them.
    reopen = models.BooleanField(default=False)
    #: The key of the stage in which the review of these starts again; blank: the first one.
    reopen_at = models.CharField(max_length=40, blank=True)
    #: Whose value a merge takes where people and the record changed the same place; blank: the dialogue stays as it is.
    at_conflicts = models.CharField(max_length=6, blank=True, choices=AtConflicts.choices)
    #: Whether the dependencies of the records become suggestions, for people to accept or refuse.
    suggest_dependencies = models.BooleanField(default=False)
    read = models.PositiveIntegerField(default=0)
    created = models.PositiveIntegerField(default=0)
    revised = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0)
    with_errors = models.PositiveIntegerField(default=0)
    suggestions = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["project", "-id"], name="import_by_project")]

    def __str__(self) -> str:
        return self.filename


class ImportMapping(models.Model):
    """What somebody chose for files of a project whose records have these fields."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="import_mappings")
    #: The hash of the format that is recognised and the names of the fields.
    columns = models.CharField(max_length=64)
    native_format = models.CharField(max_length=12)
    mapping = models.JSONField(default=dict, blank=True)
    changed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "columns"], name="one_import_mapping_per_columns")]

    def __str__(self) -> str:
        return f"{self.project_id}: {self.native_format}"


class ImportNote(models.Model):
    """One line of an import's report: the line in the file, the record, the place, and the problem."""

    batch = models.ForeignKey(ImportBatch, on_delete=models.PROTECT, related_name="notes")
    line = models.PositiveIntegerField()
    member = models.CharField(max_length=255, blank=True)
    external_id = models.CharField(max_length=200, blank=True)
    pointer = models.CharField(max_length=600, blank=True)
    check_id = models.CharField(max_length=60)
    severity = models.CharField(max_length=8)
    message = models.CharField(max_length=1000)
    #: Whether this is why the record was rejected.
    rejects = models.BooleanField(default=False)

    class Meta:
        indexes = [models.Index(fields=["batch", "severity", "id"], name="import_note_by_batch")]

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


class NativeLine(models.Model):
    """The line that a revision was imported from: the layout of its record on export.

    Its values are never read: only its order and spelling are used, with the revision's canonical content.
    """

    revision = models.OneToOneField(Revision, on_delete=models.CASCADE, related_name="+")
    native_format = models.CharField(max_length=12)
    text = models.TextField()

    def __str__(self) -> str:
        return f"line of {self.revision_id}"


class MergedRecord(models.Model):
    """What the record of an import said, if its revision also has what people entered: the base of the next merge."""

    revision = models.OneToOneField(Revision, on_delete=models.CASCADE, related_name="merged_record")
    #: Of the record as it was read. In ``text``, its parts have the ids of the dialogue's.
    content_hash = models.CharField(max_length=64)
    toolset_revision = models.ForeignKey(ToolsetRevision, on_delete=models.PROTECT, related_name="+")
    text = models.TextField()

    def __str__(self) -> str:
        return f"record of {self.revision_id}"


class ReleaseSettings(models.Model):
    """What a project says about its releases; each release freezes its own copy."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="release_settings")
    #: Increased with each change.
    number = models.PositiveIntegerField(default=1)
    #: ``Settings.stored`` of ``core.archives.description``.
    content = models.JSONField(default=dict)
    changed_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    changed_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"release settings {self.number} of {self.project_id}"


class ReleaseState(models.TextChoices):
    FREEZING = "freezing", _("Freezing")
    FROZEN = "frozen", _("Frozen")
    FAILED = "failed", _("Failed")


class ReleaseQuerySet(models.QuerySet["Release"]):
    def visible_to(self, user: User) -> Self:
        """Return frozen releases of the user's projects, and all releases of those that they oversee.

        An unfinished release may contain gold answers.
        """
        return self.filter(
            Q(state=ReleaseState.FROZEN) | Q(project__in=Project.objects.overseen_by(user)),
            project__in=Project.objects.visible_to(user),
        )


class Release(models.Model):
    """A frozen, numbered export with a checksum. Never edited; building it again gives the same bytes."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="releases")
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="+")
    version = models.CharField(max_length=40)
    native_format = models.CharField(max_length=12)
    state = models.CharField(max_length=10, choices=ReleaseState, default=ReleaseState.FREEZING)
    require_all = models.BooleanField(default=False)
    #: Whether the known answers of gold items in use are left out; else the release makes them public.
    leave_out_gold = models.BooleanField(default=False)
    canary = models.CharField(max_length=80)
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    item_count = models.PositiveIntegerField(default=0)
    left_out_count = models.PositiveIntegerField(default=0)
    #: Path below MEDIA_ROOT; blank until the archive is complete.
    archive = models.CharField(max_length=255, blank=True)
    archive_bytes = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    #: Counts, protocol and draws when it was frozen; the manifest is made from this alone.
    frozen = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    frozen_at = models.DateTimeField(null=True)
    #: Lines of its errata log, and the hash of the last one.
    errata_count = models.PositiveIntegerField(default=0)
    errata_head = models.CharField(max_length=64, blank=True)

    objects = ReleaseQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "version"], condition=~Q(state="failed"), name="release_version_once"
            ),
            models.CheckConstraint(condition=Q(state__in=ReleaseState.values), name="release_state_known"),
            models.CheckConstraint(
                condition=~Q(state="frozen") | (~Q(archive="") & ~Q(sha256="")), name="release_frozen_has_archive"
            ),
        ]
        indexes = [models.Index(fields=["project", "-id"], name="release_by_project")]

    def __str__(self) -> str:
        return f"release {self.version}"


class ReleaseItem(models.Model):
    """One dialogue of a release at the verified revision, with its trail at that time."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="items")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="+")
    #: Stages, pseudonymous reviewers and verdicts.
    trail = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["release", "dialogue"], name="release_item_once")]

    def __str__(self) -> str:
        return f"{self.dialogue_id} in {self.release_id}"


class LeftOutDialogue(models.Model):
    """A dialogue that is not in a release, and the reason."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="left_out")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    reason = models.CharField(max_length=300)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["release", "dialogue"], name="left_out_once")]

    def __str__(self) -> str:
        return self.reason
