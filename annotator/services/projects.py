"""Projects, their people and their guideline."""

import secrets
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any
from zoneinfo import available_timezones

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from annotator.core.checks import all_checks
from annotator.core.wording import has_unseen
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Event, Guideline, Invitation, Membership, Project, Role, User
from annotator.models.keys import hash_secret
from annotator.models.people import InvitationQuerySet
from annotator.services.access.permissions import require_administrator, roles_in
from annotator.services.history.events import append_event

INVITATION_DAYS = 14
#: Each describes the work in progress that a person may not continue with only these roles left.
DESCRIBE_LOST_WORK: list[Callable[[Project, User, frozenset[Role]], list[str]]] = []
#: Each releases that work in the transaction that ends the role: (actor, project, person, roles left).
RELEASE_LOST_WORK: list[Callable[[User, Project, User, frozenset[Role]], None]] = []
#: Each ends work that a person may not continue with a new role, in the transaction that adds the role.
ROLE_GRANTED: list[Callable[[Project, User, Role], None]] = []
SEVERITIES = ("error", "warning", "info", "off")
SETTINGS = ("name", "description", "time_zone", "long_range_rule", "check_settings")
_LABELS = {
    "name": gettext_noop("Name"),
    "description": gettext_noop("Description"),
    "time_zone": gettext_noop("Time zone"),
    "long_range_rule": gettext_noop("Long-range rule"),
}
_CHECK = "check "
MAX_GUIDELINE = 200_000
#: Open invitations of a project.
MAX_OPEN_INVITATIONS = 100


@cache
def time_zones() -> tuple[str, ...]:
    """Return the sorted names of all time zones. Cached, because finding them reads a folder of hundreds of files."""
    return tuple(sorted(available_timezones()))


def may_create_projects(user: User) -> bool:
    """Whether the user may create projects: staff, and administrators of a project."""
    return user.is_active and (user.is_staff or user.memberships.live().filter(role=Role.ADMINISTRATOR).exists())


def create_project(*, actor: User | None, name: str, slug: str = "", description: str = "") -> Project:
    """Create a project administered by the actor (None: the command line, a project without members).

    Without a ``slug``, one is made from the name, with a number if it is taken. A repeated request returns the project
    that the first one created. Raises Denied, Invalid, or Conflict if the given slug is taken.
    """
    if actor is not None:
        require_project_creator(actor=actor)
    name, description = _required_name(name), description[:2000]
    wanted = slugify(slug or name)[: 60 if slug else 56].strip("-_")
    if not wanted:
        raise Invalid(
            _("The address needs at least one letter from a to z or a digit."),
            field="slug",
        )
    for n in range(1, 100):
        tried = wanted if n == 1 else f"{wanted}-{n}"
        try:
            with transaction.atomic():
                project = Project.objects.create(name=name, slug=tried, description=description)
                if actor is not None:
                    Membership.objects.create(project=project, user=actor, role=Role.ADMINISTRATOR)
                append_event(actor=actor, project=project, kind="project.created", after={"name": name, "slug": tried})
        except IntegrityError:
            made = actor and _just_made(actor, name=name, slug=tried, description=description)
            if made:
                return made
            if slug:
                break
        else:
            return project
    raise Conflict(_("The address “%(slug)s” is taken. Choose another.") % {"slug": wanted}, field="slug")


def _just_made(actor: User, **fields: str) -> Project | None:
    """Return the project that the actor created so if nothing has happened in it since: a double click."""
    project = Project.objects.administered_by(actor).filter(**fields).first()
    if project is None:
        return None
    kinds = Event.objects.filter(project=project).order_by("pk").values_list("kind", "actor")[:2]
    return project if list(kinds) == [("project.created", actor.pk)] else None


def require_project_creator(*, actor: User) -> None:
    """Raises Denied unless the actor may create projects."""
    if not may_create_projects(actor):
        raise Denied(_("Only staff and administrators of a project can create projects."))


def _required_name(name: str) -> str:
    name = name.strip()
    if not name:
        raise Invalid(_("Enter a name."), field="name")
    if has_unseen(name):
        raise Invalid(_("The name contains invisible characters. Type it again."), field="name")
    if len(name) > 120:
        raise Invalid(_("The name is longer than 120 characters. Shorten it."), field="name")
    return name


def settings_of(project: Project) -> dict[str, Any]:
    """Return a project's settings as ``change_project`` takes them."""
    return {name: getattr(project, name) for name in SETTINGS}


def change_project(
    *,
    actor: User,
    project: Project,
    name: str,
    description: str,
    time_zone: str,
    long_range_rule: str,
    check_settings: dict[str, str],
    seen: dict[str, Any] | None = None,
) -> Project:
    """Change a project's settings. ``check_settings`` has only the severities that differ from the registry's.

    ``seen``: the settings that the actor started from. Changes by others since then are kept. Raises Conflict if both
    changed the same setting; its ``mine`` are the settings with the actor's changes, its ``now`` the current ones.
    """
    require_administrator(actor=actor, project=project)
    name = _required_name(name)
    if time_zone not in time_zones():
        raise Invalid(_("“%(zone)s” is not a time zone. Use a name like Europe/Kyiv.") % {"zone": time_zone})
    if long_range_rule not in ("c3", "wild"):
        raise Invalid(_("The long-range rule must be “c3” or “wild”."))
    known = {check.id for check in all_checks()}
    for check, severity in check_settings.items():
        if check not in known:
            raise Invalid(_("There is no check “%(check)s”.") % {"check": check})
        if severity not in SEVERITIES:
            raise Invalid(
                _("The severity of %(check)s must be one of: %(severities)s.")
                % {"check": check, "severities": ", ".join(SEVERITIES)}
            )
    with transaction.atomic():
        project = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        new = {
            "name": name,
            "description": description[:2000],
            "time_zone": time_zone,
            "long_range_rule": long_range_rule,
            "check_settings": check_settings,
        }
        if seen is not None:
            new = _beside(new, seen, settings_of(project))
        _set(actor, project, new)
    return project


def follow_long_range_rule(*, actor: User | None, project: Project, rule: str) -> None:
    """Set the long-range rule to that of the benchmark whose protocol the project adopts first.

    Runs in the caller's transaction, which has locked the project.
    """
    _set(actor, project, {"long_range_rule": rule})


def _set(actor: User | None, project: Project, new: dict[str, Any]) -> None:
    before = {field: getattr(project, field) for field in new if getattr(project, field) != new[field]}
    for field in before:
        setattr(project, field, new[field])
    if before:
        project.save(update_fields=list(before))
        append_event(
            actor=actor,
            project=project,
            kind="project.changed",
            before=before,
            after={field: new[field] for field in before},
        )


def _beside(mine: dict[str, Any], seen: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the current settings with the changes of a person who started from ``seen``. Raises Conflict."""
    mine, seen, now = (_one_by_one(settings) for settings in (mine, seen, now))
    ours = {key for key in {*mine, *seen} if mine.get(key) != seen.get(key)}
    merged = {key: value for key, value in now.items() if key not in ours}
    merged |= {key: mine[key] for key in ours if key in mine}
    clashes = sorted(key for key in ours if now.get(key) not in (seen.get(key), mine.get(key)))
    together = _together(merged)
    if clashes:
        words = ", ".join(f"{_label(key)} “{now.get(key, _('default'))[:80]}”" for key in clashes)
        raise Conflict(
            _(
                "Somebody else changed the same settings: %(settings)s. Nothing is saved yet. Your values are below; "
                "save again to overwrite theirs."
            )
            % {"settings": words},
            mine=together,
            now=_together(now),
        )
    return together


def _label(key: str) -> str:
    return _(_LABELS[key]) if key in _LABELS else key


def _one_by_one(settings: dict[str, Any]) -> dict[str, str]:
    checks = {f"{_CHECK}{check}": severity for check, severity in settings["check_settings"].items()}
    return {name: value for name, value in settings.items() if name != "check_settings"} | checks


def _together(flat: dict[str, str]) -> dict[str, Any]:
    checks = {key.removeprefix(_CHECK): value for key, value in flat.items() if key.startswith(_CHECK)}
    return {key: value for key, value in flat.items() if not key.startswith(_CHECK)} | {"check_settings": checks}


def grant_role(*, actor: User | None, project: Project, user: User, role: Role) -> Membership:
    """Give a person a role (``actor`` None: the command line). A role that they already have stays as it is."""
    if actor is not None:
        require_administrator(actor=actor, project=project)
    return _give_role(actor=actor, project=project, user=user, role=role)


def _give_role(
    *, actor: User | None, project: Project, user: User, role: Role, invitation: Invitation | None = None
) -> Membership:
    with transaction.atomic():
        membership, created = Membership.objects.live().get_or_create(project=project, user=user, role=role)
        if created:
            after = {"user": user.public_id, "role": role.value}
            if invitation is not None:
                after["invitation"] = invitation.public_id
            append_event(actor=actor, project=project, kind="membership.granted", after=after)
            for end in ROLE_GRANTED:
                end(project, user, role)
    return membership


def end_role(*, actor: User, project: Project, user: User, role: Role) -> None:
    """Remove a role. Raises Conflict if it is the last administrator's.

    An administrator's open invitations end with the role, since they would be a way back. A person's API tokens end
    with their last role. Work that they may not continue is released; drafts are kept.
    """
    with transaction.atomic():
        # Lock all administrators' rows first, so that two administrators can't remove each other at the same moment.
        held = (
            Membership.objects.live()
            .select_for_update(of=("self",), no_key=True)
            .filter(Q(role=Role.ADMINISTRATOR) | Q(user=user), project=project)
            .select_related("user")
            .order_by("pk")
        )
        memberships = list(held)
        require_administrator(actor=actor, project=project)
        membership = next((m for m in memberships if m.user_id == user.pk and m.role == role), None)
        if membership is None:
            if Membership.objects.filter(project=project, user=user, role=role).exists():
                return
            raise Conflict(_("%(person)s does not have this role.") % {"person": user})
        if role == Role.ADMINISTRATOR:
            if not any(m.role == role and m.user_id != user.pk and m.user.is_active for m in memberships):
                sentence = _("%(person)s is the only administrator. Make somebody else an administrator first.")
                raise Conflict(sentence % {"person": user})
            _revoke_invitations_of(actor=actor, project=project, sender=user)
        left = frozenset(Role(m.role) for m in memberships if m.user_id == user.pk and m.role != role)
        for release in RELEASE_LOST_WORK:
            release(actor, project, user, left)
        membership.ended_at = timezone.now()
        membership.save(update_fields=["ended_at"])
        if not Membership.objects.live().filter(user=user).exists():
            User.objects.filter(pk=user.pk).update(tokens_since=timezone.now())
        append_event(
            actor=actor,
            project=project,
            kind="membership.ended",
            before={"user": user.public_id, "role": membership.role},
        )


def lost_work(*, project: Project, user: User, left: frozenset[Role]) -> list[str]:
    """Return a sentence for each item in progress that a person may not continue with only these roles left."""
    return [sentence for name in DESCRIBE_LOST_WORK for sentence in name(project, user, left)]


def _revoke_invitations_of(*, actor: User, project: Project, sender: User) -> None:
    for invitation in open_invitations(project=project).select_for_update(of=("self",)).filter(created_by=sender):
        _close_invitation(actor=actor, invitation=invitation)


def deactivate_person(*, actor: User, project: Project, user: User) -> None:
    """End all roles of a person in this project. Their work stays under their name. Raises Conflict.

    Does nothing if the person has already left.
    """
    require_administrator(actor=actor, project=project)
    if user.pk == actor.pk:
        raise Conflict(_("You can’t remove yourself. Ask another administrator."))
    held = roles_in(project, user)
    if not held and not Membership.objects.filter(project=project, user=user).exists():
        raise Conflict(_("%(person)s was never a member of this project.") % {"person": user})
    with transaction.atomic():
        for role in sorted(held):
            end_role(actor=actor, project=project, user=user, role=role)


def create_invitation(*, actor: User, project: Project, roles: list[str], note: str = "") -> tuple[Invitation, str]:
    """Create an invitation. Returns it and the secret of its link, which is shown once. Raises Invalid."""
    require_administrator(actor=actor, project=project)
    roles = sorted(set(roles))
    if not roles:
        raise Invalid(_("Choose at least one role."))
    unknown = [role for role in roles if role not in Role.values]
    if unknown:
        raise Invalid(_("There is no role “%(role)s”.") % {"role": unknown[0]})
    secret = secrets.token_urlsafe(24)
    with transaction.atomic():
        # The lock makes counting and writing one step.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if open_invitations(project=project).count() >= MAX_OPEN_INVITATIONS:
            raise Invalid(
                ngettext(
                    "A project can have %(count)d open invitation. Revoke it first.",
                    "A project can have %(count)d open invitations. Revoke some that are no longer needed.",
                    MAX_OPEN_INVITATIONS,
                )
                % {"count": MAX_OPEN_INVITATIONS}
            )
        invitation = Invitation.objects.create(
            project=project,
            roles=roles,
            note=note.strip()[:120],
            secret_hash=hash_secret(secret),
            created_by=actor,
            expires_at=timezone.now() + timedelta(days=INVITATION_DAYS),
        )
        append_event(
            actor=actor,
            project=project,
            kind="invitation.created",
            after={"invitation": invitation.public_id, "roles": roles, "note": invitation.note},
        )
    return invitation, secret


def open_invitations(*, project: Project) -> InvitationQuerySet:
    """Return the project's open invitations, newest first."""
    return Invitation.objects.open(timezone.now()).filter(project=project).order_by("-pk")


def find_invitation(secret: str, *, for_update: bool = False) -> Invitation:
    """Return the open invitation behind a link. Raises Hidden, whatever is wrong with it.

    An invitation from a deactivated person is not valid: they could use it to sign up again.
    """
    rows = Invitation.objects.select_related("project", "created_by").filter(secret_hash=hash_secret(secret))
    if for_update:
        rows = rows.select_for_update(of=("self",))
    invitation = rows.first()
    if invitation is None or not invitation.is_open(timezone.now()) or not invitation.created_by.is_active:
        raise Hidden(_("This invitation is not valid or has expired. Ask the person who sent it for a new one."))
    return invitation


def accept_invitation(*, actor: User, secret: str) -> Project:
    """Join the project. An invitation works once; a repeated request by the same person changes nothing.

    Raises Hidden, or Conflict if the person already has the invitation's roles.
    """
    with transaction.atomic():
        try:
            invitation = find_invitation(secret, for_update=True)
        except Hidden:
            used = Invitation.objects.filter(secret_hash=hash_secret(secret), accepted_by=actor)
            joined = used.select_related("project").first()
            if joined is None or not roles_in(joined.project, actor):
                raise
            return joined.project
        project = invitation.project
        roles = {Role(role) for role in invitation.roles}
        if roles <= roles_in(project, actor):
            raise Conflict(
                _("You already have these roles in %(project)s. You can still send the link to somebody else.")
                % {"project": project.name}
            )
        invitation.accepted_by = actor
        invitation.accepted_at = timezone.now()
        invitation.save(update_fields=["accepted_by", "accepted_at"])
        append_event(
            actor=actor, project=project, kind="invitation.accepted", after={"invitation": invitation.public_id}
        )
        for role in sorted(roles):
            _give_role(actor=actor, project=project, user=actor, role=role, invitation=invitation)
        return project


def revoke_invitation(*, actor: User, project: Project, public_id: str) -> None:
    """Revoke an invitation; a revoked one stays as it is. Raises Hidden, or Conflict if it was used or has expired."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        invitation = Invitation.objects.select_for_update().filter(project=project, public_id=public_id).first()
        if invitation is None:
            raise Hidden(_("This invitation doesn’t exist."))
        if invitation.revoked_at is not None:
            return
        if not invitation.is_open(timezone.now()):
            raise Conflict(_("This invitation was already used or has expired."))
        _close_invitation(actor=actor, invitation=invitation)


def _close_invitation(*, actor: User, invitation: Invitation) -> None:
    invitation.revoked_at = timezone.now()
    invitation.save(update_fields=["revoked_at"])
    append_event(
        actor=actor,
        project=invitation.project,
        kind="invitation.revoked",
        before={"invitation": invitation.public_id, "roles": invitation.roles, "note": invitation.note},
    )


def publish_guideline(*, actor: User | None, project: Project, text: str, note: str = "", seen: int) -> Guideline:
    """Publish a version of the guideline. ``seen`` is the version that the text started from.

    A repeated request changes nothing. Raises Conflict or Invalid.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    text = text.replace("\r\n", "\n")
    if not text.strip():
        raise Invalid(_("The guideline is empty. Write at least a sentence."), field="text")
    if len(text) > MAX_GUIDELINE:
        sentence = _("The guideline is longer than %(most)s characters. Shorten it.")
        raise Invalid(sentence % {"most": f"{MAX_GUIDELINE:,}"}, field="text")
    if "\x00" in text:
        raise Invalid(_("The guideline contains a NUL character. Remove it."), field="text")
    with transaction.atomic():
        # One publication at a time.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        last = Guideline.objects.filter(project=project).order_by("-number").first()
        number = last.number if last else 0
        note = note.strip()[:200]
        if last is not None and number == seen + 1 and (last.text, last.note, last.author) == (text, note, actor):
            # A second click.
            return last
        if number != seen:
            raise Conflict(
                _("Version %(number)d was published while you edited version %(seen)d. Your text is kept below.")
                % {"number": number, "seen": seen},
                number=number,
            )
        if last is not None and text == last.text:
            sentence = _("The text is the same as in the current version %(number)d.")
            raise Invalid(sentence % {"number": number}, field="text")
        guideline = Guideline.objects.create(project=project, number=number + 1, text=text, note=note, author=actor)
        append_event(
            actor=actor,
            project=project,
            kind="guideline.published",
            before={"number": last.number, "sha256": hash_secret(last.text)} if last else {},
            after={"number": guideline.number, "sha256": hash_secret(text), "note": guideline.note},
        )
    return guideline
