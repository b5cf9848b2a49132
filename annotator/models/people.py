"""People, projects and what a person may do in a project."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from annotator.core.roles import Role
from annotator.core.scopes import TEXTS, Scope, from_text
from annotator.models.keys import new_pseudonym, new_public_id

#: Roles that see known answers and other people's work; people with such a role are never tested.
OVERSEERS = frozenset({Role.ADMINISTRATOR, Role.SENIOR_REVIEWER})


class User(AbstractUser):
    """A person. Never deleted: deactivated, and known by pseudonym in releases."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    pseudonym = models.CharField(max_length=12, unique=True, default=new_pseudonym, editable=False)
    display_name = models.CharField(max_length=80, blank=True)
    #: The text of this person's sign-in button in the demo; blank for everybody else.
    demo_note = models.CharField(max_length=160, blank=True)
    #: Of their browser at the last sign-in, for mails; blank: the site's.
    language = models.CharField(max_length=20, blank=True, editable=False)
    #: When they finished or skipped the tour of the workspace; null: it starts with the next item.
    toured_at = models.DateTimeField(null=True, blank=True, editable=False)
    #: What they chose in their settings, for pages and mails; blank: the language of their browser.
    chosen_language = models.CharField(max_length=20, blank=True)
    #: Keys that the person chose: {action of ``annotator.core.keys``: key}, blank where its key is switched off.
    own_keys = models.JSONField(default=dict, blank=True, editable=False)
    #: API tokens created before are void. Set by a new password, by deactivation and with the end of the last role.
    tokens_since = models.DateTimeField(null=True, blank=True, editable=False)

    #: Keys of the projects to which the API token of this request is limited; None: it is not limited.
    token_projects: frozenset[int] | None = None
    #: Whether this request changes something, which archived projects refuse.
    is_changing = False

    def __str__(self) -> str:
        return self.display_name or self.username

    @property
    def reading_language(self) -> str:
        """Return the code of the language in which this person gets mails."""
        return self.chosen_language or self.language or settings.LANGUAGE_CODE

    def reaches(self, project_id: int) -> bool:
        """Return whether the token of this request, if there is one, may be used in a project."""
        return self.token_projects is None or project_id in self.token_projects

    def set_password(self, raw_password: str | None) -> None:
        """Set the password and void all tokens. (When Django rehashes the same password, tokens stay.)"""
        super().set_password(raw_password)
        self.tokens_since = timezone.now()

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any) -> None:
        if not self.is_active:
            self.tokens_since = timezone.now()
            update_fields = None if update_fields is None else {*update_fields, "tokens_since"}
        super().save(*args, update_fields=update_fields, **kwargs)


class ProjectQuerySet(models.QuerySet["Project"]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Return projects of which ``user`` is a member."""
        return self._with_live_role(user)

    def administered_by(self, user: User | AnonymousUser) -> Self:
        """Return projects that ``user`` administers."""
        return self._with_live_role(user, role=Role.ADMINISTRATOR)

    def overseen_by(self, user: User | AnonymousUser) -> Self:
        """Return projects in which ``user`` sees known answers, as an administrator or a senior reviewer."""
        return self._with_live_role(user, role__in=OVERSEERS)

    def _with_live_role(self, user: User | AnonymousUser, **which: Any) -> Self:
        if isinstance(user, AnonymousUser) or not user.is_active:
            return self.none()
        rows = self.filter(pk__in=Membership.objects.reading().filter(user=user, **which).values("project"))
        return rows if user.token_projects is None else rows.filter(pk__in=user.token_projects)


class Project(models.Model):
    """One benchmark that is being made."""

    #: Its page: see ABSOLUTE_URL_OVERRIDES in the settings.
    get_absolute_url: Callable[[], str]

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True, max_length=2000)
    #: IANA name; statistics count days and weeks in this zone.
    time_zone = models.CharField(max_length=60, default="UTC")
    #: Severities that differ from the registry's: {check id: "error" | "warning" | "info" | "off"}.
    check_settings = models.JSONField(default=dict, blank=True)
    #: Which reading of "long range" the labels follow: c3 or wild.
    long_range_rule = models.CharField(
        max_length=8, default="c3", choices=[("c3", "C3-Bench"), ("wild", "WildToolBench")]
    )
    #: Questions of the project's own (``annotator.core.fields``), and how often they were changed. Events have every
    #: earlier version.
    custom_fields = models.JSONField(default=list, blank=True)
    fields_version = models.PositiveIntegerField(default=0)
    #: Whether people must have accepted the guideline before they get work. Null is false: so SQLite adds the column
    #: without rewriting the table, which would lose its triggers.
    requires_acceptance = models.BooleanField(null=True)
    #: The project in which the toolsets of this one are reviewed.
    toolset_review = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    #: Megabytes (10⁶ bytes) of files that it may store; 0: no limit; null: the setting PROJECT_QUOTA_MB.
    quota_mb = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True)

    objects = ProjectQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class MembershipQuerySet(models.QuerySet["Membership"]):
    def live(self) -> Self:
        """Return roles that have not ended, including those of deactivated people."""
        return self.filter(ended_at=None)

    def in_time(self) -> Self:
        """Return live roles whose last moment has not passed; the others end within a minute."""
        return self.live().filter(Q(expires_at=None) | Q(expires_at__gt=Now()))

    def reading(self) -> Self:
        """Return roles with which a project can be read now: in an archived one, those of overseers."""
        return self.in_time().filter(Q(project__archived_at=None) | Q(role__in=OVERSEERS))

    def active(self) -> Self:
        """Return live roles of people who can sign in."""
        return self.live().filter(user__is_active=True)

    def people(self) -> models.QuerySet[User]:
        return User.objects.filter(pk__in=self.values("user"))


class Membership(models.Model):
    """One role of one person in one project. Ended, never deleted."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=20)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    ended_at = models.DateTimeField(null=True, blank=True)
    #: When the role of a guest ends; null: it lasts. All roles of a person in a project end together.
    expires_at = models.DateTimeField(null=True, blank=True)
    #: The identity provider whose groups gave the role, and may end it; blank: a person gave it.
    provider = models.CharField(max_length=40, blank=True, default="", db_default="")

    objects = MembershipQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "user", "role"], condition=Q(ended_at=None), name="membership_once_per_role"
            ),
            models.CheckConstraint(condition=Q(role__in=[role.value for role in Role]), name="membership_role_known"),
            models.CheckConstraint(
                condition=~Q(role=Role.ADMINISTRATOR.value) | Q(expires_at=None), name="administrators_are_no_guests"
            ),
        ]
        indexes = [models.Index(fields=["user", "project"], condition=Q(ended_at=None), name="membership_live_by_user")]

    def __str__(self) -> str:
        return f"{self.user} in {self.project} as {self.role}"


class MemberAbilities(models.Model):
    """The languages and skills of a person in a project, whatever their roles. Without a row they get everything."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    #: Languages of dialogues, such as "zh"; empty: all.
    languages = models.JSONField(default=list)
    #: Skills that tags of dialogues ask for (see ``annotator.core.abilities``); empty: all.
    skills = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="member_abilities_once")]

    def __str__(self) -> str:
        return f"abilities of {self.user} in {self.project}"


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self, now: datetime) -> Self:
        """Return the open invitations."""
        lasting = Q(access_until=None) | Q(access_until__gt=now)
        return self.filter(lasting, accepted_at=None, revoked_at=None, expires_at__gt=now)


class Invitation(models.Model):
    """A link for joining a project. Only the hash of its secret is stored."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="invitations")
    roles = models.JSONField()
    note = models.CharField(max_length=120, blank=True)
    #: The confirmed email address that a person needs to use it; blank: none.
    address = models.EmailField(blank=True, default="", db_default="")
    secret_hash = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    #: When the roles of a guest who uses it end; null: they last.
    access_until = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    accepted_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    def __str__(self) -> str:
        return f"invitation {self.public_id}"

    def is_open(self, now: datetime) -> bool:
        """Return whether the link can be used."""
        end = min(self.expires_at, self.access_until or self.expires_at)
        return self.accepted_at is None and self.revoked_at is None and now < end


class Guideline(models.Model):
    """One version of a project's annotation guideline, in Markdown."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="guidelines")
    number = models.PositiveIntegerField()
    text = models.TextField(max_length=200_000)
    note = models.CharField(max_length=200, blank=True)
    #: Whether people who accepted an earlier version have to accept this one. Null is false, as above.
    asks_again = models.BooleanField(null=True)
    author = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="guideline_number_once")]
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"guideline {self.number} of {self.project}"


class GuidelineAcceptance(models.Model):
    """A person has read a version of the guideline and accepted it."""

    guideline = models.ForeignKey(Guideline, on_delete=models.PROTECT, related_name="acceptances")
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["person", "guideline"], name="guideline_accepted_once")]

    def __str__(self) -> str:
        return f"{self.person_id} accepted guideline {self.guideline_id}"


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def live(self, now: datetime) -> Self:
        """Return tokens that are not revoked, expired or void (created before their owner's ``tokens_since``)."""
        unexpired = Q(expires_at=None) | Q(expires_at__gt=now)
        valid = Q(user__tokens_since=None) | Q(created_at__gte=F("user__tokens_since"))
        if settings.TOKEN_MAX_DAYS:
            valid &= Q(created_at__gt=now - timedelta(days=settings.TOKEN_MAX_DAYS + 1))
        return self.filter(unexpired, valid, revoked_at=None)


class ApiToken(models.Model):
    """A named API token with its owner's permissions, or some of them. Only its hash is stored."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="api_tokens")
    name = models.CharField(max_length=80)
    secret_hash = models.CharField(max_length=64, unique=True)
    #: First characters of the secret, so that its owner can tell tokens apart.
    hint = models.CharField(max_length=12)
    #: One of ``annotator.core.scopes.TEXTS``.
    scopes = models.CharField(max_length=40, default=Scope.ADMINISTER.value)
    #: False: only ``projects``, even if none of them is left.
    all_projects = models.BooleanField(default=True)
    projects = models.ManyToManyField(Project, related_name="+", blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    #: From where, see ``annotator.services.client_address``; blank: unknown.
    last_address = models.CharField(max_length=45, blank=True, default="", db_default="")

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        constraints = [models.CheckConstraint(condition=Q(scopes__in=TEXTS), name="api_token_scopes_known")]

    def __str__(self) -> str:
        return self.name

    @property
    def scope_set(self) -> frozenset[Scope]:
        """All scopes of the token, including those that others include."""
        return from_text(self.scopes)

    def state(self, now: datetime) -> str:
        """Return ``revoked``, ``ended`` (void by a new password or the end of membership), ``expired`` or ``live``."""
        if self.revoked_at is not None:
            return "revoked"
        if self.user.tokens_since is not None and self.created_at < self.user.tokens_since:
            return "ended"
        too_old = settings.TOKEN_MAX_DAYS and self.created_at <= now - timedelta(days=settings.TOKEN_MAX_DAYS + 1)
        return "expired" if too_old or (self.expires_at is not None and self.expires_at <= now) else "live"
