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

from annotator.core.checks import all_checks
from annotator.core.wording import has_unseen
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Event, Guideline, Invitation, Membership, Project, Role, User
from annotator.models.keys import hash_secret
from annotator.models.people import InvitationQuerySet
from annotator.services.access.permissions import require_administrator, roles_in
from annotator.services.history.events import append_event

INVITATION_DAYS = 14
#: Each names what somebody has in hand that they may not go on with once they hold no other roles than these.
IN_HAND: list[Callable[[Project, User, frozenset[Role]], list[str]]] = []
#: Each takes that from them, in the transaction in which the role ends: (actor, project, person, roles left).
TAKE_BACK: list[Callable[[User, Project, User, frozenset[Role]], None]] = []
#: Each ends what a new role bars somebody from going on with, in the transaction in which it is given.
GIVEN: list[Callable[[Project, User, Role], None]] = []
SEVERITIES = ("error", "warning", "info", "off")
SETTINGS = ("name", "description", "time_zone", "long_range_rule", "check_settings")
_CHECK = "the check "
MAX_GUIDELINE = 200_000
#: Invitations of a project that wait for somebody: each stands in the list in which it can be revoked.
MAX_OPEN_INVITATIONS = 100


@cache
def time_zones() -> tuple[str, ...]:
    """Names of the time zones there are, sorted. Finding them walks through a folder of hundreds of files."""
    return tuple(sorted(available_timezones()))


def may_create_projects(user: User) -> bool:
    """Whoever runs the installation (staff), and whoever administers a project already."""
    return user.is_active and (user.is_staff or user.memberships.live().filter(role=Role.ADMINISTRATOR).exists())


def create_project(*, actor: User | None, name: str, slug: str = "", description: str = "") -> Project:
    """A new project, administered by the actor (None: by the command line, with nobody in it yet).

    Without a ``slug`` one is made from the name, with a number behind it where it is taken. Whoever asks again for what
    they have just made gets that. Raises Denied, Invalid, or Conflict where the given one is taken.
    """
    if actor is not None:
        require_project_creator(actor=actor)
    name, description = _required_name(name), description[:2000]
    wanted = slugify(slug or name)[: 60 if slug else 56].strip("-_")
    if not wanted:
        raise Invalid(
            "The project’s address is made of letters a to z, digits and hyphens; write one that has some of them.",
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
    raise Conflict(f"The address “{wanted}” is taken; choose another.", field="slug")


def _just_made(actor: User, **fields: str) -> Project | None:
    """The project that the actor has made so, where nothing has happened in it since: by a first click, then."""
    project = Project.objects.administered_by(actor).filter(**fields).first()
    if project is None:
        return None
    kinds = Event.objects.filter(project=project).order_by("pk").values_list("kind", "actor")[:2]
    return project if list(kinds) == [("project.created", actor.pk)] else None


def require_project_creator(*, actor: User) -> None:
    """Raises Denied unless the actor may create projects."""
    if not may_create_projects(actor):
        raise Denied("Only people who run this installation or administer a project may create one; ask one of them.")


def _required_name(name: str) -> str:
    name = name.strip()
    if not name:
        raise Invalid("Give the project a name.", field="name")
    if has_unseen(name):
        raise Invalid("The project’s name holds characters that cannot be seen; type it again.", field="name")
    if len(name) > 120:
        raise Invalid("The project’s name is longer than 120 characters; shorten it.", field="name")
    return name


def settings_of(project: Project) -> dict[str, Any]:
    """A project's settings, as ``change_project`` takes them."""
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
    """Change a project's settings. ``check_settings`` holds only what differs from the registry's severities.

    ``seen``: the settings that the actor began with; what others have changed since stays, and where both have changed
    the same, Conflict is raised. Its ``mine`` are the settings with what the actor changed, its ``now`` what they are.
    """
    require_administrator(actor=actor, project=project)
    name = _required_name(name)
    if time_zone not in time_zones():
        raise Invalid(f"“{time_zone}” is no time zone; write it as in Europe/Kyiv.")
    if long_range_rule not in ("c3", "wild"):
        raise Invalid("The long-range rule is c3 or wild.")
    known = {check.id for check in all_checks()}
    for check, severity in check_settings.items():
        if check not in known:
            raise Invalid(f"There is no check called {check}.")
        if severity not in SEVERITIES:
            raise Invalid(f"The severity of {check} must be one of: {', '.join(SEVERITIES)}.")
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
    """Let labels follow the rule of a benchmark whose protocol the project has just adopted, its first one.

    In the caller's transaction, which has locked the project.
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
    """The settings there are now, with what somebody changed who began with ``seen``. Raises Conflict."""
    mine, seen, now = (_one_by_one(settings) for settings in (mine, seen, now))
    ours = {key for key in {*mine, *seen} if mine.get(key) != seen.get(key)}
    merged = {key: value for key, value in now.items() if key not in ours}
    merged |= {key: mine[key] for key in ours if key in mine}
    clashes = sorted(key for key in ours if now.get(key) not in (seen.get(key), mine.get(key)))
    together = _together(merged)
    if clashes:
        words = ", ".join(f"{key.replace('_', ' ')} is “{now.get(key, 'as it comes')[:80]}” now" for key in clashes)
        raise Conflict(
            f"Somebody else has changed the same meanwhile: {words}. Nothing is saved yet; yours is kept below. Save "
            "again to put it in the place of theirs.",
            mine=together,
            now=_together(now),
        )
    return together


def _one_by_one(settings: dict[str, Any]) -> dict[str, str]:
    checks = {f"{_CHECK}{check}": severity for check, severity in settings["check_settings"].items()}
    return {name: value for name, value in settings.items() if name != "check_settings"} | checks


def _together(flat: dict[str, str]) -> dict[str, Any]:
    checks = {key.removeprefix(_CHECK): value for key, value in flat.items() if key.startswith(_CHECK)}
    return {key: value for key, value in flat.items() if not key.startswith(_CHECK)} | {"check_settings": checks}


def grant_role(*, actor: User | None, project: Project, user: User, role: Role) -> Membership:
    """Give a person a role (None as actor: the command line). One they hold already stays as it is."""
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
            for end in GIVEN:
                end(project, user, role)
    return membership


def end_role(*, actor: User, project: Project, user: User, role: Role) -> None:
    """Take a role away. Raises Conflict where it is the last administrator's.

    Invitations that an administrator sent and nobody has used end with the role: they would be a way back. A person's
    API tokens end with the last role: nobody who is asked back has forgotten keys lying about. What they are at work on
    and may not go on with is given back; their drafts are kept.
    """
    with transaction.atomic():
        # Every administrator's row is locked, so that two of them cannot remove each other at the same moment; only
        # then is it certain that the actor is one.
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
            raise Conflict(f"{user} does not hold this role.")
        if role == Role.ADMINISTRATOR:
            if not any(m.role == role and m.user_id != user.pk and m.user.is_active for m in memberships):
                raise Conflict(f"{user} is the only administrator; make somebody else one first.")
            _revoke_invitations_of(actor=actor, project=project, sender=user)
        left = frozenset(Role(m.role) for m in memberships if m.user_id == user.pk and m.role != role)
        for take_back in TAKE_BACK:
            take_back(actor, project, user, left)
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


def in_hand(*, project: Project, user: User, left: frozenset[Role]) -> list[str]:
    """What a person is at work on and may not go on with once these are all their roles, a sentence each."""
    return [sentence for name in IN_HAND for sentence in name(project, user, left)]


def _revoke_invitations_of(*, actor: User, project: Project, sender: User) -> None:
    for invitation in open_invitations(project=project).select_for_update(of=("self",)).filter(created_by=sender):
        _close_invitation(actor=actor, invitation=invitation)


def deactivate_person(*, actor: User, project: Project, user: User) -> None:
    """End all roles a person holds in this project: their work stays, under their name. Nothing changes for who has
    left. Raises Conflict.
    """
    require_administrator(actor=actor, project=project)
    if user.pk == actor.pk:
        raise Conflict("You cannot deactivate yourself; ask another administrator.")
    held = roles_in(project, user)
    if not held and not Membership.objects.filter(project=project, user=user).exists():
        raise Conflict(f"{user} has never held a role in this project.")
    with transaction.atomic():
        for role in sorted(held):
            end_role(actor=actor, project=project, user=user, role=role)


def create_invitation(*, actor: User, project: Project, roles: list[str], note: str = "") -> tuple[Invitation, str]:
    """An invitation and the secret of its link, which is shown this once. Raises Invalid for one too many."""
    require_administrator(actor=actor, project=project)
    roles = sorted(set(roles))
    if not roles:
        raise Invalid("Choose at least one role for the person you invite.")
    unknown = [role for role in roles if role not in Role.values]
    if unknown:
        raise Invalid(f"There is no role called {unknown[0]}.")
    secret = secrets.token_urlsafe(24)
    with transaction.atomic():
        # Counted and written by one at a time.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if open_invitations(project=project).count() >= MAX_OPEN_INVITATIONS:
            raise Invalid(
                f"{MAX_OPEN_INVITATIONS} invitations of this project are open, and no more can be; revoke those that "
                "nobody needs."
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
    """Invitations of the project whose link works, newest first."""
    return Invitation.objects.open(timezone.now()).filter(project=project).order_by("-pk")


def find_invitation(secret: str, *, for_update: bool = False) -> Invitation:
    """The open invitation behind a link. Raises Hidden, whatever is wrong with it.

    One whose sender was deactivated does not work: they could sign up anew by it.
    """
    rows = Invitation.objects.select_related("project", "created_by").filter(secret_hash=hash_secret(secret))
    if for_update:
        rows = rows.select_for_update(of=("self",))
    invitation = rows.first()
    if invitation is None or not invitation.is_open(timezone.now()) or not invitation.created_by.is_active:
        raise Hidden("This invitation does not work, or not any more. Ask whoever sent it for a new one.")
    return invitation


def accept_invitation(*, actor: User, secret: str) -> Project:
    """Become a member. An invitation works once; who has joined by it is a member already. Raises Hidden, or Conflict
    for who has its roles from elsewhere.
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
                f"You are in {project.name} already, with the roles of this invitation. The link still works: "
                "it is for somebody else."
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
    """Close an invitation's link; one that was closed so stays as it is. Raises Hidden, or Conflict for a used one."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        invitation = Invitation.objects.select_for_update().filter(project=project, public_id=public_id).first()
        if invitation is None:
            raise Hidden("There is no such invitation.")
        if invitation.revoked_at is not None:
            return
        if not invitation.is_open(timezone.now()):
            raise Conflict("This invitation is closed already: it was used, or its time is over.")
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
    """A new version of the guideline. ``seen`` is the number it was edited from. The same sent again changes nothing.
    Raises Conflict or Invalid.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    text = text.replace("\r\n", "\n")
    if not text.strip():
        raise Invalid("The guideline is empty; write at least a sentence.", field="text")
    if len(text) > MAX_GUIDELINE:
        raise Invalid(f"The guideline is longer than {MAX_GUIDELINE:,} characters; shorten it.", field="text")
    if "\x00" in text:
        raise Invalid("The guideline holds a NUL character; remove it.", field="text")
    with transaction.atomic():
        # Whoever publishes waits here for whoever is publishing.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        last = Guideline.objects.filter(project=project).order_by("-number").first()
        number = last.number if last else 0
        note = note.strip()[:200]
        if last is not None and number == seen + 1 and (last.text, last.note, last.author) == (text, note, actor):
            # A second click.
            return last
        if number != seen:
            raise Conflict(
                f"Version {number} was published while you edited version {seen}; yours is kept below.", number=number
            )
        if last is not None and text == last.text:
            raise Invalid(f"Nothing was changed: version {number}, in force, says the same.", field="text")
        guideline = Guideline.objects.create(project=project, number=number + 1, text=text, note=note, author=actor)
        append_event(
            actor=actor,
            project=project,
            kind="guideline.published",
            before={"number": last.number, "sha256": hash_secret(last.text)} if last else {},
            after={"number": guideline.number, "sha256": hash_secret(text), "note": guideline.note},
        )
    return guideline
