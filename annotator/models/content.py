"""Dialogues and their revisions; drafts, findings and waivers."""

from collections.abc import Callable
from typing import Any, Self

from django.db import models
from django.db.models import Case, Q, When
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotator.core.schema import content_hash, load_text
from annotator.models.foreign_keys import UNENFORCED
from annotator.models.keys import new_public_id
from annotator.models.people import Project, User
from annotator.models.search import IdKey, begins_or_has, begins_with, has_words
from annotator.models.toolsets import ToolsetRevision


class DialogueStatus(models.TextChoices):
    """The status of a dialogue. ``reviews`` sets it; lists and counters read it."""

    CANDIDATE = "candidate", _("Candidate")
    IN_REVIEW = "in_review", _("In review")
    ESCALATED = "escalated", _("Escalated")
    POOLED = "pooled", _("Waiting for the draw")
    VERIFIED = "verified", _("Verified")
    REJECTED = "rejected", _("Rejected")


class GoldRole(models.TextChoices):
    """The role of a dialogue in tests of people against known answers. ``reviews`` sets it."""

    #: Shown like any other, but not part of releases and figures.
    GOLD = "gold", _("Gold item")
    #: The known answer of a gold item in use: counts like any other, but only overseers see it.
    ANSWER = "answer", _("Known answer")


class DialogueQuerySet(models.QuerySet["Dialogue"]):
    def visible_to(self, user: User) -> Self:
        """Return published dialogues of the user's projects. Rows of an unfinished import are not published."""
        return self.workable_by(user).filter(published=True)

    def workable_by(self, user: User) -> Self:
        """Return the same and those that are in no list: training items. Only for a person's own work on them."""
        return self.filter(project__in=Project.objects.visible_to(user)).shown_to(user)

    def shown_to(self, user: User) -> Self:
        """Return the dialogues without the known answers on which the user may be tested."""
        return self.filter(~Q(gold_role=GoldRole.ANSWER) | Q(project__in=Project.objects.overseen_by(user)))

    def counted(self) -> Self:
        """Return the dialogues without gold items, as in releases and figures."""
        return self.exclude(gold_role=GoldRole.GOLD)

    def matching(self, query: str) -> Self:
        """Return dialogues whose text has every word of ``query`` (words by prefix, Chinese by substring).

        Only published dialogues are indexed, so filter by that too.
        """
        return self.filter(*has_words(query))

    def with_id_from(self, text: str) -> Self:
        """Return dialogues whose id begins with ``text``, whatever its case, in order of ids in small letters.

        The index has the published dialogues, by project, so filter by both.
        """
        return self.alias(id_key=IdKey("external_id")).filter(begins_with(text)).order_by("id_key", "pk")

    def searched(self, text: str, *, project: Project) -> Self:
        """Return dialogues of a project that ``with_id_from`` or ``matching`` finds; all if the text has no word."""
        condition = begins_or_has(text, project.pk)
        return self if condition is None else self.alias(id_key=IdKey("external_id")).filter(condition)


class Dialogue(models.Model):
    """One item of work. Lists, filters and counters read only its row; content is in revisions.

    Imports write thousands of rows, so most indexes cover only published dialogues, and there are no unneeded ones.
    """

    #: Its page: see ABSOLUTE_URL_OVERRIDES in the settings.
    get_absolute_url: Callable[[], str]
    #: The tags that the person who looks may see; set where dialogues are loaded for a list or a page.
    tag_names: tuple[str, ...] = ()

    public_id = models.CharField(max_length=12, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="dialogues", db_index=False)
    external_id = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, default="multi_turn")
    language = models.CharField(max_length=8, blank=True)
    #: Shared by language variants of one another; blank without variants.
    variant_group = models.CharField(max_length=200, blank=True)
    #: The format of the imported candidate, which exports offer first.
    native_format = models.CharField(max_length=12, blank=True)
    head = models.ForeignKey("annotator.Revision", on_delete=models.PROTECT, null=True, related_name="+")
    owner = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False)
    status = models.CharField(max_length=12, choices=DialogueStatus, default=DialogueStatus.CANDIDATE)
    #: Key of its current stage; blank outside a cycle.
    stage = models.CharField(max_length=40, blank=True)

    # Denormalised from the head revision.
    content_hash = models.CharField(max_length=64)
    title = models.CharField(max_length=160)
    policies = models.TextField(blank=True)  # ",single_tool,chat," in task order
    #: The first four of them, up to a task without one: see ``annotator.core.coverage.sequence_of``.
    sequence = models.CharField(max_length=60, blank=True, default="", db_default="")
    topologies = models.TextField(blank=True)
    information = models.TextField(blank=True)
    #: The same as numbers, such as “explicit:2”: see ``annotator.core.coverage.tally_of``.
    topology_tally = models.CharField(max_length=200, blank=True, default="", db_default="")
    information_tally = models.CharField(max_length=200, blank=True, default="", db_default="")
    #: Labels of the custom field “difficulty”, if there is one.
    difficulty_tally = models.CharField(max_length=200, blank=True, default="", db_default="")
    toolset = models.ForeignKey("annotator.Toolset", null=True, related_name="+", **UNENFORCED)
    #: Labels of custom fields as lines “key=value”, between line ends.
    labels = models.TextField(blank=True, default="", db_default="")
    task_count = models.PositiveSmallIntegerField(default=0)
    call_count = models.PositiveIntegerField(default=0)
    switches = models.PositiveSmallIntegerField(default=0)
    error_count = models.PositiveIntegerField(default=0)
    warning_count = models.PositiveIntegerField(default=0)
    search_text = models.TextField(blank=True)

    #: The import that created it; unpublished until the import's last step.
    batch = models.ForeignKey("annotator.Job", null=True, related_name="+", **UNENFORCED)
    published = models.BooleanField(default=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    #: Blank for ordinary dialogues.
    gold_role = models.CharField(max_length=8, choices=GoldRole, blank=True, default="", db_default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = DialogueQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["public_id"], name="dialogue_public_id_once"),
            # A gold item has the id of the dialogue that it replaces; another id would reveal it.
            models.UniqueConstraint(
                "project",
                "external_id",
                Case(When(gold_role=GoldRole.GOLD, then="id"), default=0, output_field=models.BigIntegerField()),
                name="dialogue_external_id_once",
            ),
            models.CheckConstraint(condition=Q(status__in=DialogueStatus.values), name="dialogue_status_known"),
        ]
        indexes = [
            # Lists are ordered by time of creation, or first by one of these.
            *(
                models.Index(
                    fields=["project", *more, "created_at", "public_id"], condition=Q(published=True), name=name
                )
                for name, more in {
                    "dialogue_by_project": [],
                    "dialogue_by_status": ["status"],
                    "dialogue_by_stage": ["stage"],
                    "dialogue_by_owner": ["owner"],
                    "dialogue_by_language": ["language"],
                    # Programs also ask for what has changed since they asked last.
                    "dialogue_by_change": ["updated_at"],
                    "dialogue_by_external_id": ["external_id"],
                    "dialogue_by_title": ["title"],
                    "dialogue_by_tasks": ["task_count"],
                    "dialogue_by_calls": ["call_count"],
                    "dialogue_by_errors": ["error_count"],
                    "dialogue_by_warnings": ["warning_count"],
                }.items()
            ),
            # Few dialogues have an error or a warning, so these are indexed separately.
            *(
                models.Index(
                    fields=["project", "created_at", "public_id"],
                    condition=Q(("published", True), (f"{severity}_count__gt", 0)),
                    name=f"dialogue_with_{severity}s",
                )
                for severity in ("error", "warning")
            ),
            models.Index(
                fields=["project", "variant_group"], condition=~Q(variant_group=""), name="dialogue_by_variant"
            ),
            models.Index(fields=["batch"], condition=Q(published=False), name="dialogue_unpublished"),
            # Have all that the coverage counts, so that it does not read the rows.
            *(
                models.Index(
                    fields=["project", *counted, "status", "gold_role"],
                    condition=Q(published=True, archived_at__isnull=True),
                    name=name,
                )
                for name, counted in {
                    "dialogue_by_sequence": ["sequence"],
                    "dialogue_by_topologies": ["topology_tally"],
                    "dialogue_by_information": ["information_tally"],
                    "dialogue_by_toolset": ["toolset", "kind"],
                    "dialogue_by_difficulty": ["difficulty_tally", "kind"],
                    "dialogue_by_size": ["language", "task_count", "call_count", "kind"],
                }.items()
            ),
        ]

    def __str__(self) -> str:
        return self.external_id

    @property
    def policy_list(self) -> list[str]:
        """The tasks' policies in order; blank if not annotated."""
        return self.policies[1:-1].split(",") if self.policies else []

    @property
    def error_words(self) -> str:
        return ngettext("%(count)d error", "%(count)d errors", self.error_count) % {"count": self.error_count}

    @property
    def warning_words(self) -> str:
        count = self.warning_count
        return ngettext("%(count)d warning", "%(count)d warnings", count) % {"count": count}


class RevisionQuerySet(models.QuerySet["Revision"]):
    def visible_to(self, user: User) -> Self:
        """Return all revisions except those of colleagues in an unsettled blind stage."""
        return self.unsealed_for(user).filter(dialogue__in=Dialogue.objects.visible_to(user))

    def unsealed_for(self, user: User) -> Self:
        """Return the same for dialogues that the user is known to see."""
        return self.filter(Q(sealed=False) | Q(author=user))


class Revision(models.Model):
    """An immutable version of a dialogue's content: canonical JSON text and its SHA-256."""

    public_id = models.CharField(max_length=12, default=new_public_id, editable=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="revisions", db_index=False)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="children", db_index=False)
    #: ``main``, or a reviewer's own branch in a blind stage.
    branch = models.CharField(max_length=40, default="main")
    #: Null while sealed: a gap in the numbers would show a blind reviewer that a colleague made a change.
    number = models.PositiveIntegerField(null=True)
    author = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    message = models.CharField(max_length=500, blank=True)
    toolset_revision = models.ForeignKey(ToolsetRevision, on_delete=models.PROTECT, related_name="+")
    guideline = models.ForeignKey(
        "annotator.Guideline", on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    content_hash = models.CharField(max_length=64)
    #: True while it belongs to an unsettled blind stage: only its author sees it.
    sealed = models.BooleanField(default=False)
    batch = models.ForeignKey(
        "annotator.Job", on_delete=models.PROTECT, null=True, related_name="+", db_constraint=False
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: See ``core.checks.clean_marks``. Null instead of blank, so that SQLite adds the column without rewriting the
    #: table, which would lose its triggers.
    clean_mark = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001
    #: Last, and deferred in lists: it may be large.
    content = models.TextField()

    objects = RevisionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["public_id"], name="revision_public_id_once"),
            models.UniqueConstraint(fields=["dialogue", "number"], name="revision_number_once"),
            models.CheckConstraint(
                condition=Q(sealed=True, number__isnull=True) | Q(sealed=False, number__isnull=False),
                name="revision_numbered_when_open",
            ),
        ]
        indexes = [
            models.Index(fields=["parent"], condition=Q(parent__isnull=False), name="revision_by_parent"),
        ]

    def __str__(self) -> str:
        return f"{self.dialogue_id} r{self.number}"

    def document(self) -> dict[str, Any]:
        """Return the content as a document."""
        return load_text(self.content)


class Draft(models.Model):
    """Unsubmitted work: one open draft per person, dialogue and branch."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="drafts")
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="drafts")
    branch = models.CharField(max_length=40, default="main")
    #: The revision it is based on; a newer head has to be merged before submission.
    base = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="+")
    toolset_revision = models.ForeignKey(ToolsetRevision, on_delete=models.PROTECT, related_name="+")
    #: Raised by every edit; pages state the version that they show.
    version = models.PositiveIntegerField(default=0)
    content = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)
    #: Set when it is submitted or abandoned.
    closed_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=12, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["dialogue", "author", "branch"], condition=Q(closed_at=None), name="draft_one_open"
            )
        ]

    def __str__(self) -> str:
        return f"draft {self.public_id}"

    def content_hash(self) -> str:
        """Return the SHA-256 of the content, comparable with a revision's."""
        return content_hash(self.content)

    def document(self) -> dict[str, Any]:
        return load_text(self.content)


class StepState(models.TextChoices):
    """The state of an edit."""

    DONE = "done", _("Done")
    UNDONE = "undone", _("Undone")
    GONE = "gone", _("Undone and replaced by other edits")
    #: Not an edit, but an undo or a redo.
    MOVE = "move", _("Undo or redo")


class DraftStep(models.Model):
    """The step from one version of a draft to the next: an edit, an undo or a redo.

    Every version has its step, so that the version that a window shows can be compared with the current one.
    """

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="steps")
    #: The draft's version after the step.
    version = models.PositiveIntegerField()
    #: The page's random id of the edit, which may arrive twice if the answer was lost.
    edit_id = models.CharField(max_length=40, blank=True)
    operation = models.JSONField()
    #: Content before and after, as canonical text.
    before = models.TextField()
    after = models.TextField()
    state = models.CharField(max_length=8, choices=StepState, default=StepState.DONE)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "version"], name="draft_step_version_once"),
            models.CheckConstraint(condition=Q(state__in=StepState.values), name="draft_step_state_known"),
        ]
        ordering = ["version"]

    def __str__(self) -> str:
        return f"{self.operation.get('op')} v{self.version}"


class Finding(models.Model):
    """A finding of a check in a revision, with its place."""

    #: Copied from the revision.
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="findings", db_constraint=False)
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="findings")
    check_id = models.CharField(max_length=60)
    severity = models.CharField(max_length=8)
    anchor = models.CharField(max_length=600, blank=True)
    value_hash = models.CharField(max_length=16, blank=True)
    message = models.CharField(max_length=1000)

    class Meta:
        indexes = [models.Index(fields=["check_id", "dialogue"], name="finding_by_check")]

    def __str__(self) -> str:
        return f"{self.check_id} at {self.anchor}"


class WaiverQuerySet(models.QuerySet["Waiver"]):
    def visible_to(self, user: User) -> Self:
        """Return all waivers except those of colleagues in an unsettled blind stage."""
        return self.unsealed_for(user).filter(dialogue__in=Dialogue.objects.visible_to(user))

    def unsealed_for(self, user: User | int) -> Self:
        """Return the same for dialogues that the user (or the one with this key) is known to see."""
        return self.filter(Q(sealed=False) | Q(author=user))

    def in_effect(self) -> Self:
        """Return the waivers that were not taken back."""
        return self.filter(withdrawn_at=None)


class Waiver(models.Model):
    """The reason why a warning does not matter. Void when the value changes, or when it is taken back."""

    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="waivers")
    check_id = models.CharField(max_length=60)
    anchor = models.CharField(max_length=600, blank=True)
    value_hash = models.CharField(max_length=16, blank=True)
    reason = models.CharField(max_length=500)
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: True while its author reviews blind.
    sealed = models.BooleanField(default=False)
    #: When and by whom it was taken back. The row stays, so that what was waived when a review was submitted is known.
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")

    objects = WaiverQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="waiver_has_reason"),
            models.CheckConstraint(
                condition=Q(withdrawn_at__isnull=True, withdrawn_by__isnull=True)
                | Q(withdrawn_at__isnull=False, withdrawn_by__isnull=False),
                name="waiver_withdrawn_by_somebody",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.check_id}: {self.reason}"
