"""Members of a project: roles and invitations."""

import secrets
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Prefetch, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Invitation, Membership, Project, Role, User
from annotator.models.keys import hash_secret
from annotator.models.people import InvitationQuerySet
from annotator.services.access.permissions import require_administrator, roles_in
from annotator.services.history.events import append_event
from annotator.services.security_log import log_security

INVITATION_DAYS = 14
#: Open invitations of a project.
MAX_OPEN_INVITATIONS = 500
#: Characters of an invitation's note.
MAX_NOTE = 120
#: Characters of an email address.
MAX_ADDRESS = 254
#: Each describes the work in progress that a person may not continue with only these roles left.
DESCRIBE_LOST_WORK: list[Callable[[Project, User, frozenset[Role]], list[str]]] = []
#: Each releases that work in the transaction that ends the role: (actor, project, person, roles left).
RELEASE_LOST_WORK: list[Callable[[User, Project, User, frozenset[Role]], None]] = []
#: Each ends work that a person may not continue with a new role, in the transaction that adds the role.
ROLE_GRANTED: list[Callable[[Project, User, Role], None]] = []


def load_person(*, project: Project, public_id: str) -> User:
    """Return a person who is or was a member of the project. Raises Hidden."""
    user = User.objects.filter(public_id=public_id, memberships__project=project).distinct().first()
    if user is None:
        raise Hidden(_("This person isn’t a member of this project."))
    return user


def list_members(*, project: Project) -> QuerySet[User]:
    """Return the members, each with ``live_roles``: their live memberships, by role.

    ``created_at`` is when their account was made, as in other rows that have pages.
    """
    live = Membership.objects.live().filter(project=project)
    people = User.objects.filter(pk__in=live.values("user")).annotate(created_at=F("date_joined"))
    return people.prefetch_related(Prefetch("memberships", live.order_by("role"), to_attr="live_roles"))


def members_changed_since(project: Project) -> Callable[[QuerySet[User], datetime], QuerySet[User]]:
    """Return what narrows members down to those who got or lost a role since a moment."""

    def narrow(people: QuerySet[User], moment: datetime) -> QuerySet[User]:
        changed = Membership.objects.filter(Q(created_at__gte=moment) | Q(ended_at__gte=moment), project=project)
        return people.filter(pk__in=changed.values("user"))

    return narrow


def grant_role(*, actor: User | None, project: Project, user: User, role: Role) -> Membership:
    """Give a person a role (``actor`` None: the command line). A role that they already have stays as it is."""
    if actor is not None:
        require_administrator(actor=actor, project=project)
    return _give_role(actor=actor, project=project, user=user, role=role)


def give_administration(*, actor: User, project: Project, user: User) -> Membership:
    """Make a person an administrator; the caller has checked that the actor may do this."""
    return _give_role(actor=actor, project=project, user=user, role=Role.ADMINISTRATOR)


def give_role_of_group(*, project: Project, user: User, role: Role, provider: str) -> Membership:
    """Give a person the role of their group at an identity provider. A role that they already have stays as it is."""
    return _give_role(actor=user, project=project, user=user, role=role, provider=provider)


def _give_role(
    *,
    actor: User | None,
    project: Project,
    user: User,
    role: Role,
    invitation: Invitation | None = None,
    provider: str = "",
) -> Membership:
    with transaction.atomic():
        until = _end_of_access(project, user, role, invitation)
        membership, created = Membership.objects.live().get_or_create(
            project=project, user=user, role=role, defaults={"provider": provider, "expires_at": until}
        )
        if not created and membership.provider and not provider:
            # A person gives it now, so it no longer ends with the group.
            membership.provider = ""
            membership.save(update_fields=["provider"])
        if created:
            after = {"user": user.public_id, "role": role.value}
            if invitation is not None:
                after["invitation"] = invitation.public_id
            if provider:
                after["provider"] = provider
            append_event(actor=actor, project=project, kind="membership.granted", after=after)
            log_security("role_granted", person=user, actor=actor, project=project.slug, role=role.value)
            for end in ROLE_GRANTED:
                end(project, user, role)
    return membership


def _end_of_access(project: Project, user: User, role: Role, invitation: Invitation | None) -> datetime | None:
    """Return when a new role ends: with those that the person has. An administrator is no longer a guest."""
    held = Membership.objects.live().filter(project=project, user=user).order_by("pk")
    rows = list(held.select_for_update(no_key=True))
    if role == Role.ADMINISTRATOR:
        held.update(expires_at=None)
        return None
    if rows:
        return rows[0].expires_at
    return invitation.access_until if invitation is not None else None


def end_role(*, actor: User, project: Project, user: User, role: Role) -> None:
    """Remove a role. Raises Conflict if it is the last administrator's.

    An administrator's open invitations end with the role, since they would be a way back. A person's API tokens end
    with their last role. Work that they may not continue is released; drafts are kept.
    """
    _end_role(actor=actor, project=project, user=user, role=role, by_administrator=True)


def end_role_of_group(*, project: Project, user: User, role: Role) -> None:
    """Remove a role that a group gave, as ``end_role`` does, when the person is no longer in it."""
    _end_role(actor=user, project=project, user=user, role=role, by_administrator=False)


def end_role_of_guest(membership: Membership) -> None:
    """Remove a guest's role whose time is over, as ``end_role`` does, unless it was given more time."""
    _end_role(
        actor=membership.user, project=membership.project, user=membership.user, role=Role(membership.role),
        by_administrator=False, only_expired=True,
    )  # fmt: skip


def require_possible_guest(roles: list[str], until: datetime) -> None:
    """Raise Invalid if people with these roles can't be guests, or the moment has passed."""
    if Role.ADMINISTRATOR in roles:
        raise Invalid(
            _("Administrators can’t be guests. Leave the last day empty, or choose other roles."), field="until"
        )
    if until <= timezone.now():
        raise Invalid(_("The last day of a guest can’t be in the past."), field="until")


def _end_role(
    *, actor: User, project: Project, user: User, role: Role, by_administrator: bool, only_expired: bool = False
) -> None:
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
        if by_administrator:
            require_administrator(actor=actor, project=project)
        membership = next((m for m in memberships if m.user_id == user.pk and m.role == role), None)
        if membership is None:
            if Membership.objects.filter(project=project, user=user, role=role).exists():
                return
            raise Conflict(_("%(person)s doesn’t have this role.") % {"person": user})
        if only_expired and (membership.expires_at is None or membership.expires_at > timezone.now()):
            # Given more time at this moment.
            return
        if role == Role.ADMINISTRATOR:
            if not any(m.role == role and m.user_id != user.pk and m.user.is_active for m in memberships):
                sentence = _("%(person)s is the only administrator. Make somebody else an administrator first.")
                raise Conflict(sentence % {"person": user})
            _revoke_invitations_of(actor=actor, project=project, sender=user)
        others = [m for m in memberships if m.user_id == user.pk and m.role != role]
        # The other roles of a guest end in the same minute.
        left = frozenset(Role(m.role) for m in others if not only_expired)
        for release in RELEASE_LOST_WORK:
            release(actor, project, user, left)
        membership.ended_at = timezone.now()
        membership.save(update_fields=["ended_at"])
        void_tokens_of_outsiders([user.pk])
        append_event(
            actor=actor,
            project=project,
            kind="membership.ended",
            before={"user": user.public_id, "role": membership.role},
        )
        log_security("role_ended", person=user, actor=actor, project=project.slug, role=membership.role)


def void_tokens_of_outsiders(people: Iterable[int]) -> None:
    """End the API tokens of those people (keys) who have no role in any project."""
    members = Membership.objects.live().filter(user=OuterRef("pk"))
    outsiders = User.objects.filter(~Exists(members), pk__in=people)
    outsiders.update(tokens_since=timezone.now())


def lost_work(*, project: Project, user: User, left: frozenset[Role]) -> list[str]:
    """Return a sentence for each item in progress that a person may not continue with only these roles left."""
    return [sentence for name in DESCRIBE_LOST_WORK for sentence in name(project, user, left)]


def _revoke_invitations_of(*, actor: User, project: Project, sender: User) -> None:
    for invitation in open_invitations(project=project).select_for_update(of=("self",)).filter(created_by=sender):
        close_invitation(actor=actor, invitation=invitation)


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


def create_invitation(
    *,
    actor: User,
    project: Project,
    roles: list[str],
    note: str = "",
    address: str = "",
    until: datetime | None = None,
) -> tuple[Invitation, str]:
    """Create an invitation. Returns it and the secret of its link, which is shown once. Raises Invalid.

    ``address``: the email address that a person must have confirmed to use it; blank: no condition. ``until``: when
    the roles of a guest end; None: they last.
    """
    require_administrator(actor=actor, project=project)
    roles = sorted(set(roles))
    if not roles:
        raise Invalid(_("Choose at least one role."))
    unknown = [role for role in roles if role not in set(Role)]
    if unknown:
        raise Invalid(_("There is no role “%(role)s”.") % {"role": unknown[0]})
    if until is not None:
        require_possible_guest(roles, until)
    address = address.strip()
    if address and not _is_address(address):
        raise Invalid(_("“%(address)s” isn’t an email address.") % {"address": address}, field="address")
    with transaction.atomic():
        lock_invitations(project)
        if open_invitations(project=project).count() >= MAX_OPEN_INVITATIONS:
            raise Invalid(too_many_open())
        return write_invitation(actor=actor, project=project, roles=roles, note=note, address=address, until=until)


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return len(text) <= MAX_ADDRESS


def lock_invitations(project: Project) -> None:
    """Lock the project, so that counting its open invitations and writing another are one step."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)


def too_many_open() -> str:
    """Return the sentence that refuses a further open invitation."""
    sentence = ngettext(
        "A project can have %(count)d open invitation. Revoke it first.",
        "A project can have %(count)d open invitations. Revoke some that are no longer needed.",
        MAX_OPEN_INVITATIONS,
    )
    return sentence % {"count": MAX_OPEN_INVITATIONS}


def write_invitation(
    *,
    actor: User,
    project: Project,
    roles: list[str],
    note: str,
    address: str = "",
    until: datetime | None = None,
) -> tuple[Invitation, str]:
    """Write an invitation whose roles are checked, after `lock_invitations`. Returns it and the secret of its link."""
    secret = secrets.token_urlsafe(24)
    invitation = Invitation.objects.create(
        project=project,
        roles=roles,
        note=note.strip()[:MAX_NOTE],
        address=address,
        access_until=until,
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


def list_invitations(*, actor: User, project: Project) -> InvitationQuerySet:
    """Return the project's open invitations, oldest first. Raises Denied."""
    require_administrator(actor=actor, project=project)
    return open_invitations(project=project).select_related("created_by", "accepted_by").order_by("pk")


def find_invitation(secret: str, *, for_update: bool = False) -> Invitation:
    """Return the open invitation behind a link. Raises Hidden, whatever is wrong with it.

    An invitation from a deactivated person is not valid: they could use it to sign up again. Nobody joins an archived
    project.
    """
    rows = Invitation.objects.select_related("project", "created_by").filter(secret_hash=hash_secret(secret))
    if for_update:
        rows = rows.select_for_update(of=("self",))
    invitation = rows.first()
    works = invitation is not None and invitation.is_open(timezone.now()) and invitation.project.archived_at is None
    if invitation is None or not works or not invitation.created_by.is_active:
        raise Hidden(_("This invitation isn’t valid or has expired. Ask the person who sent it for a new one."))
    return invitation


def fits_address(person: User, invitation: Invitation) -> bool:
    """Return whether the person has confirmed the email address that the invitation is for, if it is for one."""
    if not invitation.address:
        return True
    addresses = EmailAddress.objects.filter(user=person, email__iexact=invitation.address, verified=True)
    return bool(addresses.exists())


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
        if not fits_address(actor, invitation):
            sentence = _("This invitation is for %(address)s. Confirm this email address for your account first.")
            raise Conflict(sentence % {"address": invitation.address})
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
        close_invitation(actor=actor, invitation=invitation)


def close_invitation(*, actor: User, invitation: Invitation) -> None:
    """Revoke an open invitation whose row is locked."""
    invitation.revoked_at = timezone.now()
    invitation.save(update_fields=["revoked_at"])
    append_event(
        actor=actor,
        project=invitation.project,
        kind="invitation.revoked",
        before={"invitation": invitation.public_id, "roles": invitation.roles, "note": invitation.note},
    )
